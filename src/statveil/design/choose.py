"""Which mechanism a plan gets: the one asked for by name, or the best of those that keep their promise to everyone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from statveil.accounting import distortion, risk
from statveil.design.analytic import design_interval
from statveil.design.cell_methods import Certified, design_cells
from statveil.design.comb import KNIFE, design_comb
from statveil.design.failures import unreachable
from statveil.design.partitions import design_partition
from statveil.design.target import BinWidth, MaxRisk, Target, meets
from statveil.design.treatment import Treatment, treatment
from statveil.errors import ProblemError, StatveilError, TargetError
from statveil.mechanisms.mechanism import Mechanism
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.theory.one_parameter import line

__all__ = ["CELLS", "METHODS", "Choice", "choose", "on_cells"]

_TRIES = 6
METHODS = ("auto", "interval", "layered", "dynamic", "greedy", "comb", "layered-comb", "optimal")
"""What a plan can ask for by name."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A mechanism, how the declared structure is treated, the method that found it, and a proof that it is good."""

    mechanism: Mechanism
    how: Treatment
    method: str
    certificate: Certified | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of every method."""

    problem: Problem
    goal: Target
    slope: float | None
    cells: int | None
    on_grid: bool
    compared: bool
    progress: Progress | None


def choose(
    problem: Problem,
    goal: Target,
    *,
    method: str,
    slope: float | None = None,
    cells: int | None = None,
    on_grid: bool = False,
    combs: bool = False,
    compared: bool = True,
    progress: Progress | None = None,
) -> Choice:
    """The mechanism for a target; ``combs`` lets ``"auto"`` use combs too.

    ``compared`` holds ``"optimal"``, which needs a coarse grid, against the methods that do not.
    """
    request = Request(
        problem=problem, goal=goal, slope=slope, cells=cells, on_grid=on_grid, compared=compared, progress=progress
    )
    if method != "auto":
        return _kept(request, method)
    names = _candidates(problem, goal, slope, on_grid, combs)
    return _best_of(request, [partial(_kept, request, name) for name in names])


def _kept(request: Request, method: str) -> Choice:
    """A method held against the accounting: for a function of the user's its own sums are a little below it."""
    goal = request.goal
    if not request.problem.secret.rough or not isinstance(goal, MaxRisk):
        return _named(request, method)
    asked, least = goal.value, 1.0
    for _ in range(_TRIES):
        found = _named(replace(request, goal=MaxRisk(asked)), method)
        value = risk(request.problem, found.mechanism).value
        if meets(value, goal):
            return found
        least = min(least, value)
        asked *= min(goal.value / value, 1.0) * (1 - 1e-4)
    raise unreachable(goal.value, least, "by this method on this grid")


def _best_of(request: Request, options: Sequence[Callable[[], Choice]]) -> Choice:
    """The best of several methods; what one cannot do, another may."""
    if len(options) == 1:
        return options[0]()
    found, failures = [], []
    for option in options:
        try:
            found.append(option())
        except StatveilError as error:
            failures.append(error)
    if not found:
        # a target out of reach says more than a method that does not fit the problem
        raise min(failures, key=lambda error: not isinstance(error, TargetError))
    return _least(request.problem, request.goal, found)


def _candidates(problem: Problem, goal: Target, slope: float | None, on_grid: bool, combs: bool) -> list[str]:
    """Methods that fit the problem; deterministic ones first, so that they win ties."""
    closed = _closed(problem)
    if isinstance(goal, BinWidth) or slope is not None:
        return ["interval"]
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    numeric = alone and all(axis.exact for axis in problem.box.axes.values()) and not problem.box.cut(problem.family)
    if closed and treatment(problem).kind == "lattice":
        return ["interval"]
    # bins of equal width are the best intervals where the belief is flat along them
    even = closed and (not alone or problem.box.axes[problem.box.free[0]].flat)
    names = ["interval"] if closed and not (on_grid and numeric) else []
    names += ["dynamic", "layered"] if numeric and (not even or on_grid) else []
    names += ["comb"] if combs else []
    names += ["layered-comb"] if combs and numeric and not even else []
    return names or ["dynamic"]


