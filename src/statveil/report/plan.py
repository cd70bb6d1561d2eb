"""A plan in words, for a terminal."""

from __future__ import annotations

import math

from statveil.made_plan import Plan
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.problem.wording import (
    beyond_shape,
    column_text,
    distortion_text,
    hidden_text,
    hit_text,
    mean_or_label,
    share_of,
    tolerance_text,
)
from statveil.rounding import shown_down, shown_up
from statveil.words.caveats import ends_assumed
from statveil.words.plan import change_sentences, risk_sentence

__all__ = ["describe_plan", "plan_rows"]

_MARGIN = 14
"""Where the words of a line end and what they say starts."""


def describe_plan(plan: Plan) -> str:
    """Risk, distortion, limit and mechanism, one sentence each; lower is better for all three.

    Risks and distortions are rounded up, lower bounds down.
    """
    problem = plan.problem
    lines = [f"Hides the {hidden_text(problem)} of {column_text(problem)}.", *_in_words(plan), *_risks(plan)]
    if plan.risk_without_release is not None:
        lines.append(
            f"  without     {shown_up(plan.risk_without_release)}   a guess from the prior alone, without the release, "
            "hits at most this often"
        )
    lines += [
        f"  distortion  {_distortion(plan, plan.distortion)}   {_distance(plan)}",
        *_moves(plan),
        f"  limit       {_distortion(plan, plan.lower_bound, down=True)}   {_limit(plan)}",
    ]
    if plan.efficiency is not None:
        among = "the best possible mechanism" if plan.optimum_kind == "exact" else "the best mechanism on a grid"
        best = "" if plan.optimum is None else f"; {among} distorts {_distortion(plan, plan.optimum, down=True)}"
        lines.append(f"  efficiency  {shown_up(plan.efficiency, 4)}   distortion over the limit, 1 is the least{best}")
    if plan.certificate is not None:
        proof = plan.certificate
        lines.append(
            f"  certificate {shown_down(proof.least_risk)}   no mechanism on its {proof.cells} cells has a lower risk "
            f"at a distortion of {shown_down(proof.distortion)}"
        )
    if plan.published_bound is not None:
        lines.append(
            f"  paper       {shown_up(plan.published_bound)}   the paper's printed bound on the risk, for comparison"
        )
    lines.append(f"  prior       {_prior(problem)}")
    lines.append(f"  mode        {plan.mode}   {plan.release_mode.says}")
    word, sentence = _bins(plan)
    lines.append(f"  {word:<12}{sentence}")
    share = isinstance(problem.closeness, Relative)
    eps = problem.closeness.share if isinstance(problem.closeness, Relative) else problem.closeness
    others = [other for other in (eps / 2, 2 * eps) if not share or other < 1]
    lines.append(_profile(plan, others, share))
    if plan.robust_to is not None:
        low, high = plan.robust_to
        robust = shown_up(1.0 if plan.robust_risk is None else plan.robust_risk)
        ends = f"{_amount(low, share)} to {_amount(high, share)}"
        lines.append(f"  robust      the risk is at most {robust} for every tolerance from {ends}")
    lines += _protects(plan)
    lines += _honesty(plan)
    return "\n".join(lines)


def plan_rows(plan: Plan) -> list[tuple[str, str]]:
    """The same as rows of a table: the word that each line starts with, and what follows it."""
    lines = describe_plan(plan).splitlines()[1 + len(_in_words(plan)) :]
    return [(line[:_MARGIN].strip(), line[_MARGIN:].replace("   ", ": ", 1)) for line in lines]


def _in_words(plan: Plan) -> list[str]:
    """What the two numbers that matter most mean, as the report and the card say it."""
    risk = risk_sentence(plan.problem, plan.risk, kind=plan.risk_kind, without=plan.risk_without_release)
    return [f"  {sentence}" for sentence in (risk, *change_sentences(plan))]


def _risks(plan: Plan) -> list[str]:
    """How often the best attacker hits; of two secrets either, each, and both."""
    problem, about = plan.problem, "about" if plan.risk_kind == "simulated" else "at most"
    found = plan.of_each
    if found is None:
        return [
            f"  risk        {shown_up(plan.risk)}   the best attacker gets within {tolerance_text(problem)} {about} "
            f"this often ({plan.risk_kind})"
        ]
    lines = [
        f"  risk        {shown_up(plan.risk)}   the best attacker hits one of them at least, the {hit_text(problem)}, "
        f"{about} this often ({plan.risk_kind})"
    ]
    for one, each in zip(problem.each, found.each, strict=True):
        lines.append(
            f"  {'alone':<12}{shown_up(each.value)}   the {one.secret.label} within {tolerance_text(one)} ({each.kind})"
        )
    return [*lines, f"  both        {shown_up(found.intersection.value)}   both at once"]


