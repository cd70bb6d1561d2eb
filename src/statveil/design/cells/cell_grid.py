"""One parameter cut into cells: what the methods that send each cell to several releases work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Assignment", "CellGrid"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellGrid:
    """Cells in the order of the parameter, and which of them may share a release.

    Parameters
    ----------
    edges : array
        Edges of the n cells, increasing; n + 1 of them.
    mass : array
        Prior mass of each cell; the sum is 1.
    low, high : array
        Least and largest value of the secret in each cell. The secret only rises or only falls inside a cell.
    level : array
        Largest prior density inside each cell, per unit of the secret.
    window : float
        Length of a hit in the secret, 2 eps. A hit is closed: it holds both of its ends.
    last : array of int
        Run i holds the cells i, ..., last[i], all within the distortion budget of one release; last never falls.
        Every release within the budget serves a part of some run, so there is one release a run.
    """

    edges: Array
    mass: Array
    low: Array
    high: Array
    level: Array
    window: float
    last: Index

    def __len__(self) -> int:
        return len(self.mass)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assignment:
    """P(release | cell), as three arrays of equal length: the entries of a sparse matrix.

    The probabilities of each cell sum to 1. Releases are numbered from 0 in any order; the cells of each one lie
    in one run, so that one released parameter serves them all.
    """

    cell: Index
    release: Index
    probability: Array
