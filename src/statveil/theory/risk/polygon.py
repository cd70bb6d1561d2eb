"""Exact risk under a uniform belief on a convex polygon of two parameters.

A bin is a band a <= x < b of the binned coordinate; a release leaves one line piece of the band open.
On a line piece of length len the best window of length c hits with probability min(1, c / len), so the
risk is the integral over all lines of min(c, len), divided by the area. The length is piecewise linear
across the lines, with knots where a line passes a corner of the band's polygon: the integral is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from statveil.theory.bins import Bins, Cuts

__all__ = [
    "Polygon",
    "band_lengths",
    "box_band",
    "box_risk",
    "capped_integral",
    "chord",
    "longest_piece",
    "polygon_risk",
    "triangle_risk",
]


class Polygon(NamedTuple):
    """Corners of a convex polygon in order, one row each."""

    corners: NDArray[np.float64]

    @property
    def area(self) -> float:
        """Area by the shoelace formula."""
        x, y = (self.corners - self.corners[0]).T  # far from zero the products would cancel
        return 0.5 * abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))))

    def cut(self, normal: tuple[float, float], bound: float) -> Polygon:
        """The part with ``normal . point >= bound`` (Sutherland-Hodgman)."""
        kept: list[NDArray[np.float64]] = []
        values = self.corners @ np.array(normal) - bound
        for i, (here, value) in enumerate(zip(self.corners, values, strict=True)):
            after, next_value = self.corners[(i + 1) % len(values)], values[(i + 1) % len(values)]
            if value >= 0:
                kept.append(here)
            if (value > 0 > next_value) or (value < 0 < next_value):
                kept.append(here + (after - here) * value / (value - next_value))
        return Polygon(np.array(kept).reshape(-1, 2))


def capped_integral(
    width: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64], cap: float
) -> NDArray[np.float64]:
    """Integral of min(cap, linear function) over pieces with the given widths and end values."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    cap = min(cap, 2 * float(high.max(initial=0.0)) + 1e-300)  # a longer window catches no more
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        under = np.clip((cap - low) / (high - low), 0.0, 1.0)  # share of the piece where the cap is not reached
    under = np.where(high > low, under, np.where(low < cap, 1.0, 0.0))
    meet = np.minimum(high, cap)
    area: NDArray[np.float64] = width * (under * 0.5 * (np.minimum(low, cap) + meet) + (1 - under) * meet)
    return area


def polygon_risk(
    polygon: Polygon, direction: tuple[float, float], coordinate: tuple[float, float], bins: Bins | Cuts, window: float
) -> float:
    """Exact P(hit) for bands along ``coordinate`` and lines along ``direction`` (coordinate . direction = 1)."""
    areas = [
        float(capped_integral(np.diff(knots, axis=1), length[:, :-1], length[:, 1:], window).sum())
        for knots, length in band_lengths(polygon, direction, coordinate, bins)
    ]
    return min(1.0, math.fsum(areas) / polygon.area)


def longest_piece(
    polygon: Polygon, direction: tuple[float, float], coordinate: tuple[float, float], bins: Bins
) -> float:
    """Length, in the binned coordinate, of the longest line piece inside one bin."""
    return max(float(length.max()) for _, length in band_lengths(polygon, direction, coordinate, bins))


