"""The methods of design, and which mechanism a plan gets: of the method asked for by name, or the best of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from statveil.accounting import distortion, risk
from statveil.design.cells.methods import Certified, design_cells
from statveil.design.comb.design import design_comb
from statveil.design.interval.design import design_interval
from statveil.design.partition.designer import design_partition
from statveil.design.target import BinWidth, MaxRisk, Target, meets, unreachable
from statveil.design.tiles import design_tiles
from statveil.design.treatment import Treatment, treatment
from statveil.errors import ProblemError, StatveilError, TargetError
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.comb import KNIFE, Comb
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.mechanisms.scaling import Scaling
from statveil.mechanisms.tiles import Tiles
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.theory.one_parameter import line
from statveil.theory.risk.log_slope import class_slope

__all__ = ["METHODS", "Choice", "Method", "check_accepted", "check_secrets", "choose"]

_TRIES = 6

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
    """What is asked of every method; how the declared structure is treated is decided once, here."""

    problem: Problem
    how: Treatment
    goal: Target
    slope: float | None
    cells: int | None
    on_grid: bool
    compared: bool
    progress: Progress | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to find a mechanism.

    Parameters
    ----------
    make : callable
        Finds it.
    makes : tuple of types
        What it can end with.
    accepts : set of str
        Which of ``"a slope"``, ``"a bin width"`` and ``"a known step"`` it can work with.
    cells : int, optional
        Cells of the parameter range where none are asked for, so that it takes a few seconds; ``None`` where it needs
        none.
    needs_cells : callable
        Whether it works on cells for this problem.
    points : int, optional
        At most so many points of a frontier, each of which takes long.
    at_once : bool
        Whether its whole frontier costs little more than one point of it.
    secrets : int
        How many secrets of the column it hides.
    """

    make: Callable[[Request], Choice]
    makes: tuple[type[Mechanism], ...]
    accepts: frozenset[str] = frozenset()
    cells: int | None = None
    needs_cells: Callable[[Problem], bool] = field(default=lambda problem: True)
    points: int | None = None
    at_once: bool = False
    secrets: int = 1

    def grid(self, problem: Problem, asked: int | None) -> int | None:
        """Cells on which it works: as many as were asked for, if it needs any."""
        return (asked or self.cells) if self.cells is not None and self.needs_cells(problem) else None


def check_accepted(name: str, how: Treatment, *, slope: bool = False, width: bool = False) -> None:
    """Refuse what a method cannot work with."""
    accepts = METHODS[name].accepts
    if slope and "a slope" not in accepts:
        raise ProblemError(f"a slope is for the method 'interval'. Got the method {name!r}; leave out the slope.")
    if width and "a bin width" not in accepts:
        raise ProblemError(
            f"a bin width is for the method 'interval'. Got the method {name!r}; ask for a risk instead."
        )
    if how.lattice is not None and "a known step" not in accepts:
        raise ProblemError("a known step is accounted for by the method 'interval' only; use that.")


def check_secrets(name: str, problem: Problem) -> None:
    """Refuse a method that hides another number of secrets than the problem has."""
    if METHODS[name].secrets != len(problem.each):
        fitting = [other for other, method in METHODS.items() if method.secrets == len(problem.each)]
        raise ProblemError(
            f"the method {name!r} hides {METHODS[name].secrets} secret{'s' * (METHODS[name].secrets > 1)} of a column, "
            f"and the problem has {len(problem.each)}. Allowed: {', '.join(fitting)}."
        )


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
        problem=problem,
        how=treatment(problem),
        goal=goal,
        slope=slope,
        cells=cells,
        on_grid=on_grid,
        compared=compared,
        progress=progress,
    )
    if method != "auto":
        return _kept(request, method)
    names = _candidates(request, combs)
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


def _candidates(request: Request, combs: bool) -> list[str]:
    """Methods that fit the problem; deterministic ones first, so that they win ties."""
    problem, on_grid = request.problem, request.on_grid
    if problem.also:
        return ["tiles"]
    closed = _closed(problem)
    if isinstance(request.goal, BinWidth) or request.slope is not None:
        return ["interval"]
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    numeric = alone and all(axis.exact for axis in problem.box.axes.values()) and not problem.box.cut(problem.family)
    if closed and request.how.lattice is not None:
        return ["interval"]
    # bins of equal width are the best intervals where the belief is flat along them
    even = closed and (not alone or _even(problem))
    names = ["interval"] if closed and not (on_grid and numeric) else []
    names += ["dynamic", "layered"] if numeric and (not even or on_grid) else []
    names += ["comb"] if combs else []
    names += ["layered-comb"] if combs and numeric and not even else []
    return names or ["dynamic"]


