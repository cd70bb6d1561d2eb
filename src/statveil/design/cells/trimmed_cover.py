"""Cover a density by boxes of least cost against one window, where peaks may stand out of their boxes.

A box of height z costs the window's length times z. A share y_i of a cell's mass may be left above the boxes at the
cost of that mass: a window of length w catches at most w z inside the box, and no more than all that stands out.

    minimise  w sum z_r + sum m_i y_i   where  sum of z_r over runs that hold i  >=  level_i (1 - y_i)

Its dual is the largest prior mass of a set that holds at most w of the length of any run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.design.cells.covering import Layers, cover, first_of

__all__ = ["TrimmedCover", "trimmed_cover"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_NOISE = 1e-12
_LARGEST = 1e9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrimmedCover:
    """The boxes, and a certified limit below which no such cover comes."""

    layers: Layers
    limit: float


def trimmed_cover(mass: Array, level: Array, window: float, last: Index) -> TrimmedCover:
    """Boxes of least cost. The unknowns Z_k, sums of the levels of runs that start before cell k, keep rows short."""
    from scipy import sparse
    from scipy.optimize import linprog

    n = len(mass)
    finite = np.isfinite(level)
    cells = np.flatnonzero((mass > 0) & finite)  # a cell without mass needs nothing; no box is as high as an atom
    k, first = len(cells), first_of(last)[cells]
    exact = 1.0 / (window * level[cells])  # Z is counted in mass: rows are of size 1
    scale = np.minimum(exact, _LARGEST)  # solvers refuse larger entries
    held = sparse.coo_array(
        (np.concatenate([scale, -scale]), (np.tile(np.arange(k), 2), np.concatenate([cells + 1, first]))),
        shape=(k, n + 1),
    )
    steps = sparse.diags_array([np.ones(n), -np.ones(n)], offsets=[1, 0], shape=(n, n + 1))
    solved = linprog(
        np.concatenate([np.zeros(n), [1.0], mass[cells]]),
        A_ub=-sparse.block_array([[held, sparse.eye_array(k)], [steps, None]], format="csr"),
        b_ub=-np.concatenate([np.ones(k), np.zeros(n)]),
        bounds=[(0, 0)] + [(0, None)] * (n + k),
        method="highs",
    )
    if solved.x is None:  # the solver gave up: the plain cover is as safe, only without a proof that it is good
        return TrimmedCover(layers=cover(np.where(finite, level, 0.0), last), limit=0.0)
    found = np.diff(solved.x[: n + 1]) / window
    here = np.arange(n)
    layers = Layers(
        start=here, stop=last, level=np.where(found > _NOISE * found.max(initial=0.0), found, 0.0), stride=1
    )
    # any v with 0 <= v_i <= m_i and sum of v_i / (w level_i) <= 1 over every run proves that sum v is a limit
    dual = np.zeros(n)
    dual[cells] = np.where(exact <= _LARGEST, np.clip(-solved.ineqlin.marginals[:k], 0.0, mass[cells]), 0.0)
    length = np.zeros(n)
    length[cells] = dual[cells] * scale
    reached = np.concatenate([[0.0], np.cumsum(length)])
    most = float(np.max(reached[last + 1] - reached[here], initial=0.0))
    return TrimmedCover(layers=layers, limit=float(np.sum(dual)) / max(1.0, most) + float(np.sum(mass[~finite])))