def band_lengths(
    polygon: Polygon, direction: tuple[float, float], coordinate: tuple[float, float], bins: Bins | Cuts
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Knots of the transverse coordinate and piece lengths there, a row a band, in blocks of bands."""
    # y is constant along lines; (x, y) has unit Jacobian because coordinate . direction = 1
    x = polygon.corners @ np.array(coordinate)
    y = polygon.corners @ np.array([direction[1], -direction[0]])
    x_next, y_next = np.roll(x, -1), np.roll(y, -1)
    edges = bins.edges()
    for i in range(0, len(edges) - 1, 20_000):
        start, stop = edges[:-1][i : i + 20_000], edges[1:][i : i + 20_000]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            share = (np.stack([start, stop])[:, :, None] - x) / (x_next - x)
        cross = np.where((share >= 0) & (share <= 1), y + share * (y_next - y), y)
        knots = np.concatenate([np.broadcast_to(y, (len(start), len(y))), cross[0], cross[1]], axis=1)
        knots = np.sort(knots, axis=1)
        low, high = chord(x, y, x_next, y_next, knots)
        yield knots, np.maximum(np.minimum(high, stop[:, None]) - np.maximum(low, start[:, None]), 0.0)


def chord(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    x_next: NDArray[np.float64],
    y_next: NDArray[np.float64],
    at: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the line of transverse coordinate ``at`` enters and leaves the polygon."""
    low, high = np.full(at.shape, np.inf), np.full(at.shape, -np.inf)
    slack = 1e-12 * (y.max() - y.min())
    for x0, y0, x1, y1 in zip(x, y, x_next, y_next, strict=True):
        if abs(y1 - y0) <= slack:
            meets = np.abs(at - y0) <= slack
            low = np.where(meets, np.minimum(low, min(x0, x1)), low)
            high = np.where(meets, np.maximum(high, max(x0, x1)), high)
            continue
        share = (at - y0) / (y1 - y0)
        meets = (share >= -1e-12) & (share <= 1 + 1e-12)
        here = x0 + np.clip(share, 0.0, 1.0) * (x1 - x0)
        low = np.where(meets, np.minimum(low, here), low)
        high = np.where(meets, np.maximum(high, here), high)
    return low, high


def box_band(
    across: float,
    height: NDArray[np.float64] | float,
    slope: NDArray[np.float64] | float,
    window: NDArray[np.float64] | float,
) -> NDArray[np.float64]:
    """Hit area of one band of a box, in closed form.

    ``across``: range of the other parameter; ``height``: of the band; ``slope``: change of the other
    parameter per unit of the binned one. Longest line piece: min(height, across / |slope|). Lengths rise
    linearly over a transverse width |slope| times that, stay, and fall again, so the capped integral is
    c (A + |t| (h - c)) where the window c is shorter than the longest piece, and the whole area otherwise.
    """
    t = np.abs(slope)
    window = np.minimum(window, 2 * np.asarray(height) + 1e-300)  # a window longer than the band catches all of it
    with np.errstate(divide="ignore"):
        longest = np.minimum(height, np.where(t > 0, across / np.where(t > 0, t, 1.0), np.inf))
    return np.where(window < longest, window * (across + t * (height - window)), across * np.asarray(height))


def box_risk(across: float, slope: float, bins: Bins, window: float) -> float:
    """:func:`polygon_risk` of a box in closed form, for bins along one of its sides."""
    area = sum(count * float(box_band(across, length, slope, window)) for length, count in bins.pieces())
    return min(1.0, area / (across * (bins.high - bins.low)))


def triangle_risk(
    side: float, width: NDArray[np.float64] | float, window: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Exact risk of bands on a triangle whose lines all start at the lower edge of their band.

    docs/theory.md, exact risk: the uniform family on lo <= low < high <= hi; by the affine symmetry of the
    triangle the same holds for bands along low and along high. Independent of the direction.
    """
    s, c = np.minimum(width, side), np.minimum(window, 2 * side)
    n = np.floor(side / s + 1e-9)
    rest = np.maximum(side - n * s, 0.0)

    def corner(length: NDArray[np.float64]) -> NDArray[np.float64]:
        m = np.minimum(length, c)
        return 0.5 * m * m + np.where(length > c, c, 0.0) * (length - m)

    whole = np.minimum(s, c) * (n * side - s * n * (n + 1) / 2) + n * corner(np.asarray(s))
    share: NDArray[np.float64] = np.minimum(1.0, 2 / side**2 * (whole + corner(np.asarray(rest))))
    return share
