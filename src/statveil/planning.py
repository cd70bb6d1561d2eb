"""plan(): a problem and a target in, a plan with its guarantee out. No data anywhere."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from statveil import accounting
from statveil.baseline import risk_without_release
from statveil.design.methods import METHODS, Choice, choose
from statveil.design.optimum import least_possible, one_line
from statveil.design.partition.designer import check_grid
from statveil.design.refinement import refine
from statveil.design.target import HidesNothingError, MaxDistortion, MaxRisk, Target, meets, target
from statveil.errors import ProblemError, TargetError, unknown_name
from statveil.made_plan import Plan, check_range, tolerated
from statveil.mechanisms.mechanism import Mechanism
from statveil.modes import mode_of
from statveil.numbers import check_seed, number, positive
from statveil.problem.another_prior import under_prior
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.published import published_bound
from statveil.simulation import Rate, WrongPrior, play
from statveil.spoken import Progress, Spoken, telling
from statveil.theory.gamma import gamma, least_distortion, limit_on_distortion, limit_on_risk
from statveil.theory.prior_distance import PriorDistance, prior_distance
from statveil.vouched import vouch_for

__all__ = ["Limits", "limits", "plan", "plan_in_brief", "simulate"]


_ROUNDED_UP = 1e-3
"""By how much, relatively, two risks that are each rounded up on their own may differ where they are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Spoken):
    """What no mechanism can beat."""

    words = "report.limits:describe_limits"

    gamma: float
    lower_bound: float
    bound_on: str
    distance: str = "w1"
    """In what distortion is measured."""
    distortion_kind: str | None = None
    """For a problem without a family: whether a distortion is ``absolute`` or ``relative``, a share."""

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        kind = {} if self.distortion_kind is None else {"distortion_kind": self.distortion_kind}
        return {"gamma": self.gamma, "lower_bound": self.lower_bound, "bound_on": self.bound_on, **kind}


def plan(
    problem: Problem,
    *,
    max_risk: float | Sequence[float] | None = None,
    max_distortion: float | Relative | None = None,
    bin: float | None = None,
    slope: float | None = None,
    method: str = "auto",
    robust_to: tuple[float | Relative, float | Relative] | None = None,
    grid: int | None = None,
    release: str = "free",
    after: Sequence[Plan] = (),
    progress: Progress | None = None,
) -> Plan:
    """The best mechanism for a problem and exactly one target.

    Parameters
    ----------
    problem : Problem
        What outsiders believe and know, what to hide, how close a guess counts.
    max_risk : float or sequence of float, optional
        Least distortion with at most this risk. With two secrets the best attacker hits either of them at most this
        often; or one risk for each, in their order.
    max_distortion : float or Relative, optional
        Least risk with at most this distortion; without a family also as a share.
    bin : float, optional
        The paper's mechanism with bins of this width.
    slope : float, optional
        Force a direction (the paper's t0).
    method : str
        ``"auto"``: the least distortion among the mechanisms whose risk stays in proportion to the attacker's
        tolerance (``"interval"``; for one uncertain parameter also ``"dynamic"``, the best partition on a grid, and
        ``"layered"``, randomised). By name only: ``"greedy"``, ``"comb"``, ``"layered-comb"``, ``"optimal"``. For two
        secrets ``"tiles"``, bins in both coordinates.
    robust_to : pair of float, optional
        Lowest and highest tolerance of the attackers to guard against, around the problem's. The target holds for all
        of them, and ``"auto"`` may use a comb.
    grid : int, optional
        Cells of the parameter range, for the numeric methods; by default 800, 400 for layers and combs, 240 for
        ``"optimal"``.
    release : str
        ``"free"``, or ``"grid"``: the released parameter must be an edge of the grid, as in the paper.
    after : sequence of Plan, optional
        Plans of earlier releases of the same column, for the same problem: the new bins cut theirs further, so that the
        risk is that of all releases together (docs/composition.md).
    progress : callable, optional
        Called now and then with what is being done, 0 and None.

    Examples
    --------
    >>> import statveil as sv
    >>> salaries = sv.Problem(secret=sv.Mean(), prior=(40_000, 140_000), tolerance=1_000)
    >>> plan = sv.plan(salaries, max_risk=0.2)
    >>> plan.risk, plan.distortion, plan.mode
    (0.2, 5000.0, 'shift')
    >>> comb = sv.plan(salaries, max_risk=0.2, method="comb")
    >>> round(comb.risk, 4), round(comb.distortion), round(comb.efficiency, 4)
    (0.2, 4000, 1.0)
    """
    if method not in ("auto", *METHODS):
        raise ProblemError(unknown_name("method", method, ["auto", *METHODS]))
    if slope is not None and abs(slope := number(slope, "the slope")) > 1e9:
        raise ProblemError(f"the slope must lie between -1e9 and 1e9. Got {slope:g}; leave it out for a pure shift.")
    goal = _goal(problem, max_risk=max_risk, max_distortion=max_distortion, bin=bin)
    if release not in ("free", "grid"):
        raise ProblemError(unknown_name("release", str(release), ["free", "grid"]))
    if grid is not None:
        check_grid(grid)
    if problem.also and robust_to is not None:
        raise ProblemError("a range of tolerances is for one secret; with two state each with its largest tolerance.")
    if isinstance(goal, MaxRisk) and goal.each and not problem.also:
        raise ProblemError(f"several risks are for several secrets. Got {len(goal.each)} risks and one secret.")
    robust = None if robust_to is None else check_range(robust_to, problem)
    # a hit within a small tolerance is one within a larger, so the highest tolerance decides
    asked = problem if robust is None else replace(problem, tolerance=tolerated(problem, robust[1]))
    method = _allowed(method, problem, bool(after))
    earlier = _earlier(problem, after)
    if earlier and (method != "auto" or robust is not None or slope is not None or grid is not None):
        raise ProblemError("after another plan its own bins are cut further; leave out method, slope, grid and robust.")
    try:
        chosen = (
            refine(problem, goal, earlier)
            if earlier
            else choose(
                asked,
                goal,
                method=method,
                slope=slope,
                cells=grid,
                on_grid=release == "grid",
                combs=robust is not None,
                progress=telling(progress),
            )
        )
    except TargetError as error:
        said = _in_its_terms(error, problem)
        if robust is None:
            raise said from None
        raise TargetError(f"for attackers of every tolerance up to {robust[1]:g}, {said}") from None
    return _guaranteed(problem, asked, goal, chosen, robust=robust)


