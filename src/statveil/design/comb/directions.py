"""Every direction of two parameters that combs can be laid along, and how good each is, all at once.

A direction matters through three things: how fast the secret changes along it, how long a step is in the distance,
and how long its lines are. Lengths of lines and extents are measured in the secret, so a hit has the same length
along every direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.accounting import support_polygon
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.rounding import tolerant_ceil
from statveil.theory.comb_optimum import least_cost_mean, teeth_of

__all__ = ["Fan", "best_slants", "fan", "least_extents", "risks", "slants"]

Array = NDArray[np.float64]

_ROUGHLY, _EXACTLY = 20, 52
"""Halvings of an extent: while scanning, and at the end."""
_VALLEYS = 10
"""Slants of a scan that are zoomed in on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """Directions, one a row, and their lines in bands across which the length is linear."""

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
    for _ in range(_ROUGHLY if roughly else _EXACTLY):  # the risk never rises with the extent
        middle = 0.5 * (low + high)
        met = risks(lines, middle, window) <= most
        low, high = np.where(met, low, middle), np.where(met, middle, high)
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
