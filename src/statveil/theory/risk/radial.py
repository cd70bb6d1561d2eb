"""Rays through a fixed point: what scaling about a known bound leaves open.

Scaling by a factor a about the bound L moves (mu - L, sigma) along its ray; the ratio of the two is given
away. Along a ray the belief carries the Jacobian of polar coordinates: it grows in proportion to the
distance from L, so even under a uniform prior the posterior is not flat, and the paper's 2 eps / s is too low.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from statveil.numeric import Array
from statveil.theory.bins import Bins
from statveil.theory.risk.lines import Sweep
from statveil.theory.risk.parallel import pieces_caught

__all__ = ["Quarter", "radial_risk", "ray_range"]


class Quarter(NamedTuple):
    """A box of (distance from the bound, scale) to one side of the bound, and the secret's two coefficients."""

    near: float
    far: float
    bottom: float
    top: float
    loc_part: float
    scale_part: float

    def secret(self, u: Array | float, v: Array | float) -> Array:
        """Secret, measured from the bound."""
        return np.asarray(self.loc_part * np.asarray(u) + self.scale_part * np.asarray(v), dtype=np.float64)

    @property
    def corners(self) -> Array:
        """The four corners as rows (u, v)."""
        return np.array([[u, v] for u in (self.near, self.far) for v in (self.bottom, self.top)])


def ray_range(quarter: Quarter, level: Array) -> tuple[Array, Array]:
    """Smallest and largest v/u angle among the points of the box where the secret has this level."""
    g, k = quarter.loc_part, quarter.scale_part
    points = []
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for side in (quarter.near, quarter.far):
            v = (level - g * side) / k if k else np.full(level.shape, np.nan)
            points.append(np.where((v >= quarter.bottom) & (v <= quarter.top), np.arctan2(v, side), np.nan))
        for side in (quarter.bottom, quarter.top):
            u = (level - k * side) / g if g else np.full(level.shape, np.nan)
            points.append(np.where((u >= quarter.near) & (u <= quarter.far), np.arctan2(side, u), np.nan))
    stacked = np.stack(points)
    return np.fmin.reduce(stacked), np.fmax.reduce(stacked)


def radial_risk(
    quarter: Quarter,
    density: Callable[[Array, Array], Array],
    bins: Bins,
    window: float,
    *,
    spread: Callable[[Array, Array], Array] | None = None,
    points: Array,
    bends: tuple[Array, Array] = (np.zeros(0), np.zeros(0)),
    mass: float | None = None,
    quick: bool = False,
) -> float:
    """P(hit) for bins of the secret along rays through the bound.

    ``spread`` never falls along a ray and rises where the density may change fast (``None``: it is 1). ``points``
    are rows (u, v) of equal mass; ``bends`` are values of u and of v where the density turns. ``mass`` is the whole of
    the belief, where known.
    """
    edges = bins.edges()
    levels = np.concatenate([edges, edges[:-1] + window, edges[1:] - window])
    low, high = ray_range(quarter, levels)
    corner_angles = np.arctan2(quarter.corners[:, 1], quarter.corners[:, 0])
    knots = np.concatenate([corner_angles, low, high])

    def slope(angle: Array) -> Array:
        return quarter.secret(np.cos(angle), np.sin(angle))

    def chord(angle: Array) -> tuple[Array, Array]:
        cos, sin = np.cos(angle), np.sin(angle)
        with np.errstate(divide="ignore"):
            enter = np.maximum(quarter.near / cos, quarter.bottom / sin)
            leave = np.minimum(quarter.far / cos, quarter.top / sin)
        return enter * slope(angle), leave * slope(angle)

    def weight(angle: Array, level: Array) -> Array:
        # rho d rho d angle = level d level d angle / slope^2
        rho = level / slope(angle)
        return density(rho * np.cos(angle), rho * np.sin(angle)) * level / slope(angle) ** 2

    def rise(angle: Array, level: Array) -> Array:
        assert spread is not None
        rho = level / slope(angle)
        return spread(rho * np.cos(angle), rho * np.sin(angle))

    def flat(angle: Array, level: Array) -> Array:
        return 0.5 * (level / slope(angle)) ** 2  # the integral of an even weight

    def turns(angle: Array) -> Array:
        # a ray meets the value u at the distance u / cos, and v at v / sin
        rate = slope(angle)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ways = rate / np.cos(angle), rate / np.sin(angle)
            met = [places * way[:, None] for places, way in zip(bends, ways, strict=True)]
        return np.nan_to_num(np.concatenate(met, axis=1), posinf=0.0, neginf=0.0)

    inside = knots[np.isfinite(knots)]
    sweep = Sweep(
        knots=np.sort(inside),
        landmarks=np.quantile(np.arctan2(points[:, 1], points[:, 0]), np.linspace(0.0, 1.0, 65)),
        chord=chord,
        weight=weight,
        spread=None if spread is None else rise,
        below=flat if spread is None else None,
        turns=turns if any(len(places) for places in bends) else None,
    )
    return pieces_caught(sweep, edges, window, mass=mass, quick=quick)
