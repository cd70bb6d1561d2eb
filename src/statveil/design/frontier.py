"""The whole trade-off at once: undominated points of every method, and the limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from statveil.accounting import distortion, risk
from statveil.design.methods import METHODS, check_accepted, check_secrets, choose
from statveil.design.partition.designer import Designer, check_grid, curve_points
from statveil.design.target import MaxDistortion
from statveil.design.treatment import treatment
from statveil.errors import ProblemError, TargetError, unknown_name
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.spoken import Drawn, Progress, telling
from statveil.theory.gamma import gamma, limit_on_risk
from statveil.theory.one_parameter import line

__all__ = ["Frontier", "frontier"]

_MOST_POINTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier(Drawn):
    """Points of (distortion, risk); lower is better for both."""

    words = "report.frontier:describe_frontier"
    picture = "report.chart:frontier_chart"
    frame = "report.frames:frontier_frame"

    problem: Problem
    points: list[dict[str, Any]]
    """``method``, ``distortion``, ``risk`` and ``grid`` of each point, by method and rising distortion.

    ``grid`` is the number of cells on which the method worked, ``None`` where it needs none.
    """
    lower_bound: list[dict[str, float]]
    """``distortion`` and the least ``risk`` of any mechanism with it (Theorem 2)."""

    def to_json(self) -> dict[str, Any]:
        """The points for scripts."""
        return {"points": self.points, "lower_bound": self.lower_bound}


def frontier(
    problem: Problem,
    *,
    methods: Sequence[str] | None = None,
    grid: int | None = None,
    points: int = 200,
    release: str = "free",
    progress: Progress | None = None,
) -> Frontier:
    """Undominated points of each method, each at the distortion it really has, with the limit beside them.

    Parameters
    ----------
    problem : Problem
        For the methods on a grid (all but ``"interval"`` and ``"comb"``) a problem with one uncertain parameter.
    methods : sequence of str, optional
        Some of those of :func:`statveil.plan`; by default ``"dynamic"`` and ``"greedy"``, where there is no grid
        ``"interval"`` and ``"comb"``, where a step is known ``"interval"``.
    grid : int, optional
        Cells of the parameter range; by default 800, 400 for layers and combs, 240 for ``"optimal"``, which is never
        drawn worse than another method of the same frontier.
    points : int
        At most so many points of each method; at most 48 of the slower ones, 16 of ``"optimal"``.
    release : str
        ``"free"``, or ``"grid"``: the released parameter must be an edge of the grid.
    progress : callable, optional
        Called now and then with what is being done, 0 and None.
    """
    if isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= _MOST_POINTS:
        raise ProblemError(f"the number of points must lie between 2 and {_MOST_POINTS:,}. Got {points!r}.")
    if release not in ("free", "grid"):
        raise ProblemError(unknown_name("release", str(release), ["free", "grid"]))
    if grid is not None:
        check_grid(grid)
    how = treatment(problem)
    if methods is None and problem.also:
        methods = ("tiles",)
    elif methods is None:
        alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
        methods = ("interval",) if how.lattice is not None else ("dynamic", "greedy") if alone else ("interval", "comb")
    if not methods:
        raise ProblemError(f"give at least one method. Allowed: {', '.join(METHODS)}.")
    for method in methods:
        allowed = problem.family.methods or METHODS
        if method not in allowed:
            raise ProblemError(unknown_name("method of a frontier", method, allowed))
        check_accepted(method, how)
        check_secrets(method, problem)
    on_grid = release == "grid"
    found: list[dict[str, Any]] = []
    for method in dict.fromkeys(methods):
        cells = METHODS[method].grid(problem, grid)
        if METHODS[method].at_once:
            assert cells is not None
            designer = Designer(problem=problem, cells=cells, on_grid=on_grid)
            drawn = curve_points(designer, method, points)
            pairs = [(d, r) for d, r, _ in drawn]
            if problem.secret.rough:  # the method's own sums are a little below the accounting
                pairs = _undominated([(d, risk(problem, designer.partition(edges)).value) for d, _, edges in drawn])
        else:
            pairs = _planned(problem, method, points, grid, on_grid, telling(progress))
        found += [{"method": method, "distortion": d, "risk": min(1.0, r), "grid": cells} for d, r in pairs]
    found = _no_worse(found)
    if not found:
        raise TargetError("no mechanism of these methods is feasible; use a finer grid.")
    bounds, measure = _limit(problem, found, points), problem.measure
    return Frontier(
        problem=problem,
        points=[{**point, "distortion": measure.stated(point["distortion"])} for point in found],
        # at least this much distortion for so low a risk: stated from below
        lower_bound=[{**bound, "distortion": measure.bound(bound["distortion"])} for bound in bounds],
    )


def _no_worse(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Points of other methods count for ``optimal`` too where they are better: it stands for all mechanisms.

    Each keeps the grid on which it was found.
    """
    if all(point["method"] != "optimal" for point in points):
        return points
    kept: list[dict[str, Any]] = []
    # of equals its own point comes first
    for point in sorted(points, key=lambda p: (p["distortion"], p["risk"], p["method"] != "optimal")):
        if not kept or point["risk"] < kept[-1]["risk"] * (1 - 1e-12):
            kept.append({**point, "method": "optimal"})
    place = next(i for i, point in enumerate(points) if point["method"] == "optimal")
    others = [point for point in points if point["method"] != "optimal"]
    return [*others[:place], *kept, *others[place:]]


