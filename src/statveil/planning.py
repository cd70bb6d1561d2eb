"""plan(): a problem and a target in, a plan with its guarantee out. No data anywhere."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil import accounting
from statveil.baseline import risk_without_release
from statveil.design.cells.methods import Certified
from statveil.design.methods import METHODS, choose
from statveil.design.optimum import least_possible, one_line
from statveil.design.partition.designer import check_grid
from statveil.design.refinement import refine
from statveil.design.target import HidesNothingError, MaxDistortion, MaxRisk, Target, meets, target
from statveil.errors import ProblemError, TargetError, unknown_name
from statveil.mechanisms.directed import Directed
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism, mechanism_from_json
from statveil.modes import MODES, Mode, mode_of
from statveil.numbers import check_seed, number, positive
from statveil.problem.another_prior import under_prior
from statveil.problem.families.row_count import RowCount
from statveil.problem.location_scale import LocationScale
from statveil.problem.parameters import checked_parameters
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret
from statveil.problem.tolerance import Relative
from statveil.protection import Protection, protections
from statveil.published import published_bound
from statveil.simulation import Rate, WrongPrior, play
from statveil.spoken import Drawn, Progress, Spoken, telling
from statveil.theory.gamma import gamma, least_distortion, limit_on_distortion, limit_on_risk
from statveil.theory.prior_distance import PriorDistance, prior_distance
from statveil.theory.risk.log_slope import most_of
from statveil.theory.risk.one_dimensional import teeth
from statveil.vouched import vouch_for

__all__ = [
    "METHODS",
    "MODES",
    "RISK_KINDS",
    "Applied",
    "Limits",
    "Plan",
    "limits",
    "plan",
    "simulate",
]

RISK_KINDS = (*accounting.KINDS, "simulated")
"""How a risk was obtained; plan files from before ``numerical`` say ``exact`` where quadrature was used."""


_ROUNDED_UP = 1e-3
"""By how much, relatively, two risks that are each rounded up on their own may differ where they are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What the mechanism makes of parameters: both fields describe the release, so both may be published."""

    released: dict[str, NDArray[np.float64]]
    """Released parameters by name."""
    secret: NDArray[np.float64]
    """Value of the secret at the released parameters."""


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


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Plan(Drawn):
    """A mechanism with its guarantee, made without data; it can be published.

    Parameters
    ----------
    problem : Problem
        What was asked.
    mechanism : Mechanism
        What a parameter becomes.
    method, mode : str
        How the mechanism was found, and which map of the column realises it.
    risk : float
        P(best attacker hits), never below the truth; of two secrets either. ``risk_kind`` says how it was obtained.
    published_bound : float or None
        The paper's printed bound at this bin and slope, errors included.
    distortion : float
        Largest distance between an original and its release; for a problem without a family in its own unit or as a
        share (``problem.measure.kind``).
    gamma, lower_bound : float
        The problem's constant, and the distortion that no mechanism of this risk can beat (Theorem 1).
    optimum, optimum_kind : float, str or None
        Least distortion of any mechanism of this risk: ``"exact"`` for a plain range of one parameter, ``"grid"`` where
        it is the linear programme's on a grid, which a finer one may beat.
    certificate : Certified or None
        For the linear programme: what no mechanism on its grid is below, proven without the solver.
    robust_to, robust_risk : tuple of float, float or None
        Tolerances of attackers, lowest and highest, and the largest risk against any of them.
    risk_without_release : float or None
        P(a guess hits that knows the prior alone), rounded up: what the release adds is what lies above it.
    """

    words = "report.plan:describe_plan"
    picture = "report.plan_chart:plan_chart"
    frame = "report.frames:plan_frame"

    problem: Problem
    mechanism: Mechanism
    method: str
    mode: str
    risk: float
    risk_kind: str
    published_bound: float | None
    distortion: float
    gamma: float
    lower_bound: float
    optimum: float | None = None
    optimum_kind: str | None = None
    certificate: Certified | None = None
    robust_to: tuple[float, float] | None = None
    robust_risk: float | None = None
    risk_without_release: float | None = None

    @property
    def release_mode(self) -> Mode:
        """The map of the column that realises the plan, with all that must be known of it."""
        return MODES[self.mode]

    @property
    def efficiency(self) -> float | None:
        """Distortion over the lower bound: 1 is the best there can be. ``None`` where the bound says nothing."""
        return self.distortion / self.lower_bound if self.lower_bound > 0 else None

    @property
    def efficiency_optimum(self) -> float | None:
        """Distortion over the optimum's, where that is known."""
        return self.distortion / self.optimum if self.optimum else None

    @property
    def of_each(self) -> accounting.Both | None:
        """For two secrets: the risk of each, of hitting either (:attr:`risk`), and of hitting both."""
        return accounting.both(self.problem, self.mechanism) if self.problem.also else None

    def for_secret(self, secret: str | Secret) -> Plan:
        """The same release as a plan for one of its two secrets alone, with the risk of that one.

        >>> import statveil as sv
        >>> also = sv.Also(sv.Std(), prior=(5, 20), tolerance=0.5)
        >>> problem = sv.Problem(secret=sv.Mean(), prior=(10, 50), tolerance=1, also=[also])
        >>> plan = sv.plan(problem, max_risk=0.4)
        >>> [round(plan.for_secret(one).risk, 9) for one in ("mean", "std")], plan.risk
        ([0.25, 0.2], 0.4)
        """
        label = secret.label if isinstance(secret, Secret) else secret
        for one in self.problem.each:
            if one.secret.label == label:
                found = accounting.risk(one, self.mechanism)
                if not self.problem.also:
                    return self
                return replace(
                    self,
                    problem=one,
                    risk=found.value,
                    risk_kind=found.kind,
                    gamma=gamma(one),
                    lower_bound=limit_on_distortion(one, gamma(one), found.value),
                    risk_without_release=min(risk_without_release(one), found.value),
                )
        raise ProblemError(unknown_name("secret of this plan", label, [one.secret.label for one in self.problem.each]))

    @property
    def in_proportion(self) -> bool:
        """Whether a guess that must be twice as close hits clearly less often; false for combs."""
        half = accounting.risk(self.problem, self.mechanism, tolerance=0.5 * self.problem.tolerance).value
        return half <= 0.75 * self.risk

    @property
    def spacing(self) -> float | None:
        """For a comb, the least distance between the values of the secret that share a release.

        The receiver learns the secret modulo about this spacing.
        """
        apart, eps = self.mechanism.spacing, self.problem.tolerance
        return (
            None if apart is None else apart * 2 * eps / accounting.hit_window(self.problem, self.mechanism.moves, eps)
        )

    @property
    def largest_move(self) -> float:
        """By how much at most a release changes the secret, in the secret's own unit.

        For bins half their width, in units of the secret. No distance below the distortion changes it by more than
        distortion / (2 gamma).
        """
        family, mechanism = self.problem.family, self.mechanism
        for change in (family.largest_change(self.distortion), mechanism.largest_change(self.problem)):
            if change is not None:
                return change
        if isinstance(family, LocationScale) and isinstance(mechanism, Directed):
            eps = self.problem.tolerance
            rate = 2 * eps / accounting.hit_window(self.problem, mechanism.direction, eps)
            return self._in_unit(self.distortion * rate / float(family.length(mechanism.direction)))
        return self._in_unit(0.5 * self.distortion / self.gamma)

    def _in_unit(self, change: float) -> float:
        """A change of the secret in its own unit, where it was worked out on the scale of its logarithm."""
        if self.problem.distance != "log-w1":
            return change
        ends = itertools.product(*((axis.low, axis.high) for axis in self.problem.box.axes.values()))
        corners = [dict(zip(self.problem.box.axes, corner, strict=True)) for corner in ends]
        largest: float = max(float(self.problem.secret_of(corner)) for corner in corners)
        return math.expm1(change) * largest

    @property
    def moves_rows(self) -> float:
        """The distortion in the column's unit; where it depends on the shape, by how much the secret moves."""
        measure = self.problem.measure
        if self.problem.distance == "log-w1":
            return self.largest_move
        found = measure.in_unit(measure.of_plan(self.distortion))
        return self.largest_move / (abs(self.problem.secret.per_shift or 0.0) or 1.0) if found is None else found

    @property
    def bin(self) -> float | None:
        """Width of the bins along the binned coordinate."""
        return self.mechanism.bin_width

    @property
    def slope(self) -> float | None:
        """The paper's t0 of the bins' direction; ``None`` for a pure shift or a single parameter."""
        family = self.problem.family
        if isinstance(family, LocationScale) and self.mechanism.moves and not family.shapeless:
            return family.slope_of(self.mechanism.moves) if len(self.problem.box.free) == 2 else None
        return None

    @property
    def risk_if_shape_tells(self) -> float | None:
        """Without a family: a bound on the risk that holds although the shape tells the size roughly.

        Whatever the shape, the belief must still spread over half of the stated range and change by no more than a
        factor of e there (docs/theory.md, orbits; whole bins and two that are cut). Where the column is redrawn from
        one of K public forms, whatever the choice of the form tells: K times the risk. ``None`` where no bound is
        known.
        """
        mechanism, model = self.mechanism, self.problem.family.model
        if model is not None:
            return None if model.choices is None else min(1.0, model.choices * self.risk)
        if not self.problem.family.shapeless or not isinstance(mechanism, Interval):
            return None
        (axis,) = self.problem.box.axes.values()
        window = accounting.hit_window(self.problem, mechanism.direction, self.problem.tolerance)
        if mechanism.step is not None:  # on a comb of steps as many as a window holds
            window = teeth(window, mechanism.step) * mechanism.step
        half = 0.5 * axis.width
        shares = most_of(window, np.array([min(mechanism.bins.width, axis.width), half]), 1 / half)
        return min(1.0, float(shares[0] + 2 * shares[1]) * (1 + 1e-12))

    @property
    def randomised(self) -> bool:
        """Whether a release depends on secret randomness too, so that the same column must not be released twice."""
        return self.mechanism.randomised

    def apply(
        self,
        params: Mapping[str, ArrayLike] | None = None,
        /,
        *,
        secret_seed: int | None = None,
        seed: int | None = None,
        **named: ArrayLike,
    ) -> Applied:
        """The paper's online phase: parameters in, released parameters out, of any shape.

        They are given by name, as one mapping or as keywords; a mapping serves names that no keyword can have, such as
        a category called ``seed``. A publicly known parameter may be left out. A randomised plan needs a
        ``secret_seed``: who knows it, or sees several releases of the same parameter, learns more than the plan says.
        (``seed`` is its former name: elsewhere a seed is what repeats a run, and need not be secret.)
        """
        if seed is not None:
            warnings.warn("plan.apply(seed=) is called secret_seed now.", DeprecationWarning, stacklevel=2)
            secret_seed = seed if secret_seed is None else secret_seed
        given = checked_parameters(self.problem, _together(params, named))
        chance = None
        if self.randomised and secret_seed is not None:
            # a stream of its own, apart from those that redraw rows
            source = np.random.SeedSequence(check_seed(secret_seed), spawn_key=(1,))
            chance = np.random.default_rng(source).random(next(iter(given.values())).shape)
        released = self.mechanism.release(given, chance)
        return Applied(released=released, secret=self.released_secret(released))

    def released_secret(self, released: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The secret of a column with these released parameters.

        Where closeness is relative a release lies a little below the middle of its class, so that both ends are moved
        by the same share.
        """
        family = self.problem.family
        if isinstance(family, RowCount):  # a part of the rows: no more than the smallest table of the class has
            return family.least(*self.mechanism.ends(released))
        return self.problem.secret_of(released) * family.shrunk(self.distortion)

    def check(self, params: Mapping[str, ArrayLike] | None = None, /, **named: ArrayLike) -> None:
        """Refuse parameters outside the prior, naming the side and never the value."""
        checked_parameters(self.problem, _together(params, named))

    def nearest(self, params: Mapping[str, ArrayLike] | None = None, /, **named: ArrayLike) -> Applied:
        """The release nearest to parameters that were measured on a released column."""
        given = self.problem.family.unshrunk(_together(params, named), self.distortion)
        released = self.mechanism.snap(checked_parameters(self.problem, given))
        return Applied(released=released, secret=self.released_secret(released))

    def risk_profile(self, tolerances: Sequence[float]) -> list[tuple[float, float]]:
        """Risk of this plan against attackers with other tolerances than the problem's.

        They are shares where the problem's tolerance is one.
        """
        profile = []
        for tolerance in tolerances:
            eps = positive(tolerance, "a tolerance")
            inner = tolerated(self.problem, eps)
            profile.append((eps, accounting.risk(self.problem, self.mechanism, tolerance=inner).value))
        return profile

    def protects(
        self, secrets: Sequence[str | Secret], *, tolerance: float | Relative | None = None
    ) -> tuple[Protection, ...]:
        """With which risk the same release hides other statistics of the column; for a plan without a family.

        >>> import statveil as sv
        >>> problem = sv.Problem(secret=sv.Mean(), prior=(100, 200), tolerance=2)
        >>> [(p.secret, p.risk) for p in sv.plan(problem, max_risk=0.2).protects(["median", "quantile:0.99", "std"])]
        [('median', 0.2), ('quantile:0.99', 0.2), ('std', 1.0)]
        """
        return protections(
            self.problem,
            self.mechanism,
            accounting.Risk(value=self.risk, kind=self.risk_kind),
            secrets,
            tolerance=tolerance,
            redrawn=self.release_mode.random,
        )

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON object; :meth:`from_json` makes the same plan."""
        return {
            "risk": self.risk,
            "risk_kind": self.risk_kind,
            "published_bound": self.published_bound,
            "distortion": self.distortion,
            "lower_bound": self.lower_bound,
            "efficiency": self.efficiency,
            "optimum": self.optimum,
            "optimum_kind": self.optimum_kind,
            "efficiency_optimum": self.efficiency_optimum,
            "certificate": None if self.certificate is None else self.certificate.to_json(),
            "gamma": self.gamma,
            "method": self.method,
            "randomised": self.randomised,
            "robust_to": None if self.robust_to is None else list(self.robust_to),
            "robust_risk": self.robust_risk,
            # plans from before it was reported stay as they were written
            **({} if self.risk_without_release is None else {"risk_without_release": self.risk_without_release}),
            **self._terms(),
            **self._secrets(),
            "mode": self.mode,
            "bin": self.bin,
            "slope": self.slope,
            "problem": self.problem.to_json(),
            "mechanism": self.mechanism.to_json(),
        }

    def _secrets(self) -> dict[str, Any]:
        """For two secrets: what holds of each and of both."""
        found = self.of_each
        if found is None:
            return {}
        secrets = [
            {"secret": one.secret.label, "tolerance": one.tolerance, "risk": each.value, "risk_kind": each.kind}
            for one, each in zip(self.problem.each, found.each, strict=True)
        ]
        return {"secrets": secrets, "risk_union": self.risk, "risk_intersection": found.intersection.value}

    def _terms(self) -> dict[str, Any]:
        """For a problem without a family: in which terms its numbers are."""
        if not self.problem.family.shapeless:
            return {}
        measure = self.problem.measure
        inner = measure.of_plan(self.distortion)
        relative = isinstance(self.problem.closeness, Relative)
        return {
            "tolerance_kind": "relative" if relative else "absolute",
            "distortion_kind": measure.kind,
            "distortion_absolute": self.distortion if measure.kind == "absolute" else measure.in_unit(inner),
            "distortion_relative": self.distortion if measure.kind == "relative" else measure.as_share(inner),
            "risk_if_shape_tells": self.risk_if_shape_tells,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`to_json` wrote. Numbers are taken as written, not accounted anew."""
        problem, mechanism = Problem.from_json(data["problem"]), mechanism_from_json(data["mechanism"])
        names = {param.name for param in problem.family.params}
        if not mechanism.parameters <= names:
            raise ProblemError(f"the mechanism speaks of parameters that {problem.family.name!r} does not have.")
        if getattr(mechanism, "along", None) not in (None, *names, *getattr(problem.family, "coordinates", ())):
            raise ProblemError(f"the mechanism runs along a coordinate that {problem.family.name!r} does not have.")
        if data["mode"] not in MODES or data["method"] not in METHODS or data["risk_kind"] not in RISK_KINDS:
            raise ProblemError("its mode, method or kind of risk is none that this version knows.")
        risk, bound = number(data["risk"], "the risk"), data["published_bound"]
        # plans from before these were reported have none of them
        optimum, robust, proof = data.get("optimum"), data.get("robust_to"), data.get("certificate")
        blind = data.get("risk_without_release")
        if not 0 <= risk <= 1:
            raise ProblemError(f"the risk must lie between 0 and 1. Got {risk:g}.")
        return cls(
            problem=problem,
            mechanism=mechanism,
            method=data["method"],
            mode=data["mode"],
            risk=risk,
            risk_kind=data["risk_kind"],
            published_bound=None if bound is None else number(bound, "the published bound"),
            distortion=number(data["distortion"], "the distortion"),
            gamma=number(data["gamma"], "gamma"),
            lower_bound=number(data["lower_bound"], "the lower bound"),
            optimum=None if optimum is None else positive(optimum, "the optimum"),
            optimum_kind=None if optimum is None else str(data["optimum_kind"]),
            certificate=None if proof is None else Certified.from_json(proof),
            robust_to=None if robust is None else check_range(robust, problem),
            robust_risk=None if robust is None else number(data["robust_risk"], "the risk within a range"),
            risk_without_release=None if blind is None else number(blind, "the risk without a release"),
        )


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
    mechanism = chosen.mechanism
    found = accounting.risk(problem, mechanism)
    blind = risk_without_release(problem)
    value = _capped(_at_least(found, blind, goal), goal, mechanism)
    constant, distorted = gamma(problem), accounting.distortion(problem, mechanism)
    # a hair above the risk, where the limit is a hair weaker: a plan for 1/5 has the limit of 1/5
    about = min(1.0, value * (1 + 1e-6))
    measure, limit = problem.measure, limit_on_distortion(problem, constant, about)
    # widened windows have another optimum than those that are meant
    known = (chosen.certificate is None or one_line(problem)) and not problem.family.widened
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
        published_bound=published_bound(problem, mechanism),
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


def _together(params: Mapping[str, ArrayLike] | None, named: Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
    """Parameters given as a mapping, as keywords, or both."""
    if params is not None and not isinstance(params, Mapping):
        raise ProblemError(
            f"parameters go by name, as in plan.apply(mean=103) or plan.apply({{'mean': 103}}). Got a value of type "
            f"{type(params).__name__}."
        )
    twice = sorted(str(name) for name in (params or {}) if name in named)
    if twice:
        raise ProblemError(f"a value for {', '.join(map(repr, twice))} is given twice; keep one of them.")
    return {**(params or {}), **named}


def _at_least(found: accounting.Risk, blind: float, goal: Target) -> float:
    """The risk, never below that of a guess without a release: one of two such numbers would be wrong.

    A proven bound may well be the lower one of two. Else the larger one counts, and a target between them is refused,
    unless they differ by no more than what rounding up their errors may add.
    """
    if found.kind == "upper bound" or blind <= found.value:
        return found.value
    if not isinstance(goal, MaxRisk) or not meets(found.value, goal) or meets(blind, goal):
        return blind
    if not meets(blind, goal, within=1 + _ROUNDED_UP):
        raise TargetError(
            f"a risk of {goal.value:g} cannot be met with this prior: a guess that never saw a release hits with "
            f"{blind:.6g}. Ask for a larger risk, use a smaller tolerance, or state a wider prior if outsiders know "
            "less."
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


def tolerated(problem: Problem, tolerance: float) -> float:
    """A tolerance as people state it, in the unit of the parameter."""
    share = isinstance(problem.closeness, Relative)
    return problem.family.tolerated(Relative(tolerance)) if share else problem.family.widen(tolerance)


def check_range(value: Any, problem: Problem) -> tuple[float, float]:
    """A range of attackers' tolerances that holds the problem's own; shares where that is one."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ProblemError(f"the range of tolerances must be a pair (lowest, highest). Got {value!r}.")
    closeness = problem.closeness
    tolerance = closeness.share if isinstance(closeness, Relative) else closeness
    if any(isinstance(end, Relative) for end in value) and not isinstance(closeness, Relative):
        raise ProblemError("the range of tolerances must be in the unit of the statistic, as the tolerance is.")
    plain = (end.share if isinstance(end, Relative) else end for end in value)
    low, high = (positive(end, "a tolerance to be robust to") for end in plain)
    if not low <= tolerance * (1 + 1e-12) or not tolerance <= high * (1 + 1e-12):
        raise ProblemError(
            f"the range of tolerances must hold the problem's own, {tolerance:g}. Got {low:g} to {high:g}; widen the "
            "range, or change the tolerance."
        )
    return low, max(high, tolerance)


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