def _moves(plan: Plan) -> list[str]:
    """How far a release may lie from the column's own statistic."""
    found: list[str] = []
    if plan.problem.secret.of_table:
        return found  # the distortion says it
    for one in plan.problem.each:
        alone = plan.for_secret(one.secret)
        found.append(
            f"  moves       {shown_up(alone.largest_move)}   the {one.secret.label} of the release differs from the "
            f"column's own by at most this{_share(alone)}"
        )
    return found


def _profile(plan: Plan, tolerances: list[float], share: bool) -> str:
    """What attackers with other tolerances do."""
    risks = plan.risk_profile(tolerances)
    if plan.problem.also:
        half, twice = (shown_up(risk, 3) for _, risk in risks)
        return f"  profile     with half of each tolerance a guess hits one with probability {half}, with twice {twice}"
    profile = ", ".join(f"{shown_up(risk, 3)} within {_amount(at, share)}" for at, risk in risks)
    return f"  profile     an attacker with another tolerance hits with probability {profile}"


def _amount(value: float, share: bool) -> str:
    return f"{100 * value:.10g} %" if share else f"{value:.12g}"


def _distortion(plan: Plan, value: float, *, down: bool = False) -> str:
    return distortion_text(plan.problem, value, down=down)


def _distance(plan: Plan) -> str:
    """What the distortion is, with the other terms where they are known too."""
    problem = plan.problem
    if not problem.family.shapeless:
        return _DISTANCES[problem.distance]
    inner = problem.measure.of_plan(plan.distortion)
    if problem.secret.of_table:
        if problem.measure.kind == "relative":
            return f"largest {share_of(problem)} (up to {shown_up(problem.measure.in_unit(inner) or 0.0)} rows)"
        most = shown_up(100 * (problem.measure.as_share(inner) or 0.0), 4)
        return f"largest number of rows that are left out (up to {most} % of them)"
    if problem.family.model is not None:
        what = share_of(problem) if problem.measure.kind == "relative" else f"change of the {problem.secret.label}"
        return f"largest {what}; what the column differs from the model comes on top"
    if problem.measure.kind == "absolute":
        share = problem.measure.as_share(inner)
        return _DISTANCES["w1"] + (
            "" if share is None else f" ({shown_up(100 * share, 4)} % of the {mean_or_label(problem)})"
        )
    unit = problem.measure.in_unit(inner)
    also = "" if unit is None else f" (in the column's unit at most {shown_up(unit)})"
    return f"largest {share_of(problem)}: how far values move on average{also}"


def _limit(plan: Plan) -> str:
    """What the lower bound says."""
    problem = plan.problem
    if problem.family.model is not None and problem.secret.times_mean is None:
        return "no mechanism with this risk changes it less"
    if problem.secret.of_table:
        return "nobody who releases some of the rows with this risk leaves out less"
    if problem.also:
        return "no mechanism that hides one of them alone with this risk distorts less"
    if problem.secret.of_columns:
        return "no mechanism with this risk moves the further one of the two columns less"
    if problem.secret.apart is not None:
        return "no mechanism with this risk that keeps the labels distorts two equally large groups less"
    if problem.family.shapeless and problem.secret.times_mean is None:
        return "no mechanism with this risk that keeps the shape distorts less"
    return f"no mechanism with this risk distorts less (gamma {plan.gamma:.6g})"


_DISTANCES = {
    "w1": "largest W1 distance between original and release, in the column's unit: how far values move on average",
    "log-w1": "largest W1 distance of the logarithms between original and release: values change on average by a "
    "factor of up to e to this power",
    "tv": "largest total variation distance between original and release: the share of rows that changes",
}


def _share(plan: Plan) -> str:
    """The largest move in per cent of what the prior takes to be usual; nothing where that is about 0."""
    problem = plan.problem
    if problem.secret.is_share:
        return f", {shown_up(100 * plan.largest_move, 3)} percentage points"
    if not isinstance(problem.prior, Box):
        return ""
    middle = abs(float(problem.secret_of({name: axis.ppf(0.5) for name, axis in problem.box.axes.items()})))
    if not plan.largest_move <= 10 * middle:
        return ""
    return f", {shown_up(100 * plan.largest_move / middle, 3)} % of the middle of the prior ({middle:.6g})"


def _prior(problem: Problem) -> str:
    """Whose statistics the prior is about, which people get wrong."""
    if not isinstance(problem.prior, Box):
        return "on the shares in this very column (of its own rows), not in a population that they were drawn from"
    if problem.secret.of_table:
        return "on the number of rows of this very table"
    if problem.secret.of_columns:
        return f"on {problem.secret.label} of these very columns (of their own rows), not of a population"
    names = problem.secret.label if problem.family.shapeless else ", ".join(problem.box.free)
    return f"on {names} of this very column (of its own rows), not of a population that they were drawn from"


