"""Partitions of one parameter: the dynamic programme and the greedy rule, within a distortion or for a risk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statveil.design.partition.dynamic import best_straddling, edges_of, solve, solve_any
from statveil.design.target import BinWidth, MaxDistortion, MaxRisk, Target, meets, unreachable
from statveil.errors import ProblemError, TargetError
from statveil.mechanisms.partition import Partition
from statveil.numeric import Array, Index
from statveil.problem.problem import Problem
from statveil.rounding import shown_up
from statveil.theory.bin_costs import BinCosts, MonotoneCosts, guess_table
from statveil.theory.curve import curve
from statveil.theory.one_parameter import Line, line
from statveil.theory.straddle_costs import StraddleCosts, straddle_costs
from statveil.theory.windows import Windows, windows

__all__ = ["Designer", "best_partition", "check_grid", "curve_points", "design_partition"]


_MOST_CELLS = 1_000_000
_MOST_CELLS_TABLE = 1_500
_MOST_CELLS_TURNING = 20_000
_MOST_CELLS_TURNING_OFTEN = 1_000
Method = Callable[[float], list[int] | None]
Point = tuple[float, float, list[int]]
"""Distortion, risk and edges of a partition."""

_PROBES = 120
_BEYOND = 1.25


def check_grid(cells: int) -> int:
    """The number of cells, if it is one that can be worked with."""
    if isinstance(cells, bool) or not isinstance(cells, int) or not 2 <= cells <= _MOST_CELLS:
        raise ProblemError(
            f"the grid must have 2 to {_MOST_CELLS:,} cells. Got {cells!r}; a few hundred are usually enough."
        )
    return cells


@dataclass(frozen=True, kw_only=True)
class Designer:
    """Designs partitions of one problem on one grid; what does not depend on the budget is computed once."""

    problem: Problem
    cells: int
    on_grid: bool = False
    """Whether the released parameter must be an edge of the grid, as in the paper."""

    @cached_property
    def line(self) -> Line:
        """The problem on a line."""
        found = line(self.problem)
        most = _MOST_CELLS
        if len(found.curve.turns) == 1:
            most = _MOST_CELLS_TURNING
        elif found.curve.turns:
            most = _MOST_CELLS_TURNING_OFTEN
        if check_grid(self.cells) > most:
            raise ProblemError(
                f"this secret turns {len(found.curve.turns)} times within the prior, which allows at most {most:,} "
                f"cells. Got {self.cells:,}; use fewer."
            )
        return found

    @cached_property
    def grid(self) -> Array:
        """Edges of the cells."""
        return np.linspace(self.line.axis.low, self.line.axis.high, self.cells + 1)

    @cached_property
    def costs(self) -> BinCosts:
        """Costs of all bins."""
        if self.line.curve.monotone:
            found = self.line
            return MonotoneCosts(
                windows=windows(found.curve, found.axis.cdf, self.grid, found.window, found.axis.landmarks)
            )
        return guess_table(self.line.curve, self.line.axis, self.grid, self.line.window)

    @cached_property
    def least_budget(self) -> float:
        """Distortion of single cells: no budget below it is feasible on this grid."""
        return float(np.max(self._distortions(np.arange(self.cells), np.arange(1, self.cells + 1))))

    @cached_property
    def most_budget(self) -> float:
        """Distortion of one bin for everything: no budget above it helps."""
        return float(self._distortions(np.array([0]), np.array([self.cells]))[0])

    def _released(self, low: Index, high: Index) -> Array:
        if self.on_grid:
            return self.grid[self.line.ruler.release_on_grid(self.grid, low, high)]
        return self.line.ruler.release(self.grid[low], self.grid[high])

    def _distortions(self, low: Index, high: Index) -> Array:
        return self.line.ruler.distortion(self.grid[low], self.grid[high], self._released(low, high))

    @cached_property
    def _all_distortions(self) -> Array:
        """Distortion of every bin of a small grid, where that is cheaper than a search for each budget."""
        low, high = np.triu_indices(self.cells + 1, k=1)
        table = np.zeros((self.cells + 1, self.cells + 1))
        table[low, high] = self._distortions(low, high)
        return table

    @cached_property
    def _reaches(self) -> dict[float, Index]:
        """Answers of :meth:`_farthest`: the same budget is asked for several times."""
        return {}

    @cached_property
    def _apart(self) -> Array:
        """Distances between all edges of a grid, where a search for every budget would compute more of them."""
        low, high = np.triu_indices(self.cells + 1, k=1)
        table = np.zeros((self.cells + 1, self.cells + 1))
        table[low, high] = table[high, low] = self.line.ruler.distance(self.grid[low], self.grid[high])
        return table

    def _farthest(self, budget: float) -> Index:
        if budget not in self._reaches:
            self._reaches[budget] = self._searched(budget)
        return self._reaches[budget]

    def _searched(self, budget: float) -> Index:
        ruler = self.line.ruler
        if ruler.position is None and self.cells <= 48:
            fits = self._all_distortions <= budget * (1 + 1e-12)  # the lower triangle is 0
            return np.asarray(fits.shape[1] - 1 - np.argmax(fits[:, ::-1], axis=1))
        if ruler.position is None and self.cells <= _MOST_CELLS_TABLE and not self.on_grid:
            return ruler.farthest_in_table(self.grid, self._apart, budget)
        return ruler.farthest(self.grid, budget, on_grid=self.on_grid)

    def merged(self, edges: list[int], budget: float) -> list[int]:
        """The same risk with fewer bins: neighbours that cost nothing to join are joined."""
        farthest = self._farthest(budget)
        own = self.costs.of(np.array(edges[:-1]), np.array(edges[1:])).tolist()
        kept, cost = [edges[0]], 0.0
        for edge, alone in zip(edges[1:], own, strict=True):
            if len(kept) > 1 and farthest[kept[-2]] >= edge:
                both = float(self.costs.of(np.array([kept[-2]]), np.array([edge]))[0])
                if both <= (cost + alone) * (1 + 1e-13):
                    kept[-1], cost = edge, both
                    continue
            kept.append(edge)
            cost = alone
        return kept

    def partition(self, edges: list[int]) -> Partition:
        """The mechanism with these edges."""
        at = np.array(edges)
        released = self._released(at[:-1], at[1:])
        return Partition(
            parameter=self.line.name,
            edges=tuple(float(x) for x in self.grid[at]),
            released=tuple(float(x) for x in released),
        )

    def realised(self, edges: list[int]) -> float:
        """Distortion that a partition really has: at most its budget."""
        at = np.array(edges)
        return float(np.max(self._distortions(at[:-1], at[1:])))

    def total(self, edges: list[int]) -> float:
        """Risk of a partition, from the table of costs."""
        at = np.array(edges)
        return float(np.sum(self.costs.of(at[:-1], at[1:])))

    # --- the two methods ----------------------------------------------------------------------
    def dynamic(self, budget: float) -> list[int] | None:
        """Edges of least risk within a distortion budget (Algorithm 1); ``None`` where no partition fits."""
        farthest = self._farthest(budget)
        if np.any(farthest[:-1] <= np.arange(self.cells)):
            return None
        if isinstance(self.costs, MonotoneCosts):
            found = solve(self.costs.windows, _first_allowed(farthest))
            return None if found is None else edges_of(found, self.cells)
        if len(self.line.curve.turns) > 1:
            return solve_any(farthest, self.costs, self.cells)
        return self._across_one_turn(farthest)

    def greedy(self, budget: float) -> list[int] | None:
        """Edges by the greedy rule (Algorithm 3): the next bin of least conditional risk, the widest of equals."""
        farthest = self._farthest(budget)
        below = np.asarray(self.line.axis.cdf(self.grid), dtype=np.float64)
        edges = [0]
        while edges[-1] < self.cells:
            i = edges[-1]
            stops = np.arange(i + 1, farthest[i] + 1)
            if not len(stops):
                return None
            mass = below[stops] - below[i]
            share = np.where(
                mass > 0, self.costs.of(np.full(len(stops), i), stops) / np.where(mass > 0, mass, 1.0), 1.0
            )
            edges.append(int(stops[np.flatnonzero(share <= share.min() * (1 + 1e-13))[-1]]))
        return edges

    # --- a secret with one turning point --------------------------------------------------------
    @cached_property
    def _sides(self) -> tuple[int, int, Windows | None, Windows | None]:
        """Edges before and after the turn, and the windows of the two sides (the right one mirrored)."""
        (turn,) = self.line.curve.turns
        before = int(np.searchsorted(self.grid, turn, side="right")) - 1
        after = before if self.grid[before] == turn else before + 1
        value, axis = self.line.curve.value, self.line.axis
        left = right = None
        if before > 0:
            part = curve(value, self.grid[0], self.grid[before], turns=[])
            left = windows(part, axis.cdf, self.grid[: before + 1], self.line.window, axis.landmarks)
        if after < self.cells:
            mirrored = -self.grid[after:][::-1]
            part = curve(lambda x: value(-x), float(mirrored[0]), float(mirrored[-1]), turns=[])
            right = windows(
                part, lambda x: 1.0 - axis.cdf(-np.asarray(x)), mirrored, self.line.window, -axis.landmarks[::-1]
            )
        return before, after, left, right

    @cached_property
    def _straddle(self) -> StraddleCosts:
        return straddle_costs(self.line.curve, self.line.axis, self.grid, self.line.window)

    def _across_one_turn(self, farthest: Index) -> list[int] | None:
        before, after, left, right = self._sides
        n = self.cells
        first = _first_allowed(farthest)
        values_left, values_right = [0.0], [0.0]
        one = two = None
        if left is not None:
            one = solve(left, first[: before + 1])
            if one is None:
                return None
            values_left = one.value
        if right is not None:
            # mirrored edges: r = n - j; the farthest edge to the right becomes the first allowed one
            two = solve(right, n - farthest[after:][::-1])
            if two is None:
                return None
            values_right = two.value
        padded = np.array([np.inf] * after + values_right[::-1])
        turn = (before, after) if after > before else (before - 1, after + 1)
        total, i, j = best_straddling(np.array(values_left), padded, farthest, self._straddle, turn)
        if after == before and values_left[-1] + values_right[-1] <= total:
            i = j = before
        if i < 0:
            return None
        head = edges_of(one, i) if one is not None else [0]
        tail = [n - r for r in edges_of(two, n - j)][::-1] if two is not None else [n]
        return head + (tail if j > i else tail[1:])


def _first_allowed(farthest: Index) -> Index:
    """For each edge j the first edge i from which a bin may reach it."""
    return np.searchsorted(farthest, np.arange(len(farthest)), side="left")


def design_partition(problem: Problem, goal: Target, name: str, *, cells: int, on_grid: bool) -> Partition:
    """The partition for a risk or a distortion."""
    designer = Designer(problem=problem, cells=check_grid(cells), on_grid=on_grid)
    return designer.partition(best_partition(designer, name, goal))


def best_partition(designer: Designer, name: str, goal: Target) -> list[int]:
    """Edges of least risk within a distortion, or of least distortion within a risk (Algorithm 2)."""
    method = _method(designer, name)
    assert not isinstance(goal, BinWidth)
    if isinstance(goal, MaxDistortion):
        edges = method(goal.value)
        if edges is None:
            raise TargetError(
                f"no partition into {designer.cells:,} cells has a distortion of {goal.value:g}: a single cell has "
                f"{shown_up(designer.least_budget)}. Allow more, or use a finer grid."
            )
        return designer.merged(edges, goal.value)
    if name == "greedy":  # not monotone in the budget: look at many
        points = curve_points(designer, name, _PROBES, until=goal)
        met = [point for point in points if meets(point[1], goal)]
        if not met:
            raise unreachable(goal.value, min(point[1] for point in points), "by the greedy rule")
        return met[0][2]
    whole = method(designer.most_budget)
    if whole is None or not meets(designer.total(whole), goal):
        raise unreachable(goal.value, 1.0 if whole is None else designer.total(whole))
    return _narrowed(designer, method, goal, whole)


def _method(designer: Designer, name: str) -> Method:
    return {"dynamic": designer.dynamic, "greedy": designer.greedy}[name]


def _narrowed(designer: Designer, method: Method, goal: MaxRisk, found: list[int]) -> list[int]:
    """Bisect the budget; keep the last partition that met the risk, tightened to what it really distorts."""
    low, high = designer.least_budget, designer.realised(found)
    first = method(low)
    if first is not None and meets(designer.total(first), goal):
        return designer.merged(first, low)
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        edges = method(middle)
        if edges is not None and meets(designer.total(edges), goal):
            found = designer.merged(edges, middle)
            high = min(middle, designer.realised(found))
        else:
            low = middle
    return found


def curve_points(designer: Designer, name: str, points: int, *, until: MaxRisk | None = None) -> list[Point]:
    """Undominated points by rising distortion, each at its realised distortion; of interest ``until`` a risk is met."""
    method = _method(designer, name)
    low, high = designer.least_budget, designer.most_budget
    budgets = np.unique(np.concatenate([np.linspace(low, high, points), np.geomspace(low, high, points)]))
    found: dict[float, tuple[float, list[int]]] = {}
    met = np.inf
    for budget in budgets:
        if budget > _BEYOND * met:
            break  # what distorts less than that, a budget so much larger does not find
        edges = method(float(budget))
        if edges is None:
            continue
        edges = designer.merged(edges, float(budget))
        at, risk = designer.realised(edges), designer.total(edges)
        if until is not None and meets(risk, until):
            met = min(met, at)
        if at not in found or risk < found[at][0]:
            found[at] = (risk, edges)
    kept: list[Point] = []
    for at in sorted(found):
        risk, edges = found[at]
        if not kept or risk < kept[-1][1] * (1 - 1e-12):
            kept.append((at, risk, edges))
    return _thinned(kept, points)


def _thinned(points: Sequence[Point], most: int) -> list[Point]:
    if len(points) <= most:
        return list(points)
    return [points[i] for i in np.unique(np.linspace(0, len(points) - 1, most).astype(int))]