def plan_in_brief(problem: Problem, *, max_risk: float, method: str, grid: int | None = None) -> Plan:
    """A plan with its guarantee and without what it is held against: the optimum and the paper's own bound.

    Those are found by searches of their own, up to some seconds; who moves a slider reads neither.
    """
    goal = target(max_risk=max_risk)
    chosen = choose(problem, goal, method=_allowed(method, problem, after=False), cells=grid)
    return _guaranteed(problem, problem, goal, chosen, brief=True)


def _guaranteed(
    problem: Problem,
    asked: Problem,
    goal: Target,
    chosen: Choice,
    *,
    robust: tuple[float, float] | None = None,
    brief: bool = False,
) -> Plan:
    """The mechanism that was chosen with what it promises; ``asked`` is the problem at the highest tolerance."""
    mechanism = chosen.mechanism
    found = accounting.risk(problem, mechanism)
    blind = risk_without_release(problem)
    value = _capped(_at_least(found, blind, goal, wider=problem.family.takes_ranges), goal, mechanism)
    constant, distorted = gamma(problem), accounting.distortion(problem, mechanism)
    # a hair above the risk, where the limit is a hair weaker: a plan for 1/5 has the limit of 1/5
    about = min(1.0, value * (1 + 1e-6))
    measure, limit = problem.measure, limit_on_distortion(problem, constant, about)
    # widened windows have another optimum than those that are meant
    known = not brief and (chosen.certificate is None or one_line(problem)) and not problem.family.widened
    inner = least_distortion(constant, problem.tolerance, about)
    best = least_possible(problem, about, low=inner, high=distorted) if known else None
    if limit > measure.stated(distorted) * (1 + 1e-6):
        raise ProblemError(
            f"the accounting contradicts itself: a risk of {value:.6g} needs a distortion of {limit:.6g}, and the plan "
            f"has {measure.stated(distorted):.6g}. No plan is made; please report this problem."
        )
    least = None if best is None else measure.bound(best.distortion)
    made = Plan(
        problem=problem,
        mechanism=mechanism,
        method=chosen.method,
        mode=mode_of(problem, chosen.how.kind, mechanism.moves).name,
        risk=value,
        risk_kind=found.kind,
        published_bound=None if brief else published_bound(problem, mechanism),
        distortion=measure.stated(distorted),
        gamma=constant,
        lower_bound=limit,
        optimum=least if least is not None else measure.stated(distorted) if chosen.certificate else None,
        optimum_kind=best.kind if best is not None else "grid" if chosen.certificate else None,
        certificate=chosen.certificate,
        robust_to=robust,
        robust_risk=None
        if robust is None
        else max(value, _capped(accounting.risk(asked, mechanism).value, goal, mechanism)),
        risk_without_release=min(blind, value),  # both are rounded up, so the smaller one holds
    )
    return vouch_for(made)


def _allowed(method: str, problem: Problem, after: bool) -> str:
    """The method, where a problem allows some only: the first of them by default."""
    methods = problem.family.methods
    if not methods or after:
        return method
    if method != "auto" and method not in methods:
        raise ProblemError(
            f"the {problem.secret.label} are hidden by neighbouring bins, each released at its lower end. Got the "
            f"method {method!r}. Allowed: {', '.join(methods)}."
        )
    return methods[0] if method == "auto" else method


def _earlier(problem: Problem, after: Sequence[Plan]) -> list[Mechanism]:
    """The mechanisms of earlier releases of the same column, which must be about the same problem."""
    if isinstance(after, Plan) or not all(isinstance(one, Plan) for one in after):
        raise ProblemError("'after' is a list of plans, those of the earlier releases of this column.")
    if any(one.problem != problem for one in after):
        raise ProblemError(
            "the plans of the earlier releases are about another problem; give the next release the same family, "
            "prior, secret, tolerance and structure, or see with 'statveil compose' what they tell together."
        )
    return [one.mechanism for one in after]


