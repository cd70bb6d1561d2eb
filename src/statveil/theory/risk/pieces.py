"""The best window of each bin along one parameter, bounded from above by the distribution function.

Starts of windows are cut where the density turns, and where the end of a window passes such a place. Inside a cell
the density at both ends of the window is then monotone, or linear for a table, which bounds how fast the mass caught
changes. Cells that could hold more than the best window found are split.
"""

from __future__ import annotations

import numpy as np

from statveil.numeric import Array
from statveil.problem.axis import Axis

__all__ = ["best_in_bins"]


_CLOSE = 1e-10
_ROUNDS = 14
_SPLIT = 4
_MOST_CELLS = 4_000_000


def best_in_bins(axis: Axis, start: Array, stop: Array, window: float, *, quick: bool = False) -> Array:
    """Mass of the best window of each bin, rounded up; the bins lie side by side, in order.

    ``quick`` splits no cells and takes the best window seen.
    """
    whole = np.maximum(axis.cdf(stop) - axis.cdf(start), 0.0)
    rows = np.flatnonzero(stop - start > window)
    if not len(rows):
        return whole
    first, last = start[rows], stop[rows] - window
    cuts = np.concatenate([axis.turns, axis.landmarks])
    cuts = np.concatenate([cuts, cuts - window])
    points = np.unique(np.concatenate([first, last, cuts]))
    low, high = points[:-1], points[1:]
    middle = 0.5 * (low + high)
    owner = np.clip(np.searchsorted(first, middle, side="right") - 1, 0, len(rows) - 1)
    inside = (low >= first[owner]) & (high <= last[owner])
    low, high, owner = low[inside], high[inside], owner[inside]
    ends = np.concatenate([first, last])
    best = np.maximum.reduce((axis.cdf(ends + window) - axis.cdf(ends)).reshape(2, -1))
    top = best.copy()
    for step in range(1 if quick else _ROUNDS):
        ahead, seen = _bounds(axis, low, high, window)
        np.maximum.at(best, owner, seen)
        if quick:
            break
        open_ = ahead > best[owner] * (1 + _CLOSE) + 1e-15
        final = step == _ROUNDS - 1 or _SPLIT * int(open_.sum()) > _MOST_CELLS
        if final:
            np.maximum.at(top, owner, ahead)
        if final or not open_.any():
            break
        low, high, owner = low[open_], high[open_], owner[open_]
        fan = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _SPLIT + 1)
        fan[:, -1] = high
        low, high, owner = fan[:, :-1].ravel(), fan[:, 1:].ravel(), np.repeat(owner, _SPLIT)
    found = whole.copy()
    found[rows] = np.minimum(np.maximum(top, best * (1 + _CLOSE) + 1e-15), whole[rows])
    return found


def _bounds(axis: Axis, low: Array, high: Array, window: float) -> tuple[Array, Array]:
    """At most this much is caught by windows that start in each cell, and at least this much by one of them."""
    below = [axis.cdf(x) for x in (low, high, low + window, high + window)]
    f = [axis.pdf(x) for x in (low, high, low + window, high + window)]
    a, b = below[2] - below[0], below[3] - below[1]
    size = high - low
    seen = np.maximum(a, b)
    up, down = f[2] - f[0], f[3] - f[1]
    if axis.linear:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            crest = a + 0.5 * up * up / (up - down) * size
        bound = np.where((up > 0) & (down < 0), np.maximum(crest, seen), seen)
        return bound, bound
    rise = np.maximum(f[2], f[3]) - np.minimum(f[0], f[1])
    fall = np.minimum(f[2], f[3]) - np.maximum(f[0], f[1])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        meet = np.clip(np.nan_to_num((b - a - fall * size) / (rise - fall)), 0.0, size)
    bound = np.where((rise > 0) & (fall < 0), a + rise * meet, seen)
    return np.maximum(seen, np.minimum(bound, below[3] - below[0])), seen
