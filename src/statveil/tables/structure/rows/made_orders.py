"""Whether rows stand in an order that was made from the size of their values: by distance from a number, bands, text.

A map that moves all rows alike keeps their order, and an ascending or slowly varying column tells nothing by it that
its values do not. Other orders do: rows sorted by their distance from 0 turn over at 0, rows in public bands part at
the bands' ends, and numbers sorted as texts part where they get one digit more. Whoever sees the moved rows in such an
order looks for the move that puts these places where they belong. Rows that stand in no order, and series in time, show
nothing of the kind.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["made_order", "restored_orders"]

_ROWS = 2**13
"""Rows that are looked at, from all over the column."""
_KEYED, _RESTORED = 2**9, 2**11
"""Rows for which every key is worked out, and that are looked at in the order of another column."""
_MOST_COLUMNS, _NUMBERED = 16, 0.9
"""Other columns in whose order the rows are looked at, and the share of different values that they must have."""
_FEWEST = 30
_AROUND, _EDGE = 0.125, 0.05
"""Share of the rows whose values, on either side of a place, say how often it would be crossed; places nearer to an end
of the column than the second are not asked for."""
_WINDOWS = 64
_DENSE, _THIN = 128, 1.5
"""One part of the rows in so many: their values around a place lie at most so much farther apart than around others."""
_GAP = 16.0
"""A gap is so much wider than the stretches that hold so many rows elsewhere."""
_DIPS = ((0.25, -4.5), (0.5, -8.0))
_PAIR = (0.25, -3.2)
"""How often a place where bands part is crossed at most, beside the places on either side, and by how many standard
errors that is less: sharp bands, also of few rows, and those that a tenth of the rows do not keep to. Of two such
places that lie apart less is asked."""
_NEAR = 0.4
"""Of the likeness of neighbours in their values: at most as much in their distance from a number. A series in time that
is folded about a number is not smoother than it was."""
_MIXED = 0.5
"""Of the changes from one side of the number to the other that rows in no order have: at least so many."""
_CENTRES = 63
_SORTED, _CLEARLY = 0.9, 0.2
"""Rank correlation with the row number from which on rows are in the order of a key, and by how much it exceeds that of
the values."""


def made_order(values: Array, *, by_distance: bool = True) -> str | None:
    """By what the rows were put in order, in words; ``None`` where they show no such order.

    Without ``by_distance`` nobody looks for the distance from a number.

    >>> rows = np.random.default_rng(0).normal(20.0, 30.0, 400)
    >>> made_order(rows), made_order(np.sort(rows)), made_order(np.cumsum(rows))
    (None, None, None)
    >>> made_order(rows[np.argsort(np.abs(rows))])
    'their distance from a number'
    >>> made_order(rows[np.argsort(rows > 25, kind="stable")])
    'bands of their values'
    >>> made_order(np.array(sorted(np.round(np.abs(rows) + 60), key=str)))
    'their values as text'
    """
    known = values[np.isfinite(values)]
    if len(known) < _FEWEST:
        return None
    spread = known[:: -(-len(known) // _ROWS)]
    if by_distance and _by_distance(spread):
        return "their distance from a number"
    if _in_bands(spread):
        return "bands of their values"
    return _by_key(known[:: -(-len(known) // _KEYED)])


def restored_orders(values: Array, columns: Mapping[str, Array]) -> Iterator[str]:
    """Other columns, such as running numbers, in whose order the rows stand like that, whatever order they stand in."""
    for name, column in list(columns.items())[:_MOST_COLUMNS]:
        known = np.flatnonzero(np.isfinite(column) & np.isfinite(values))
        if len(known) < _FEWEST or len(np.unique(column[known])) < _NUMBERED * len(known):
            continue
        order = known[np.argsort(column[known], kind="stable")]
        if bool(np.all(np.diff(order) > 0)):
            continue  # the rows stand in that order, which is looked at by itself
        # whether a column turns where this one is at some number is looked at by itself
        if made_order(values[order[:: -(-len(order) // _RESTORED)]], by_distance=False) is not None:
            yield name


def _ranks(values: Array) -> Array:
    """Places in ascending order, equal ones in the middle of theirs."""
    _, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts).astype(np.float64)
    return (ends - 0.5 * (counts + 1))[code.ravel()]


def _likeness(rank: Array) -> float:
    """Von Neumann's ratio of ranks: about 1 for rows in no order, 0 for sorted ones."""
    spread = float(np.var(rank))
    return 1.0 if spread == 0 else float(np.mean(np.diff(rank) ** 2)) / (2 * spread)


def _by_distance(values: Array) -> bool:
    """Whether neighbours lie as far from some number inside the column, though on either side of it."""
    most = _NEAR * min(1.0, _likeness(_ranks(values)))
    for centre in np.unique(np.quantile(values, np.linspace(0.05, 0.95, _CENTRES))):
        above = values > centre
        part = float(above.mean())
        mixed = float(np.mean(above[1:] != above[:-1])) >= _MIXED * 2 * part * (1 - part)
        if mixed and 0 < part < 1 and _likeness(_ranks(np.abs(values - centre))) <= most:
            return True
    return False


