"""Calls of the linear programming solver, which is HiGHS behind SciPy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statveil.design.cells.cell_grid import CellGrid
from statveil.design.programme.matrix import Programme, Rows, programme

__all__ = ["Optimum", "Priced", "optimum", "priced"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_SECONDS = 300.0
_TIE_BREAK = 1e-4
_ENTRIES_AT_ONCE = 4_000


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
        if found.x is None and found.status != 2:  # not infeasible, but the solver lost its way
            found = linprog(**stated, method="highs-ds", options={"time_limit": _SECONDS})
    return None if found.x is None or found.ineqlin.marginals is None else found
