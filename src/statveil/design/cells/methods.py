"""Methods that send each cell of one parameter to one or several releases, for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from statveil.accounting import distortion, risk
from statveil.design.cells.comb_partition import comb_partition
from statveil.design.cells.grid import Assignment, CellDesigner, CellGrid
from statveil.design.cells.layered import layered_combs, layered_intervals
from statveil.design.partition.designer import design_partition
from statveil.design.target import BinWidth, MaxDistortion, MaxRisk, Target, meets, unreachable
from statveil.errors import TargetError
from statveil.mechanisms.mechanism import Mechanism
from statveil.numbers import number, positive
from statveil.numeric import halved
from statveil.problem.problem import Problem
from statveil.rounding import shown_up

__all__ = ["CellMethod", "Certified", "design_cells"]

Progress = Callable[[str], None]

_ENOUGH = 1e-4
"""A budget is searched for to this share of itself; the programme's, which takes seconds each time, less finely."""
_ENOUGH_PROGRAMME = 3e-3
_ROUNDING = 1.01
"""A deterministic release needs no secret randomness: worth this much of the risk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """No randomised mechanism on this grid with at most this distortion has a lower risk."""

    cells: int
    distortion: float
    least_risk: float

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        return {"cells": self.cells, "distortion": self.distortion, "least_risk": self.least_risk}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Certified:
        """The numbers that :meth:`to_json` wrote."""
        return cls(
            cells=int(number(data["cells"], "the number of cells")),
            distortion=positive(data["distortion"], "the distortion of a certificate"),
            least_risk=number(data["least_risk"], "the least risk"),
        )


@dataclass(frozen=True, kw_only=True)
class CellMethod:
    """One method on the cells of one problem."""

    name: str
    problem: Problem
    cells: int
    on_grid: bool = False
    progress: Progress | None = None

    @cached_property
    def designer(self) -> CellDesigner:
        """The cells: equally wide in the secret for combs, in the parameter otherwise."""
        even = self.name in ("comb", "layered-comb", "optimal")
        capped = self.name == "optimal"
        return CellDesigner(problem=self.problem, cells=self.cells, even=even, on_grid=self.on_grid, capped=capped)

    def within(self, budget: float) -> Mechanism | None:
        """The mechanism of least risk with at most this distortion; ``None`` where a single cell is over it."""
        grid = self.designer.grid(budget)
        if grid is None:
            return None
        if self.name == "optimal":
            return self._optimal(grid)
        return self.designer.mechanism(self._assigned(grid)[0])

    def certified(self, budget: float) -> Certified | None:
        """What no mechanism on these cells with at most this distortion is below."""
        from statveil.design.programme.certificate import check
        from statveil.design.programme.solve import solve_programme

        grid = self.designer.grid(budget)
        if grid is None:
            return None
        solution = solve_programme(grid, progress=self.progress)
        if check(grid, solution):  # recomputed without the solver: a proof that fails is none
            return None
        return Certified(cells=len(grid), distortion=budget, least_risk=solution.lower_bound)

    def roughly(self, budget: float) -> float:
        """About the risk within this distortion, from the method's own sum; quicker than the accounting."""
        grid = self.designer.grid(budget)
        return 1.0 if grid is None else self._assigned(grid)[1]

    def _assigned(self, grid: CellGrid) -> tuple[Assignment, float]:
        if self.name == "layered":
            whole = layered_intervals(grid)
            return whole.assignment, whole.bound
        parts, total = [], 0.0
        for first, last in self.designer.pieces:
            part = _slice(grid, first, last)
            if self.name == "layered-comb":
                combs = layered_combs(part)
                found, cost = combs.assignment, combs.bound
            else:
                blocks = comb_partition(part)
                found, cost = blocks.assignment, blocks.risk
            parts.append((first, found))
            total += cost
        return _joined(parts), total

    def _optimal(self, grid: CellGrid) -> Mechanism:
        """The programme's optimum, deterministic where that costs under 1 %."""
        from statveil.design.programme.solve import rounded, solve_programme

        solution = solve_programme(grid, certify=False, progress=self.progress)
        plain = rounded(grid, solution)
        mixed = self.designer.mechanism(solution.assignment)
        if plain is None:
            return mixed
        simple = self.designer.mechanism(plain)
        worse = risk(self.problem, simple).value / risk(self.problem, mixed).value
        return simple if worse <= _ROUNDING else mixed


