"""Exact risk of combs under a uniform belief on a range, a convex polygon of two parameters, or the simplex.

The release tells on which line the parameters lie, so the risk is the integral over all lines of what the best
windows catch of each (:func:`statveil.theory.comb_layout.cost`), divided by the whole.
"""

from __future__ import annotations

import math

import numpy as np

from statveil.numeric import Array
from statveil.theory.comb_layout import cost, knots, longest_class, mean_cost
from statveil.theory.risk.polygon import Polygon, chord

__all__ = ["line_lengths", "polygon_comb_extent", "polygon_comb_risk", "range_comb_risk", "simplex_comb_risk"]


def range_comb_risk(length: float, teeth: int, extent: float, window: float, attacker: float) -> float:
    """P(hit) on one line of this length."""
    return min(1.0, float(cost(length, teeth, extent, window, attacker)) / length)


def polygon_comb_risk(
    polygon: Polygon,
    direction: tuple[float, float],
    coordinate: tuple[float, float],
    teeth: int,
    extent: float,
    window: float,
    attacker: float,
) -> float:
    """P(hit) for lines along ``direction`` of a polygon (coordinate . direction = 1)."""
    width, start, stop = line_lengths(polygon, direction, coordinate)
    caught = [
        across * mean_cost(min(a, b), max(a, b), teeth, extent, window, attacker)
        for across, a, b in zip(width.tolist(), start.tolist(), stop.tolist(), strict=True)
    ]
    return min(1.0, math.fsum(caught) / math.fsum(0.5 * width * (start + stop)))


def polygon_comb_extent(
    polygon: Polygon,
    direction: tuple[float, float],
    coordinate: tuple[float, float],
    teeth: int,
    extent: float,
    window: float,
) -> float:
    """Largest distance between two points of one line that share a release."""
    _, start, stop = line_lengths(polygon, direction, coordinate)
    return max(
        longest_class(min(a, b), max(a, b), teeth, extent, window)
        for a, b in zip(start.tolist(), stop.tolist(), strict=True)
    )


def line_lengths(
    polygon: Polygon, direction: tuple[float, float], coordinate: tuple[float, float]
) -> tuple[Array, Array, Array]:
    """Bands of lines between neighbouring corners: their width, and the length of the first and of the last line.

    The length of a line is linear across a band. Lengths are in units of the coordinate; width times length is area.
    """
    corners = polygon.corners - polygon.corners[0]  # far from zero, differences would carry rounding errors
    x, y = corners @ np.array(coordinate), corners @ np.array([direction[1], -direction[0]])
    at = np.sort(y)
    low, high = chord(x, y, np.roll(x, -1), np.roll(y, -1), at)
    length = np.maximum(high - low, 0.0)
    kept = np.diff(at) > 1e-12 * (at[-1] - at[0])
    return np.diff(at)[kept], length[:-1][kept], length[1:][kept]


def simplex_comb_risk(categories: int, teeth: int, extent: float, window: float, attacker: float) -> float:
    """P(hit) for combs of one share, in which all other shares give way equally.

    Every line starts where the share is 0. P(share >= x) = (1-x)^(C-1) is the integral of (l - x) N(l) over l > x,
    so lines of length l have the density N(l) = (C-1)(C-2)(1-l)^(C-3); with two categories there is one line.
    """
    if categories == 2:
        return range_comb_risk(1.0, teeth, extent, window, attacker)
    at = knots(0.0, 1.0, teeth, extent, window, attacker)
    a, b = at[:-1], at[1:]
    middle, later = (cost(a + share * (b - a), teeth, extent, window, attacker) for share in (0.5, 0.75))
    slope = np.clip((later - middle) / (0.25 * (b - a)), 0.0, 1.0)  # a piece of rounding errors has no other slope
    power = categories - 2
    ahead, behind = (1 - a) ** power, (1 - b) ** power
    # exact on each linear piece: integrals of N and of (l - middle) N
    mass = (categories - 1) * (ahead - behind)
    moment = ahead * (1 - a) - behind * (1 - b) - (categories - 1) * 0.5 * (b - a) * (ahead + behind)
    return min(1.0, float(np.sum(middle * mass + slope * moment)))