def _in_bands(values: Array) -> bool:
    """Whether some place is hardly ever crossed by steps that are long enough, where others near it are.

    A step that is longer than the row's distance from a place would cross it if it went the other way. In a series in
    time, and among rows in no order, about as many do as at the places around; where bands part, none does.
    """
    first, second = values[:-1], values[1:]
    step = np.abs(second - first)
    places = np.unique(values)
    between = 0.5 * (places[1:] + places[:-1])
    if len(between) < 3:
        return False
    crossed = _covering(np.minimum(first, second), np.maximum(first, second), between)
    could = sum((_covering(row - step, row + step, between) for row in (first, second)), np.zeros(len(between)))
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(could > 0, 2 * crossed / could, np.nan)
    ascending = np.sort(values)
    below = np.searchsorted(ascending, between)
    few = max(2, len(values) // _DENSE)
    wide = ascending[np.minimum(below + few, len(values) - 1)] - ascending[np.maximum(below - few, 0)]
    width = max(3, round(_AROUND * len(values)))
    inside = (below >= _EDGE * len(values)) & (below <= (1 - _EDGE) * len(values)) & (could > 0)
    for gap in below[np.diff(places) > _GAP * float(np.median(wide))].tolist()[:_WINDOWS]:
        inside &= np.abs(below - gap) > width  # levels that lie apart end where they end
    rarely: list[int] = []
    for at in np.linspace(0, len(values), _WINDOWS + 1):
        near = inside & (np.abs(below - at) <= 0.5 * len(values) / _WINDOWS)
        sides = [rate[inside & (np.abs(below - at + side) <= 0.5 * width)] for side in (-0.5 * width, 0.5 * width)]
        if not near.any() or not all(map(len, sides)):
            continue
        usual = min(float(np.median(side)) for side in sides)  # it changes along the column, in tails above all
        # between two levels, where hardly any rows lie, few steps cross, too
        near &= wide <= _THIN * float(np.median(wide[inside & (np.abs(below - at) <= width)]))
        mean = 0.5 * usual * could[near]
        with np.errstate(divide="ignore", invalid="ignore"):
            fewer = (crossed[near] - mean) / np.sqrt(mean * max(1 - 0.5 * usual, 0.25))
        if any(bool(np.any((rate[near] <= dip * usual) & (fewer <= rare))) for dip, rare in _DIPS):
            return True
        rarely += below[near][(rate[near] <= _PAIR[0] * usual) & (fewer <= _PAIR[1])].tolist()
    return bool(rarely) and max(rarely) - min(rarely) >= width


def _covering(low: Array, high: Array, places: Array) -> Array:
    """How many of some intervals hold each place."""
    started = np.searchsorted(np.sort(low), places, side="left")
    ended = np.searchsorted(np.sort(high), places, side="right")
    return (started - ended).astype(np.float64)


def _by_key(values: Array) -> str | None:
    """A usual key by which the rows are sorted while they are not by their values."""
    texts = [f"{value:.15g}" for value in values.tolist()]
    numbers = values.tolist()
    if any(_descents(texts[::way]) == 0 < _descents(numbers[::way]) for way in (1, -1)):
        return "their values as text"
    place = np.arange(len(values), dtype=np.float64)
    least = max(_SORTED, abs(_correlation(_ranks(values), place)) + _CLEARLY)  # in a trend the first digits rise, too
    digits = ["".join(one for one in text if one.isdigit()) or "0" for text in texts]
    for what, key in _KEYS.items():
        keyed = np.array([key(text, own) for text, own in zip(texts, digits, strict=True)], dtype=np.float64)
        if len(np.unique(keyed)) > 1 and abs(_correlation(_ranks(keyed), place)) >= least:
            return what
    return None


def _descents(values: Sequence[Any]) -> int:
    return sum(second < first for first, second in pairwise(values))


def _correlation(one: Array, other: Array) -> float:
    one, other = one - one.mean(), other - other.mean()
    size = math.sqrt(float(one @ one) * float(other @ other))
    return 0.0 if size == 0 else float(one @ other) / size


def _hashed(name: str) -> Callable[[str, str], float]:
    return lambda text, digits: float(int.from_bytes(hashlib.new(name, text.encode()).digest()[:6], "big"))


_KEYS: dict[str, Callable[[str, str], float]] = {
    "the last digit of their values": lambda text, digits: float(digits[-1]),
    "the last digits of their values": lambda text, digits: float(digits[-2:]),
    "the digits of their values from the last one on": lambda text, digits: float("0." + digits[::-1]),
    "the sum of the digits of their values": lambda text, digits: float(sum(map(int, digits))),
    "the bits of their values": lambda text, digits: float(int(digits).bit_count()),
    "a hash of their values": _hashed("md5"),
    "a hash (SHA-1) of their values": _hashed("sha1"),
    "a hash (SHA-256) of their values": _hashed("sha256"),
    "a checksum of their values": lambda text, digits: float(crc32(text.encode())),
}
"""From a value as text, and its digits alone."""
