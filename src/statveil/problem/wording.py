"""The terms of a problem in words, for plans, cards and pages alike."""

from __future__ import annotations

from statveil.problem.families.any_shape import AnyShape
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.rounding import shown_down, shown_up

__all__ = [
    "beyond_shape",
    "column_text",
    "distortion_text",
    "hidden_text",
    "hit_text",
    "mean_or_label",
    "share_of",
    "tolerance_text",
]


def column_text(problem: Problem) -> str:
    """What kind of column a problem is about."""
    return problem.family.column_text


def hidden_text(problem: Problem) -> str:
    """What is hidden: the secret, or both of them."""
    return " and the ".join(one.secret.label for one in problem.each)


def hit_text(problem: Problem) -> str:
    """What a guess must be to hit: near the secret, or near one of the two."""
    return ", or the ".join(f"{one.secret.label} within {tolerance_text(one)}" for one in problem.each)


def tolerance_text(problem: Problem) -> str:
    """How close a guess counts, as it was stated."""
    closeness = problem.closeness
    return str(closeness) if isinstance(closeness, Relative) else f"{closeness:.12g}"


def distortion_text(problem: Problem, value: float, *, down: bool = False) -> str:
    """A distortion in the terms of its problem, rounded up (or down)."""
    share = problem.measure.kind == "relative"
    shown = shown_down if down else shown_up
    return f"{shown(100 * value)} %" if share else shown(value)


def share_of(problem: Problem) -> str:
    """What a relative distortion is a share of."""
    family, what = problem.family, "W1 distance between original and release, as a share of"
    assert isinstance(family, AnyShape)
    if family.moves == "subset":
        return "share of the rows that is left out"
    if family.moves == "model":
        return f"change of the {problem.secret.label}, as a share of it"
    if family.secret.apart is not None:
        part = family.secret.apart.parts.removesuffix("s")
        return f"W1 distance between original and release of either {part}, as a share of the {part}'s mean"
    if family.moves == "stretch":
        return f"{what} the rows' mean distance from their centre"
    if family.moves == "scale" and family.in_rows is None:
        return f"{what} the rows' mean distance from {family.about:g}"
    return f"{what} the {mean_or_label(problem)}"


def beyond_shape(problem: Problem) -> str:
    """What a release tells of the column's shape, and what must hold of it; nothing where the shape is public."""
    model, label = problem.family.model, problem.secret.label
    if problem.secret.apart is not None:
        parts, rest = problem.secret.apart.parts, "columns" if problem.secret.of_columns else "rows"
        return (
            f"neither the shapes of the two {parts}, nor what both have in common, nor the other {rest} tell anything "
            f"about the {label}"
        )
    if problem.secret.of_table:
        return (
            "what the rows hold tells nothing about how many there are (exchangeable rows, and no column counts them)"
        )
    if model is None:
        return f"the shape of the column tells nothing about its size (its {label})"
    if model.choices == 1:
        return ""
    many = "a form" if model.choices is None else f"one of {model.choices:,} forms"
    return f"which form of the model fits the column ({many}, which the release shows) tells nothing about its {label}"


def mean_or_label(problem: Problem) -> str:
    """Of what a distortion in the column's unit is a share."""
    return "mean" if problem.secret.times_mean is not None else problem.secret.label
