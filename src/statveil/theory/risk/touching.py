"""Risk for a secret of which little is known: every cell that a window touches counts in full.

A function of the user's may rest on one part of the range and jump on another. Between two points it is only known
to rise or to fall, so the secret of a cell lies between its values at the ends, and a window can hold the whole mass
of every cell that it touches. That is never below the truth; the cells are cut until it is hardly above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from statveil.numeric import Array, Index
from statveil.problem.axis import Axis
from statveil.theory.curve import Curve

__all__ = ["touched_risk"]


_ENOUGH = 5e-4
_MOST_PARTS, _MOST_QUICK = 1_000_000, 60_000


def touched_risk(
    curve: Curve, axis: Axis, edges: Array, entries: tuple[Index, Index, Array], window: float, *, quick: bool = False
) -> tuple[float, float]:
    """Upper and lower bound of the risk of cells with these edges.

    ``entries`` are the cell, the release and the probability of every choice.
    """
    cell, release, share = entries
    order = np.argsort(release, kind="stable")
    cell, share = cell[order], share[order]
    bounds = np.flatnonzero(np.diff(release[order], prepend=-1, append=-1))
    parts, most = 8, _MOST_QUICK if quick else _MOST_PARTS
    while True:
        owner, low, high, mass = _parts(curve, axis, edges, parts)
        first = np.searchsorted(owner, np.arange(len(edges)))  # parts of cell i: first[i] to first[i + 1]
        upper = lower = 0.0
        for start, stop in pairwise(bounds):
            picked = [np.arange(first[c], first[c + 1]) for c in cell[start:stop].tolist()]
            weight = np.repeat(share[start:stop], [len(part) for part in picked])
            at = np.concatenate(picked)
            one, other = _best_windows(low[at], high[at], mass[at] * weight, window)
            upper, lower = upper + one, lower + other
        if upper - lower <= _ENOUGH * upper or 4 * parts * len(cell) > most:
            return min(1.0, upper * (1 + 1e-12)), min(1.0, lower)
        parts *= 4


def _parts(curve: Curve, axis: Axis, edges: Array, parts: int) -> tuple[Index, Array, Array, Array]:
    """Cells cut finer: which cell each part is of, between which values of the secret it lies, and its mass."""
    inside = (edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(1, parts) / parts)).ravel()
    inner = np.concatenate([np.array(curve.turns), axis.landmarks, inside])
    fine = np.unique(np.concatenate([edges, inner[(inner > edges[0]) & (inner < edges[-1])]]))
    owner = np.clip(np.searchsorted(edges, fine[:-1], side="right") - 1, 0, len(edges) - 2)
    value = np.asarray(curve.value(fine), dtype=np.float64)
    step = np.diff(value)
    # a turn that was not found lies beside a change of direction: let its neighbours reach beyond it
    turned = np.flatnonzero(step[:-1] * step[1:] < 0)
    room = np.zeros(len(step))
    size = np.maximum(np.abs(step[turned]), np.abs(step[turned + 1]))
    np.maximum.at(room, turned, size)
    np.maximum.at(room, turned + 1, size)
    known = np.isin(fine[1:-1], np.array(curve.turns))
    room[:-1][known] = room[1:][known] = 0.0
    low, high = np.minimum(value[:-1], value[1:]) - room, np.maximum(value[:-1], value[1:]) + room
    mass: Array = np.maximum(np.diff(np.asarray(axis.cdf(fine), dtype=np.float64)), 0.0)
    return owner, low, high, mass


def _best_windows(low: Array, high: Array, mass: Array, window: float) -> tuple[float, float]:
    """Largest mass that a closed window touches, and largest mass that lies inside one."""
    below_low, below_high = _below(low, mass), _below(high, mass)
    hair = 1e-12 * max(float(np.abs(low).max()), float(np.abs(high).max()), window)
    ends = np.unique(high)
    touched = below_low(ends + window + hair, "right") - below_high(ends - hair, "left")
    starts = np.unique(low)
    inside = below_high(starts + window, "right") - below_low(starts, "left")
    whole = math.fsum(mass)
    return min(float(touched.max()), whole), min(max(float(inside.max()), 0.0), whole)


def _below(at: Array, mass: Array) -> Callable[[Array, str], Array]:
    """Mass of the cells whose end lies below (``right``: up to) a value."""
    order = np.argsort(at, kind="stable")
    ends, total = at[order], np.concatenate([[0.0], np.cumsum(mass[order])])

    def found(value: Array, side: str) -> Array:
        held: Array = total[np.searchsorted(ends, value, side="right" if side == "right" else "left")]
        return held

    return found