def _planned(
    problem: Problem,
    method: str,
    points: int,
    grid: int | None,
    on_grid: bool,
    tell: Callable[[str], None],
) -> list[tuple[float, float]]:
    """Least risk for each of a range of distortions, undominated."""
    most = METHODS[method].points or points
    unit = 2 * gamma(problem) * problem.tolerance
    found: list[tuple[float, float]] = []
    for i, budget in enumerate(_budgets(_widest(problem), unit, min(points, most))):
        tell(f"{method}: point {i + 1}")
        try:
            chosen = choose(problem, MaxDistortion(budget), method=method, cells=grid, on_grid=on_grid, compared=False)
        except TargetError:
            continue  # too little for a guess, or for a cell of this grid
        found.append((distortion(problem, chosen.mechanism), risk(problem, chosen.mechanism).value))
    return _undominated(found)


def _undominated(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    kept: list[tuple[float, float]] = []
    for pair in sorted(points):
        if not kept or pair[1] < kept[-1][1] * (1 - 1e-12):
            kept.append(pair)
    return kept


def _budgets(widest: float, unit: float, points: int) -> list[float]:
    """Distortions from the least that hides anything up to one release for everything.

    A comb gains a tooth just above every whole unit of 2 gamma eps, so half of the points lie there.
    """
    most = max(widest, 2 * unit)
    teeth = np.unique(np.round(np.geomspace(1, most / unit, max(2, points // 2))))
    between = np.geomspace(1.25 * unit, most, max(2, points - len(teeth)))
    return [float(budget) for budget in np.unique(np.concatenate([unit * teeth * 1.0005, between]))]


def _widest(problem: Problem) -> float:
    """A distortion that one release for all parameters hardly exceeds."""
    if not isinstance(problem.prior, Box):
        return 0.5
    if len(problem.box.free) == 1:
        found = line(problem)
        return 0.5 * float(found.ruler.distance(np.asarray(found.axis.low), np.asarray(found.axis.high)))
    if problem.also:
        half = {name: axis.width / 2 for name, axis in problem.box.axes.items()}
        return float(problem.family.length(half)) if isinstance(problem.family, LocationScale) else 0.0
    draws = problem.sample(4000, np.random.default_rng(0))
    return gamma(problem) * float(np.ptp(problem.position_of(draws)))


def _limit(problem: Problem, found: Sequence[dict[str, Any]], points: int) -> list[dict[str, float]]:
    """The limit at every distortion of the frontier, and at the jumps of the limit between them."""
    constant = gamma(problem)
    low, high = min(p["distortion"] for p in found), max(p["distortion"] for p in found)
    unit = 2 * constant * problem.tolerance
    jumps = unit * np.arange(max(1, np.floor(low / unit)), min(np.floor(high / unit), 10 * points) + 1)
    at = np.unique(np.concatenate([[p["distortion"] for p in found], jumps[(jumps >= low) & (jumps <= high)]]))
    return [{"distortion": float(d), "risk": limit_on_risk(problem, constant, float(d))} for d in at]
