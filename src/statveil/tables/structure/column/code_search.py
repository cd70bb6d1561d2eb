"""Codes among the values: one -999 for a missing entry, one 0 among numbers around 60. Who knows it knows the map."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["find_codes"]

_CODES = (
    0.0, -1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, -8.0, -88.0, -888.0, -8888.0, -77.0, -777.0,
    9.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0, 88.0, 888.0, 8888.0, 77.0, 777.0, 7777.0,
)  # fmt: skip
_FAR = 4.0  # distances between the outer twentieths from the nearer of them: no value of the column itself lies there
_LEAST_ROWS = 10


def find_codes(values: Array, *, continuous: bool = True) -> tuple[float, ...]:
    """The usual codes that a column holds where none of its own values would lie, the most frequent first.

    In a ``continuous`` column, whose own values are never whole, a whole one is a code wherever it lies.

    >>> find_codes(np.concatenate([np.random.default_rng(0).normal(60, 8, 200), [-999.0]]))
    (-999.0,)
    >>> find_codes(np.random.default_rng(0).normal(60, 8, 200))
    ()
    """
    if len(values) < _LEAST_ROWS:
        return ()
    whole = values[values == np.floor(values)]
    numbers = {code: int(np.count_nonzero(whole == code)) for code in _CODES} if len(whole) else {}
    if not any(numbers.values()):  # as a rule
        return ()
    low, high = (float(end) for end in np.quantile(values, (0.05, 0.95)))
    spread = high - low
    broken = continuous and spread > 0 and len(whole) / len(values) <= 0.02
    found = {}
    for code, number in numbers.items():
        if not number:
            continue
        far = spread > 0 and max(low - code, code - high) > _FAR * spread
        # a long tail has neighbours there
        if broken or (far and not np.any((np.abs(values - code) <= spread) & (values != code))):
            found[code] = number
    return tuple(sorted(found, key=lambda code: -found[code]))
