"""What an attacker learns who sees all released columns: the risk that any hidden statistic is guessed, or all are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from statveil.accounting import KINDS, hit_window
from statveil.accounting.pieces import Parts, parts_of
from statveil.made_plan import Plan
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.theory.risk.pieces import best_in_bins

__all__ = ["ColumnRisk", "Together", "joint"]

_DIGITS = 13
"""To so many digits a product or a sum is rounded up, where it is not the rounding error of a shorter number."""
_MOST_RELEASES = 1e15


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRisk:
    """A hidden column: its plan, and how often one of its secrets is guessed, or all are, from its own release."""

    plan: Plan
    union: float
    intersection: float
    kind: str
    secrets: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Risks against an attacker who sees all columns, never below the truth."""

    union: float
    """P(any of the hidden statistics is guessed)."""
    intersection: float
    """P(all of them are)."""
    kind: str
    alone: tuple[float, ...]
    """P(one of the column's own statistics is guessed) for each column, by one who sees all columns."""


def joint(columns: Sequence[ColumnRisk], dependence: str) -> Together:
    """The risks of several columns together, where their statistics depend on each other in this way.

    Examples
    --------
    >>> import statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1)
    >>> plan = sv.plan(problem, bin=10)
    >>> two = [ColumnRisk(plan=plan, union=plan.risk, intersection=plan.risk, kind=plan.risk_kind)] * 2
    >>> [round(joint(two, how).union, 6) for how in ("independent", "comonotone", "worst")]
    [0.36, 0.4, 1.0]
    """
    kind = _worst_kind(each.kind for each in columns)
    if len(columns) == 1:
        (only,) = columns
        return Together(union=only.union, intersection=only.intersection, kind=kind, alone=(only.union,))
    if dependence == "independent":
        return _independent(columns, kind)
    return (_comonotone(columns, kind) if dependence == "comonotone" else None) or _worst(columns)


def _worst_kind(kinds: Iterable[str]) -> str:
    return max(kinds, key=(*KINDS, "simulated").index)


def _independent(columns: Sequence[ColumnRisk], kind: str) -> Together:
    """Posteriors are independent, so each factor is maximised by itself (theory 17.1)."""
    risks = [each.union for each in columns]
    union = 1.0 if max(risks) >= 1 else _up(-math.expm1(math.fsum(math.log1p(-risk) for risk in risks)))
    both = _up(math.prod(each.intersection for each in columns))
    return Together(union=min(1.0, max(union, *risks)), intersection=min(1.0, both), kind=kind, alone=tuple(risks))


def _worst(columns: Sequence[ColumnRisk]) -> Together:
    """Any dependence of the statistics: a guess for each release of the others is an attack on the column alone.

    So P(hit, release j) is at most the column's own risk and at most P(j): theory 17.2.
    """
    parts = [_parts(each.plan) for each in columns]
    counts = [math.inf if part is None else float(_releases(part)) for part in parts]
    alone = []
    for i, each in enumerate(columns):
        others = [j for j in range(len(columns)) if j != i]
        many = math.prod(counts[j] for j in others)
        found = 1.0 if many > _MOST_RELEASES else many * each.union
        masses = _masses(columns[others[0]].plan, parts[others[0]]) if len(others) == 1 else None
        if masses is not None:
            found = min(found, math.fsum(np.minimum(masses, each.union).tolist()))
        alone.append(min(1.0, max(each.union, _up(found))))
    return Together(
        union=min(1.0, _up(math.fsum(alone))),
        intersection=min(alone),
        kind="upper bound",
        alone=tuple(alone),
    )


