"""The linear programme over all randomised mechanisms on a grid of cells, as sparse matrices, and its solver.

Variables: x = mass of a cell sent to a run; S = mass sent to a run from below a value of the secret; z = the most that
a window catches there. A window is then a difference of two S (of four, where it ends between two values that have
one), while x alone would need as many entries as the window holds cells. The solver is HiGHS behind SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from statveil.design.cells.grid import CellGrid
from statveil.design.programme.certificate import candidates, reach
from statveil.numeric import Array, Index

if TYPE_CHECKING:
    from scipy.sparse import csr_array
import warnings
from typing import Any

__all__ = ["Optimum", "Priced", "Programme", "Rows", "optimum", "priced", "programme"]


_SAME = 1e-9
"""Values of the secret closer than this share of a window or cell are one here; the risk is computed without it."""
_SECONDS = 300.0
_TIE_BREAK = 1e-4
_ENTRIES_AT_ONCE = 4_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The rows that say that a window of a run catches at most z."""

    run: Index
    start: Array
    stop: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Programme:
    """Least ``cost @ v`` with ``upper @ v <= 0`` and ``equal @ v == value``, v >= 0; masses are in 1/n."""

    cost: Array
    upper: csr_array
    equal: csr_array
    value: Array
    cell: Index
    """Cell and run of the first variables, the x."""
    run: Index
    windows: Rows
    """What the rows of ``upper`` say."""


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


def programme(grid: CellGrid, runs: Index) -> Programme:
    """Least risk with these runs."""
    n, length = len(grid), reach(grid)
    sizes = grid.last[runs] - runs + 1
    offsets = np.cumsum(sizes) - sizes
    entries = int(sizes.sum())
    cells = np.arange(entries) - np.repeat(offsets - runs, sizes)
    low_at, high_at, values = _levels(grid, length)

    upper, equal = _Matrix(), _Matrix(height=n)
    equal.add(cells, np.arange(entries), 1.0)
    used = entries  # variables so far: the x, then the S of one run after another, the z at last
    tried: list[tuple[Array, Array]] = []  # starts and stops of each run's windows: one z each
    for run, size, offset in zip(runs.tolist(), sizes.tolist(), offsets.tolist(), strict=True):
        part, x = slice(run, run + size), np.arange(offset, offset + size)
        low, high = low_at[part], high_at[part]
        start, stop = _distinct(*candidates(values[low], values[high], length), length)
        tried.append((start, stop))
        row = upper.height + np.arange(len(start))
        upper.height += len(start)
        if len(start) == 1:  # the window holds the whole run
            upper.add(row, x, 1.0)
            continue
        scale, piece, cell, share = _pieces(low, high, values)
        sums = used + np.arange(scale.after[-1])
        used += len(sums)
        # S of a piece = S of the piece below + what the cells have in it
        here = equal.height + np.arange(len(sums))
        equal.add(here, sums, 1.0)
        equal.add(here[1:], sums[:-1], -1.0)
        equal.add(here[piece], x[cell], -share)
        equal.height += len(sums)
        for at, sign in ((stop, 1.0), (start, -1.0)):
            below, share = scale.place(at, stop=sign > 0)
            inner = below > 0
            upper.add(row[inner], sums[below[inner] - 1], sign * (1 - share[inner]))
            inner = share > 0
            upper.add(row[inner], sums[below[inner]], sign * share[inner])
    counts = [len(start) for start, _ in tried]
    upper.add(np.arange(upper.height), used + np.repeat(np.arange(len(tried)), counts), -1.0)
    width = used + len(tried)
    cost = np.zeros(width)
    cost[used:] = 1.0
    return Programme(
        cost=cost,
        upper=upper.finished(width),
        equal=equal.finished(width),
        value=np.concatenate([n * grid.mass, np.zeros(equal.height - n)]),
        cell=cells,
        run=np.repeat(runs, sizes),
        windows=Rows(
            run=np.repeat(runs, counts),
            start=np.concatenate([start for start, _ in tried]),
            stop=np.concatenate([stop for _, stop in tried]),
        ),
    )


