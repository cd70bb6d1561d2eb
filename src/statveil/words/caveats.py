"""What a plan takes for granted, and what it does not protect against, in plain words. Both may be published."""

from __future__ import annotations

from statveil.made_plan import Plan
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.structure import Structure
from statveil.rounding import read_up
from statveil.words.phrases import any_shape, of_column, often, statistics_text

__all__ = ["assumed", "belief_text", "ends_assumed", "known_text", "not_protected"]

_ASKED_FOR = ("mean", "median", "quantile:0.9", "min", "max", "std", "iqr")
"""Statistics that people ask for beside the one that is hidden."""


def assumed(plan: Plan, *, column: str | None = None) -> list[str]:
    """What must hold for the promised chance, each in a sentence or two.

    >>> import statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(1, 100), tolerance=1, known=sv.Structure(minimum=0))
    >>> print(assumed(sv.plan(problem, max_risk=0.2))[0])
    Outsiders believe that the average lies between 1 and 100, with every value as likely as any other.
    """
    problem = plan.problem
    lines = [
        *belief_text(problem, column=column),
        *(["What outsiders believe of one does not depend on the other."] if problem.also else []),
        "Outsiders know no more than that. Whoever knows more guesses better.",
        *_known(plan),
        *_shape(plan),
        "Nothing else gives the hidden figure away: no other column, and no other table.",
    ]
    if problem.secret.of_table:
        lines.append("Nobody can tell that a row is missing.")
    elif plan.release_mode.random:
        lines.append("No other column tells the value of a row, and neither does the order of the rows.")
    if plan.randomised or plan.release_mode.random:
        lines.append("Chance plays a part in the release. The number that decides it, the seed, stays with the holder.")
    if plan.release_mode.but:
        lines.append(f"{plan.release_mode.but}")
    return lines


def belief_text(problem: Problem, *, column: str | None = None) -> list[str]:
    """What outsiders are taken to believe of the hidden statistic, or of what it follows from."""
    if not isinstance(problem.prior, Box):
        return ["Outsiders take every mix of the categories to be as likely as any other."]
    if isinstance(problem.family, AnyShape):
        where = problem.family.belief.believed
        return [f"Outsiders believe that the {problem.secret.plain}{of_column(column)} lies {where}."]
    docs = {param.name: param.doc for param in problem.family.params}
    plain = {one.secret.label: one.secret.plain for one in problem.each}
    lines = []
    for name, axis in problem.box.axes.items():
        told = docs.get(name) or name
        what = plain.get(name) or (told if told == name else f"{told} ({name})")
        lines.append(f"Outsiders believe that the {what} lies {axis.believed}.")
    return lines


def known_text(known: Structure) -> str:
    """What everyone knows of such columns, as it was stated.

    >>> print(known_text(Structure(minimum=0, step=1, atoms=(0,))))
    Everyone knows of such columns: the smallest value is 0; values go up in steps of 1; the value 0 is frequent.
    """
    parts = []
    if known.minimum is not None:
        parts.append(f"the smallest value is {known.minimum:,.12g}")
    if known.maximum is not None:
        parts.append(f"the largest value is {known.maximum:,.12g}")
    if known.step is not None:
        parts.append(f"values go up in steps of {known.step:,.12g}")
    parts += [f"the value {atom:,.12g} is frequent" for atom in known.atoms]
    parts += [f"multiples of {heap:,.12g} are frequent" for heap in known.heaps]
    if not parts:
        return "Nobody knows a smallest or largest value, a step or a frequent value of such columns: none was stated."
    return f"Everyone knows of such columns: {'; '.join(parts)}."


