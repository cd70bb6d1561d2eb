"""Which rows of a long column are looked at: all of the first million, then rows chosen by a hash of their number."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["KEEP", "SampledUntil", "Sampler", "thinning"]

KEEP = 2**20
"""Finite rows up to which everything is kept."""

_STRIPE = 2**16  # rows hashed at once: what stays in the cache
_ALWAYS = 16  # rows that are left once their number was halved so many times are in every sample
_GOLDEN = 2_654_435_769  # 2**32 over the golden ratio
# Fibonacci hashing: row * _GOLDEN modulo 2**32. It is linear, so the rows of a stripe only add their start. Together
# with a residue of the row it is spread evenly for every period, so that periodic data does not fool it.
_HASHES = np.arange(_STRIPE, dtype=np.uint32) * np.uint32(_GOLDEN)


class Sampler:
    """A sample of a column that arrives block by block; the same whatever the blocks are.

    Rows whose hash is below a limit are kept. The limit is a function of the rows alone (it halves until at most
    ``2 * KEEP`` finite rows of the column lie below it), so neither the sizes nor the order of the blocks matter.
    :attr:`values` holds at most about ``KEEP`` of them.

    >>> sampler = Sampler()
    >>> sampler.add(np.array([1.0, np.nan, 3.0]), 0)
    >>> sampler.values
    array([1., 3.])
    """

    def __init__(self, keep: int = KEEP) -> None:
        self._most, self._all = 2 * keep, keep
        self._shift = 0  # rows are kept whose hash is below 2**32 >> shift
        self._values: list[Array] = []
        self._hashes: list[NDArray[np.uint32] | None] = []  # None where all rows of a stripe are kept
        self._held = 0
        self._starts: list[int] = []

    def add(self, values: Array, start: int) -> None:
        """Take the rows ``start``, ``start + 1``, ...; those that are not finite are ignored.

        The array is kept as it is while all rows are, and must not be written to.
        """
        for at in range(0, len(values), _STRIPE):
            self._take(values[at : at + _STRIPE], start + at)

    def thin(self, shift: int) -> None:
        """Begin anew, and keep of all rows only those that are left once their number was halved so many times."""
        self._shift, self._values, self._hashes, self._starts, self._held = shift, [], [], [], 0

    def part(self) -> Sampler:
        """An empty one for other rows of the column, which keeps as many as this one; it will :meth:`join` this one."""
        fresh = Sampler(self._all)
        fresh._shift, fresh._most = self._shift, sys.maxsize
        return fresh

    def join(self, other: Sampler) -> None:
        """Take in what a :meth:`part` has kept; nothing is thinned out before :meth:`settle`."""
        self._values += other._values
        self._hashes += other._hashes
        self._starts += other._starts
        self._held += other._held

    def settle(self) -> bool:
        """Once all parts have joined: keep what one that sees all rows keeps; false where too few were kept for it."""
        if self._shift and self._held <= self._most:
            return False
        while self._held > self._most:
            self._halve()
        return True

    @property
    def about(self) -> int:
        """How many finite rows there are about, and rather fewer: they are kept as evenly as hashes are spread."""
        return (self._held << self._shift) * 15 // 16

    @property
    def values(self) -> Array:
        """The kept values, in the order of the rows of each block."""
        if not self._values:
            return np.zeros(0)
        order = np.argsort(np.asarray(self._starts), kind="stable")
        if self._held <= self._all:
            return np.concatenate([self._values[i] for i in order])
        # Between one and two times KEEP: one more halving, on a copy, so that later rows still find their place.
        limit = np.uint32(2**31 >> self._shift)
        return np.concatenate([self._values[i][self._hashed(i) < limit] for i in order])

    def _hashed(self, number: int) -> NDArray[np.uint32]:
        """The hashes of a stripe's rows that are kept."""
        held = self._hashes[number]
        return _hashes(self._starts[number], len(self._values[number])) if held is None else held

    def _take(self, values: Array, start: int) -> None:
        kept: NDArray[np.uint32] | None
        if self._shift:
            where, kept = _below(start, len(values), self._shift)
            values = values.take(where)
        else:
            kept = None
        if not (finite := np.isfinite(values)).all():
            values, kept = values[finite], (_hashes(start, len(values)) if kept is None else kept)[finite]
        if len(values):
            self._values.append(values)
            self._hashes.append(kept)
            self._starts.append(start)
            self._held += len(values)
        while self._held > self._most:
            self._halve()

    def _halve(self) -> None:
        self._shift += 1
        limit = np.uint32(2**32 >> self._shift)
        for i in range(len(self._values)):
            hashes = self._hashed(i)
            below = np.flatnonzero(hashes < limit)
            self._values[i], self._hashes[i] = self._values[i].take(below), hashes.take(below)
        self._held = sum(len(values) for values in self._values)


class SampledUntil(Sampler):
    """The same, where rows are kept only until some of them tell all that the sample will be asked.

    Rows of the least hashes are in the sample of every table that there is (up to 2**36 rows). As soon as ``told`` says
    that such rows leave no doubt, whatever else is in the sample, they stand for it, and no other is kept.
    """

    def __init__(self, told: Callable[[Array], bool]) -> None:
        super().__init__()
        self._told, self._enough = told, False

    def add(self, values: Array, start: int) -> None:
        for at in range(0, 0 if self._enough else len(values), _STRIPE):
            stripe = values[at : at + _STRIPE]
            always = stripe[_below(start + at, len(stripe), _ALWAYS)[0]]
            always = always[np.isfinite(always)]
            if len(always) and self._told(always):
                self.thin(0)
                super().add(always, start + at)
                self._enough = True
                return
            super().add(stripe, start + at)


def thinning(rows: int) -> int:
    """How often the rows that parts keep can be halved at once, where so many are finite: :meth:`Sampler.thin`."""
    shift = 0
    while rows >> (shift + 1) >= 2 * KEEP + KEEP // 16:  # some more than are kept, as they are not spread evenly
        shift += 1
    return shift


@lru_cache(maxsize=16)
def _below(start: int, rows: int, shift: int) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Which of some rows are kept, and their hashes: the same for all columns, which come one after another."""
    hashes = _hashes(start, rows)
    where = np.flatnonzero(hashes < np.uint32(2**32 >> shift))
    below = hashes[where]
    where.flags.writeable = below.flags.writeable = False
    return where, below


def _hashes(start: int, rows: int) -> NDArray[np.uint32]:
    # Row numbers above 2**32 wrap round, which is harmless: the hash only has to be fixed for a row.
    return _HASHES[:rows] + np.uint32(start * _GOLDEN & 0xFFFFFFFF)
