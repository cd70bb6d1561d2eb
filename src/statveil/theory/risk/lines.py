"""Risk by quadrature over lines: for any density, and for lines that are parallel or meet in a point.

The parameters are swept by lines. On each line a bin leaves one piece open; the attacker takes the best
window of the posterior on that piece. The risk is the integral over the lines of the sum over the pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sweep", "best_pieces", "panels", "sweep_risk"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A family of lines: where they break, where each enters and leaves, and the density along them."""

    knots: Array
    """Sorted values of the transverse coordinate between which everything is smooth."""
    chord: Callable[[Array], tuple[Array, Array]]
    """Where each line enters and leaves the support, in the binned coordinate."""
    weight: Callable[[Array, Array], Array]
    """Density times Jacobian at (transverse, binned) coordinates, up to a constant."""


def sweep_risk(sweep: Sweep, edges: Array, window: float, *, mass: float | None = None, quick: bool = False) -> float:
    """P(hit), rounded up by the difference to a coarser quadrature (``quick``: one coarse pass).

    ``mass`` is the whole of the belief, where known: what the nodes miss, as of a narrow peak, counts as hit.
    """

    def found(*, order: int, nodes: int, least: int, most: int) -> float:
        hit, whole = _risk(sweep, edges, window, order=order, nodes=nodes, least=least, most=most)
        if mass is not None and not quick:
            return (hit + abs(mass - whole)) / mass
        return hit / whole if whole > 0 else 1.0

    if quick:
        return min(1.0, found(order=3, nodes=17, least=32, most=96))
    coarse = found(order=5, nodes=33, least=64, most=400)
    for nodes, least, enough in ((65, 64, 1e-5), (129, 256, 1e-4), (257, 1024, 1.0)):
        fine = found(order=8, nodes=nodes, least=least, most=4 * least + 144)
        gap = abs(fine - coarse)
        if gap <= enough:
            break
        coarse = fine
    return min(1.0, fine + gap)


def panels(knots: Array, order: int, least: int, most: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights between knots (at most ``most``) and ``least`` equal panels."""
    low, high = knots.min(), knots.max()
    if len(knots) > most:
        knots = np.sort(knots)[np.unique(np.linspace(0, len(knots) - 1, most).astype(int))]
    points = np.unique(np.concatenate([knots, np.linspace(low, high, least + 1)]))
    points = np.concatenate([points[:-1][np.diff(points) > 1e-13 * (high - low)], [high]])
    at, weight = np.polynomial.legendre.leggauss(order)
    middle, half = 0.5 * (points[1:] + points[:-1]), 0.5 * np.diff(points)
    return (middle[:, None] + half[:, None] * at).ravel(), (half[:, None] * weight).ravel()


def _risk(
    sweep: Sweep, edges: Array, window: float, *, order: int, nodes: int, least: int, most: int
) -> tuple[float, float]:
    """What the best windows catch, and the whole mass, as the nodes see them."""
    across, weights = panels(sweep.knots, order, least, most)
    enter, leave = sweep.chord(across)
    nodes = int(np.clip(512 // max(1, len(edges) - 1), 9, nodes)) // 4 * 4 + 1
    chunk = max(1, 1_500_000 // (nodes * (len(edges) - 1)))
    hit, whole = [], []
    for i in range(0, len(across), chunk):
        part = slice(i, i + chunk)
        start = np.maximum(enter[part, None], edges[None, :-1])
        stop = np.minimum(leave[part, None], edges[None, 1:])
        line, band = np.nonzero(stop > start)
        if not len(line):
            continue
        best, mass = best_pieces(sweep, across[part][line], start[line, band], stop[line, band], window, nodes)
        scale = weights[part][line]
        hit.append(math.fsum(scale * best))
        whole.append(math.fsum(scale * mass))
    return math.fsum(hit), math.fsum(whole)


def best_pieces(
    sweep: Sweep, across: Array, start: Array, stop: Array, window: float, nodes: int
) -> tuple[Array, Array]:
    """Best window and whole mass of each line piece."""
    x = start[:, None] + (stop - start)[:, None] * np.linspace(0.0, 1.0, nodes)
    f = np.broadcast_to(sweep.weight(np.broadcast_to(across[:, None], x.shape), x), x.shape)
    h = (stop - start) / (nodes - 1)
    below = _cumulative(f, h)
    mass = below[:, -1]
    reach = window / h  # the window in units of nodes
    start_at = np.broadcast_to(np.arange(nodes, dtype=np.float64), x.shape)
    last = np.maximum(nodes - 1 - reach, 0.0)
    start_at = np.minimum(start_at, last[:, None])  # the last windows end at the end of the piece
    got = _interpolate(below, f, h, np.minimum(start_at + reach[:, None], nodes - 1)) - _interpolate(
        below, f, h, start_at
    )
    best = got.argmax(axis=1)
    rows = np.arange(len(best))
    top = got[rows, best]
    inner = (best > 0) & (best < nodes - 1) & (start_at[rows, np.minimum(best + 1, nodes - 1)] == best + 1)
    before, after = got[rows, np.maximum(best - 1, 0)], got[rows, np.minimum(best + 1, nodes - 1)]
    bend = 2 * top - before - after
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.where(inner & (bend > 0), (after - before) ** 2 / (8 * bend), 0.0)
    return np.where(reach >= nodes - 1, mass, np.minimum(top + lift, mass)), mass


def _cumulative(f: Array, h: Array) -> Array:
    """Integral from the first node to each node, exact for cubics."""
    inner = (-f[:, :-3] + 13 * f[:, 1:-2] + 13 * f[:, 2:-1] - f[:, 3:]) / 24
    first = (9 * f[:, :1] + 19 * f[:, 1:2] - 5 * f[:, 2:3] + f[:, 3:4]) / 24
    final = (9 * f[:, -1:] + 19 * f[:, -2:-1] - 5 * f[:, -3:-2] + f[:, -4:-3]) / 24
    steps = np.concatenate([first, inner, final], axis=1)
    total = np.cumsum(steps, axis=1) * h[:, None]
    return np.concatenate([np.zeros((len(f), 1)), total], axis=1)


def _interpolate(below: Array, f: Array, h: Array, at: Array) -> Array:
    """Cubic Hermite interpolation of the cumulative mass, whose derivative is the density."""
    j = np.minimum(at.astype(int), f.shape[1] - 2)
    u = at - j
    left, right = np.take_along_axis(below, j, 1), np.take_along_axis(below, j + 1, 1)
    f_left, f_right = np.take_along_axis(f, j, 1) * h[:, None], np.take_along_axis(f, j + 1, 1) * h[:, None]
    rise = u * u * (3 - 2 * u)
    mass: Array = left + rise * (right - left) + u * (1 - u) ** 2 * f_left - u * u * (1 - u) * f_right
    return mass
