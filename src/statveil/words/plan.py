"""What a plan says to people who know no statistics: what is hidden, how well, and at what change.

All of it follows from the plan, so all of it may be published. Chances and changes are rounded up.
"""

from __future__ import annotations

import math

from statveil.made_plan import Plan
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.rounding import read_down, read_up
from statveil.words.phrases import any_shape, close_text, of_column, often, statistics_text
from statveil.words.sentence import Sentence

__all__ = [
    "CASE",
    "change_sentences",
    "distortion_sentence",
    "hidden_sentence",
    "limit_sentence",
    "plan_sentences",
    "risk_sentence",
    "without_sentence",
]

CASE = (
    "A case is one table like this one: its true figure may be any that outsiders think possible. The guess is the "
    "best there is. It uses the table, knows how it was made, and knows all that outsiders are taken to believe."
)
"""What "of 100 cases" stands for."""
_CHANCE = "chance, from 0 to 1"


def plan_sentences(plan: Plan, *, column: str | None = None) -> tuple[Sentence, ...]:
    """All of them, the most important ones first.

    >>> import statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(20_000, 180_000), tolerance=sv.Relative(0.05))
    >>> plan = sv.plan(problem, max_risk=0.2)
    >>> for sentence in plan_sentences(plan, column="pay"):
    ...     print(sentence)  # doctest: +ELLIPSIS
    The average of 'pay' is hidden.
    Whoever guesses the average of 'pay' from the released table comes within 5 % of it in at most 20 of 100 cases. \
Without the table it would be up to 11 of 100.
    ...
    """
    problem = plan.problem
    return (
        hidden_sentence(problem, column=column),
        risk_sentence(problem, plan.risk, kind=plan.risk_kind, without=plan.risk_without_release, column=column),
        *change_sentences(plan, column=column),
        distortion_sentence(problem, plan.distortion),
        *limit_sentence(plan),
    )


def hidden_sentence(problem: Problem, *, column: str | None = None) -> Sentence:
    """What is hidden, with a word on what that is."""
    both = len(problem.each) > 1
    explained = [one.secret for one in problem.each if one.secret.explained]
    if both:
        told = " ".join(f"The {one.plain}: {one.explained}." for one in explained)
    else:
        told = "".join(f"{one.explained[0].upper()}{one.explained[1:]}." for one in explained)
    says = f"The {statistics_text(problem)}{of_column(column)} {'are' if both else 'is'} hidden."
    return Sentence(name="hidden", says=says, means=told)


def risk_sentence(
    problem: Problem,
    risk: float,
    *,
    kind: str = "exact",
    without: float | None = None,
    column: str | None = None,
) -> Sentence:
    """How often the best guess comes close enough, beside one that never saw the table."""
    about = "about" if kind == "simulated" else "at most"
    chances = often(risk) if without is None else often(risk, without)
    whose = of_column(column)
    if len(problem.each) == 1:
        says = (
            f"Whoever guesses the {problem.secret.plain}{whose} from the released table comes {close_text(problem)} "
            f"of it in {about} {chances[0]} cases."
        )
    else:
        each = " or ".join(f"the {one.secret.plain} {close_text(one)}" for one in problem.each)
        says = f"Whoever guesses {each}{whose} from the released table is right in {about} {chances[0]} cases."
    if without is not None:
        says += f" Without the table it would be up to {chances[1]}."
    return Sentence(name="risk", says=says, value=risk, unit=_CHANCE, better="lower", means=CASE, kind=kind)


def without_sentence(problem: Problem, without: float) -> Sentence:
    """How often a guess comes close enough that never saw the table: what no release can go below."""
    (chance,) = often(without)
    says = f"Someone who never sees the table comes that close in up to {chance} cases."
    return Sentence(name="without", says=says, value=without, unit=_CHANCE, better="", means=CASE)


def change_sentences(plan: Plan, *, column: str | None = None) -> tuple[Sentence, ...]:
    """By how much at most the hidden statistic of the release is another one than the true one."""
    each = [plan.for_secret(one.secret) for one in plan.problem.each] if plan.problem.also else [plan]
    return tuple(_change(one, column) for one in each)


def _change(plan: Plan, column: str | None) -> Sentence:
    problem, move = plan.problem, plan.largest_move
    if problem.secret.of_table:
        fewer = f"The released table has at most {read_up(plan.distortion, times=100)} % fewer rows than the original."
        unit = "share of the rows"
        return Sentence(name="change", says=fewer, value=plan.distortion, unit=unit, better="lower", kind="upper bound")
    what = f"The {problem.secret.plain} of the released {'table' if column is None else 'column'}"
    share = _as_share(problem, plan.distortion)
    if share is not None:
        by, value, unit, means = f"{read_up(share, times=100)} %", share, "share of the true one", ""
    elif problem.secret.is_share:
        by, value, unit, means = f"{read_up(move, times=100)} percentage points", move, "share of the rows", ""
    else:
        unit = "rows" if problem.secret.of_table else "unit of the column"
        by, value, means = read_up(move), move, _beside_the_middle(problem, move)
    says = f"{what} differs from the true one by at most {by}."
    return Sentence(name="change", says=says, value=value, unit=unit, better="lower", means=means, kind="upper bound")


