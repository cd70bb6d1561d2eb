"""Risk of a plan month by month, for a statistic that drifts between releases. Decided from the plan alone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from statveil.accounting.guarantee import distortion, risk
from statveil.accounting.pieces import parts_of
from statveil.errors import ProblemError, TargetError, shortened
from statveil.made_plan import Plan
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.numbers import check_seed, number
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.spoken import Spoken
from statveil.theory.bins import Bins
from statveil.theory.drift import Drift, drift_density
from statveil.theory.drift_series import Line, Monthly, drifting, predictable

__all__ = ["Held", "Series", "series"]

_MOST_MONTHS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Equal bins that hold a target in every month."""

    max_risk: float
    bin: float
    distortion: float
    risk: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Spoken):
    """Risk of each month's statistic, never below the truth but where it is simulated."""

    words = "report.series:describe_series"

    secret: str
    tolerance: float
    tolerance_kind: str
    sticky: bool
    trend: float
    one_month: float
    """Risk of the plan for one release."""
    distortion: float
    fixed: Monthly
    """With the plan's bins where they are."""
    moving: Monthly | None
    """With bins that move with the trend; ``None`` where there is none."""
    held: Held | None

    @property
    def risk(self) -> float:
        """The largest risk of a month, once all releases are known, with the plan's bins where they are."""
        return max(self.fixed.later)

    @property
    def risk_kind(self) -> str:
        """How it was obtained."""
        return self.fixed.kind

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        return {
            "secret": self.secret,
            "tolerance": self.tolerance,
            "tolerance_kind": self.tolerance_kind,
            "risk": self.risk,
            "risk_kind": self.risk_kind,
            "risk_one_month": self.one_month,
            "distortion": self.distortion,
            "sticky": self.sticky,
            "trend": self.trend,
            "months": _table(self.fixed),
            "moving": None
            if self.moving is None
            else {"risk": max(self.moving.later), "risk_kind": self.moving.kind, "months": _table(self.moving)},
            "holds": None
            if self.held is None
            else {
                "max_risk": self.held.max_risk,
                "bin": self.held.bin,
                "distortion": self.held.distortion,
                "risk": self.held.risk,
            },
        }


def _table(found: Monthly) -> list[dict[str, Any]]:
    return [
        {"month": i, "online": online, "retrospective": later}
        for i, (online, later) in enumerate(zip(found.online, found.later, strict=True), 1)
    ]


