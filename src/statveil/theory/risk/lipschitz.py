"""Upper bounds on the risk when only a floor and a Lipschitz constant of the density are known.

The paper's appendix, corrected: one formula for every family (the printed ones carry wrong signs for the
standard deviation of an exponential and divide by zero for that of a Gaussian), bins that do not divide the
range, and the limits L = 0 and floor = 0.
"""

from __future__ import annotations

import math

from statveil.problem.axis import Axis
from statveil.problem.priors.lipschitz import Lipschitz
from statveil.theory.bins import Bins

__all__ = ["best_share", "constants", "lipschitz_line_risk", "lipschitz_risk"]


def constants(axis: Axis) -> tuple[float, float, float] | None:
    """Floor, slope and peak of a belief, where they are known without looking at its shape."""
    if isinstance(axis, Lipschitz):
        return axis.floor, axis.slope, axis.peak
    if axis.flat and not axis.known:
        return 1 / axis.width, 0.0, 1 / axis.width
    return None


def best_share(length: float, window: float, floor: float, slope: float) -> float:
    """Largest share of a bin's mass that a window can hold, over all densities of the class: window / z."""
    if window >= length or floor == 0:
        return 1.0
    if slope == 0:
        return window / length
    b = floor - slope * window / 2
    root = math.hypot(b, math.sqrt(2 * floor * length) * math.sqrt(slope))
    z = 2 * floor * length / (root + b) if b >= 0 else (root - b) / slope
    return min(1.0, window / z) if z > 0 else 1.0


def lipschitz_risk(axis: Axis, bins: Bins, window: float) -> float:
    """Upper bound for bins along one parameter; shorter bins weigh at most peak times their length."""
    known = constants(axis)
    assert known is not None
    floor, slope, peak = known
    pieces = sorted(bins.pieces(), reverse=True)
    base = best_share(pieces[0][0], window, floor, slope)
    extra = 0.0
    for length, count in pieces[1:]:
        extra += (best_share(length, window, floor, slope) - base) * min(1.0, count * length * peak)
    # no window holds more than its length times the peak, which is better where the floor is low
    return min(1.0, base + extra, bins.count * peak * window)


def lipschitz_line_risk(binned: Axis, other: Axis, bins: Bins, window: float, rate: float) -> float:
    """Upper bound for slanted bins of two parameters: ``rate`` is the change of the other one per unit.

    Whole line pieces: :func:`best_share` with the product's floor and the Lipschitz constant along the line.
    Cut pieces lie in two triangles of each band; their mass is at most the two peaks times their area, and
    there the attacker is taken to be always right.
    """
    first, second = constants(binned), constants(other)
    assert first is not None
    assert second is not None
    (floor_1, slope_1, peak_1), (floor_2, slope_2, peak_2) = first, second
    t = abs(rate)
    slope = slope_1 * peak_2 + t * slope_2 * peak_1
    pieces = sorted(bins.pieces(), reverse=True)
    base = best_share(pieces[0][0], window, floor_1 * floor_2, slope)
    extra, cut = 0.0, 0.0
    for i, (length, count) in enumerate(pieces):
        area = length * other.width
        cut_area = min(t * length * length, area)
        cut += count * min(cut_area * peak_1 * peak_2, length * peak_1)
        if i:
            share = best_share(length, window, floor_1 * floor_2, slope)
            extra += (share - base) * min(1.0, count * length * peak_1)
    # no window on a line holds more than its length times both peaks; a band is crossed by lines over A + |t| len
    caps = sum(count * window * peak_1 * peak_2 * (other.width + t * length) for length, count in pieces)
    return min(1.0, base + extra + cut, caps)
