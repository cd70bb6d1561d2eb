"""Rounding to the right side: whole numbers from floating-point ratios, and numbers as people read them.

``ceil(1 / (1 / 49))`` is 50 in floating point; a naive ceil is wrong for about 7 % of 1/n. Every
ratio that decides a bound goes through the tolerant functions. Every risk and distortion that is printed goes through
:func:`shown_up`, every lower bound through :func:`shown_down`: a number for people never claims more than we know.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = ["REL_TOL", "shown_down", "shown_up", "tolerant_ceil", "tolerant_floor"]

REL_TOL = 1e-9
"""A ratio within this relative distance of a whole number counts as that number."""


def tolerant_ceil(x: float) -> int:
    """Smallest integer not below ``x``, where ``x`` a rounding error above an integer is that integer.

    >>> math.ceil(1 / (1 / 49)), tolerant_ceil(1 / (1 / 49))
    (50, 49)
    """
    return math.ceil(x - REL_TOL * max(1.0, abs(x)))


def tolerant_floor(x: float) -> int:
    """Largest integer not above ``x``, where ``x`` a rounding error below an integer is that integer.

    >>> math.floor(0.3 / 0.1), tolerant_floor(0.3 / 0.1)
    (2, 3)
    """
    return math.floor(x + REL_TOL * max(1.0, abs(x)))


def shown_up(value: float, digits: int = 6) -> str:
    """The value with so many digits, never below it: read back as a number, the text is at least the value.

    >>> shown_up(0.22680412), shown_up(0.2), shown_up(5000.0), shown_up(1 / 3, 4), shown_up(0.0)
    ('0.226805', '0.2', '5000', '0.3334', '0')
    """
    return _shown(value, digits, ROUND_CEILING)


def shown_down(value: float, digits: int = 6) -> str:
    """The value with so many digits, never above it.

    >>> shown_down(0.22680412), shown_down(4000.0), shown_down(2 / 3, 4)
    ('0.226804', '4000', '0.6666')
    """
    return _shown(value, digits, ROUND_FLOOR)


def _shown(value: float, digits: int, side: str) -> str:
    if not 1 <= digits <= 15:
        raise ValueError(f"a float has from 1 to 15 digits that say something. Got {digits}.")
    if not math.isfinite(value):
        return f"{value:g}"
    # repr is the shortest decimal that means this float: 0.2 stays 0.2, although its binary value lies above
    rounded = float(Context(prec=digits, rounding=side).create_decimal(Decimal(repr(float(value)))))
    return f"{rounded:.{digits}g}"
