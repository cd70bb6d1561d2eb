"""From a problem and a distortion budget to cells, and from an assignment of cells to a mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from statveil.design.partition.designer import check_grid
from statveil.errors import ProblemError
from statveil.mechanisms.cells import Cells
from statveil.numeric import Array, Index
from statveil.problem.problem import Problem
from statveil.theory.one_parameter import Line, line

__all__ = ["Assignment", "CellDesigner", "CellGrid", "branches", "check_runs", "rising"]


_INNER = np.linspace(0.0, 1.0, 9)


@dataclass(frozen=True, kw_only=True)
class CellDesigner:
    """Cells of one problem; what does not depend on the budget is computed once.

    Parameters
    ----------
    problem : Problem
        A problem with one uncertain parameter.
    cells : int
        About how many cells: turning points of the secret become edges too.
    even : bool
        Whether cells are equally wide in the secret, as combs need them, rather than in the parameter.
    on_grid : bool
        Whether the released parameter must be an edge of the cells.
    """

    problem: Problem
    cells: int
    even: bool = False
    on_grid: bool = False
    capped: bool = False
    """Whether even cells that are wide in the parameter are cut: any method but a comb can use them."""

    @cached_property
    def line(self) -> Line:
        """The problem on a line."""
        check_grid(self.cells)
        return line(self.problem)

    @cached_property
    def edges(self) -> Array:
        """Edges of the cells."""
        curve = self.line.curve
        if not self.even:
            grid = np.linspace(self.line.axis.low, self.line.axis.high, self.cells + 1)
            turns = [t for t in curve.turns if np.min(np.abs(grid - t)) > 1e-9 * (grid[-1] - grid[0])]
            return np.sort(np.concatenate([grid, turns]))
        parts = []
        rises = np.array([abs(piece.values[-1] - piece.values[0]) for piece in curve.pieces])
        for piece, rise in zip(curve.pieces, rises, strict=True):
            count = max(1, round(self.cells * float(rise) / float(rises.sum())))
            ends = np.asarray(curve.value(np.array([piece.low, piece.high])), dtype=np.float64)
            inner = piece.inverse(curve.value, np.linspace(ends[0], ends[1], count + 1)[1:-1])
            parts += [np.array([piece.low]), inner]
        found = np.unique(np.concatenate([*parts, [curve.high]]))
        if self.capped:  # where the secret hardly moves, its even steps are wide in the parameter
            found = np.unique(np.concatenate([found, *_cuts(found, 2 * (found[-1] - found[0]) / self.cells)]))
        return found

    @cached_property
    def secret(self) -> Array:
        """The secret at the edges."""
        return np.asarray(self.line.curve.value(self.edges), dtype=np.float64)

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """First and last edge of every part of the range on which the secret only rises or only falls."""
        at = [int(np.argmin(np.abs(self.edges - turn))) for turn in self.line.curve.turns]
        cuts = [0, *at, len(self.edges) - 1]
        return list(pairwise(cuts))

    @cached_property
    def _level(self) -> Array:
        """Largest density per unit of the secret inside each cell, from the steps of a finer grid."""
        inner = self.edges[:-1, None] + np.diff(self.edges)[:, None] * _INNER
        below = np.asarray(self.line.axis.cdf(inner.ravel()), dtype=np.float64).reshape(inner.shape)
        value = np.asarray(self.line.curve.value(inner.ravel()), dtype=np.float64).reshape(inner.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a change of 1e-310 is none either
            rate = np.diff(below, axis=1) / np.abs(np.diff(value, axis=1))
        level: Array = np.where(np.isnan(rate), 0.0, rate).max(axis=1)  # infinite where the secret stands still
        return level

    @cached_property
    def least_budget(self) -> float:
        """Distortion of single cells: no budget below it is feasible."""
        index = np.arange(len(self.edges) - 1)
        return float(np.max(self._distortions(index, index + 1)))

    @cached_property
    def most_budget(self) -> float:
        """Distortion of one release for everything: no budget above it helps."""
        return float(self._distortions(np.array([0]), np.array([len(self.edges) - 1]))[0])

    def _released(self, low: Index, high: Index) -> Array:
        ruler = self.line.ruler
        if self.on_grid:
            return self.edges[ruler.release_on_grid(self.edges, low, high)]
        return ruler.release(self.edges[low], self.edges[high])

    def _distortions(self, low: Index, high: Index) -> Array:
        return self.line.ruler.distortion(self.edges[low], self.edges[high], self._released(low, high))

    def grid(self, budget: float) -> CellGrid | None:
        """The cells with the runs that a budget allows; ``None`` where a single cell is over it."""
        farthest = self.line.ruler.farthest(self.edges, budget, on_grid=self.on_grid)[:-1]
        if np.any(farthest <= np.arange(len(farthest))):
            return None
        below = np.asarray(self.line.axis.cdf(self.edges), dtype=np.float64)
        return CellGrid(
            edges=self.edges,
            mass=np.diff(below),
            low=np.minimum(self.secret[:-1], self.secret[1:]),
            high=np.maximum(self.secret[:-1], self.secret[1:]),
            level=self._level,
            window=self.line.window,
            last=np.maximum.accumulate(farthest - 1),
        )

    def mechanism(self, found: Assignment) -> Cells:
        """The mechanism of an assignment: each release where its cells are nearest, equal releases joined."""
        number, first, last = _spans(found)
        levels, joined = np.unique(self._released(first, last + 1), return_inverse=True)
        choices: list[dict[int, float]] = [{} for _ in range(len(self.edges) - 1)]
        for cell, release, share in zip(
            found.cell.tolist(), joined[number].tolist(), found.probability.tolist(), strict=True
        ):
            choices[cell][release] = choices[cell].get(release, 0.0) + share
        return Cells(
            parameter=self.line.name,
            edges=tuple(self.edges.tolist()),
            released=tuple(levels.tolist()),
            choices=tuple(tuple(sorted(choice.items())) for choice in choices),
        )


def _cuts(edges: Array, widest: float) -> list[Array]:
    """Equal cuts of the cells that are wider than so much."""
    count = np.ceil(np.diff(edges) / widest * (1 - 1e-9)).astype(int)
    return [np.linspace(edges[i], edges[i + 1], count[i] + 1)[1:-1] for i in np.flatnonzero(count > 1)]


def _spans(found: Assignment) -> tuple[Index, Index, Index]:
    """The releases numbered without gaps, and the first and last cell of each."""
    used, number = np.unique(found.release, return_inverse=True)
    first, last = np.full(len(used), np.iinfo(np.int64).max), np.full(len(used), -1)
    np.minimum.at(first, number, found.cell)
    np.maximum.at(last, number, found.cell)
    return number, first, last


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


def check_runs(grid: CellGrid) -> None:
    """Raise an error unless every cell can be released within the budget, and runs are in order."""
    n = len(grid)
    if n == 0:
        raise ProblemError("the grid has no cells; cut the parameter into at least one.")
    alone = 0
    for cell, last in enumerate(grid.last.tolist()):
        if last < cell:
            raise ProblemError(
                f"cell {cell} alone is wider than the distortion budget allows; use more cells or a larger budget."
            )
        if not alone <= last < n:
            raise ProblemError(
                f"the last cells of the runs must not fall and must lie below {n}. Got {last} at cell {cell}."
            )
        alone = last


def branches(grid: CellGrid) -> list[tuple[int, int]]:
    """First cell and end (one past the last cell) of every branch, from left to right."""
    low, high = grid.low.tolist(), grid.high.tolist()
    slack = 1e-12 * max(max(high) - min(low), *(abs(x) for x in (*low, *high)))
    cuts, up, down = [0], True, True
    for i in range(1, len(low)):
        up, down = up and low[i] >= high[i - 1] - slack, down and high[i] <= low[i - 1] + slack
        if not (up or down):
            cuts.append(i)
            up = down = True
    return [*zip(cuts, [*cuts[1:], len(low)], strict=True)]


def rising(grid: CellGrid, what: str) -> bool:
    """Whether the secret rises over the whole grid (or falls, ``False``); an error if it turns."""
    found = branches(grid)
    if len(found) > 1:
        turns = ", ".join(f"{grid.edges[first]:g}" for first, _ in found[1:4]) + (", ..." if len(found) > 4 else "")
        raise ProblemError(
            f"{what} need a secret that only rises or only falls. This one turns {len(found) - 1} times, at {turns}; "
            "state a narrower range, or use intervals."
        )
    return bool(grid.low[-1] + grid.high[-1] >= grid.low[0] + grid.high[0])