def _named(request: Request, method: str) -> Choice:
    width = isinstance(request.goal, BinWidth)
    check_accepted(method, request.how, slope=request.slope is not None, width=width)
    check_secrets(method, request.problem)
    return METHODS[method].make(request)


def _interval(request: Request) -> Choice:
    mechanism = design_interval(request.problem, request.goal, request.how, slope=request.slope)
    return Choice(mechanism=mechanism, how=request.how, method="interval")


def _partition(name: str, request: Request) -> Choice:
    cells = request.cells or METHODS[name].cells
    assert cells is not None
    mechanism = design_partition(request.problem, request.goal, name, cells=cells, on_grid=request.on_grid)
    return Choice(mechanism=mechanism, how=request.how, method=name)


def _optimal(request: Request) -> Choice:
    found = _on_cells("optimal", request)
    return _no_worse(request, found) if request.compared else found


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


def _even(problem: Problem) -> bool:
    """Whether equal bins and teeth, laid from one end, are the best: for a flat belief, and for one that only falls."""
    axis = problem.box.axes[problem.box.free[0]]
    return axis.flat or axis.falling or class_slope(axis) is not None


def _comb_on_cells(problem: Problem) -> bool:
    """Whether a comb of this problem is made of cells, as it has no closed form or follows a density."""
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    return not _closed(problem) or (alone and not _even(problem))


def _on_cells(name: str, request: Request) -> Choice:
    cells = request.cells or METHODS[name].cells
    assert cells is not None
    mechanism, certificate = design_cells(
        request.problem,
        request.goal,
        name,
        cells=cells,
        on_grid=request.on_grid,
        progress=request.progress,
    )
    return Choice(mechanism=mechanism, how=request.how, method=name, certificate=certificate)


def _comb(request: Request) -> Choice:
    """The comb of a line; where one parameter has a density, blocks that follow it may be better."""
    problem = request.problem
    if not _closed(problem):
        if not line(problem).curve.turns:
            return _on_cells("comb", request)
        # combs stay on one side of a turn, bins need not
        return _best_of(request, [partial(_on_cells, "comb", request), partial(_named, request, "dynamic")])
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    if request.on_grid and not alone:
        raise ProblemError("a release on the grid is for one uncertain parameter; leave it out, or state the others.")
    options: list[Callable[[], Choice]] = [] if request.on_grid else [partial(_line_comb, request)]
    if request.on_grid or (alone and not _even(problem)):
        options.append(partial(_on_cells, "comb", request))
    return _best_of(request, options)


def _tiles(request: Request) -> Choice:
    if request.on_grid or request.cells is not None:
        raise ProblemError("bins in two coordinates need no grid of cells; leave out the grid and the release on it.")
    return Choice(mechanism=design_tiles(request.problem, request.goal), how=request.how, method="tiles")


def _line_comb(request: Request) -> Choice:
    return Choice(mechanism=design_comb(request.problem, request.goal, request.how), how=request.how, method="comb")


METHODS: dict[str, Method] = {
    "interval": Method(
        make=_interval,
        makes=(Interval, Scaling),
        accepts=frozenset({"a slope", "a bin width", "a known step"}),
    ),
    "layered": Method(make=partial(_on_cells, "layered"), makes=(Cells,), cells=400, points=48),
    "dynamic": Method(make=partial(_partition, "dynamic"), makes=(Partition,), cells=800, at_once=True),
    "greedy": Method(make=partial(_partition, "greedy"), makes=(Partition,), cells=800, at_once=True),
    "comb": Method(make=_comb, makes=(Comb, Cells), cells=400, needs_cells=_comb_on_cells, points=48),
    "layered-comb": Method(make=partial(_on_cells, "layered-comb"), makes=(Cells,), cells=400, points=48),
    "optimal": Method(make=_optimal, makes=(Cells, Partition, Comb), cells=240, points=16),
    "tiles": Method(make=_tiles, makes=(Tiles,), secrets=2, points=48),
}
"""What a plan can ask for by name, beside ``"auto"``."""


def _least(problem: Problem, goal: Target, found: Sequence[Choice]) -> Choice:
    """Least distortion for a risk, least risk for a distortion; the earlier one of equals."""
    risks = [risk(problem, choice.mechanism).value for choice in found]
    distortions = [distortion(problem, choice.mechanism) for choice in found]
    if isinstance(goal, MaxRisk):
        met = [i for i, value in enumerate(risks) if meets(value, goal, within=KNIFE)] or list(range(len(found)))
        least = min(distortions[i] for i in met)
        return found[next(i for i in met if distortions[i] <= least * (1 + 1e-9))]
    least = min(risks)
    return found[next(i for i, value in enumerate(risks) if value <= least * (1 + 1e-9))]