def series(
    plan: Plan,
    *,
    drift: Axis | str | None = None,
    months: int = 12,
    trend: float = 0.0,
    sticky: bool = False,
    max_risk: float | None = None,
    paths: int = 2_000,
    seed: int | None = None,
) -> Series:
    """The risk of every month where the same plan releases a statistic that drifts.

    Parameters
    ----------
    plan : Plan
        Bins of one uncertain parameter in which the secret is linear.
    drift : str or Axis, optional
        Density of the change from one month to the next, in the unit of the secret (of its logarithm where the
        tolerance is a share): ``"normal(0,0.5)"``, or a belief. Left out, only the trend moves it.
    months : int
        Number of releases.
    trend : float
        Known change per month, added to the drift. Bins that move with it add nothing.
    sticky : bool
        Keep a release while the statistic is within half a bin of it, then move by half a bin; never beyond the
        releases that cover the ends of the range, which have no outer edge.
    max_risk : float, optional
        Look for the equal bins that hold this risk in every month.
    paths, seed
        For more than 12 months: how many paths are drawn, and by which chance.

    Examples
    --------
    >>> import statveil as sv
    >>> plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1), bin=10)
    >>> found = series(plan, trend=0.5, months=12)
    >>> round(max(found.fixed.later), 2), round(max(found.moving.later), 2)
    (0.7, 0.2)
    """
    if not isinstance(plan, Plan):
        raise ProblemError("series takes one plan.")
    if plan.problem.secret.of_table:
        raise ProblemError(
            "a table that grows is not accounted for where its number of rows is hidden: rows that two parts share "
            "tell by how much it grew. Release it once, or take the months for other tables."
        )
    if isinstance(months, bool) or not isinstance(months, int) or not 1 <= months <= _MOST_MONTHS:
        raise ProblemError(f"the number of months must be a whole number from 1 to {_MOST_MONTHS}. Got {months!r}.")
    if isinstance(paths, bool) or not isinstance(paths, int) or not 100 <= paths <= 100_000:
        raise ProblemError(f"the number of paths must be a whole number from 100 to 100,000. Got {paths!r}.")
    known = number(trend, "the trend")
    if drift is None and not known:
        raise ProblemError("nothing drifts: give a drift such as normal(0,0.5), a trend, or both.")
    change = _density(drift) if isinstance(drift, str) else drift
    if change is not None and (not isinstance(change, Axis) or change.known or not change.exact):
        raise ProblemError("the drift must be a density, such as 'normal(0,0.5)' or sv.Density(...).")
    rng = np.random.default_rng(None if seed is None else check_seed(seed))
    problem = plan.problem
    ask = _Asked(drift=change, months=months, sticky=sticky, paths=paths, rng=rng)
    fixed = _from(plan, ask.of(problem, plan.mechanism, known))
    closeness = problem.closeness
    return Series(
        secret=problem.secret.label,
        tolerance=closeness.share if isinstance(closeness, Relative) else closeness,
        tolerance_kind="relative" if isinstance(closeness, Relative) else "absolute",
        sticky=sticky,
        trend=known,
        one_month=plan.risk,
        distortion=plan.distortion,
        fixed=fixed,
        moving=_from(plan, ask.of(problem, plan.mechanism, 0.0)) if known else None,
        held=None if max_risk is None else _held(plan, ask, number(max_risk, "the risk")),
    )


def _from(plan: Plan, found: Monthly) -> Monthly:
    """The first month, before there are others, is what the plan states."""
    return replace(found, online=(min(plan.risk, found.online[0]), *found.online[1:]))


def _density(text: str) -> Axis:
    """``normal(0,0.5)``, ``laplace(0,1)``: a density without a range."""
    call = re.fullmatch(r"\s*([A-Za-z_][A-Za-z0-9_]*)\(([^()]*)\)\s*", text)
    try:
        args = tuple(float(part) for part in (call[2] if call else "x").split(","))
    except ValueError:
        args = (math.nan,)
    if call is None or not all(map(math.isfinite, args)):
        raise ProblemError(
            f"a drift must look like normal(0,0.5), numbers with decimal points. Got {shortened(text)!r}."
        )
    return drift_density(call[1], args)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    drift: Axis | None
    months: int
    sticky: bool
    paths: int
    rng: Generator

    def of(self, problem: Problem, mechanism: Mechanism, trend: float, *, quick: bool = False) -> Monthly:
        line, turned = _line(problem, mechanism)
        trend = -trend if turned else trend
        if self.drift is None:
            if self.sticky:
                raise ProblemError(
                    "a sticky release is for a drift that is not known; give a drift, or leave out sticky."
                )
            found = predictable(line, trend, self.months, _best(problem))
            return replace(found, kind=risk(problem, mechanism).kind)
        return drifting(
            line,
            Drift(density=self.drift, trend=trend, turned=turned),
            self.months,
            half=_half(mechanism) if self.sticky else None,
            paths=self.paths,
            rng=self.rng,
            quick=quick,
        )


def _half(mechanism: Mechanism) -> float:
    width = mechanism.bin_width
    if width is None:
        raise ProblemError("a sticky release needs bins of one width; plan with the method 'interval'.")
    return 0.5 * width


