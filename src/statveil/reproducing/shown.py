"""Numbers as a page shows them: four digits, rounded to the side that claims less."""

from __future__ import annotations

import math

from statveil.reproducing.results import Value
from statveil.rounding import shown_down, shown_up

__all__ = ["shown"]


def shown(value: Value, rounded: str = "near", *, digits: int = 4) -> str:
    """The value as text.

    >>> shown(0.20161, "up"), shown(0.20161, "down"), shown(0.1 + 0.2, "up"), shown(1234567.0), shown(None)
    ('0.2017', '0.2016', '0.3001', '1,235,000', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else value
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}"
    sides = {"up": shown_up, "down": shown_down}
    number = float(sides[rounded](value, digits) if rounded in sides else f"{value:.{digits}g}")
    return f"{number:,.0f}" if abs(number) >= 10 ** (digits - 1) else f"{number:g}"