def design_cells(
    problem: Problem,
    goal: Target,
    name: str,
    *,
    cells: int,
    on_grid: bool = False,
    progress: Progress | None = None,
) -> tuple[Mechanism, Certified | None]:
    """The mechanism of a method for a target, and for the programme its certificate."""
    assert not isinstance(goal, BinWidth)
    method = CellMethod(name=name, problem=problem, cells=cells, on_grid=on_grid, progress=progress)
    found = _for_distortion(method, goal) if isinstance(goal, MaxDistortion) else _for_risk(method, goal)
    if name != "optimal":
        return found, None
    best = _better(problem, goal, found, cells, on_grid)
    return best, method.certified(goal.value if isinstance(goal, MaxDistortion) else distortion(problem, best))


def _for_distortion(method: CellMethod, goal: MaxDistortion) -> Mechanism:
    found = method.within(goal.value)
    if found is None:
        raise TargetError(
            f"no mechanism on {method.cells:,} cells has a distortion of {goal.value:g}: a single cell has "
            f"{shown_up(method.designer.least_budget)}. Allow more, or use a finer grid."
        )
    return found


def _for_risk(method: CellMethod, goal: MaxRisk) -> Mechanism:
    """Halve the budget; keep the last mechanism that met the risk, tightened to what it really distorts."""
    problem, designer = method.problem, method.designer
    low, high = designer.least_budget, designer.most_budget
    found = method.within(high * (1 + 1e-9))
    if found is None or not meets(risk(problem, found).value, goal):
        least = 1.0 if found is None else risk(problem, found).value
        raise unreachable(goal.value, least, "by this method on this grid")
    high = min(high, distortion(problem, found))
    close, step = _ENOUGH_PROGRAMME, 0
    if method.name != "optimal":
        close, near = _ENOUGH, _roughly(method, goal, low, high)
        tried = method.within(near)
        if tried is not None and meets(risk(problem, tried, quick=True).value, goal):
            found, high = tried, min(near, distortion(problem, tried))
            low = max(low, 0.98 * high)
    while high - low > close * high:
        # from far above the answer halve the exponent, then the distance
        middle = np.sqrt(low * high) if high > 4 * low else 0.5 * (low + high)
        if method.progress is not None:
            step += 1
            method.progress(f"step {step}: distortion between {low:.4g} and {high:.4g}")
        tried = method.within(float(middle))
        if tried is not None and meets(risk(problem, tried, quick=True).value, goal):
            found, high = tried, min(float(middle), distortion(problem, tried))
        else:
            low = float(middle)
    return found


def _roughly(method: CellMethod, goal: MaxRisk, low: float, high: float) -> float:
    """The least distortion that meets the risk by the method's own sum, which is hardly above the accounting's."""
    return halved(lambda at: meets(method.roughly(at), goal, within=1.0), low, high, close=_ENOUGH, geometric=True)[1]


def _better(problem: Problem, goal: MaxRisk | MaxDistortion, found: Mechanism, cells: int, on_grid: bool) -> Mechanism:
    """The programme's mechanism, or the dynamic programme's on the same grid where that is better."""
    try:
        other = design_partition(problem, goal, "dynamic", cells=cells, on_grid=on_grid)
    except TargetError:
        return found
    if isinstance(goal, MaxRisk):
        return found if distortion(problem, found) <= distortion(problem, other) else other
    return found if risk(problem, found).value <= risk(problem, other).value else other


def _slice(grid: CellGrid, first: int, last: int) -> CellGrid:
    """The cells between two edges, with the runs that stay among them."""
    return replace(
        grid,
        edges=grid.edges[first : last + 1],
        mass=grid.mass[first:last],
        low=grid.low[first:last],
        high=grid.high[first:last],
        level=grid.level[first:last],
        last=np.minimum(grid.last[first:last], last - 1) - first,
    )


def _joined(parts: list[tuple[int, Assignment]]) -> Assignment:
    """Assignments of neighbouring parts as one; every part has releases of its own."""
    cells, releases, shares, used = [], [], [], 0
    for first, part in parts:
        cells.append(part.cell + first)
        releases.append(part.release + used)
        shares.append(part.probability)
        used += int(part.release.max()) + 1
    return Assignment(cell=np.concatenate(cells), release=np.concatenate(releases), probability=np.concatenate(shares))
