"""Whole numbers from floating-point ratios.

``ceil(1 / (1 / 49))`` is 50 in floating point; a naive ceil is wrong for about 7 % of 1/n. Every
ratio that decides a bound goes through these functions.
"""

from __future__ import annotations

import math

__all__ = ["REL_TOL", "tolerant_ceil", "tolerant_floor"]

REL_TOL = 1e-9
"""A ratio within this relative distance of a whole number counts as that number."""


def tolerant_ceil(x: float, *, tolerance: float = REL_TOL) -> int:
    """Smallest integer not below ``x``, where ``x`` a rounding error above an integer is that integer.

    >>> math.ceil(1 / (1 / 49)), tolerant_ceil(1 / (1 / 49))
    (50, 49)
    """
    return math.ceil(x - tolerance * max(1.0, abs(x)))


def tolerant_floor(x: float, *, tolerance: float = REL_TOL) -> int:
    """Largest integer not above ``x``, where ``x`` a rounding error below an integer is that integer.

    >>> math.floor(0.3 / 0.1), tolerant_floor(0.3 / 0.1)
    (2, 3)
    """
    return math.floor(x + tolerance * max(1.0, abs(x)))
