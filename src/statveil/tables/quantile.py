"""Exact quantiles in bounded memory: no sketch, no sort of the whole column."""

from __future__ import annotations

import math
import sys
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array, Blocks, Part, by_parts

__all__ = ["Tally", "linear_quantile", "sortable"]

_COLLECT = 2**21
"""Values that are collected and sorted in memory."""
_DIGIT = 16
"""Bits of the key that one pass looks at."""
_SIGN = 1 << 63

Keys = NDArray[np.uint64]


def sortable(values: Array) -> Keys:
    """Whole numbers in the order of the values: the bits of a float, mended for the sign.

    >>> bool(np.all(np.diff(sortable(np.array([-2.0, -1.0, 0.0, 1e-300, 3.0])).astype(object)) > 0))
    True
    """
    bits = values.view(np.uint64)
    return np.where(bits & np.uint64(_SIGN), ~bits, bits | np.uint64(_SIGN))


def _leading(values: Array) -> NDArray[np.uint16]:
    """The first 16 bits of each float as they are: half of a pass is spent here, so nothing is computed."""
    halves = np.ascontiguousarray(values).view(np.uint16)
    return halves[3::4] if sys.byteorder == "little" else halves[0::4]


class Tally:
    """How many values share the leading bits of their sortable key, below a given prefix."""

    def __init__(self, prefix: int = 0, known: int = 0) -> None:
        self.prefix, self.known = prefix, known
        self.counts: NDArray[np.int64] = np.zeros(2**_DIGIT, dtype=np.int64)
        self._guess: int | None = None  # first of three leading digits, as floats have them
        self._alpha = 0.0
        self._held: list[Array] = []
        self._size = 0
        self._span: tuple[float, float] | None = None  # of those with these digits, all that are held
        self._below = 0  # of those with these digits, how many are smaller

    def expect(self, alpha: float) -> None:
        """Guess from what was counted so far where the quantile lies, and hold the values there: it saves a pass."""
        digit = int(np.searchsorted(np.cumsum(self.counts), alpha * float(self.counts.sum())))
        raw = digit ^ 0x8000 if digit & 0x8000 else digit ^ 0xFFFF
        if raw & 0x7FFF not in (0, 0x7FFF):  # the three neighbours have the same sign
            self._guess, self._alpha = raw - 1, alpha

    def pair(self, rank: int) -> tuple[float, float] | None:
        """The value of this rank (from 0) and the next one, if they were held."""
        first = rank - self._smaller()
        if self._guess is None or first < 0 or first + 1 >= self._size:
            return None
        held = np.concatenate(self._held)
        # two places of a million need no order of all; equal zeros of two signs do, as their keys tell them apart
        low, high = np.partition(held, (first, first + 1))[first : first + 2].tolist()
        if low == 0.0 or high == 0.0:
            low, high = map(_value, np.sort(sortable(held))[first : first + 2].tolist())
        return low, high

    def _smaller(self) -> int:
        """How many values are smaller than all that are held."""
        raw = self._guess or 0
        digit = raw + 0x8000 if raw < 0x8000 else 0xFFFF - raw - 2  # negative floats run backwards
        return int(self.counts[:digit].sum()) + self._below

    def _hold(self, values: Array, leading: NDArray[np.uint16]) -> None:
        near = values[leading - np.uint16(self._guess or 0) <= 2]
        if self._span is not None:
            low, high = self._span
            self._below += int(np.count_nonzero(near < low))
            near = near[(near >= low) & (near <= high)]
        self._held.append(near)
        self._size += len(near)
        if self._size > _COLLECT:
            self._narrow()

    def _narrow(self) -> None:
        """Hold an eighth of them from here on, about where the quantile of all rows so far lies."""
        held = np.concatenate(self._held)
        middle = int(self._alpha * float(self.counts.sum())) - self._smaller()
        first, last = max(0, middle - _COLLECT // 16), min(len(held) - 1, middle + _COLLECT // 16)
        if first < last:
            low, high = np.partition(held, (first, last))[[first, last]].tolist()
            inside = held[(held >= low) & (held <= high)]
            if len(inside) <= _COLLECT // 2:
                self._below += int(np.count_nonzero(held < low))
                self._span, self._held, self._size = (low, high), [inside], len(inside)
                return
        self._guess, self._held, self._size = None, [], 0  # guessed wrongly, or one value many times over

    def inside(self, values: Array) -> Keys:
        """Keys of the values that start with the prefix."""
        top = self.prefix >> (self.known - _DIGIT)
        raw = top ^ 0x8000 if top & 0x8000 else top ^ 0xFFFF
        keys = sortable(values[_leading(values) == raw])
        return keys if self.known == _DIGIT else keys[keys >> np.uint64(64 - self.known) == np.uint64(self.prefix)]

    def add(self, values: Array, alpha: float | None = None) -> None:
        """Count a block of finite values; with an ``alpha``, hold those near its quantile from the first block on."""
        if not self.known:
            leading = np.ascontiguousarray(_leading(values))
            first = alpha is not None and not self.counts.any()
            self._count(leading)
            if first and alpha is not None:
                self.expect(alpha)
            if self._guess is not None:
                self._hold(values, leading)
            return
        digit = (self.inside(values) >> np.uint64(64 - _DIGIT - self.known)) & np.uint64(2**_DIGIT - 1)
        self.counts += np.bincount(digit.astype(np.int64), minlength=2**_DIGIT)

    def _count(self, leading: NDArray[np.uint16]) -> None:
        """Count first digits; those of one sign from end to end, which are few as a rule."""
        if not len(leading):
            return
        least, most = int(leading.min()), int(leading.max())
        if least < 0x8000 <= most:
            raw = np.bincount(leading, minlength=2**_DIGIT)
            self.counts += np.concatenate([raw[:0x7FFF:-1], raw[:0x8000]])  # negative floats run backwards
            return
        raw = np.bincount(leading - np.uint16(least))
        if most < 0x8000:
            self.counts[0x8000 + least : 0x8001 + most] += raw
        else:
            self.counts[0xFFFF - most : 0x10000 - least] += raw[::-1]

    def told(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which digits were met, and how often: as a rule few."""
        met = np.flatnonzero(self.counts)
        return met, self.counts[met]

    def take(self, told: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
        """Take in what another one has counted."""
        self.counts[told[0]] += told[1]

    def narrowed(self, rank: int) -> tuple[Tally, int, int]:
        """The tally one digit deeper that holds the value of this rank, the rank inside it, and its size."""
        below = np.cumsum(self.counts)
        digit = int(np.searchsorted(below, rank, side="right"))
        inner = rank - (int(below[digit - 1]) if digit else 0)
        return Tally((self.prefix << _DIGIT) | digit, self.known + _DIGIT), inner, int(self.counts[digit])


def linear_quantile(blocks: Blocks, alpha: float, rows: int, tally: Tally) -> float:
    """The quantile as NumPy, pandas and most spreadsheets define it: linear between two neighbours.

    ``tally`` has counted all values already, which saves the first pass.
    """
    place = (rows - 1) * alpha
    first = min(math.floor(place), rows - 1)
    share = place - first
    low, high = _neighbours(blocks, first, tally)
    if share == 0.0 or high is None:
        return low
    gap = high - low
    return low + gap * share if share < 0.5 else high - gap * (1 - share)


def _neighbours(blocks: Blocks, rank: int, tally: Tally) -> tuple[float, float | None]:
    """The value of this rank (from 0) and the next one.

    Radix selection: a digit of the key a pass, until what is left fits into memory or is one value alone.
    """
    if (held := tally.pair(rank)) is not None:
        return held
    tally, rank, size = tally.narrowed(rank)
    while size > _COLLECT and tally.known < 64:
        for counts in by_parts(blocks, partial(_counted, tally.prefix, tally.known)):
            tally.take(counts)
        tally, rank, size = tally.narrowed(rank)
    found = by_parts(blocks, partial(_collected, tally.prefix, tally.known, size <= _COLLECT, rank + 1 >= size))
    kept = [keys for keys, _ in found]
    above = min((key for _, key in found if key is not None), default=None)
    if size > _COLLECT:  # all bits are known: one value many times over
        inside = [tally.prefix, tally.prefix] if rank + 1 < size else [tally.prefix]
    else:
        inside = np.sort(np.concatenate(kept))[rank : rank + 2].tolist()
    following = inside[1] if len(inside) > 1 else above
    return _value(inside[0]), None if following is None else _value(following)


def _counted(prefix: int, known: int, part: Part) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The digits below a prefix in a part of the column."""
    tally = Tally(prefix, known)
    for _, block in part:
        tally.add(block[np.isfinite(block)])
    return tally.told()


def _collected(prefix: int, known: int, inside: bool, beyond: bool, part: Part) -> tuple[Keys, int | None]:
    """The keys with a prefix in a part of the column, and the least one beyond it, each if it is asked for.

    The latter is needed where the value that is looked for is the last one inside.
    """
    tally, kept, above = Tally(prefix, known), [np.zeros(0, dtype=np.uint64)], None
    for _, block in part:
        values = block[np.isfinite(block)]
        if inside:
            kept.append(tally.inside(values))
        if beyond:
            keys = sortable(values)
            over = keys[keys >> np.uint64(64 - known) > np.uint64(prefix)]
            above = min(int(over.min()), 2**64 if above is None else above) if len(over) else above
    return np.concatenate(kept), above


def _value(key: int) -> float:
    """The float of a sortable key."""
    bits = key ^ _SIGN if key & _SIGN else key ^ (2**64 - 1)
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])
