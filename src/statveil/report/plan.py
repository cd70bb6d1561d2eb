"""A plan in words, for a terminal."""

from __future__ import annotations

from statveil.planning import Plan
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.rounding import shown_down, shown_up

__all__ = ["describe_plan"]


def describe_plan(plan: Plan) -> str:
    """Risk, distortion, limit and mechanism, one sentence each; lower is better for all three.

    Risks and distortions are rounded up, lower bounds down.
    """
    problem = plan.problem
    about = "about" if plan.risk_kind == "simulated" else "at most"
    lines = [
        f"Hides the {problem.secret.label} of a {problem.family.label} column.",
        f"  risk        {shown_up(plan.risk)}   the best attacker gets within {problem.tolerance:.12g} {about} this "
        f"often ({plan.risk_kind})",
    ]
    if plan.risk_without_release is not None:
        lines.append(
            f"  without     {shown_up(plan.risk_without_release)}   a guess from the prior alone, without the release, "
            "hits at most this often"
        )
    lines += [
        f"  distortion  {shown_up(plan.distortion)}   {_DISTANCES[problem.distance]}",
        f"  moves       {shown_up(plan.largest_move)}   the {problem.secret.label} of the release differs from the "
        f"column's own by at most this{_share(plan)}",
        f"  limit       {shown_down(plan.lower_bound)}   no mechanism with this risk distorts less (gamma "
        f"{plan.gamma:.6g})",
    ]
    if plan.efficiency is not None:
        among = "the best possible mechanism" if plan.optimum_kind == "exact" else "the best mechanism on a grid"
        best = "" if plan.optimum is None else f"; {among} distorts {shown_down(plan.optimum)}"
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
    word, sentence = plan.mechanism.describe(plan.slope)
    lines.append(f"  {word:<12}{sentence}")
    eps = problem.tolerance
    profile = ", ".join(f"{shown_up(risk, 3)} within {at:.12g}" for at, risk in plan.risk_profile([eps / 2, 2 * eps]))
    lines.append(f"  profile     an attacker with another tolerance hits with probability {profile}")
    if plan.robust_to is not None:
        low, high = plan.robust_to
        robust = shown_up(1.0 if plan.robust_risk is None else plan.robust_risk)
        lines.append(f"  robust      the risk is at most {robust} for every tolerance from {low:.12g} to {high:.12g}")
    lines += _honesty(plan)
    return "\n".join(lines)


_DISTANCES = {
    "w1": "largest W1 distance between original and release, in the column's unit: how far values move on average",
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
    names = ", ".join(problem.box.free)
    return f"on {names} of this very column (of its own rows), not of a population that they were drawn from"


def _honesty(plan: Plan) -> list[str]:
    """What a reader of the headline risk would not expect."""
    lines = []
    if plan.spacing is not None:
        lines.append(
            f"  note        a comb: the receiver learns the {plan.problem.secret.label} up to multiples of about "
            f"{plan.spacing:.6g}. The risk does not fall for a guess that must be closer, and jumps where a guess may "
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
