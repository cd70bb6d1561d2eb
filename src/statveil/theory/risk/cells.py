"""Risk of cells that are sent to releases at random, for the continuous belief behind them.

Every cell is an interval of the secret with a mass. Spread evenly over that interval, what a window catches of a
release is piecewise linear in where the window starts, with its largest value where the window starts at the lower
end of a cell or stops at an upper end. How far the true belief is from even inside a cell is added on top, so the
sum is never below the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from statveil.numeric import Array, Index
from statveil.problem.axis import Axis
from statveil.theory.curve import Curve
from statveil.theory.risk.touching import touched_risk

__all__ = ["CellsRisk", "SecretCells", "assigned_risk", "cells_risk", "secret_cells"]


_INNER = np.linspace(0.0, 1.0, 10)[1:-1]
_ENOUGH, _MOST_CELLS = 5e-4, 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretCells:
    """Cells as intervals of the secret, cut finer where the secret turns and where the belief has its mass."""

    owner: Index
    """Which of the given cells each one is a part of."""
    low: Array
    high: Array
    mass: Array
    uneven: Array
    """Largest difference between the belief's mass below a point of the cell and that of an even spread."""
    branches: int
    """On how many parts of the range the secret rises or falls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellsRisk:
    """The risk, and how much of it only covers uneven cells."""

    value: float
    slack: float


def assigned_risk(
    curve: Curve, axis: Axis, edges: Array, entries: tuple[Index, Index, Array], window: float, *, quick: bool = False
) -> CellsRisk:
    """Risk of cells with these edges, cut finer (not if ``quick``) until what covers uneven cells no longer matters."""
    if curve.rough:
        upper, lower = touched_risk(curve, axis, edges, entries, window, quick=quick)
        return CellsRisk(value=upper, slack=upper - lower)
    parts = 1
    while True:
        found = cells_risk(secret_cells(curve, axis, edges, parts), entries, window)
        if quick or found.slack <= _ENOUGH * found.value or parts * len(edges) > _MOST_CELLS:
            return found
        parts *= 4


def secret_cells(curve: Curve, axis: Axis, edges: Array, parts: int = 1) -> SecretCells:
    """The cells between these edges, each cut into so many parts."""
    share = np.arange(1, parts) / parts
    inside = (edges[:-1, None] + np.diff(edges)[:, None] * share).ravel()
    inner = np.concatenate([np.array(curve.turns), axis.landmarks, inside])
    fine = np.unique(np.concatenate([edges, inner[(inner > edges[0]) & (inner < edges[-1])]]))
    owner = np.clip(np.searchsorted(edges, fine[:-1], side="right") - 1, 0, len(edges) - 2)
    value = np.asarray(curve.value(fine), dtype=np.float64)
    below = np.asarray(axis.cdf(fine), dtype=np.float64)
    start, stop = value[:-1], value[1:]
    mass = np.diff(below)
    inside = fine[:-1, None] + np.diff(fine)[:, None] * _INNER
    moved = np.asarray(curve.value(inside.ravel()), dtype=np.float64).reshape(inside.shape) - start[:, None]
    gained = np.asarray(axis.cdf(inside.ravel()), dtype=np.float64).reshape(inside.shape) - below[:-1, None]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        share = np.where((stop != start)[:, None], moved / (stop - start)[:, None], 0.0)
    uneven = np.where(stop != start, _unevenness(gained, mass, share), 0.0)
    rounding = 4e-16  # of the two distribution functions
    return SecretCells(
        owner=owner,
        low=np.minimum(start, stop),
        high=np.maximum(start, stop),
        mass=mass,
        uneven=np.where(uneven > rounding, np.minimum(uneven, mass), 0.0),
        branches=len(curve.turns) + 1,
    )


def _unevenness(gained: Array, mass: Array, share: Array) -> Array:
    """Bound of how far a smooth belief is from even, from points inside each cell.

    Between the points the difference bends on as it does at them, with room to spare; and it never goes beyond what
    two functions that only rise allow between two points.
    """
    ends = np.zeros((len(mass), 1)), np.ones((len(mass), 1))
    level = np.concatenate([ends[0], gained, mass[:, None]], axis=1)
    even = mass[:, None] * np.clip(np.concatenate([ends[0], share, ends[1]], axis=1), 0.0, 1.0)
    apart = level - even
    at_most = np.maximum(np.abs(level[:, 1:] - even[:, :-1]), np.abs(level[:, :-1] - even[:, 1:])).max(axis=1)
    largest, bend = np.abs(apart).max(axis=1), np.abs(np.diff(apart, n=2, axis=1)).max(axis=1)
    found: Array = np.minimum(at_most, np.maximum(1.25 * largest, largest + 0.25 * bend))
    return found


def cells_risk(cells: SecretCells, entries: tuple[Index, Index, Array], window: float) -> CellsRisk:
    """Sum over the releases of the largest mass that one guess catches.

    ``entries`` are the cell, the release and the probability of every choice.
    """
    cell, release, share = entries
    order = np.argsort(release, kind="stable")
    cell, release, share = cell[order], release[order], share[order]
    first = np.searchsorted(cells.owner, np.arange(cells.owner[-1] + 2))  # parts of cell i: first[i] to first[i + 1]
    bounds = np.flatnonzero(np.diff(release, prepend=-1, append=-1))
    values, slacks = [], []
    for start, stop in pairwise(bounds):
        counts = first[cell[start:stop] + 1] - first[cell[start:stop]]
        parts = np.repeat(first[cell[start:stop]], counts) + _ranges(counts)
        weight = np.repeat(share[start:stop], counts)
        mass = cells.mass[parts] * weight
        caught = _best_window(cells.low[parts], cells.high[parts], mass, window * (1 + 1e-12))
        whole = float(mass.sum())
        slack = 2 * cells.branches * float((cells.uneven[parts] * weight).max())  # both ends of the window
        values.append(min(whole, caught + slack, _whole_cells(cells.low[parts], cells.high[parts], mass, window)))
        slacks.append(max(0.0, values[-1] - caught))
    return CellsRisk(value=min(1.0, math.fsum(values)), slack=math.fsum(slacks))


def _ranges(counts: Index) -> Index:
    """0, 1, ..., counts[0] - 1, 0, 1, ..., counts[1] - 1, ..."""
    total = int(counts.sum())
    before = np.repeat(np.cumsum(counts) - counts, counts)
    return np.arange(total) - before


def _best_window(low: Array, high: Array, mass: Array, window: float) -> float:
    """Largest mass in a closed window, each mass spread evenly over its interval."""
    if float(high.max()) - float(low.min()) <= window:
        return float(mass.sum())
    # in a very narrow cell a slope would cancel; as a point it counts in full where a window touches it
    point = high - low <= 1e-6 * window
    starts = np.concatenate([low, high - window, high[point], low[point] - window])
    best = _below(low[~point], high[~point], mass[~point], starts + window) - _below(
        low[~point], high[~point], mass[~point], starts
    )
    if np.any(point):
        reached = _held(low[point], mass[point], starts + window, side="right")
        best = best + reached - _held(high[point], mass[point], starts, side="left")
    return float(best.max())


def _held(at: Array, mass: Array, upto: Array, *, side: Literal["left", "right"]) -> Array:
    """Mass of the points below (or, at the right, up to) each value; a rounding error counts against ourselves."""
    order = np.argsort(at)
    total = np.concatenate([[0.0], np.cumsum(mass[order])])
    slack = 1e-12 * np.abs(upto) * (1.0 if side == "right" else -1.0)
    held: Array = total[np.searchsorted(at[order], upto + slack, side=side)]
    return held


def _whole_cells(low: Array, high: Array, mass: Array, window: float) -> float:
    """Largest mass of the cells that a closed window touches: true for any belief inside them, and exact for teeth."""
    order = np.argsort(low, kind="stable")
    low, high, total = low[order], high[order], np.concatenate([[0.0], np.cumsum(mass[order])])
    if np.any(high[:-1] - low[1:] > 1e-12 * np.abs(low[1:])):
        return math.inf  # two branches lie over each other
    reach = high + window * (1 + 1e-12)
    last = np.searchsorted(low, reach + 1e-12 * np.abs(reach), side="right")
    return float(np.max(total[last] - total[:-1]))


def _below(low: Array, high: Array, mass: Array, at: Array) -> Array:
    """Mass below each point."""
    if not len(low):
        return np.zeros(at.shape)
    knots = np.concatenate([low, high])
    slope = mass / (high - low)
    order = np.argsort(knots, kind="stable")
    knots = knots[order]
    rate = np.cumsum(np.concatenate([slope, -slope])[order])
    total = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(knots))])
    return np.asarray(np.interp(at, knots, total), dtype=np.float64)
