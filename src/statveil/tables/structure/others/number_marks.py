"""What a number or a point in time is beside its size: its sign, digits, rests and decimals, its weekday and its hour.

A code that is even for large incomes alone is a flag for them, though no two rows have the same code.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.marks import MOST_KINDS

__all__ = ["RANGE", "are_times", "number_marks", "time_marks"]

Labels = dict[str, NDArray[np.generic]]

RANGE = "range"
"""The label that says about where a number lies among all."""
_DIVISORS = (2, 3, 4, 5, 7, 9, 10, 11)
_DECIMALS = 6  # digits behind the point that are looked at
_FROM_RIGHT, _FROM_LEFT = 10, 6
_RANGES = 64  # of about as many rows each: a number from 500,000 to 599,999 is in some of them
_WHOLE = 2.0**53  # from here on floats have no last digit
_LARGEST = 10**18
LAST_DAY = 3e6
"""Numbers beyond are microseconds, not days."""
_LAST_MOMENT = 2.5e17  # in the year 9892
_FIRST_MOMENT = 6e16  # before 1970: the year 68
_TRIED, _AGREE = 40, 0.8  # texts that are held against the times they were read as, and those that must agree
_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000


def number_marks(numbers: Array, whole: NDArray[np.int64] | None = None) -> Labels:
    """Labels of finite numbers; ``whole`` are the same as whole numbers, where a float would round them."""
    found: Labels = {"sign": np.sign(numbers) + 1}
    size = np.abs(numbers)
    if whole is None:
        decimals = _decimals(size)
        most = int(decimals.max(initial=0))
        found |= {"decimals": decimals, "whole or not": decimals == 0}
        whole = np.where(size * 10.0**most < _WHOLE, np.rint(size * 10.0**most), 0).astype(np.int64)
        if most:
            found |= _rests("rest of the whole part by", np.where(size < _WHOLE, size, 0).astype(np.int64))
    else:
        whole = np.abs(np.clip(whole, -_LARGEST, _LARGEST))
    found |= _rests("rest by", whole)
    left = whole
    zeros = np.zeros(len(whole), np.int64)
    open_ = whole > 0
    length = np.zeros(len(whole), np.int64)
    for place in range(19):
        if not (left > 0).any():
            break
        digit = left % 10
        open_ = open_ & (digit == 0)
        zeros += open_
        length += left > 0
        if place < _FROM_RIGHT:
            found[f"digit {place + 1} from the right"] = digit
        left = left // 10
    found |= {"zeros at the end": zeros, "number of digits": length}
    for place in range(_FROM_LEFT):
        shift = length - 1 - place
        digit = whole // 10 ** np.maximum(shift, 0) % 10
        found[f"digit {place + 1}"] = np.where(shift >= 0, digit, 10)
    places = np.sort(numbers)
    edges = np.unique(places[np.arange(1, _RANGES) * len(places) // _RANGES])
    found[RANGE] = np.searchsorted(edges, numbers, side="right")
    return found


def _rests(name: str, whole: NDArray[np.int64]) -> Labels:
    return {f"{name} {divisor}": whole % divisor for divisor in _DIVISORS}


def _decimals(size: Array) -> NDArray[np.int64]:
    """How many digits a number needs behind the point, one more than are looked at for a number with all its digits."""
    found = np.full(len(size), _DECIMALS + 1)
    for digits in range(_DECIMALS, -1, -1):
        scaled = size * 10.0**digits
        found[np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(scaled, 1e-3)] = digits
    # with all digits no number of them says anything: the rest would be those of the float
    return np.where(found > _DECIMALS, 0 if (found > _DECIMALS).all() else _DECIMALS, found)


def are_times(texts: Sequence[str | None], numbers: Array) -> bool:
    """Whether numbers that texts were read as are points in time: their day and year, or their minute, stand there."""
    rows = [(one, number) for one, number in zip(texts, numbers.tolist(), strict=True) if one and np.isfinite(number)]
    rows = rows[:_TRIED]
    return len(rows) == _TRIED and sum(_says(text, number) for text, number in rows) >= _AGREE * _TRIED


def _says(text: str, number: float) -> bool:
    if abs(number) < LAST_DAY and number != 0:
        number *= _DAY
    if not -_FIRST_MOMENT < number < _LAST_MOMENT:
        return False
    if 0 <= number < _DAY:
        return re.search(rf"\d\D{int(number // _MINUTE % 60):02d}", text) is not None
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=number)
    # a day may be another one by universal time
    days = {(moment + datetime.timedelta(days=more)).day for more in (-1, 0, 1)} if number % _DAY else {moment.day}
    return f"{moment.year % 100:02d}" in text and any(str(day) in text for day in days)


def time_marks(moments: NDArray[np.int64], *, dated: bool, timed: bool) -> Labels:
    """Labels of points in time, in microseconds since 1970, or since midnight where they have no date."""
    found: Labels = {}
    if dated:
        days = moments // _DAY
        dates = days.astype("datetime64[D]")
        months = dates.astype("datetime64[M]")
        month = months.astype(np.int64) % 12
        weekday = (days + 3) % 7
        day = (dates - months.astype("datetime64[D]")).astype(np.int64)
        year = months.astype(np.int64) // 12
        found |= {
            "weekday": weekday,
            "weekend": weekday >= 5,
            "day of the month": day,
            "first of the month": day == 0,
            "last of the month": (dates + np.timedelta64(1, "D")).astype("datetime64[M]") != months,
            "month": month,
            "quarter": month // 3,
            "year": year % MOST_KINDS,
            "even years": year % 2,
            "even days": day % 2,
            "even weeks": (days + 3) // 7 % 2,
            "day number by 2": days % 2,
        }
    if timed:
        clock = moments % _DAY
        found |= {
            "midnight": clock == 0,
            "half of the day": clock // (12 * _HOUR),
            "hour": clock // _HOUR,
            "minute": clock // _MINUTE % 60,
            "second": clock // _SECOND % 60,
            "fraction of a second": clock % _SECOND != 0,
            "even minutes": clock // _MINUTE % 2,
            "even seconds": clock // _SECOND % 2,
        }
    return found
