"""Numbers as a page shows them: four digits, rounded to the side that claims less."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from statveil.reproducing.results import Value

__all__ = ["shown"]

_SIDES = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "near": ROUND_HALF_EVEN}


def shown(value: Value, rounded: str = "near", *, digits: int = 4) -> str:
    """The value as text.

    >>> shown(0.20161, "up"), shown(0.20161, "down"), shown(0.1 + 0.2, "up"), shown(1234567.0), shown(None)
    ('0.2017', '0.2016', '0.3', '1,235,000', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else value
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}"
    # rounding errors in the last digits are no reason to round up
    short = Context(prec=digits, rounding=_SIDES[rounded]).create_decimal(Decimal(f"{value:.12g}"))
    number = float(short)
    return f"{number:,.0f}" if abs(number) >= 10 ** (digits - 1) else f"{number:g}"
