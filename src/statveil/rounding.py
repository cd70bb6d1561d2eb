"""Rounding to the right side: whole numbers from floating-point ratios, and numbers as people read them.

``ceil(1 / (1 / 49))`` is 50 in floating point; a naive ceil is wrong for about 7 % of 1/n. Every
ratio that decides a bound goes through the tolerant functions. Every risk and distortion that is printed goes through
:func:`shown_up`, every lower bound through :func:`shown_down`: a number for people never claims more than we know.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

__all__ = [
    "REL_TOL",
    "in_hundreds",
    "rate_down",
    "rate_up",
    "read_down",
    "read_up",
    "shown_down",
    "shown_up",
    "tolerant_ceil",
    "tolerant_floor",
]

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


def read_up(value: float, digits: int = 3, *, times: int = 1) -> str:
    """The value as it stands in a sentence: few digits, thousands parted, never below it.

    >>> read_up(5000.2), read_up(0.0561111), read_up(0.08, times=100), read_up(1e-9)
    ('5,010', '0.0562', '8', '1e-9')
    """
    return _read(value, digits, times, ROUND_CEILING)


def read_down(value: float, digits: int = 3, *, times: int = 1) -> str:
    """The same, never above it.

    >>> read_down(90_090.0), read_down(-5.128), read_down(40_000.0)
    ('90,000', '-5.13', '40,000')
    """
    return _read(value, digits, times, ROUND_FLOOR)


def rate_up(rate: float, digits: int = 3, *, times: int = 1) -> str:
    """A measured rate as it stands beside others: with so many decimals, never below it; ``times`` 100 for per cent.

    >>> rate_up(0.2752), rate_up(0.2752, 1, times=100), rate_up(0.1)
    ('0.276', '27.6', '0.100')
    """
    return _with_decimals(rate, digits, times, ROUND_CEILING)


def rate_down(rate: float, digits: int = 3, *, times: int = 1) -> str:
    """The same, never above it: for the lower end of an interval.

    >>> rate_down(0.2758), rate_down(0.0)
    ('0.275', '0.000')
    """
    return _with_decimals(rate, digits, times, ROUND_FLOOR)


def in_hundreds(*chances: float, least: int = 100) -> tuple[int, list[int]]:
    """Chances as so many cases of 100, 1,000 and so on: the fewest of which rounding up adds no tenth to any.

    ``least`` is the least number of cases.

    >>> in_hundreds(0.1, 0.07), in_hundreds(0.1, 0.0101), in_hundreds(22 / 97)
    ((100, [10, 7]), (1000, [100, 11]), (100, [23]))
    """
    exact = [Decimal(repr(float(chance))) for chance in chances]
    base = least
    while base < 10**9 and any(math.ceil(base * one) > base * one * Decimal("1.1") for one in exact):
        base *= 10
    return base, [math.ceil(base * one) for one in exact]


def _with_decimals(value: float, digits: int, times: int, side: str) -> str:
    return f"{(times * Decimal(repr(float(value)))).quantize(Decimal(1).scaleb(-digits), rounding=side):f}"


def _read(value: float, digits: int, times: int, side: str) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    rounded = Context(prec=digits, rounding=side).create_decimal(times * Decimal(repr(float(value))))
    if not rounded or -5 <= rounded.adjusted() < 15:
        return f"{rounded:,f}".rstrip("0").rstrip(".") if "." in f"{rounded:f}" else f"{rounded:,f}"
    return f"{rounded.normalize():e}".lower()


def _shown(value: float, digits: int, side: str) -> str:
    if not 1 <= digits <= 15:
        raise ValueError(f"a float has from 1 to 15 digits that say something. Got {digits}.")
    if not math.isfinite(value):
        return f"{value:g}"
    # repr is the shortest decimal that means this float: 0.2 stays 0.2, although its binary value lies above
    rounded = float(Context(prec=digits, rounding=side).create_decimal(Decimal(repr(float(value)))))
    return f"{rounded:.{digits}g}"
