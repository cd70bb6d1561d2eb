"""The least extent that keeps the risk below a cap for each of several tolerances.

On a long line under a uniform belief every release leaves a pattern open: a density on [0, E], the same for all
releases in the best case. An attacker with tolerance e catches its best window of length 2 e. So the question is for
which E a density exists whose windows of length 2 e hold at most tau(e) each: a small linear programme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from statveil.errors import ProblemError, TargetError
from statveil.numbers import number, positive
from statveil.numeric import Array
from statveil.rounding import tolerant_ceil

__all__ = ["Pattern", "least_extent"]


_CELLS = 480


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pattern:
    """A density on [0, extent], in equal cells, that respects every cap."""

    extent: float
    """Largest distance between two values of the secret that share a release; distortion is gamma times this."""
    density: Array

    def caught(self, tolerance: float) -> float:
        """Largest mass in a window of twice the tolerance."""
        return _largest_window(self.density, self.extent, 2 * tolerance)


def least_extent(caps: Mapping[float, float], *, cells: int = _CELLS) -> Pattern:
    """The shortest pattern whose risk is at most ``caps[e]`` for an attacker of each tolerance e.

    The extent is an upper bound of the least one, off by about one cell a tooth. On a line that is not very long,
    borders add to the risk.

    Examples
    --------
    One tolerance: a comb of five teeth, four windows of 2 wide. The same risk at twice the tolerance: twice as wide.

    >>> round(least_extent({1.0: 0.2}).extent, 1)
    8.1
    >>> round(least_extent({1.0: 0.2, 2.0: 0.2}).extent, 1)
    16.1
    """
    checked = {positive(eps, "a tolerance"): number(cap, "the cap of a risk") for eps, cap in caps.items()}
    if not checked or not all(1e-3 <= cap <= 1 for cap in checked.values()):
        raise ProblemError(f"give at least one tolerance, each with a risk from 0.001 to 1. Got {dict(caps)!r}.")
    if isinstance(cells, bool) or not isinstance(cells, int) or not 10 <= cells <= 5_000:
        raise ProblemError(f"the number of cells must lie between 10 and 5,000. Got {cells!r}.")
    # a plain interval of E meets every cap where 2 e / E <= tau(e)
    high = max(2 * eps / cap for eps, cap in checked.items())
    low = max((tolerant_ceil(1 / cap) - 1) * 2 * eps for eps, cap in checked.items())  # Theorem 1
    if all(cap >= 1 for cap in checked.values()):
        raise TargetError("a risk of 1 asks for nothing; give a cap below 1.")
    found = Pattern(extent=high, density=np.full(cells, 1.0 / cells))
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        density = _feasible(checked, middle, cells)
        if density is None:
            low = middle
        else:
            high, found = middle, Pattern(extent=middle, density=density)
    return found


def _feasible(caps: Mapping[float, float], extent: float, cells: int) -> Array | None:
    """A density on [0, extent] within all caps, or ``None``: least largest ratio of a window to its cap."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    # variables: mass below each inner edge, S_1 .. S_m (S_0 = 0), then the ratio t
    width = extent / cells
    rows = []
    for eps, cap in caps.items():
        reach = 2 * eps / width
        starts = np.arange(cells + 1)
        # windows that start at an edge, and windows that stop at one; the other end falls between edges
        rows.append(_differences(starts.astype(np.float64), np.minimum(starts + reach, cells), cells, cap))
        rows.append(_differences(np.maximum(starts - reach, 0.0), starts.astype(np.float64), cells, cap))
    index = np.arange(cells)
    rising = coo_array(
        (
            np.concatenate([-np.ones(cells), np.ones(cells - 1)]),
            (np.concatenate([index, index[1:]]), np.concatenate([index, index[:-1]])),
        ),
        shape=(cells, cells + 1),
    )
    matrix = vstack([*rows, rising]).tocsr()
    bounds = [(0.0, 1.0)] * (cells - 1) + [(1.0, 1.0), (0.0, None)]
    solved = linprog(np.eye(cells + 1)[-1], A_ub=matrix, b_ub=np.zeros(matrix.shape[0]), bounds=bounds, method="highs")
    if solved.status != 0:
        return None
    density = np.maximum(np.diff(np.concatenate([[0.0], solved.x[:cells]])), 0.0)
    density = density / density.sum()
    # the solver's word is not taken: windows are counted anew
    fits = all(_largest_window(density, extent, 2 * eps) <= cap * (1 + 1e-9) for eps, cap in caps.items())
    return density if fits else None


def _differences(low: Array, high: Array, cells: int, cap: float) -> object:
    """Rows of S(high) - S(low) - cap t, with S linear between edges."""
    from scipy.sparse import coo_array

    row = np.arange(len(low))
    entries, rows, columns = [-cap * np.ones(len(low))], [row], [np.full(len(low), cells)]
    for at, sign in ((high, 1.0), (low, -1.0)):
        edge = np.minimum(np.floor(at).astype(np.int64), cells)
        share = at - edge
        for which, weight in ((edge, 1 - share), (np.minimum(edge + 1, cells), share)):
            kept = which > 0  # nothing lies below the first edge
            entries.append(sign * weight[kept])
            rows.append(row[kept])
            columns.append(which[kept] - 1)
    data = (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns)))
    return coo_array(data, shape=(len(low), cells + 1))


def _largest_window(density: Array, extent: float, window: float) -> float:
    edges = np.linspace(0.0, extent, len(density) + 1)
    below = np.concatenate([[0.0], np.cumsum(density)])
    starts = np.concatenate([edges, edges - window])
    return float(np.max(np.interp(starts + window, edges, below) - np.interp(starts, edges, below)))