_OTHERS = ("mean", "median", "quantile:0.9", "quantile:0.99", "min", "max", "std", "iqr")
"""Statistics that people ask for beside the one they hide."""


def _protects(plan: Plan) -> list[str]:
    """With which risk the same release hides other statistics."""
    if not plan.problem.family.shapeless:
        return []
    others = [other for other in _OTHERS if other != plan.problem.secret.label]
    said: dict[str, list[str]] = {}
    for found in plan.protects(others):
        if found.kind == "not hidden":
            words = "told by the release"
        elif found.risk is None:
            continue
        else:
            words = f"hidden with risk {shown_up(found.risk)}"
        said.setdefault(words, []).append(found.secret)
    text = "; ".join(f"{', '.join(names)}: {words}" for words, names in said.items())
    return [f"  others      {text} (same tolerance)"] if text else []


def _bins(plan: Plan) -> tuple[str, str]:
    """The mechanism in a word and a sentence."""
    family, mechanism = plan.problem.family, plan.mechanism
    if not isinstance(family, AnyShape):
        return mechanism.describe(plan.slope)
    label = plan.problem.secret.label
    width, cuts = mechanism.bin_width, mechanism.cuts
    if width is not None and cuts is not None:
        size = f"from each lower end to {math.exp(width):.6g} times it" if family.log else f"{width:.6g} wide"
        return "bins", f"{len(cuts) - 1} of the {label}, {size}"
    word, sentence = mechanism.describe(plan.slope)
    scale = f"the logarithm of the {label}" if family.log else f"the {label}"
    return word, sentence.replace(f"along {family.parameter}", f"along {scale}")


def _without_it(plan: Plan) -> str:
    """What holds of the risk where the shape may tell the size roughly."""
    bound = plan.risk_if_shape_tells
    if bound is None or bound >= 1:
        return ""
    if plan.problem.family.model is not None:
        return f". Whatever it tells, the risk is at most {shown_up(bound, 4)}"
    return (
        ". If it may tell it roughly (whatever the shape, the belief still spreads over half of the range and changes "
        f"by no more than a factor of e there), the risk is at most {shown_up(bound, 4)}"
    )


def _counted_alike(problem: Problem) -> str | None:
    """What a tolerance in per cent costs beside a step: it is counted as that of the largest value that is believed."""
    closeness = problem.closeness
    if not isinstance(closeness, Relative) or not problem.family.widened or problem.secret.of_table:
        return None
    (axis,) = problem.beliefs
    middle = problem.within(0.5 * abs(axis.low + axis.high))
    return (
        f"beside a step {closeness} counts as {shown_up(problem.tolerance, 4)} in the column's unit wherever the "
        f"{problem.secret.label} lies, as at the upper end of the prior; where that is far from its lower end, a "
        f"tolerance in that unit (--tolerance {middle:.3g} is {closeness} of the middle) moves the values less."
    )


def _honesty(plan: Plan) -> list[str]:
    """What a reader of the headline risk would not expect."""
    lines = []
    if plan.problem.also:
        lines += [f"  assumes     {assumed}" for assumed in plan.problem.family.assumes()]
    if plan.problem.family.shapeless and (assumed := beyond_shape(plan.problem)):
        lines.append(f"  assumes     that {assumed}{_without_it(plan)}")
    if ends := ends_assumed(plan):
        lines.append(f"  assumes     that {ends[0].lower()}{ends[1:-1]}")
    if (counted := _counted_alike(plan.problem)) is not None:
        lines.append(f"  note        {counted}")
    if plan.spacing is not None:
        apart = f"{plan.spacing:.6g}"
        if plan.problem.family.log:
            apart = f"the factor {math.exp(plan.spacing):.6g}"
        lines.append(
            f"  note        a comb: the receiver learns the {plan.problem.secret.label} up to multiples of about "
            f"{apart}. The risk does not fall for a guess that must be closer, and jumps where a guess may "
            "be so far off that it catches two teeth."
        )
    elif plan.mechanism.scattered and not plan.in_proportion:
        lines.append(
            "  note        values that share a release need not be neighbours: the risk need not fall for a guess that "
            "must be closer, and can jump for one that may be farther; the profile shows it."
        )
    if plan.randomised:
        lines.append(
            "  note        the release is drawn at random: the seed must stay secret, and the same column must not be "
            "released twice ('statveil release --record' keeps its seed)."
        )
    return lines
