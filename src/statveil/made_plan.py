"""What a plan is: a mechanism with its guarantee, and what follows from them. No data anywhere."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil import accounting
from statveil.baseline import risk_without_release
from statveil.design.cells.methods import Certified
from statveil.design.methods import METHODS
from statveil.errors import ProblemError, unknown_name
from statveil.mechanisms.directed import Directed
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism, mechanism_from_json
from statveil.modes import MODES, Mode
from statveil.numbers import check_seed, number, positive
from statveil.problem.families.row_count import RowCount
from statveil.problem.location_scale import LocationScale
from statveil.problem.parameters import checked_parameters
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret
from statveil.problem.tolerance import Relative
from statveil.protection import Protection, protections
from statveil.spoken import Drawn
from statveil.theory.gamma import gamma, limit_on_distortion
from statveil.theory.risk.log_slope import most_of
from statveil.theory.risk.one_dimensional import teeth

__all__ = ["RISK_KINDS", "Applied", "Plan", "check_range", "tolerated"]

RISK_KINDS = (*accounting.KINDS, "simulated")
"""How a risk was obtained; plan files from before ``numerical`` say ``exact`` where quadrature was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What the mechanism makes of parameters: both fields describe the release, so both may be published."""

    released: dict[str, NDArray[np.float64]]
    """Released parameters by name."""
    secret: NDArray[np.float64]
    """Value of the secret at the released parameters."""


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