def _comonotone(columns: Sequence[ColumnRisk], kind: str) -> Together | None:
    """Columns that are copies of one another, up to a rising function: all edges cut the range of quantiles.

    ``None`` where a column has other classes than neighbouring bins of one parameter, or several secrets.
    """
    cuts: list[Array] = []
    axes: list[tuple[Axis, bool, float]] = []
    for each in columns:
        part, problem = _parts(each.plan), each.plan.problem
        family = problem.family
        if part is None or not part.plain or not np.isinf(part.spacing).all() or each.secrets > 1:
            return None
        (name,) = problem.box.free
        axis = problem.box.axes[name]
        if not axis.exact or not isinstance(family, LocationScale) or problem.secret.linear(family) is None:
            return None
        # the copy of a column has a large secret where the column has; a parameter may fall where the secret rises
        rises = _rises(each.plan, name, axis)
        share = np.clip(np.asarray(axis.cdf(part.edges), dtype=np.float64), 0.0, 1.0)
        cuts.append(share if rises else 1 - share)
        axes.append((axis, rises, hit_window(problem, {name: 1.0}, problem.tolerance)))
    edges = _distinct(np.concatenate([*cuts, [0.0, 1.0]]))
    size = np.diff(edges)
    caught = np.stack([_best(axis, rises, edges, window) for axis, rises, window in axes])
    flat = all(axis.flat for axis, _, _ in axes)
    alone = [min(1.0, max(each.union, _sum(best))) for each, best in zip(columns, caught, strict=True)]
    union = _sum(np.minimum(size, caught.sum(axis=0)))
    return Together(
        union=min(1.0, max(union, *alone)),
        intersection=min(*alone, _sum(caught.min(axis=0))),
        # windows of different columns can be laid side by side on a plain range only
        kind=kind if flat else "upper bound",
        alone=tuple(alone),
    )


def _sum(parts: Array) -> float:
    return _up(math.fsum(parts.tolist()))


def _up(value: float) -> float:
    exact = Decimal(value) * (1 - Decimal("4e-15"))
    return float(Context(prec=_DIGITS, rounding=ROUND_CEILING).create_decimal(exact))


def _distinct(edges: Array) -> Array:
    """Edges in order; what differs by rounding errors is one edge (a piece that short catches nothing)."""
    sorted_ = np.unique(edges)
    kept = np.concatenate([[True], np.diff(sorted_) > 1e-13])
    found: Array = sorted_[kept]
    found[-1] = 1.0
    return found


def _rises(plan: Plan, name: str, axis: Axis) -> bool:
    ends = {
        other: np.array([one.low, one.low if one.known else one.high]) for other, one in plan.problem.box.axes.items()
    }
    values = np.asarray(plan.problem.secret_of(ends), dtype=np.float64)
    return bool(values[-1] >= values[0])


def _best(axis: Axis, rises: bool, edges: Array, window: float) -> Array:
    """The largest mass that a window catches on each piece between two quantiles of the secret."""
    size = np.diff(edges)
    if axis.flat:
        return np.minimum(size, window / axis.width)
    at = np.asarray(axis.ppf(edges if rises else 1 - edges[::-1]), dtype=np.float64)
    found = best_in_bins(axis, at[:-1], at[1:], window)
    # the quantiles have rounding errors, and the piece itself is the most that a window can hold
    return np.minimum(size, (found if rises else found[::-1]) * (1 + 1e-9) + 1e-12)


def _parts(plan: Plan) -> Parts | None:
    """The pieces of the one uncertain parameter; ``None`` where there are two, or others than pieces."""
    problem = plan.problem
    if not isinstance(problem.prior, Box) or len(problem.box.free) != 1 or problem.box.cut(problem.family):
        return None
    return parts_of(plan.mechanism, problem)


def _releases(parts: Parts) -> float:
    """How many different releases there are; those of a comb are a continuum."""
    if not np.isinf(parts.spacing).all():
        return math.inf
    return len({release for choice in parts.choices for release, _ in choice})


def _masses(plan: Plan, parts: Parts | None) -> Array | None:
    """P(each release), where there are finitely many and the belief is one distribution."""
    if parts is None or math.isinf(_releases(parts)):
        return None
    (name,) = plan.problem.box.free
    axis = plan.problem.box.axes[name]
    if not axis.exact:
        return None
    held: dict[int, float] = {}
    for mass, choice in zip(np.diff(axis.cdf(parts.edges)).tolist(), parts.choices, strict=True):
        for release, share in choice:
            held[release] = held.get(release, 0.0) + mass * share
    return np.array(list(held.values()))
