"""Masses of the windows of a monotone secret on a grid of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array, zoomed
from statveil.theory.curve import Curve

__all__ = ["Windows", "windows"]


_SAMPLES = 4097
_NOISE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """What the programmes need to know of a secret that only rises or only falls."""

    grid: Array
    below: Array
    """F: prior mass below each edge."""
    after: Array
    """m: mass of the window that starts at each edge."""
    before: Array
    """c: mass of the window that ends at each edge."""
    start: Array
    """Parameter at which the window that ends at each edge starts."""
    first_narrow: NDArray[np.int64]
    """For each edge j the first edge i from which a window reaches j: the bins (i, j) narrower than a window."""
    peaks: tuple[tuple[float, float], ...]
    """Parameter and mass of the windows that beat their neighbours on both sides."""

    def costs(self) -> Array:
        """Mass of the best window inside each bin between neighbouring edges."""
        low, high = self.grid[:-1], self.start[1:]
        narrow = np.arange(len(low)) >= self.first_narrow[1:]
        inner = np.maximum(np.maximum(self.after[:-1], self.before[1:]), 0.0)
        for at, mass in self.peaks:
            inner = np.where((low < at) & (at < high), np.maximum(inner, mass), inner)
        return np.where(narrow, np.diff(self.below), inner)


def windows(
    curve: Curve, cdf: Callable[[Array], Array], grid: Array, window: float, landmarks: Array | None = None
) -> Windows:
    """Windows of length ``window`` in the secret, for a monotone secret and a belief with this cdf.

    ``landmarks`` are places of much mass: windows that start, end or have their middle there are looked at.
    """
    (piece,) = curve.pieces

    def shifted(x: Array, by: float) -> Array:
        return piece.inverse(curve.value, np.asarray(curve.value(x), dtype=np.float64) + by)

    ahead = piece.sign * window
    below = np.asarray(cdf(grid), dtype=np.float64)
    end, start = shifted(grid, ahead), shifted(grid, -ahead)
    last = float(start[-1])

    def mass(x: Array) -> Array:
        return np.asarray(cdf(shifted(x, ahead)) - cdf(x), dtype=np.float64)

    marks = np.zeros(0) if landmarks is None else landmarks
    near = np.concatenate([marks, shifted(marks, -0.5 * ahead), shifted(marks, -ahead)]) if len(marks) else marks
    return Windows(
        grid=grid,
        below=below,
        after=np.asarray(cdf(end) - below, dtype=np.float64),
        before=np.asarray(below - cdf(start), dtype=np.float64),
        start=start,
        first_narrow=np.searchsorted(end, grid, side="left"),
        peaks=_peaks(mass, _starts(float(grid[0]), last, near)) if last > grid[0] else (),
    )


def _starts(low: float, high: float, near: Array) -> Array:
    inside = near[(near > low) & (near < high)]
    return np.unique(np.concatenate([np.linspace(low, high, _SAMPLES), inside]))


def _peaks(mass: Callable[[Array], Array], x: Array) -> tuple[tuple[float, float], ...]:
    """Inner maxima of the window's mass, by sampling and then narrowing around each."""
    height = mass(x)
    noise = _NOISE * float(height.max())
    found = []
    rises = np.diff(height)
    rises[np.abs(rises) <= noise] = 0.0
    moving = np.flatnonzero(rises)
    for here, there in pairwise(moving):
        if rises[here] > 0 > rises[there]:
            a, b, _ = zoomed(mass, float(x[here]), float(x[there + 1]), rounds=12)
            middle = 0.5 * (a + b)
            found.append((middle, float(mass(np.array([middle]))[0])))
    return tuple(found)