def _distinct(start: Array, stop: Array, length: float) -> tuple[Array, Array]:
    """Windows without repetitions: cells that fit the window a whole number of times give most of them twice."""
    new = np.concatenate([[True], np.diff(start) > _SAME * length])
    return start[new], stop[new]


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Optimum:
    """What the solver says about some of the runs; nothing here is taken on trust."""

    cell: Index
    run: Index
    mass: Array
    """Mass of each cell that is sent to each run."""
    windows: Rows
    weight: Array
    """Dual value of each window."""
    price: Array
    """Dual value of each cell: by how much the risk rises with its mass."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priced:
    """What runs outside a programme are worth at its prices, and the windows that prove it."""

    worth: Array
    windows: Rows
    weight: Array


def optimum(grid: CellGrid, runs: Index, *, gap: float, sparse: bool = False) -> Optimum | None:
    """The best mechanism with these runs; ``None`` where there is none, or the solver found none.

    With ``sparse`` every cell has slightly different costs in different runs (at most 1e-4 of its mass), so that one
    of many equally good mechanisms stands out and most cells have a single run.
    """
    stated = programme(grid, runs)
    cost, entries = stated.cost.copy(), len(stated.cell)
    if sparse:
        cost[:entries] = _TIE_BREAK * np.random.default_rng(0).random(entries)
    found = _run(
        gap,
        c=cost,
        A_ub=stated.upper,
        b_ub=np.zeros(stated.upper.shape[0]),
        A_eq=stated.equal,
        b_eq=stated.value,
        bounds=(0, None),
    )
    if found is None:
        return None
    return Optimum(
        cell=stated.cell,
        run=stated.run,
        mass=np.maximum(found.x[:entries], 0.0),
        windows=stated.windows,
        weight=np.maximum(-found.ineqlin.marginals, 0.0),
        price=found.eqlin.marginals[: len(grid)],
    )


def priced(grid: CellGrid, runs: Index, price: Array) -> Priced | None:
    """Most that each run can earn: the prices of what is sent there, for a z of 1.

    The runs do not depend on each other; a few at a time are quicker than all.
    """
    parts: list[tuple[Programme, Array]] = []
    sizes = np.cumsum(grid.last[runs] - runs + 1)
    for part in np.split(runs, np.flatnonzero(np.diff(sizes // _ENTRIES_AT_ONCE)) + 1):
        stated = programme(grid, part)
        cost = np.zeros(len(stated.cost))
        cost[: len(stated.cell)] = -price[stated.cell]
        found = _run(1e-8, c=cost, **_one_unit_a_run(stated, len(grid), len(part)))
        if found is None:
            return None
        parts.append((stated, np.maximum(-found.ineqlin.marginals[: len(stated.windows.run)], 0.0)))
    joined = Rows(
        **{name: np.concatenate([getattr(p.windows, name) for p, _ in parts]) for name in Rows.__dataclass_fields__}
    )
    weight = np.concatenate([w for _, w in parts])
    worth = np.bincount(joined.run, weight, minlength=len(grid)).astype(np.float64)
    return Priced(worth=worth[runs], windows=joined, weight=weight)


def _one_unit_a_run(stated: Programme, cells: int, runs: int) -> dict[str, Any]:
    """The programme with z <= 1 for each run."""
    from scipy.sparse import csr_array, vstack

    column = len(stated.cost) - runs + np.arange(runs)  # the z, run by run
    budget = csr_array((np.ones(runs), (np.arange(runs), column)), shape=(runs, len(stated.cost)))
    rows = len(stated.windows.run)
    return {
        "A_ub": vstack([stated.upper[:rows], budget], format="csr"),
        "b_ub": np.concatenate([np.zeros(rows), np.ones(runs)]),
        "A_eq": stated.equal[cells:] if stated.equal.shape[0] > cells else None,
        "b_eq": stated.value[cells:] if stated.equal.shape[0] > cells else None,
        "bounds": (0, None),
    }


def _run(gap: float, **stated: Any) -> Any:
    """The solver's answer, ``None`` if it has none.

    Interior point without the crossover to a vertex: that took minutes, or never ended, on some of these programmes.
    The option is HiGHS's own and SciPy warns that it does not know it; where it is not passed on, the time limit holds.
    """
    from scipy.optimize import linprog

    options = {"run_crossover": "off", "ipm_optimality_tolerance": gap, "time_limit": _SECONDS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = linprog(**stated, method="highs-ipm", options=options)
        if found.x is None and found.status != 2:  # not infeasible, but the solver failed for a numerical reason
            found = linprog(**stated, method="highs-ds", options={"time_limit": _SECONDS})
    return None if found.x is None or found.ineqlin.marginals is None else found