def ends_assumed(plan: Plan) -> str:
    """That nobody knows an end of such columns that would show in the release and was not declared; else nothing.

    An end that is a parameter of the family has a prior of its own.

    >>> import statveil as sv
    >>> known = sv.Structure(minimum=0)
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(1, 100), tolerance=1, known=known)
    >>> print(ends_assumed(sv.plan(problem, max_risk=0.2)))
    Nobody knows a largest value of such columns, nor a smallest one above 0.
    """
    mode, family, known = plan.release_mode, plan.problem.family, plan.problem.known
    if not mode.structure_shows or mode.categories or mode.of_table or not isinstance(family, LocationScale):
        return ""
    low, high = known.minimum, known.maximum
    free = [
        word
        for word, end, own in (("smallest", low, family.minimum), ("largest", high, family.maximum))
        if end is None and own is None
    ]
    inside = [
        f"{word} {'one' if free else 'value'} {side} {end:.12g}"
        for word, side, end in (("smallest", "above", low), ("largest", "below", high))
        if end is not None
    ]
    if not free:
        return f"Nobody knows a {' or a '.join(inside)} of such columns." if inside else ""
    return f"Nobody knows a {' or '.join(free)} value of such columns{''.join(f', nor a {one}' for one in inside)}."


def _known(plan: Plan) -> list[str]:
    """What is known of the column's structure; that nothing is matters only where it would show."""
    known, mode = plan.problem.known, plan.release_mode
    if mode.categories:
        return []
    stated = known != Structure()
    text = [known_text(known)] if stated or (mode.structure_shows and not mode.of_family) else []
    return [*text, *([ends] if stated and (ends := ends_assumed(plan)) else [])]


def _shape(plan: Plan) -> list[str]:
    """What is assumed of the shape of the column."""
    if plan.problem.secret.of_table:
        return ["What the rows hold says nothing about how many there are: no column counts them."]
    family, plain = plan.problem.family, statistics_text(plan.problem, between=" or its ")
    if not any_shape(plan.problem):
        return [f"The column has the shape that was stated: '{family.label}'."]
    if family.model is not None and family.model.choices == 1:
        return []
    bound, known = plan.risk_if_shape_tells, ""
    if bound is not None and bound < 1:
        (chance,) = often(bound)
        known = f" If it tells a little, the chance is still at most {chance}."
    if plan.problem.secret.apart is not None:
        two = plan.problem.secret.apart.parts
        return [f"Neither the shapes of the two {two} nor what they share says anything of the {plain}.{known}"]
    what = "which form fits the column" if family.model is not None else "which values are common and which are rare"
    return [f"The shape of the column ({what}) says nothing about its {plain}.{known}"]


def not_protected(plan: Plan, *, alone: bool = True) -> list[str]:
    """What the release does not hide, each in a sentence or two; ``alone``: only this column of the table changes."""
    lines = []
    told = _told(plan)
    of_table = plan.problem.secret.of_table
    if of_table:
        lines.append("All else still shows: the rows that stay are not changed.")
    elif told:
        lines.append(f"These stay as they are, and the table shows them: {', '.join(told)}.")
    if not plan.problem.family.shapeless and not plan.release_mode.categories:
        lines.append("Other figures of the column, such as how its values spread, may still show.")
    lines.append("Single rows are not hidden, and neither is who is in the table.")
    if of_table:
        lines.append("Someone who knows which rows the table had, and sees how many of them are left, learns far more.")
    elif alone:
        lines.append("The other columns stay as they are.")
    if plan.release_mode.row_tells:
        lines.append("Someone who knows the true value of one row, and finds that row, learns far more.")
    what = "table" if of_table else "pair of columns" if plan.problem.secret.of_columns else "column"
    lines.append(f"The {what} must not be released again in another way. Two releases tell more than one.")
    if plan.spacing is not None:
        lines.append(
            f"The table tells the {plan.problem.secret.plain} up to a small set of values that lie about "
            f"{read_up(plan.spacing)} apart. A guess that must be closer is right as often."
            if not plan.problem.family.log
            else f"The table tells the {plan.problem.secret.plain} up to a small set of values that lie apart. A guess "
            "that must be closer is right as often."
        )
    return lines


def _told(plan: Plan) -> list[str]:
    """Statistics that the release leaves as they are, in plain words."""
    from statveil.spelling import parse_secret

    if not plan.problem.family.shapeless:
        return []
    hidden = plan.problem.secret.label
    others = [parse_secret(one) for one in _ASKED_FOR if one != hidden]
    found = plan.protects(others)
    return [f"the {other.plain}" for other, each in zip(others, found, strict=True) if each.kind == "not hidden"]
