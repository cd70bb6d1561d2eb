"""Shuffles that anybody can undo: by a usual seed, in the way of NumPy, pandas, scikit-learn, Polars, Python or R.

``frame.sample(frac=1, random_state=42)`` makes no secret of the order that the rows had before: who tries a hundred
seeds has it again. Which version of a library drew it matters little: NumPy's ``RandomState`` and Python's ``random``
are the same for ever, NumPy's ``Generator`` and R since 3.6 have been so for years. Polars does not promise it, and is
tried as it is installed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["MOST_ROWS", "SEEDS", "WAYS", "Places", "origins"]

_OFTEN = (0, 42, 1, 123, 1234, 2, 3, 10, 100, 12_345, 7, 5, 4, 2024, 2025, 2023, 2026, 2022, 2021, 2020, 1337, 13, 99)
_ALSO = (
    2019, 2018, 2017, 2016, 2015, 111, 222, 321, 333, 420, 500, 555, 666, 777, 888, 999, 1000, 1001, 1111, 4242, 4321,
    9999, 10_000, 31_337, 54_321, 123_456, 1_234_567, 12_345_678, 123_456_789, 2**32 - 1,
)  # fmt: skip
SEEDS = tuple(dict.fromkeys((*_OFTEN, *range(101), *_ALSO)))
"""What people write as a seed, the most usual ones first."""

MOST_ROWS = 2**16
"""Rows up to which every way is tried; of longer tables the cheap ways with three seeds."""

_LONGEST, _LONG_SEEDS = 2**20, 3
_REMEMBERED = 2**13
_SHARES = (0.8, 0.75, 0.7, 0.9, 2 / 3, 0.5)  # of rows that are kept for training: the rest is for a test
_PART_SEEDS, _PART_WORK = 8, 2**17

Whole = NDArray[np.int64]
Places = NDArray[np.int64] | NDArray[np.uint16]


def origins(rows: int) -> Iterator[Places]:
    """Where each row may have stood before a usual shuffle, as numbers from 0 on: one array for each shuffle."""
    return iter(_remembered(rows)) if rows <= _REMEMBERED else _drawn(rows)


@lru_cache(maxsize=2)
def _remembered(rows: int) -> NDArray[np.uint16]:
    """Of a short table all at once: several columns, and several tables of one length, are looked at one by one."""
    found = np.array([origin.astype(np.uint16) for origin in _drawn(rows)])
    found.flags.writeable = False
    return found


def _drawn(rows: int) -> Iterator[Whole]:
    if rows > _LONGEST:
        return
    for way, (shuffled, work) in WAYS.items():
        number = min(len(SEEDS), work // rows)
        if rows > MOST_ROWS:
            number = _LONG_SEEDS if way in _LONG_WAYS else 0
        for seed in SEEDS[:number]:
            yield shuffled(rows, seed)
    if rows > MOST_ROWS:
        return
    yield _reversed_bits(rows)
    for seed in SEEDS[: min(_PART_SEEDS, _PART_WORK // rows)]:
        for size, order in _parts(rows, seed):
            there = np.zeros(size, dtype=np.bool_)
            there[order] = True
            yield (np.cumsum(there) - 1)[order]


# --- the ways, each as the row before of every row behind -----------------------------------------------------------
def _numpy_legacy(rows: int, seed: int) -> Whole:
    """``np.random.seed``, ``RandomState``, ``frame.sample(frac=1, random_state=...)``, ``sklearn.utils.shuffle``."""
    return np.random.RandomState(seed).permutation(rows)


def _numpy(rows: int, seed: int) -> Whole:
    return np.random.default_rng(seed).permutation(rows)


def _numpy_choice(rows: int, seed: int) -> Whole:
    """``frame.sample(frac=1, random_state=np.random.default_rng(...))``."""
    return np.random.default_rng(seed).choice(rows, rows, replace=False)


def _legacy_sorted(rows: int, seed: int) -> Whole:
    """Sorted by a column of random numbers."""
    return np.argsort(np.random.RandomState(seed).random_sample(rows))


def _sorted(rows: int, seed: int) -> Whole:
    return np.argsort(np.random.default_rng(seed).random(rows))


def _polars(rows: int, seed: int) -> Whole:
    return pl.int_range(rows, eager=True).shuffle(seed=seed).to_numpy()


def _polars_sample(rows: int, seed: int) -> Whole:
    return (
        pl.int_range(rows, eager=True).to_frame().sample(fraction=1.0, shuffle=True, seed=seed).to_series().to_numpy()
    )


def _python(rows: int, seed: int) -> Whole:
    order = list(range(rows))
    random.Random(seed).shuffle(order)
    return np.array(order, dtype=np.int64)


def _python_sample(rows: int, seed: int) -> Whole:
    return np.array(random.Random(seed).sample(range(rows), rows), dtype=np.int64)


def _r(rows: int, seed: int) -> Whole:
    """``set.seed(...); sample(n)`` since R 3.6: bits of a Mersenne twister, again while they say too much.

    >>> (_r(10, 123) + 1).tolist(), (_r(10, 42) + 1).tolist()
    ([3, 10, 2, 8, 6, 9, 1, 7, 5, 4], [1, 5, 10, 8, 2, 4, 6, 9, 7, 3])
    """
    state = []
    word = seed & 0xFFFFFFFF
    for number in range(50 + 625):
        word = (69_069 * word + 1) & 0xFFFFFFFF
        if number > 50:
            state.append(word)
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": np.array(state, dtype=np.uint32), "pos": 624}}
    left, order = list(range(rows)), []
    raw = iter(twister.random_raw(4 * rows + 2**10).tolist())
    for size in range(rows, 0, -1):
        bits = max(math.ceil(math.log2(size)), 0)
        while True:
            drawn = next(raw) >> 16
            if bits >= 16:
                drawn = 65_536 * drawn + (next(raw) >> 16)
            drawn &= (1 << bits) - 1
            if drawn < size:
                break
        order.append(left[drawn])
        left[drawn] = left[size - 1]
    return np.array(order, dtype=np.int64)


WAYS: dict[str, tuple[Callable[[int, int], Whole], int]] = {
    "numpy.random.RandomState": (_numpy_legacy, 2**21),
    "numpy.random.default_rng": (_numpy, 2**21),
    "polars shuffle": (_polars, 2**20),
    "polars sample": (_polars_sample, 2**20),
    "numpy.random.Generator.choice": (_numpy_choice, 2**20),
    "sorted by RandomState": (_legacy_sorted, 2**18),
    "sorted by default_rng": (_sorted, 2**18),
    "random.shuffle": (_python, 2**17),
    "random.sample": (_python_sample, 2**17),
    "R": (_r, 2**17),
}
"""How rows are shuffled, and of how many rows in all seeds together: Python and R are slow."""
_LONG_WAYS = ("numpy.random.RandomState", "numpy.random.default_rng", "polars shuffle")


def _parts(rows: int, seed: int) -> Iterator[tuple[int, Whole]]:
    """Tables that a part may be of, and where its rows stood: ``train_test_split``, ``sample(frac=0.8, ...)``."""
    for share in _SHARES:
        for size in sorted({math.ceil(rows / share), math.floor(rows / share)}):
            order = np.random.RandomState(seed).permutation(size)
            yield size, order[size - rows :]
            yield size, order[:rows]


def _reversed_bits(rows: int) -> Whole:
    """Where each row would stand with the bits of its number read backwards."""
    width = max((rows - 1).bit_length(), 1)
    place = np.arange(2**width)
    turned = np.zeros_like(place)
    for bit in range(width):
        turned |= ((place >> bit) & 1) << (width - 1 - bit)
    return turned[turned < rows]
