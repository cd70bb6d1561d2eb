"""The best comb for a target: its extent and, with two uncertain parameters, its direction.

A direction matters through three things: how fast the secret changes along it, how long a step is in the distance,
and how long its lines are. Lengths of lines and extents are measured in the secret, so a hit has the same length
along every direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from statveil.accounting import support_polygon
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
from statveil.numeric import Array, bisected
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_ceil
from statveil.theory.comb_layout import STRETCH
from statveil.theory.comb_optimum import least_cost_mean, teeth_of

__all__ = ["CombDesign", "Fan", "best_comb", "best_slants", "fan", "least_extents", "risks", "slants"]

Score = Callable[[Array], Array]
"""How good directions are, one per row: the smaller the better."""

_DIRECTIONS = 3
"""Directions that are worked out to the end."""
_TIE = 1 + 1e-6
"""A direction that moves both parameters must be better than one that moves one by more than this."""
_ROUGHLY, _EXACTLY = 20, 52
"""Halvings of an extent: while scanning, and at the end."""
_VALLEYS = 10
"""Slants of a scan that are zoomed in on."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """Directions, one per row, and their lines in bands across which the length is linear."""

    price: Array
    """Distance per change of the secret: distortion = price * extent / 2."""
    width: Array
    """Widths of the bands, in any unit."""
    start: Array
    """Length of the first line of each band, in the secret."""
    stop: Array
    """Length of the last line of each band, in the secret."""

    @property
    def longest(self) -> Array:
        """Length of the longest line."""
        return np.asarray(np.maximum(self.start, self.stop).max(axis=1))


def fan(problem: Problem, directions: Array) -> Fan:
    """What there is to know of these directions (two parameters, one direction a row)."""
    family = problem.family
    assert isinstance(family, LocationScale)
    names, polygon = support_polygon(problem)
    slopes = family.coefficients(problem.secret)
    gain = np.array([slopes[name] for name in names])
    # where the secret stands still nothing can be hidden: no length, and an infinite price
    still = 1e-12 * np.abs(directions).max(axis=1) * np.abs(gain).max()
    rate = np.maximum(np.abs(directions @ gain), still)
    unit = family.length({name: directions[:, i] for i, name in enumerate(names)})
    low = polygon.corners.min(axis=0)
    size = polygon.corners.max(axis=0) - low
    width, start, stop = _bands((polygon.corners - low) / size, directions / size)
    return Fan(
        price=np.where(rate > still, unit / rate, np.inf),
        width=width,
        start=start * rate[:, None],
        stop=stop * rate[:, None],
    )


def _bands(corners: Array, directions: Array) -> tuple[Array, Array, Array]:
    """Bands of lines between neighbouring corners; lengths in multiples of each direction."""
    norm = np.sum(directions**2, axis=1, keepdims=True)
    x = directions @ corners.T / norm
    y = (directions[:, 1:] * corners[:, 0] - directions[:, :1] * corners[:, 1]) / np.sqrt(norm)
    at = np.sort(y, axis=1)
    low, high = np.full(at.shape, np.inf), np.full(at.shape, -np.inf)
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        rise = y[:, j] - y[:, i]
        level = np.abs(rise) <= 1e-12  # along the lines: its ends are met by its neighbours
        share = (at - y[:, i : i + 1]) / np.where(level, 1.0, rise)[:, None]
        meets = (share >= -1e-12) & (share <= 1 + 1e-12) & ~level[:, None]
        here = x[:, i : i + 1] + np.clip(share, 0.0, 1.0) * (x[:, j] - x[:, i])[:, None]
        low = np.where(meets, np.minimum(low, here), low)
        high = np.where(meets, np.maximum(high, here), high)
    length = np.maximum(high - low, 0.0)
    return np.diff(at, axis=1), length[:, :-1], length[:, 1:]


def risks(lines: Fan, extents: Array, window: float) -> Array:
    """Risk of the best comb of each direction within its extent; both in the secret."""
    caught = least_cost_mean(lines.start, lines.stop, extents[:, None], window)
    area = np.sum(lines.width * 0.5 * (lines.start + lines.stop), axis=1)
    return np.asarray(np.sum(lines.width * caught, axis=1) / area)


def least_extents(lines: Fan, goal: ArrayLike, window: float, *, roughly: bool = False) -> Array:
    """Least extent of each direction whose best comb has at most this risk; infinite where there is none."""
    most = np.broadcast_to(np.asarray(goal, dtype=np.float64), lines.price.shape)
    # K teeth leave 1/K at least, and one tooth hides nothing
    first = np.array([max(1, tolerant_ceil(1 / one) - 1) for one in most.tolist()]) * window
    low, high = first, np.maximum(lines.longest, first)
    possible = risks(lines, high, window) <= most
    at_once = risks(lines, low, window) <= most * (1 + 1e-13)
    # the risk never rises with the extent
    _, high = bisected(lambda at: risks(lines, at, window) <= most, low, high, _ROUGHLY if roughly else _EXACTLY)
    high = np.maximum(high, (teeth_of(high, window) - 1) * window)  # not a rounding error short of a tooth
    return np.where(at_once, first, np.where(possible, high, np.inf))


def slants(problem: Problem) -> Array:
    """Directions to try: on the scale of the box, of the parameters themselves, and around the paper's."""
    family = problem.family
    assert isinstance(family, LocationScale)
    names, polygon = support_polygon(problem)
    size = np.ptp(polygon.corners, axis=0)
    tangents = np.tan(np.linspace(-1.5687, 1.5687, 700))
    found = [tangents * (size[1] / size[0]), tangents]
    paper = family.best_slope(problem.secret)
    if paper:
        direction = family.direction(paper)
        first, second = (direction.get(name, 0.0) for name in names)
        if first and second:
            near = [np.ones(1), np.geomspace(0.05, 20.0, 200), np.geomspace(0.7, 1.4, 400)]
            found.append(second / first * np.concatenate(near))
    return np.unique(np.concatenate(found))


def best_slants(values: Array, rough: Callable[[Array], Array], score: Callable[[Array], Array]) -> Array:
    """The best slants of a rough scan, each zoomed in on: the score jumps where a tooth more is needed."""
    at = np.arcsinh(values)  # even steps for small slants, even ratios for large ones
    points = at[_valleys(rough(values), _VALLEYS)]
    step = np.diff(at, prepend=2 * at[0] - at[1], append=2 * at[-1] - at[-2])
    index = np.searchsorted(at, points)
    below, above = points - step[index], points + step[index + 1]
    for _ in range(4):
        grid = np.linspace(below, above, 33, axis=1)
        grid = np.sort(np.concatenate([grid, points[:, None]], axis=1), axis=1)
        best = np.argmin(score(np.sinh(grid).ravel()).reshape(grid.shape), axis=1)
        rows = np.arange(len(grid))
        points = grid[rows, best]
        below = grid[rows, np.maximum(best - 1, 0)]
        above = grid[rows, np.minimum(best + 1, grid.shape[1] - 1)]
    return np.asarray(np.sinh(points))


def _valleys(values: Array, most: int) -> Array:
    """Where the values are least among their neighbours: the lowest of these places."""
    padded = np.concatenate([[math.inf], values, [math.inf]])
    low = (values <= padded[:-2]) & (values <= padded[2:]) & np.isfinite(values)
    places = np.flatnonzero(low)
    return np.asarray(places[np.argsort(values[places], kind="stable")][:most])
