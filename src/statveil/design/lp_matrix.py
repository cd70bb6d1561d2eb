"""The linear programme over all randomised mechanisms on a grid of cells, as sparse matrices.

Variables: x = mass of a cell sent to a run; S = mass sent to a run from below a value of the secret; z = the most that
a window catches there. A window is then a difference of two S (of four, where it ends between two values that have
one), while x alone would need as many entries as the window holds cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statveil.design.cell_grid import CellGrid
from statveil.design.lp_windows import candidates, reach

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Programme", "Rows", "programme"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_SAME = 1e-9
"""Values of the secret closer than this share of a window or cell are one here; the risk is computed without it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The rows that say that a window of a run catches at most z."""

    run: Index
    length: Index
    """Which of the window lengths it has."""
    start: Array
    stop: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Programme:
    """Least ``cost @ v`` with ``upper @ v <= most`` and ``equal @ v == value``, v >= 0; masses are in 1/n."""

    cost: Array
    upper: csr_array
    most: Array
    equal: csr_array
    value: Array
    cell: Index
    """Cell and run of the first variables, the x."""
    run: Index
    windows: Rows
    """What the first rows of ``upper`` say; one row a cap follows."""


@dataclass(slots=True)
class _Matrix:
    """A sparse matrix under construction."""

    rows: list[Index] = field(default_factory=list)
    columns: list[Index] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    height: int = 0

    def add(self, row: Index | int, column: Index | int, value: Array | float) -> None:
        at, column, value = np.broadcast_arrays(np.asarray(row), np.asarray(column), np.asarray(value, dtype=float))
        used = value != 0
        self.rows.append(at[used])
        self.columns.append(column[used])
        self.values.append(value[used])

    def finished(self, width: int) -> csr_array:
        from scipy.sparse import csr_array

        at = (np.concatenate(self.rows), np.concatenate(self.columns))
        return csr_array((np.concatenate(self.values), at), shape=(self.height, width))


@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """The values of the secret at which cells of a run begin and end.

    The mass of the run lies in pieces, numbered from below: between two neighbouring values, and at a single value
    if a cell has all its mass there. ``before`` and ``after`` count the pieces below each value, without and with the
    one at the value itself.
    """

    value: Array
    before: Index
    after: Index

    def place(self, at: Array, *, stop: bool) -> tuple[Index, Array]:
        """Number of pieces wholly below each point, and the share of the next piece below it."""
        k = np.clip(np.searchsorted(self.value, at, side="right") - 1, 0, len(self.value) - 2)
        share = np.clip((at - self.value[k]) / (self.value[k + 1] - self.value[k]), 0.0, 1.0)
        k = np.where(share > 1 - _SAME, k + 1, k)
        share = np.where((share > 1 - _SAME) | (share < _SAME), 0.0, share)
        exact = self.after if stop else self.before  # a closed window holds the mass at both of its ends
        return np.where(share > 0, self.after[k], exact[k]), share


def programme(grid: CellGrid, runs: Index, windows: Sequence[float], caps: Sequence[float]) -> Programme:
    """Least risk at the first window length, with a cap on the risk at each of the others."""
    n = len(grid)
    lengths = [reach(grid, window) for window in windows]
    sizes = grid.last[runs] - runs + 1
    offsets = np.cumsum(sizes) - sizes
    entries = int(sizes.sum())
    cells = np.arange(entries) - np.repeat(offsets - runs, sizes)
    low_at, high_at, values = _levels(grid, lengths[0])

    upper, equal = _Matrix(), _Matrix(height=n)
    equal.add(cells, np.arange(entries), 1.0)
    most_at: list[tuple[int, int]] = []  # run and length of every z
    rows: list[tuple[int, int, Array, Array]] = []
    used = entries
    heights: list[tuple[Index, int]] = []
    for number, (run, size, offset) in enumerate(zip(runs.tolist(), sizes.tolist(), offsets.tolist(), strict=True)):
        part, x = slice(run, run + size), np.arange(offset, offset + size)
        low, high = values[low_at[part]], values[high_at[part]]
        tried = [candidates(low, high, length) for length in lengths]
        sums = np.zeros(0, dtype=np.int64)
        if any(len(start) > 1 for start, _ in tried):
            scale, piece, cell, share = _pieces(low_at[part], high_at[part], values)
            sums = used + np.arange(scale.after[-1])
            used += len(sums)
            # S of a piece = S of the piece below + what the cells have in it
            row = equal.height + np.arange(len(sums))
            equal.add(row, sums, 1.0)
            equal.add(row[1:], sums[:-1], -1.0)
            equal.add(equal.height + piece, x[cell], -share)
            equal.height += len(sums)
        for which, (start, stop) in enumerate(tried):
            if len(start) > 1:
                # cells that fit the window a whole number of times give most windows twice
                new = np.concatenate([[True], np.diff(start) > _SAME * lengths[which]])
                start, stop = start[new], stop[new]
            row = upper.height + np.arange(len(start))
            if len(start) == 1:  # the window holds the whole run
                upper.add(row, x, 1.0)
            else:
                for at, sign in ((stop, 1.0), (start, -1.0)):
                    below, share = scale.place(at, stop=sign > 0)
                    inner = below > 0
                    upper.add(row[inner], sums[below[inner] - 1], sign * (1 - share[inner]))
                    inner = share > 0
                    upper.add(row[inner], sums[below[inner]], sign * share[inner])
            heights.append((row, len(most_at)))
            most_at.append((number, which))
            rows.append((run, which, start, stop))
            upper.height += len(start)
    for row, z in heights:
        upper.add(row, used + z, -1.0)
    of = np.array([which for _, which in most_at])
    for which in range(1, len(lengths)):
        upper.add(upper.height, used + np.flatnonzero(of == which), 1.0)
        upper.height += 1
    width = used + len(most_at)
    cost = np.zeros(width)
    cost[used:] = of == 0
    return Programme(
        cost=cost,
        upper=upper.finished(width),
        most=np.concatenate([np.zeros(upper.height - len(caps)), n * np.array(caps, dtype=np.float64)]),
        equal=equal.finished(width),
        value=np.concatenate([n * grid.mass, np.zeros(equal.height - n)]),
        cell=cells,
        run=np.repeat(runs, sizes),
        windows=Rows(
            run=np.concatenate([np.full(len(start), run) for run, _, start, _ in rows]),
            length=np.concatenate([np.full(len(start), which) for _, which, start, _ in rows]),
            start=np.concatenate([start for _, _, start, _ in rows]),
            stop=np.concatenate([stop for _, _, _, stop in rows]),
        ),
    )


def _levels(grid: CellGrid, length: float) -> tuple[Index, Index, Array]:
    """The ends of the cells as numbers of values of the secret; values closer than rounding errors are one."""
    ends = np.concatenate([grid.low, grid.high])
    order = np.argsort(ends)
    new = np.concatenate([[True], np.diff(ends[order]) > _SAME * length])
    number = np.empty(len(ends), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return number[: len(grid)], number[len(grid) :], ends[order][new]


def _pieces(low_at: Index, high_at: Index, values: Array) -> tuple[_Scale, Index, Index, Array]:
    """The scale of a run, and piece, cell and share for every piece of every cell."""
    used, where = np.unique(np.concatenate([low_at, high_at]), return_inverse=True)
    first, last = where[: len(low_at)], where[len(low_at) :]
    value = values[used]
    point = np.zeros(len(used), dtype=np.int64)
    point[first[first == last]] = 1
    after = np.arange(len(used)) + np.cumsum(point)
    scale = _Scale(value=value, before=after - point, after=after)
    count = np.maximum(last - first, 1)
    cell = np.repeat(np.arange(len(first)), count)
    at = np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count) + first[cell]
    wide = last[cell] > first[cell]
    above = np.minimum(at + 1, len(used) - 1)
    whole = value[last[cell]] - value[first[cell]]
    share = np.where(wide, (value[above] - value[at]) / np.where(wide, whole, 1.0), 1.0)
    return scale, np.where(wide, after[at], scale.before[at]), cell, share
