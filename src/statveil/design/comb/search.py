"""The best comb for a target: its extent and, with two uncertain parameters, its direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statveil.accounting import support_polygon
from statveil.design.comb.directions import best_slants, fan, least_extents, risks, slants
from statveil.design.comb.lines import (
    CombDesign,
    CombLines,
    axis_lines,
    least_extent,
    polygon_lines,
    settled,
    share_lines,
    within,
)
from statveil.design.target import CLOSELY, MaxDistortion, MaxRisk, hides_nothing, meets
from statveil.errors import ProblemError, TargetError
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.theory.comb_layout import STRETCH

__all__ = ["CombDesign", "best_comb"]

Array = NDArray[np.float64]
Score = Callable[[Array], Array]
"""How good directions are, one a row: the smaller the better."""

_DIRECTIONS = 3
"""Directions that are worked out to the end."""
_TIE = 1 + 1e-6
"""A direction that moves both parameters must be better than one that moves one by more than this."""


def best_comb(problem: Problem, goal: MaxRisk | MaxDistortion) -> CombDesign:
    """Least distortion for a risk, or least risk for a distortion, under beliefs that are plain ranges.

    docs/theory.md, combs: on each line the layout is the best of all mechanisms, and the risk never rises with the
    extent, so the extent is found by halving; with two uncertain parameters the direction is scanned.
    """
    if isinstance(problem.family, Categorical):
        return _on_lines(share_lines(problem), goal)
    if not isinstance(problem.family, LocationScale):
        raise ProblemError(
            "combs in closed form are for the continuous families and the categorical share. "
            f"Got {problem.family.name!r}; use the method 'dynamic' or 'greedy'."
        )
    if not all(axis.flat or axis.known for axis in problem.box.axes.values()):
        raise ProblemError(
            "combs in closed form need plain ranges, and one of the beliefs has another shape. State ranges, or ask "
            "for intervals."
        )
    if len(problem.box.free) == 1:
        return _on_lines(axis_lines(problem), goal)
    if isinstance(goal, MaxRisk):
        return _two_for_risk(problem, goal.value)
    return _two_for_distortion(problem, goal.value)


def _on_lines(lines: CombLines, goal: MaxRisk | MaxDistortion) -> CombDesign:
    """The least extent that meets a risk, or that has the least risk within a distortion."""
    if isinstance(goal, MaxRisk):
        return lines.design(least_extent(lines, goal.value))
    if lines.risk(lines.longest) >= 1:
        raise _too_narrow()
    if goal.value < 0.5 * lines.unit * lines.window * (1 - 5e-13):  # a comb needs two teeth
        raise hides_nothing(goal.value, 0.5 * lines.unit * lines.window)
    most = min(2 * goal.value / lines.unit, lines.longest)
    same = lines.risk(most)
    least = least_extent(lines, same)
    # an interval costs a hit, a comb its spacing, a hair more: for that hair alone no larger extent
    close = least_extent(lines, same * STRETCH)
    return within(lines, min(close if close < 0.999 * least else least, most), goal.value)


def _too_narrow() -> TargetError:
    return TargetError(
        "no distortion hides anything with this prior: it leaves the secret no more room than one guess covers, so the "
        "risk is 1. Use a smaller tolerance, or state a wider prior if outsiders know less."
    )


def _two_for_risk(problem: Problem, goal: float) -> CombDesign:
    window = 2 * problem.tolerance * STRETCH

    def score(directions: Array, *, roughly: bool = False) -> Array:
        lines = fan(problem, directions)
        return 0.5 * lines.price * least_extents(lines, goal, window, roughly=roughly)

    directions = np.stack([*_best_directions(problem, partial(score, roughly=True), score, score), *np.eye(2)])
    extents = least_extents(fan(problem, directions), goal, window) / window

    def option(direction: Array, windows: float) -> CombDesign | None:
        lines = polygon_lines(problem, direction)
        if lines.even and lines.meets(lines.longest, goal):
            # lines of one length: where whole hits just fill the goal, intervals meet it and combs miss it by a hair
            return lines.design(least_extent(lines, goal))
        found = lines.design(settled(lines, windows * lines.window, goal)) if math.isfinite(windows) else None
        return found if found is not None and meets(found.risk, goal, within=CLOSELY) else None

    options = _countable(option, directions, extents.tolist())
    if not options:  # a prior that gives too much away, or a goal on the edge of what can be reached
        whole = partial(_whole_risk, problem)
        lines = polygon_lines(problem, _best_directions(problem, whole, whole, whole)[0])
        options.append(lines.design(least_extent(lines, goal)))
    return _least(options, [option.distortion for option in options])


def _countable(
    option: Callable[[Array, float], CombDesign | None], directions: Array, extents: list[float]
) -> list[CombDesign]:
    """The combs of these directions whose risk has few enough pieces to be exact; one of them must have."""
    found: list[CombDesign | None] = []
    refused: ProblemError | None = None
    for direction, extent in zip(directions, extents, strict=True):
        try:
            found.append(option(direction, extent))
        except ProblemError as error:
            refused = error
    options = [comb for comb in found if comb is not None]
    if refused is not None and not options:
        raise refused
    return options


def _two_for_distortion(problem: Problem, goal: float) -> CombDesign:
    window = 2 * problem.tolerance * STRETCH

    def score(directions: Array, *, share: float = 1.0) -> Array:
        lines = fan(problem, directions)
        return risks(lines, np.minimum(2 * share * goal / lines.price, lines.longest), window)

    def price(directions: Array) -> Array:
        lines = fan(problem, directions)
        return np.where(lines.longest > window, lines.price, np.inf)

    cheapest = _best_directions(problem, price, price, price)[0]
    least = 0.5 * window * float(price(cheapest[None, :])[0])
    if math.isinf(least):
        raise _too_narrow()
    if goal < least * (1 - 5e-13):
        raise hides_nothing(goal, least)
    # the best slant is often the last one at which a tooth more fits: keep clear of rounding errors there
    careful = partial(score, share=1 - 1e-8)
    directions = np.stack([*_best_directions(problem, careful, careful, score), cheapest])
    found = fan(problem, directions)
    most = np.minimum(2 * goal / found.price, found.longest)
    same = risks(found, most, window)

    def option(direction: Array, windows: float) -> CombDesign:
        lines = polygon_lines(problem, direction)
        return within(lines, windows * lines.window, goal)

    extents = np.minimum(least_extents(found, same * (1 + 1e-12), window), most) / window
    options = _countable(option, directions, extents.tolist())
    return _least(options, [option.risk for option in options])


def _best_directions(problem: Problem, rough: Score, score: Score, rank: Score) -> list[Array]:
    """The best directions, best first: scanned roughly and zoomed in on, or of one parameter, or of both alike."""
    names, _ = support_polygon(problem)
    assert isinstance(problem.family, LocationScale)
    shift = [problem.family.shift.get(name, 0.0) for name in names]
    plain = np.array([[1.0, 0.0], [0.0, 1.0], shift])
    zoomed = best_slants(slants(problem), lambda k: rough(_rays(k)), lambda k: score(_rays(k)))
    options = np.concatenate([plain, _rays(zoomed)])
    options = options[np.isfinite(fan(problem, options).price)]
    both = np.all(options != 0, axis=1)
    order = np.argsort(rank(options) * np.where(both, _TIE, 1.0), kind="stable")
    return list(options[order[:_DIRECTIONS]])


def _rays(values: Array) -> Array:
    return np.stack([np.ones(values.shape), values], axis=1)


def _whole_risk(problem: Problem, directions: Array) -> Array:
    """Risk of whole lines as intervals: no comb along these directions has less."""
    lines = fan(problem, directions)
    return risks(lines, lines.longest, 2 * problem.tolerance)


def _least(options: list[CombDesign], scores: list[float]) -> CombDesign:
    """The option of least score; among equals the one that moves the fewest parameters."""
    best = min(scores)
    equal = [option for option, score in zip(options, scores, strict=True) if score <= best * _TIE]
    return min(equal, key=lambda option: len(option.direction))
