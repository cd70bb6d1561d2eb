"""Points in time as people write them: 05-Mar-2020, March 5, 20, Thu 5 Mar 2020 10:11 PM, 05/Mar/2020:10:11:12, 050320.

Day, month and year are looked for in every order in which most rows make sense; where two orders do (05/03/2020), both
are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["compact_times", "written_times"]

_LOOKED = 256  # rows that say whether a column may be of times at all
_MOST_FORMS = 6
_READ = 0.9  # share of the rows that make sense; others are taken for marks of what is missing
_LEAST_ROWS = 3
_DAY_IN_US = 86_400_000_000.0
_PIVOT = 69  # 68 is 2068 and 69 is 1969, as the usual programs read them
_NAMES = {  # English, German, French, Spanish, Italian, Portuguese and Dutch, without accents
    1: "january januar janner janvier enero gennaio janeiro januari",
    2: "february februar feber fevrier febrero febbraio fevereiro februari",
    3: "march marz maerz mrz mars marzo marco maart mrt",
    4: "april avril abril aprile",
    5: "may mai mayo maggio maio mei",
    6: "june juni juin junio giugno junho",
    7: "july juli juillet julio luglio julho",
    8: "august aout agosto augustus",
    9: "september septembre septiembre setiembre settembre setembro",
    10: "october oktober octobre octubre ottobre outubro",
    11: "november novembre noviembre novembro",
    12: "december dezember decembre diciembre dicembre dezembro",
}
_BETWEEN = (r"\s*-\s*", r"\s*/\s*", r"\s*\.\s*", r"[-/.,\s]+")
_ORDERS = ((2, 1, 0), (2, 0, 1), (0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0))  # of year, month and day
_COMPACT = (5, 6, 7, 8, 12, 14)  # digits of a date without marks in it, by the day of the year, or with the time
_ZONE = r"\s*(?:z|utc|gmt)?\s*(?:[-+]\d{2}:?\d{2}\b)?"
_CLOCK = r"(?:^|[^\d:]|:)\s*(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?\s*(?:([ap])\.?\s*m\b\.?)?"
_HOUR = r"\b(\d{1,2})\s*([ap])\.?\s*m\b\.?"
_OFFSET = r":\d{2}(?:[.,]\d+)?\s*(?:utc|gmt)?\s*([-+])(\d{2}):?(\d{2})\b"


def _months() -> dict[str, int]:
    """Every name and its beginnings of three letters or more, unless two months share them."""
    found: dict[str, set[int]] = {}
    for month, names in _NAMES.items():
        for name in names.split():
            for size in range(3, len(name) + 1):
                found.setdefault(name[:size], set()).add(month)
    return {name: months.pop() for name, months in found.items() if len(months) == 1}


_MONTHS = _months()
_NUMERALS = {
    numeral: i + 1
    for i, numeral in enumerate(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"])
}


def written_times(text: pl.Series) -> list[Array]:
    """The points in time that most texts are, once for each way to read them.

    Days since 1970, or microseconds where there is a time of day; microseconds since midnight where there is no date.
    ASCII digits and letters without accents are expected.

    >>> [one.tolist() for one in written_times(pl.Series(["05-Mar-1970", "Jan. 2, 1970", "thu 1 jan 70"] * 2))][0]
    [63.0, 1.0, 0.0, 63.0, 1.0, 0.0]
    """
    known = text.drop_nulls()
    if len(known) < _LEAST_ROWS:
        return []
    some = known.gather_every(max(len(known) // _LOOKED, 1)).head(_LOOKED)
    if np.mean(some.str.contains(r"\d\D+\d|(?i:[a-z])\W*\d|\d\W*(?i:[a-z])|^\d{6,14}$").to_numpy()) < _READ:
        return []
    if len(some) < len(known) and not list(_readings(some)):
        return []
    return list(_readings(text))


def compact_times(numbers: Array) -> list[Array]:
    """The days that whole numbers are, of five to eight digits, or of 12 or 14 with the time: 20200305, 50320, 20065.

    >>> [one.tolist() for one in compact_times(np.array([19700102.0, 19700131.0, 19701224.0]))]
    [[1.0, 30.0, 357.0]]
    """
    given = np.isfinite(numbers)
    known = numbers[given]
    if len(known) < _LEAST_ROWS or known.min() < 0 or np.any(known != np.floor(known)):
        return []
    size = next((size for size in _COMPACT if np.mean(known < 10.0**size) >= _READ), None)
    # a day or a month below ten, in front, has lost its zero
    if size is None or np.mean(known >= 10.0 ** (size - 3)) < _READ:
        return []
    if len(known) > _LOOKED and not compact_times(known[:: len(known) // _LOOKED][:_LOOKED]):
        return []
    whole = np.where(given & (numbers < 10.0**size), numbers, 0).astype(np.int64)
    found: list[Array] = []
    for width in (size, size + 1) if size < 8 and size % 2 else (size,):
        digits = pl.Series(whole).cast(pl.String).str.zfill(width)
        found += _compact(digits, given, min(width, 8), _rest([digits], width))
    return found[:_MOST_FORMS]


def _readings(text: pl.Series) -> Iterator[Array]:
    known = text.is_not_null().to_numpy()
    lower = text.str.to_lowercase()
    clock, timed = _time_of_day(lower)
    # a date is looked for in what is left without the time
    bare = lower.str.replace(_CLOCK + _ZONE, " ").str.replace(_HOUR, " ") if timed else lower
    digits = bare.str.extract_all(r"\d+")
    sizes = digits.list.len().fill_null(0).to_numpy()
    unit = _DAY_IN_US if timed else 1.0
    found: list[Array] = []
    for days in _dates(bare, digits, sizes, known):
        made = days * unit + clock
        if not any(np.array_equal(made, other, equal_nan=True) for other in found):
            found.append(made)
        if len(found) == _MOST_FORMS:
            break
    if not found and timed and bool(np.all(sizes[known] == 0)):
        found.append(clock)
    yield from found


def _time_of_day(text: pl.Series) -> tuple[Array, bool]:
    """Microseconds since midnight, by universal time where rows say theirs, and whether most rows have a time."""
    parts = text.str.extract_groups(_CLOCK).struct.unnest()
    hour, minute, second = (_floats(parts.to_series(i)) for i in range(3))
    half = parts.to_series(3)
    if np.mean(np.isfinite(hour)) < _READ * np.mean(text.is_not_null().to_numpy()):
        parts = text.str.extract_groups(_HOUR).struct.unnest()
        hour, half = _floats(parts.to_series(0)), parts.to_series(1)
        minute = second = np.zeros(len(hour))
    given = np.isfinite(hour)
    if not given.any() or np.count_nonzero(given) < _READ * (len(text) - text.null_count()):
        return np.zeros(len(text)), False
    noon, said = (half == "p").fill_null(False).to_numpy(), half.is_not_null().to_numpy()
    hour = np.where(said, hour % 12 + 12 * noon, hour)
    seconds = 3600 * hour + 60 * np.nan_to_num(minute) + np.nan_to_num(second)
    zone = text.str.extract_groups(_OFFSET).struct.unnest()
    ahead = 3600 * _floats(zone.to_series(1)) + 60 * _floats(zone.to_series(2))
    sign = np.where((zone.to_series(0) == "-").fill_null(False).to_numpy(), -1.0, 1.0)
    seconds = seconds - np.nan_to_num(sign * ahead)
    return np.where(given, 1e6 * seconds, np.nan), True


def _floats(text: pl.Series) -> Array:
    plain = text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    return np.asarray(plain.to_numpy(), dtype=np.float64)


def _dates(text: pl.Series, digits: pl.Series, sizes: NDArray[np.generic], known: NDArray[np.bool_]) -> Iterator[Array]:
    """Days since 1970, in every way in which most rows make sense."""
    most = int(sizes[known].max(initial=0))
    pieces = [digits.list.get(i, null_on_oob=True) for i in range(min(most, 6))]
    if not pieces:
        return
    numbers = [_floats(piece.str.slice(0, 5)) for piece in pieces]
    lengths = [np.asarray(piece.str.len_chars().fill_null(0).to_numpy()) for piece in pieces]
    for known_names in (_MONTHS, _NUMERALS):
        if (month := _named_month(text, known_names)) is not None:
            yield from _with_name(month, numbers, lengths, known)
            break
    if most >= 3:
        yield from _with_marks(text, known)
    for size in _COMPACT:
        if np.mean(lengths[0][known] == size) >= _READ:
            yield from _compact(pieces[0], known & (lengths[0] == size), min(size, 8), _rest(pieces, size))


def _with_marks(text: pl.Series, known: NDArray[np.bool_]) -> Iterator[Array]:
    """Three numbers with the same mark between them, in any order; with others, if the year has four digits."""
    for mark in _BETWEEN:
        three = text.str.extract_groups(rf"(?:^|\D)(\d{{1,4}}){mark}(\d{{1,4}}){mark}(\d{{1,4}})(?:[^\d.]|\.\D|\.?$)")
        pieces = [three.struct.field(str(i)) for i in (1, 2, 3)]
        if len(text) - pieces[0].null_count() < _READ * np.count_nonzero(known):
            continue
        numbers = [_floats(piece) for piece in pieces]
        lengths = [np.asarray(piece.str.len_chars().fill_null(0).to_numpy()) for piece in pieces]
        for first, second, third in _ORDERS:
            year = _full(numbers[first], lengths[first])
            if mark == _BETWEEN[-1]:
                year = np.where(lengths[first] == 4, year, np.nan)
            yield from _made(year, numbers[second], numbers[third], known)


def _named_month(text: pl.Series, months: dict[str, int]) -> Array | None:
    """The last word that is a month: before it there may be a weekday, of which French has a mar. too."""
    names = text.str.extract_all(r"[a-z]+")
    found = np.full(len(names), np.nan)
    for i in range(min(int(names.list.len().max() or 0), 8)):  # type: ignore[arg-type]
        word = names.list.get(i, null_on_oob=True)
        month = word.replace_strict(months, default=None, return_dtype=pl.Float64).to_numpy()
        found = np.where(np.isnan(month), found, month)
    return found if np.isfinite(found).any() else None


def _with_name(
    month: Array, numbers: list[Array], lengths: list[NDArray[np.generic]], known: NDArray[np.bool_]
) -> Iterator[Array]:
    """A month's name with a day and a year in either order, or with one of them."""
    for at in range(min(len(numbers), 4) - 1):
        for year, day in permutations((at, at + 1)):
            yield from _made(_full(numbers[year], lengths[year]), month, numbers[day], known)
        # rows of one column in both orders: the year is what has four digits
        late = np.asarray(lengths[at] == 4)
        year_there = np.where(late, numbers[at], _full(numbers[at + 1], lengths[at + 1]))
        yield from _made(year_there, month, np.where(late, numbers[at + 1], numbers[at]), known)
    if len(numbers) == 1:
        yield from _made(_full(numbers[0], lengths[0]), month, np.ones(len(month)), known)
        yield from _made(np.full(len(month), 2000.0), month, numbers[0], known)