def _named(request: Request, method: str) -> Choice:
    problem, goal, slope = request.problem, request.goal, request.slope
    mechanism: Mechanism
    if method == "interval":
        mechanism, how = design_interval(problem, goal, slope=slope)
    elif method in ("dynamic", "greedy"):
        cells = request.cells or CELLS[method]
        mechanism, how = design_partition(problem, goal, method, cells=cells, on_grid=request.on_grid, slope=slope)
    elif method == "comb" and _closed(problem):
        return _comb(request)
    elif method == "comb" and slope is None and line(problem).curve.turns:
        # combs stay on one side of a turn, bins need not
        return _best_of(request, [partial(_on_cells, request, "comb"), partial(_named, request, "dynamic")])
    else:
        if slope is not None:
            raise ProblemError(f"a slope is for the method 'interval'. Got the method {method!r}; leave out the slope.")
        found = _on_cells(request, method)
        return _no_worse(request, found) if method == "optimal" and request.compared else found
    return Choice(mechanism=mechanism, how=how, method=method)


def _no_worse(request: Request, found: Choice) -> Choice:
    """The programme's mechanism, or that of another method whose finer grid, or none, makes up for its rule."""
    options = [found]
    for name in ("dynamic", "greedy", "comb", "layered-comb"):
        try:
            options.append(_named(request, name))
        except StatveilError:
            continue  # what this method cannot do
    best = _least(request.problem, request.goal, options)
    if best is found:
        return found
    # what is proven of the programme's grid need not hold on another
    proven = found.certificate
    least = risk(request.problem, best.mechanism).value
    kept = proven if proven is not None and proven.least_risk <= least * (1 + 1e-9) else None
    return replace(best, method="optimal", certificate=kept)


def _closed(problem: Problem) -> bool:
    """Whether bins and combs have closed forms: the secret is linear in the parameters."""
    return isinstance(problem.family, LocationScale | Categorical) and not problem.secret.rough


def on_cells(problem: Problem) -> bool:
    """Whether a comb of this problem is made of cells, as it has no closed form or follows a density."""
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    return not _closed(problem) or (alone and not problem.box.axes[problem.box.free[0]].flat)


def _on_cells(request: Request, method: str) -> Choice:
    mechanism, certificate = design_cells(
        request.problem,
        request.goal,
        method,
        cells=request.cells or CELLS[method],
        on_grid=request.on_grid,
        progress=request.progress,
    )
    return Choice(mechanism=mechanism, how=treatment(request.problem), method=method, certificate=certificate)


def _comb(request: Request) -> Choice:
    """The comb of a line; where one parameter has a density, blocks that follow it may be better."""
    problem = request.problem
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    if request.on_grid and not alone:
        raise ProblemError("a release on the grid is for one uncertain parameter; leave it out, or state the others.")
    options: list[Callable[[], Choice]] = [] if request.on_grid else [lambda: _line_comb(request)]
    if request.on_grid or (alone and not problem.box.axes[problem.box.free[0]].flat and request.slope is None):
        options.append(lambda: _on_cells(request, "comb"))
    return _best_of(request, options)


def _line_comb(request: Request) -> Choice:
    mechanism, how = design_comb(request.problem, request.goal, slope=request.slope)
    return Choice(mechanism=mechanism, how=how, method="comb")


CELLS = {"dynamic": 800, "greedy": 800, "layered": 400, "comb": 400, "layered-comb": 400, "optimal": 240}
"""Cells of the parameter range where none are asked for, so that each takes a few seconds."""


def _least(problem: Problem, goal: Target, found: Sequence[Choice]) -> Choice:
    """Least distortion for a risk, least risk for a distortion; the earlier one of equals."""
    risks = [risk(problem, choice.mechanism).value for choice in found]
    distortions = [distortion(problem, choice.mechanism) for choice in found]
    if isinstance(goal, MaxRisk):
        met = [i for i, value in enumerate(risks) if value <= goal.value * KNIFE] or list(range(len(found)))
        least = min(distortions[i] for i in met)
        return found[next(i for i in met if distortions[i] <= least * (1 + 1e-9))]
    least = min(risks)
    return found[next(i for i, value in enumerate(risks) if value <= least * (1 + 1e-9))]
