"""Exact risk of bins along one parameter: the attacker takes the best window inside each bin."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from statveil.problem.axis import Axis
from statveil.problem.priors.table import Table
from statveil.rounding import tolerant_floor
from statveil.theory.bins import Bins

__all__ = ["comb_risk", "interval_risk", "teeth"]

_NODES = 65


def interval_risk(axis: Axis, bins: Bins, window: float, *, quick: bool = False) -> float:
    """P(hit) when a window of length ``window`` along the parameter is a hit.

    Uniform belief: sum of min(window, length) over the bins, divided by the range (docs/theory.md, exact risk);
    the paper's 2 eps / s is the case where the width divides the range. ``quick`` compares fewer windows.
    """
    if axis.flat:
        total = sum(count * min(window, length) for length, count in bins.pieces())
        return min(1.0, total / (bins.high - bins.low))
    edges = _core_edges(axis, bins)
    whole = float(axis.cdf(bins.high) - axis.cdf(bins.low))  # 1, unless a constraint cuts the range
    chunk = max(1, 2_000_000 // _NODES)
    parts = [_best_windows(axis, edges[i : i + chunk + 1], window, quick) for i in range(0, len(edges) - 1, chunk)]
    return min(1.0, (math.fsum(float(p.sum()) for p in parts) + 2e-12) / whole)


def _core_edges(axis: Axis, bins: Bins) -> NDArray[np.float64]:
    """Edges of the bins that hold more than 2e-12 of the mass together."""
    low, high = axis.core
    first, last = (int(i) for i in bins.locate(np.array([max(low, bins.low), min(high, bins.high)])))
    start, stop = bins.span(first), bins.span(last)
    inner = Bins(low=float(start[0]), high=float(stop[1]), origin=bins.origin, width=bins.width)
    return inner.edges()


def _best_windows(axis: Axis, edges: NDArray[np.float64], window: float, quick: bool) -> NDArray[np.float64]:
    """Largest mass of a window inside each bin: a grid of starts, then golden-section search around the best."""
    start, stop = edges[:-1], edges[1:]
    room = np.maximum(stop - start - window, 0.0)

    def mass(x: NDArray[np.float64], upto: NDArray[np.float64]) -> NDArray[np.float64]:
        return axis.cdf(np.minimum(x + window, upto)) - axis.cdf(x)

    grid = start[:, None] + room[:, None] * np.linspace(0.0, 1.0, 17 if quick else _NODES)
    # starts where the mass is, so that no spike between equally spaced starts is missed
    masses = axis.cdf(edges)
    levels = masses[:-1, None] + np.diff(masses)[:, None] * np.linspace(0.0, 1.0, 7 if quick else 17)
    at = axis.ppf(levels)
    dense = np.concatenate([at, at - 0.5 * window, at - window], axis=1)
    grid = np.concatenate([grid, np.clip(dense, start[:, None], (start + room)[:, None])], axis=1)
    if isinstance(axis, Table):  # a window's mass bends where one of its ends meets a knot of the table
        knots = np.array(axis.values)
        extra = np.concatenate([knots, knots - window])
        grid = np.concatenate([grid, np.clip(extra[None, :], start[:, None], (start + room)[:, None])], axis=1)
    grid.sort(axis=1)
    values = mass(grid, stop[:, None])
    best = values.argmax(axis=1)
    rows = np.arange(len(best))
    low = grid[rows, np.maximum(best - 1, 0)]
    high = grid[rows, np.minimum(best + 1, grid.shape[1] - 1)]
    top: NDArray[np.float64] = values[rows, best]
    if quick:
        return top
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(36):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        at_left, at_right = mass(left, stop), mass(right, stop)
        top = np.maximum(top, np.maximum(at_left, at_right))
        go_left = at_left > at_right
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
    return top


def teeth(window: float, step: float) -> int:
    """Most points of a lattice with this step in one closed window (the theory's K)."""
    return tolerant_floor(window / step) + 1


def comb_risk(axis: Axis, bins: Bins, step: float, window: float) -> float:
    """P(hit) when the release gives the residue modulo ``step`` away: candidates form a comb in each bin.

    Uniform belief: of the n0 or n0 + 1 candidates of a bin, n0 = floor(length / step), a window holds K. With
    f = frac(length / step) the theory's [(1-f) min(K, n0) + f min(K, n0+1)] step is min(length, K step): a comb
    costs what an interval costs against a window of K whole steps.
    """
    k = teeth(window, step)
    if axis.flat:
        return interval_risk(axis, bins, k * step)
    whole = float(axis.cdf(bins.high) - axis.cdf(bins.low))
    pieces = pairwise(_core_edges(axis, bins).tolist())
    return min(1.0, (math.fsum(_comb_mass(axis, a, b, step, k) for a, b in pieces) + 2e-12) / whole)


def _comb_mass(axis: Axis, start: float, stop: float, step: float, k: int) -> float:
    """Integral over residues of the best k neighbouring candidates inside [start, stop)."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    whole = tolerant_floor((stop - start) / step)
    bend = max(0.0, (stop - start) - whole * step)  # residues below this have one candidate more
    total = 0.0
    for low, high, n in ((0.0, min(bend, step), whole + 1), (bend, step, whole)):
        if high - low <= 0 or n <= 0:
            continue
        residue = 0.5 * (low + high) + 0.5 * (high - low) * nodes
        height = axis.pdf(start + residue[:, None] + step * np.arange(n)[None, :])
        sums = np.cumsum(np.concatenate([np.zeros((len(residue), 1)), height], axis=1), axis=1)
        span = min(k, n)
        best = (sums[:, span:] - sums[:, :-span]).max(axis=1)
        total += float(0.5 * (high - low) * (weights * best).sum())
    return total
