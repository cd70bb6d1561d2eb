"""How far one belief is from another: total variation, and how much denser each can be, rounded up.

Between the turns of both densities each only rises or only falls, so its ends bound it; cells in which the two may
cross are split until what they leave open is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statveil.numeric import Array
from statveil.problem.axis import Axis

__all__ = ["PriorDistance", "prior_distance"]

_ROUNDS = 30
_MOST_CELLS = 200_000
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorDistance:
    """Bounds from above on what another prior P' has more than P."""

    total_variation: float
    most: float
    """sup dP'/dP; infinite where P' has mass and P has none."""
    least: float
    """inf dP'/dP, a bound from below; 0 where P has mass and P' has none."""

    def times(self, other: PriorDistance) -> PriorDistance:
        """The same of two independent parameters together."""
        return PriorDistance(
            total_variation=1 - (1 - self.total_variation) * (1 - other.total_variation),
            most=self.most * other.most,
            least=self.least * other.least,
        )

    def risk_bounds(self, risk: float) -> dict[str, float]:
        """What no attacker exceeds under P' where the risk under P is this one (docs/leakage.md, a wrong prior)."""
        return {
            "total_variation": min(1.0, risk + self.total_variation),
            "density_ratio": min(1.0, self.most * risk),
            "mixture": min(1.0, risk + (1 - self.least) * (1 - risk)),
        }


def prior_distance(one: Axis, two: Axis) -> PriorDistance | None:
    """Of the second belief from the first; ``None`` where one of them is a class of beliefs or a single value.

    >>> from statveil.problem.priors.flat import Flat
    >>> found = prior_distance(Flat(0.0, 10.0), Flat(0.0, 5.0))
    >>> round(found.total_variation, 9), found.most, found.least
    (0.5, 2.0, 0.0)
    """
    if one.known or two.known or not (one.exact and two.exact):
        return None
    if one.to_json() == two.to_json():
        return PriorDistance(total_variation=0.0, most=1.0, least=1.0)
    low, high = min(one.low, two.low), max(one.high, two.high)
    marks = [each for axis in (one, two) for each in (axis.turns, axis.landmarks, [axis.low, axis.high])]
    cuts = np.unique(np.clip(np.concatenate([[low, high], *marks]), low, high))
    start, stop = cuts[:-1], cuts[1:]
    apart, most, least = 0.0, 0.0, math.inf
    for step in range(_ROUNDS):
        p, q = _between(one, start, stop), _between(two, start, stop)
        sure = (p.low >= q.high) | (q.low >= p.high)
        gap = np.where(
            sure,
            np.abs(p.mass - q.mass),
            np.minimum(p.mass + q.mass, (stop - start) * np.maximum(p.high - q.low, q.high - p.low)),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where(q.high > 0, np.where(p.low > 0, q.high / np.where(p.low > 0, p.low, 1.0), np.inf), 0.0)
            down = np.where(p.high > 0, q.low / np.where(p.high > 0, p.high, 1.0), np.inf)
            seen_up = np.where(p.high > 0, q.high / np.where(p.high > 0, p.high, 1.0), np.inf)
            seen_down = np.where(p.low > 0, q.low / np.where(p.low > 0, p.low, 1.0), np.inf)
        best, worst = float(np.max(seen_up, initial=0.0)), float(np.min(seen_down, initial=math.inf))
        loose = ~sure & (gap - np.abs(p.mass - q.mass) > _CLOSE / len(start))
        loose |= (up > best * (1 + 1e-6)) & (up > most) & np.isfinite(seen_up)
        loose |= (down < worst * (1 - 1e-6)) & (down < least)
        final = step == _ROUNDS - 1 or not loose.any() or len(start) + int(loose.sum()) > _MOST_CELLS
        done = np.ones(len(start), dtype=bool) if final else ~loose
        apart += 0.5 * math.fsum(gap[done])
        most = max(most, float(np.max(up[done], initial=0.0)))
        least = min(least, float(np.min(down[done], initial=math.inf)))
        if final:
            break
        middle = 0.5 * (start[loose] + stop[loose])
        start, stop = np.concatenate([start[loose], middle]), np.concatenate([middle, stop[loose]])
    least = least if math.isfinite(least) else 0.0
    return PriorDistance(total_variation=min(1.0, apart), most=most, least=max(0.0, least))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    low: Array
    high: Array
    mass: Array


def _between(axis: Axis, start: Array, stop: Array) -> _Cells:
    """Least and largest density on cells that hold no turn, and their masses."""
    # just inside: at its ends a density of a range falls to nothing
    hair = 1e-9 * (stop - start)
    left, right = axis.pdf(start + hair), axis.pdf(stop - hair)
    low, high = np.minimum(left, right), np.maximum(left, right)
    slack = 1e-9 * high
    mass = np.maximum(axis.cdf(stop) - axis.cdf(start), 0.0)
    return (
        _Cells(low=np.maximum(low - slack, 0.0), high=high + slack, mass=mass)
        if not axis.flat
        else _Cells(low=low, high=high, mass=mass)
    )
