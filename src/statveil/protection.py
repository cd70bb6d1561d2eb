"""One release, all its statistics: with which risk the same map hides the others of the column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from statveil import accounting
from statveil.errors import ProblemError
from statveil.mechanisms.mechanism import Mechanism
from statveil.numbers import positive
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret, secret_from_text
from statveil.problem.tolerance import Relative

__all__ = ["Protection", "protections"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """How well a release hides another statistic than the one it was planned for."""

    secret: str
    risk: float | None
    """P(best attacker hits), never below the truth; ``None`` where it depends on the shape."""
    kind: str
    """``exact``, ``numerical`` or ``upper bound``; ``not hidden`` where the release tells it; ``unknown``."""


def protections(
    problem: Problem,
    mechanism: Mechanism,
    stated: accounting.Risk,
    secrets: Sequence[str | Secret],
    *,
    tolerance: float | Relative | None = None,
    redrawn: bool = False,
) -> tuple[Protection, ...]:
    """The risk of each statistic under a plan with this ``stated`` risk, for the problem's tolerance or another one.

    Under a shift all statistics of location move together, and the release shows their differences: a guess of one is
    a guess of the other. Under a scaling about 0 all statistics do, and the release shows their ratios.
    """
    family = problem.family
    if not isinstance(family, AnyShape):
        raise ProblemError("other statistics are accounted for in plans without a family; leave out the family.")
    close = problem.closeness if tolerance is None else tolerance
    if not isinstance(close, Relative):
        close = positive(close, "the tolerance of other statistics")
    wanted = [secret_from_text(one, _number) if isinstance(one, str) else one for one in secrets]
    found = []
    for secret in wanted:
        known = None if redrawn and secret != problem.secret else _tolerance(family, secret, close)
        if secret.per_shift is not None and _told(family, secret):
            found.append(Protection(secret=secret.label, risk=1.0, kind="not hidden"))
        elif known is None:
            found.append(Protection(secret=secret.label, risk=None, kind="unknown"))
        else:
            eps, exact = known
            same = math.isclose(eps, problem.tolerance, rel_tol=1e-12)
            risk = stated if same else accounting.risk(problem, mechanism, tolerance=eps)
            kind = risk.kind if exact else "upper bound"
            found.append(Protection(secret=secret.label, risk=risk.value, kind=kind))
    return tuple(found)


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ProblemError(f"{what} must be a number. Got {text!r}.") from None


def _told(family: AnyShape, secret: Secret) -> bool:
    """Whether the map leaves a statistic as it is: a spread under a shift, what stays in place under a stretch."""
    if family.moves == "subset":
        return True  # a random part of the rows has about the statistics of all of them
    return (family.moves == "shift" and not secret.per_shift) or (family.moves == "stretch" and bool(secret.per_shift))


def _tolerance(family: AnyShape, secret: Secret, close: float | Relative) -> tuple[float, bool] | None:
    """The tolerance of another statistic as one of the plan's parameter, and whether that is exact."""
    if family.secret.apart is not None:  # how a statistic of all rows moves depends on the shares of the groups
        same = secret == family.secret and isinstance(close, Relative) == family.log
        return (family.tolerated(close), True) if same else None
    if secret.per_shift is None or _told(family, secret):
        return None
    if family.moves == "shift":
        if secret == family.secret and isinstance(close, Relative) == family.log:
            return family.tolerated(close), True
        if isinstance(close, Relative):
            return None  # a share of the other one, which differs from this one by what the shape says
        own = close * (family.secret.per_shift or 1.0) / secret.per_shift
        # a window of one length is longest in the logarithm at the lowest value
        return (0.5 * math.log1p(2 * own / family.belief.low), False) if family.log else (own, True)
    if secret == family.secret and isinstance(close, Relative) == family.log:
        return family.tolerated(close), True
    if family.moves == "odds":
        return None  # how the others move depends on the shape
    if not isinstance(close, Relative) or family.about:
        return None  # how large the other one is depends on the shape
    return family.tolerated(close), family.log