def _at_least(found: accounting.Risk, blind: float, goal: Target, *, wider: bool = True) -> float:
    """The risk, never below that of a guess without a release: one of two such numbers would be wrong.

    A proven bound may well be the lower one of two. Else the larger one counts, and a target between them is refused,
    unless they differ by no more than what rounding up their errors may add.
    """
    if found.kind == "upper bound" or blind <= found.value:
        return found.value
    if not isinstance(goal, MaxRisk) or not meets(found.value, goal) or meets(blind, goal):
        return blind
    if not meets(blind, goal, within=1 + _ROUNDED_UP):
        ways = "use a smaller tolerance, or state a wider prior if outsiders know less"
        raise TargetError(
            f"a risk of {goal.value:g} cannot be met with this prior: a guess that never saw a release hits with "
            f"{blind:.6g}. Ask for a larger risk, {ways if wider else 'or use a smaller tolerance'}."
        )
    return found.value


def _capped(risk: float, goal: Target, mechanism: Mechanism) -> float:
    """The risk, where it is the target up to rounding errors, or the hair of a comb, the target itself."""
    if not isinstance(goal, MaxRisk):
        return risk
    close = meets(risk, goal) or meets(risk, goal, within=mechanism.hair)
    return min(risk, goal.value) if close else risk


def _goal(
    problem: Problem,
    *,
    max_risk: float | Sequence[float] | None = None,
    max_distortion: float | Relative | None = None,
    bin: float | None = None,
) -> Target:
    """The one target that was given, with a distortion in the terms of the design."""
    if isinstance(max_distortion, Relative) and not problem.family.shapeless:
        raise ProblemError(
            f"a relative distortion is for a problem without a family. Got {max_distortion} with "
            f"{problem.family.name!r}; state it in the unit of the column."
        )
    if problem.family.log and bin is not None:
        raise ProblemError("bins of one width are for an absolute tolerance; ask for a risk or a distortion instead.")
    if max_distortion is not None and not isinstance(max_distortion, Relative):
        max_distortion = positive(max_distortion, "the largest allowed distortion")
    inner = None if max_distortion is None else problem.measure.inner(max_distortion)
    return target(max_risk=max_risk, max_distortion=inner, bin=bin)


def _in_its_terms(error: TargetError, problem: Problem) -> TargetError:
    """A target that is out of reach, with distortions as the problem states them."""
    measure = problem.measure
    if not isinstance(error, HidesNothingError):
        return error
    return HidesNothingError(measure.stated(error.goal), measure.stated(error.least), share=measure.kind == "relative")


def limits(
    problem: Problem, *, max_risk: float | None = None, max_distortion: float | Relative | None = None
) -> Limits:
    """What no mechanism can beat: the least distortion for a risk, or the least risk for a distortion."""
    goal = _goal(problem, max_risk=max_risk, max_distortion=max_distortion)
    constant, measure = gamma(problem), problem.measure
    if isinstance(goal, MaxDistortion):
        bound, what = limit_on_risk(problem, constant, goal.value), "risk"
    else:
        bound, what = limit_on_distortion(problem, constant, goal.value), "distortion"
    return Limits(
        gamma=constant,
        lower_bound=bound,
        bound_on=what,
        distance=problem.distance,
        distortion_kind=measure.kind if problem.family.shapeless else None,
    )


def simulate(
    plan: Plan,
    *,
    trials: int = 100_000,
    seed: int | None = None,
    rng: Generator | None = None,
    confidence: float = 0.999,
    prior: Any = None,
) -> Rate:
    """The best attacker played for real against a plan; success rate with a confidence interval.

    It uses the mechanism, the secret and the prior, never the accounting behind ``plan.risk``.

    Parameters
    ----------
    plan : Plan
        The plan that is attacked.
    trials, seed, rng, confidence
        How often, by which chance, and the level of the interval.
    prior : optional
        Another prior than the plan's, inside its range: values are drawn from it, and the attacker knows it. The rate
        then comes with what no attacker exceeds under it (:attr:`Rate.wrong_prior`).
    """
    source = np.random.default_rng(None if seed is None else check_seed(seed)) if rng is None else rng
    if prior is None:
        return play(plan.problem, plan.mechanism, trials=trials, rng=source, confidence=confidence)
    other = under_prior(plan.problem, prior)
    found = play(other, plan.mechanism, trials=trials, rng=source, confidence=confidence)
    far: PriorDistance | None = None
    if not other.box.cut(other.family):  # a constraint ties the parameters to each other
        parts = [prior_distance(plan.problem.box.axes[name], other.box.axes[name]) for name in plan.problem.box.free]
        known = [part for part in parts if part is not None]
        far = functools.reduce(PriorDistance.times, known) if len(known) == len(parts) else None
    wrong = WrongPrior(prior=other.prior.to_json(), distance=far, risk=plan.risk)
    return replace(found, wrong_prior=wrong)