def _as_share(problem: Problem, distortion: float) -> float | None:
    """The same as a share of the statistic itself, where closeness is one; nothing else bounds it."""
    family = problem.family
    if not isinstance(family, AnyShape) or not family.log:
        return None
    return family.largest_change(distortion) / max(abs(family.belief.low), abs(family.belief.high)) * (1 + 1e-15)


def _beside_the_middle(problem: Problem, move: float) -> str:
    """The change in per cent of what outsiders take to be usual; nothing where that is about 0."""
    if not isinstance(problem.prior, Box):
        return ""
    middle = abs(float(problem.secret_of({name: axis.ppf(0.5) for name, axis in problem.box.axes.items()})))
    if not move <= 10 * middle:
        return ""
    return f"That is {read_up(move / middle, times=100)} % of {middle:,.6g}, the middle of what outsiders believe."


def distortion_sentence(problem: Problem, distortion: float) -> Sentence:
    """What releasing costs: how far the values of the column move."""
    by, unit, says = read_up(distortion), "unit of the column", "On average, a value of the column moves by at most {}."
    family = problem.family
    if family.shapeless and problem.measure.kind == "relative":
        by, unit = f"{read_up(distortion, times=100)} %", "share"
        says = f"On average, a value of the column moves by at most {{}} {_of_what(problem)}."
    if problem.secret.of_table:
        unit = "share of the rows" if problem.measure.kind == "relative" else "rows"
        says = f"At most {{}}{' of the rows' if unit != 'rows' else ' rows'} are left out. No value changes."
    elif family.model is not None:
        says = f"The {problem.secret.plain} moves by at most {{}}. The values themselves are drawn anew."
    elif problem.distance == "tv":
        by, unit, says = f"{read_up(distortion, times=100)} %", "share of the rows", "At most {} of the rows change."
    elif problem.distance == "log-w1":
        by, unit = read_up(math.exp(distortion)), "factor"
        says = "On average, a value of the column is multiplied or divided by at most {}."
    means = "" if any_shape(problem) else "For a column of another shape than was assumed it may be more."
    return Sentence(
        name="distortion",
        says=says.format(by),
        value=distortion,
        unit=unit,
        better="lower",
        means=means,
        kind="upper bound",
    )


def _of_what(problem: Problem) -> str:
    """What a relative distortion is a share of."""
    family = problem.family
    assert isinstance(family, AnyShape)
    if problem.secret.apart is not None:
        return f"of the average of its {problem.secret.apart.parts.removesuffix('s')}"
    if family.moves == "stretch":
        return "of the usual distance between the rows and their centre"
    if family.moves == "scale" and family.in_rows is None:
        return f"of the usual distance between the rows and {family.about:,.12g}"
    return "of the average" if problem.secret.times_mean is not None else f"of the {problem.secret.plain}"


def limit_sentence(plan: Plan) -> tuple[Sentence, ...]:
    """What no other way of hiding can do better; nothing where the limit says nothing."""
    if not plan.lower_bound > 0:
        return ()
    share = plan.problem.family.shapeless and plan.problem.measure.kind == "relative"
    least = f"{read_down(plan.lower_bound, times=100)} %" if share else read_down(plan.lower_bound)
    if plan.problem.distance == "tv":
        least = f"{read_down(plan.lower_bound, times=100)} %"
    if plan.problem.distance == "log-w1":
        least = f"the factor {read_down(math.exp(plan.lower_bound))}"
    return (
        Sentence(
            name="limit",
            says=f"Nobody can hide it this well with a change of less than {least}.",
            value=plan.lower_bound,
            unit="as the change of the values",
            means=_every_way(plan.problem),
            kind="exact",
        ),
    )


def _every_way(problem: Problem) -> str:
    """For what the limit is proven."""
    if problem.also:
        return "This is proven for every way of hiding even one of the two."
    if problem.secret.of_table:
        return "This is proven for every way that gives out some of the rows."
    if problem.secret.apart is not None and not problem.secret.of_columns:
        return "This is proven for two groups of the same size, and every way that keeps who is in which."
    if problem.family.shapeless and problem.secret.times_mean is None and problem.family.model is None:
        return "This is proven for every way that keeps the shape of the column."
    return "This is proven for every way of hiding it, known or not."
