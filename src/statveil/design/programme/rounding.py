"""From a randomised assignment to one in which every cell has one release, at little more risk."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from statveil.design.cells.grid import Assignment, CellGrid
from statveil.design.programme.certificate import candidates, covered, reach
from statveil.numeric import Array, Index

__all__ = ["one_release_a_cell"]


_DRAWS = 20
_SWEEPS = 60
_WARMTHS = (0.03, 0.1, 0.03, 0.1)
"""By how much of a cell's mass moves may go wrong."""
_NOISE = 1e-12


def one_release_a_cell(grid: CellGrid, assignment: Assignment, enough: Callable[[float], bool]) -> Assignment:
    """Cells moved one by one between the releases of an assignment as long as the risk falls.

    From the likeliest release of each cell, from draws of the assignment, and then from the best one so far with moves
    that also go wrong by a little, less and less. Stops at the first risk that is ``enough``.
    """
    releases, number = np.unique(assignment.release, return_inverse=True)
    last = np.full(len(releases), -1)
    np.maximum.at(last, number, assignment.cell)
    # any run that holds all cells of a release would do; the first one that reaches its last cell does
    board = _Board(grid, first=np.searchsorted(grid.last, last), rng=np.random.default_rng(0))
    share = np.zeros((len(grid), len(releases)))
    share[assignment.cell, number] = assignment.probability
    best, at = np.inf, np.zeros(len(grid), dtype=np.int64)
    for start, warmth in [*((start, 0.0) for start in _starts(share, board.rng)), *((None, w) for w in _WARMTHS)]:
        risk = board.settle(at if start is None else start, warmth)
        if risk < best:
            best, at = risk, board.at.copy()
        if enough(best):
            break
    return Assignment(cell=np.arange(len(grid)), release=releases[at], probability=np.ones(len(grid)))


def _starts(share: Array, rng: np.random.Generator) -> Iterator[Index]:
    yield share.argmax(axis=1)
    below = share.cumsum(axis=1)
    for _ in range(_DRAWS):
        yield (rng.random((len(share), 1)) * below[:, -1:] < below).argmax(axis=1)


class _Board:
    """Where every cell is, and what every window catches of every release."""

    def __init__(self, grid: CellGrid, *, first: Index, rng: np.random.Generator) -> None:
        start, stop = candidates(grid.low, grid.high, reach(grid))
        # windows are sorted, so those that touch a cell are neighbours
        opens = np.searchsorted(stop, grid.low)
        closes = np.maximum(np.searchsorted(start, grid.high, side="right"), opens + 1)
        self.rng = rng
        self.cells = len(grid)
        self.unit = float(grid.mass.mean())
        self.touched = [slice(a, b) for a, b in zip(opens.tolist(), closes.tolist(), strict=True)]
        self.caught = [
            grid.mass[i] * covered(grid.low[i : i + 1], grid.high[i : i + 1], start[s], stop[s])[:, 0]
            for i, s in enumerate(self.touched)
        ]
        last = grid.last[first]
        self.allowed = [np.flatnonzero((first <= i) & (i <= last)) for i in range(len(grid))]
        self.mass = np.zeros((len(first), len(start)))
        self.peak = np.zeros(len(first))
        self.at = np.zeros(len(grid), dtype=np.int64)

    def settle(self, at: Index, warmth: float) -> float:
        """Move cells from this start until no move of one cell lowers the risk; first, if warm, at blurred costs."""
        self._place(at)
        if warmth:
            for blur in self.unit * warmth * np.linspace(1.0, 0.0, _SWEEPS) ** 2:
                self._sweep(float(blur))
        for _ in range(_SWEEPS):
            if not self._sweep(0.0):
                break
        return float(self.mass.max(axis=1).sum())

    def _place(self, at: Index) -> None:
        self.at = at.copy()
        self.mass[:] = 0.0
        for i, release in enumerate(at.tolist()):
            self.mass[release, self.touched[i]] += self.caught[i]
        self.peak[:] = self.mass.max(axis=1)

    def _sweep(self, blur: float) -> bool:
        """Offer every cell the release where it costs least; whether any of them moved."""
        moved = False
        for i in self.rng.permutation(self.cells).tolist():
            here, where, own, others = int(self.at[i]), self.touched[i], self.caught[i], self.allowed[i]
            self.mass[here, where] -= own
            saved = self.peak[here] - self.mass[here].max()
            self.peak[here] -= saved
            cost = np.maximum((self.mass[others, where] + own).max(axis=1) - self.peak[others], 0.0)
            if blur:
                cost -= blur * self.rng.gumbel(size=len(cost))
            least = int(cost.argmin())
            to = here if not blur and cost[least] >= saved - _NOISE else int(others[least])
            self.mass[to, where] += own
            self.peak[to] = max(self.peak[to], self.mass[to, where].max())
            self.at[i] = to
            moved |= to != here
        return moved