def _line(problem: Problem, mechanism: Mechanism) -> tuple[Line, bool]:
    """Bins and belief on the scale of the secret; whether that runs against the secret."""
    family = problem.family
    plain = isinstance(mechanism, Interval | Partition) and mechanism.step is None
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    if not plain or not alone or not isinstance(family, LocationScale) or problem.secret.rough:
        raise ProblemError(
            "series is for bins of one uncertain parameter with which the secret grows in proportion (a location or "
            "scale, or a problem without a family), without combs, steps or chance; plan such bins."
        )
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    parts = parts_of(mechanism, problem)
    if not axis.exact or parts is None or problem.box.cut(family):
        raise ProblemError("series needs a density of the one uncertain parameter, and bins of it; plan with one.")
    known = {other: belief.low for other, belief in problem.box.axes.items()}

    def position(at: Array) -> Array:
        full = {other: np.full(at.shape, value) for other, value in known.items()}
        return np.asarray(problem.position_of(full | {name: at}), dtype=np.float64)

    edges = parts.edges
    there = position(edges)
    rate = (there[-1] - there[0]) / (edges[-1] - edges[0])

    def below(x: Array) -> Array:
        mass = axis.cdf(edges[0] + (x - there[0]) / rate)
        return mass if rate > 0 else 1.0 - mass

    turns = np.unique(np.concatenate([axis.turns, [axis.low, axis.high]]))
    hair = 1e-9 * axis.width
    height = axis.pdf(np.clip(turns, axis.low + hair, axis.high - hair)) / abs(rate)
    line = Line(
        edges=np.sort(there),
        below=below,
        flat=axis.flat,
        densest=float(height.max()) * (1 + 1e-6),
        variation=float(np.abs(np.diff(height)).sum()) * (1 + 1e-6),
        window=2 * problem.tolerance,
    )
    return line, isinstance(family, AnyShape) and family.log and family.sign < 0


def _best(problem: Problem) -> Callable[[Array], float]:
    """Risk of bins with these edges on the scale of the secret."""
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    known = {other: belief.low for other, belief in problem.box.axes.items()}
    ends = [known | {name: end} for end in (axis.low, axis.high)]
    low, high = (float(problem.position_of(end)) for end in ends)

    def best(edges: Array) -> float:
        at = np.sort(axis.low + (edges - low) / (high - low) * axis.width)
        at[0], at[-1] = axis.low, axis.high
        bins = Partition(parameter=name, edges=tuple(at.tolist()), released=tuple((0.5 * (at[1:] + at[:-1])).tolist()))
        return risk(problem, bins).value

    return best


def _held(plan: Plan, ask: _Asked, goal: float) -> Held:
    """The most equal bins, all of one width, that hold the target in every month."""
    problem = plan.problem
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    tried: dict[tuple[int, bool], float] = {}

    def largest(count: int, quick: bool) -> float:
        if (count, quick) not in tried:
            # a trend is subtracted: bins that move with it
            tried[count, quick] = max(ask.of(problem, _equal_bins(name, axis, count), 0.0, quick=quick).later)
        return tried[count, quick]

    most = max(1, math.floor(axis.width / (2 * problem.tolerance)))
    low, high = 0, 1
    while high <= most and largest(high, True) <= goal:
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if largest(middle, True) <= goal else (low, middle)
    low += 1  # larger cells say too much: one bin more may hold
    while low and largest(low, False) > goal:
        low -= 1
    if not low:
        raise TargetError(
            f"a risk of {goal:g} cannot be held for {ask.months} months: even one bin over the whole range has "
            f"{largest(1, False):.6g}. Ask for a larger risk, fewer months or a smaller tolerance."
        )
    stated = problem.measure.stated(distortion(problem, _equal_bins(name, axis, low)))
    return Held(max_risk=goal, bin=axis.width / low, distortion=stated, risk=tried[low, False])


def _equal_bins(name: str, axis: Axis, count: int) -> Interval:
    bins = Bins(low=axis.low, high=axis.high, origin=axis.low, width=axis.width / count)
    return Interval(along=name, coordinate={name: 1.0}, direction={name: 1.0}, bins=bins)