def _full(year: Array, length: NDArray[np.generic]) -> Array:
    """Years of four digits as they are, those of two in their century; no others."""
    century = np.where(year < _PIVOT, 2000.0, 1900.0)
    return np.where(length == 4, year, np.where(length == 2, year + century, np.nan))


def _made(year: Array, month: Array, day: Array, known: NDArray[np.bool_]) -> Iterator[Array]:
    """The days, if most rows have one."""
    with np.errstate(invalid="ignore"):
        right = known & (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    if np.count_nonzero(right) < max(_READ * np.count_nonzero(known), _LEAST_ROWS):
        return
    whole = [np.where(right, one, 1).astype(np.int64) for one in (year, month, day)]
    months = (12 * (whole[0] - 1970) + whole[1] - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (whole[2] - 1).astype("timedelta64[D]")
    right &= days.astype("datetime64[M]") == months  # no 31st of June
    if np.count_nonzero(right) >= max(_READ * np.count_nonzero(known), _LEAST_ROWS):
        yield np.where(right, days.astype(np.int64).astype(np.float64), np.nan)


def _compact(digits: pl.Series, known: NDArray[np.bool_], size: int, rest: Array) -> Iterator[Array]:
    """Days of digits without marks between them, in every order; ``rest`` is the time of day, as a share of it."""
    if size % 2:  # 20065: the day of the year
        year = _full(_floats(digits.str.slice(0, size - 3)), np.full(len(digits), size - 3))
        number = _floats(digits.str.slice(size - 3))
        right = np.where((number >= 1) & (number <= 366), 1.0, np.nan)
        yield from (days + number - 1 for days in _made(year, right, np.ones(len(digits)), known))
        return
    year_size = size - 4
    for order in ("dmy", "mdy", "ymd", "ydm"):
        parts, at = {}, 0
        for part in order:
            width = year_size if part == "y" else 2
            parts[part] = _floats(digits.str.slice(at, width))
            at += width
        year = _full(parts["y"], np.full(len(digits), year_size))
        yield from (days + rest for days in _made(year, parts["m"], parts["d"], known))


def _rest(pieces: list[pl.Series], size: int) -> Array:
    """The time behind a date of digits alone: 202003051011, 20200305T101112."""
    if size in (12, 14):
        behind = pieces[0].str.slice(8)
    elif len(pieces) > 1 and size % 2 == 0:
        behind = pieces[1]
    else:
        return np.zeros(len(pieces[0]))
    hour, minute, second = (np.nan_to_num(_floats(behind.str.slice(at, 2))) for at in (0, 2, 4))
    return np.asarray((3600 * hour + 60 * minute + second) / 86_400)
