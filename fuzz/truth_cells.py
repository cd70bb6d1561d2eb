"""Risk where one parameter is cut into cells, each sent to releases with given probabilities; any secret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fuzz.beliefs import Belief

__all__ = ["Cells", "risk_of_cells"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Edges of cells, the released value of each release, and for each cell (release, probability) pairs."""

    edges: Array
    released: Array
    choices: Sequence[Sequence[tuple[int, float]]]


@dataclass(frozen=True)
class _Branch:
    """A monotone piece of the secret, with its values on a grid."""

    theta: Array
    value: Array
    rising: bool


def risk_of_cells(cells: Cells, belief: Belief, g: Callable[[Array], Array], tolerance: float) -> float:
    """Hit rate of an attacker who, for every release, takes the best window found; never above the truth."""
    branches = _branches(cells, belief, g)
    starts, stops, weights = _intervals(cells, belief)
    total = 0.0
    size = max(1, 1_500_000 // (max(1, starts.shape[1]) * 160))
    for i in range(0, len(starts), size):
        part = slice(i, i + size)
        found = _best(starts[part], stops[part], weights[part], branches, belief, g, tolerance)
        total += float(found.sum())
    return total


def _intervals(cells: Cells, belief: Belief) -> tuple[Array, Array, Array]:
    """For each release the intervals that lead to it and their probabilities, padded with empty ones."""
    low, high = belief.low, belief.high
    edges = cells.edges.copy()
    edges[0], edges[-1] = low, high  # whatever lies beyond the outermost edges goes into the outermost cells
    same: dict[float, list[tuple[float, float, float]]] = {}
    for i, choice in enumerate(cells.choices):
        a, b = max(edges[i], low), min(edges[i + 1], high)
        if b <= a:
            continue
        for release, share in choice:
            held = same.setdefault(float(cells.released[release]), [])
            if held and held[-1][1] == a and held[-1][2] == share:
                held[-1] = (held[-1][0], b, share)
            elif share > 0:
                held.append((a, b, share))
    rows = [held for held in same.values() if held]
    most = max(len(row) for row in rows)
    out = np.zeros((3, len(rows), most))
    for i, row in enumerate(rows):
        out[:, i, : len(row)] = np.array(row).T
        out[:2, i, len(row) :] = row[0][0]
    return out[0], out[1], out[2]


def _branches(cells: Cells, belief: Belief, g: Callable[[Array], Array]) -> list[_Branch]:
    grid = np.unique(
        np.clip(
            np.concatenate(
                [
                    np.linspace(belief.low, belief.high, 8001),
                    belief.ppf(np.linspace(0, 1, 2001)),
                    cells.edges,
                    belief.knots,
                ]
            ),
            belief.low,
            belief.high,
        )
    )
    grid = grid[np.concatenate([[True], np.diff(grid) > 1e-12 * (belief.high - belief.low)])]
    grid[-1] = belief.high
    value = g(grid)
    step = np.sign(np.diff(value))
    step[np.abs(np.diff(value)) < 1e-14 * np.abs(value).max()] = 0  # a rounding error is no turn
    # a plateau goes with what came before it
    for i in range(1, len(step)):
        if step[i] == 0:
            step[i] = step[i - 1]
    nonzero = step[step != 0]
    if not len(nonzero):
        return [_Branch(grid, value, True)]
    step[step == 0] = nonzero[0]
    turns = [_turn(g, grid[i - 1], grid[i + 1], step[i - 1] > 0) for i in range(1, len(step)) if step[i] != step[i - 1]]
    places = [belief.low, *turns, belief.high]
    found = []
    for a, b in pairwise(places):
        theta = np.concatenate([[a], grid[(grid > a) & (grid < b)], [b]])
        values = g(theta)
        rising = bool(values[-1] >= values[0])
        ordered = np.maximum.accumulate(values) if rising else np.minimum.accumulate(values)
        found.append(_Branch(theta, ordered, rising))
    return found


def _turn(g: Callable[[Array], Array], a: float, b: float, top: bool) -> float:
    """Where the secret turns, between two points."""
    for _ in range(40):
        x = np.linspace(a, b, 9)
        y = g(x) if top else -g(x)
        i = int(np.argmax(y))
        a, b = float(x[max(i - 1, 0)]), float(x[min(i + 1, 8)])
    return 0.5 * (a + b)


def _inverse(branch: _Branch, g: Callable[[Array], Array], y: Array, upper: bool) -> Array:
    """Largest (or smallest) parameter of a rising branch with g <= y (or g >= y); falling ones likewise."""
    sign = 1.0 if branch.rising else -1.0
    value, target = sign * branch.value, sign * y
    # with a falling branch, the upper end of the window is met at the lower parameter
    last = upper == branch.rising
    place = np.searchsorted(value, target, side="right") if last else np.searchsorted(value, target, side="left")
    i = np.clip(place, 1, len(value) - 1)
    a, b = branch.theta[i - 1].copy(), branch.theta[i].copy()
    for _ in range(34):
        middle = 0.5 * (a + b)
        at = sign * g(middle)
        below = at <= target if last else at < target
        a, b = np.where(below, middle, a), np.where(below, b, middle)
    found = a if last else b
    if last:
        return np.where(target < value[0], -np.inf, np.where(target >= value[-1], branch.theta[-1], found))
    return np.where(target > value[-1], np.inf, np.where(target <= value[0], branch.theta[0], found))


def _masses(
    guess: Array,
    start: Array,
    stop: Array,
    weight: Array,
    branches: list[_Branch],
    belief: Belief,
    g: Callable[[Array], Array],
    tolerance: float,
) -> Array:
    """Mass of each release (row) within the tolerance of each guess (column)."""
    total = np.zeros(guess.shape)
    low, high = belief.cdf(start), belief.cdf(stop)
    for branch in branches:
        one, two = _inverse(branch, g, guess - tolerance, False), _inverse(branch, g, guess + tolerance, True)
        first, last = (one, two) if branch.rising else (two, one)
        empty = ~(np.isfinite(first) & np.isfinite(last)) | (first > last)
        a = belief.cdf(np.where(empty, belief.low, first))[:, :, None]
        b = belief.cdf(np.where(empty, belief.low, last))[:, :, None]
        part = np.minimum(b, high[:, None, :]) - np.maximum(a, low[:, None, :])
        mass = (np.maximum(part, 0.0) * weight[:, None, :]).sum(axis=2)
        total += np.where(empty, 0.0, mass)
    return total


def _best(
    start: Array,
    stop: Array,
    weight: Array,
    branches: list[_Branch],
    belief: Belief,
    g: Callable[[Array], Array],
    tolerance: float,
) -> Array:
    """Mass of the best window of each release."""
    rows = len(start)
    # places spread evenly over the mass of each release, and the ends of its intervals
    low, high = belief.cdf(start), belief.cdf(stop)
    heavy = np.argsort(-(high - low) * weight, axis=1)[:, :12]
    ends = np.concatenate([np.take_along_axis(start, heavy, 1), np.take_along_axis(stop, heavy, 1)], axis=1)
    part = np.maximum(high - low, 0.0) * weight
    below = np.concatenate([np.zeros((rows, 1)), np.cumsum(part, axis=1)], axis=1)
    level = np.linspace(0.0, 1.0, 41)[None, :] * below[:, -1:]
    index = np.clip((below[:, None, :] <= level[:, :, None]).sum(axis=2) - 1, 0, start.shape[1] - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (level - np.take_along_axis(below, index, 1)) / np.take_along_axis(part, index, 1)
    share = np.clip(np.nan_to_num(share), 0.0, 1.0)
    a, b = np.take_along_axis(low, index, 1), np.take_along_axis(high, index, 1)
    inner = belief.ppf(a + share * (b - a))
    turns = np.array([branch.theta[0] for branch in branches[1:]])
    at = np.concatenate([ends, inner, np.broadcast_to(turns, (rows, len(turns)))], axis=1)
    value = g(at)
    guess = np.sort(np.concatenate([value - tolerance, value, value + tolerance], axis=1), axis=1)
    found = _masses(guess, start, stop, weight, branches, belief, g, tolerance)
    best = found.max(axis=1)
    top = found.argmax(axis=1)
    pick = np.arange(rows)
    left, right = guess[pick, np.maximum(top - 1, 0)], guess[pick, np.minimum(top + 1, guess.shape[1] - 1)]
    for _ in range(7):
        fine = left[:, None] + (right - left)[:, None] * np.linspace(0, 1, 9)
        found = _masses(fine, start, stop, weight, branches, belief, g, tolerance)
        best = np.maximum(best, found.max(axis=1))
        top = found.argmax(axis=1)
        left, right = fine[pick, np.maximum(top - 1, 0)], fine[pick, np.minimum(top + 1, 8)]
    return np.asarray(best)
