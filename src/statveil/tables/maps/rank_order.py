"""The order of a column's rows: by value, equal ones by secret random keys; and where it is cut into runs.

A run is what is sorted at a time. Any cuts give the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array
from statveil.tables.maps.column_map import stream
from statveil.tables.structure.reading.distinct import sorted_by_engine

__all__ = ["RECORD", "Cuts", "Keys", "Places", "Sample", "cut", "cuts_of", "ordered", "random_keys", "sampled"]

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]
Sample = tuple[Array, Keys]
"""Some values, and as many keys as any rows may have."""

RECORD = np.dtype([("value", np.float64), ("key", np.uint64)])
_KEYS, _SAMPLE = 0x20, 0x21  # purposes of the random streams
_CELLS, _SHARED = 4096, 4  # by which a row's run is found, and cuts in one of them that are compared one by one
_SIZE = np.int64(2**63 - 1)  # bits of a float but for its sign


def random_keys(seed: int, index: int, finite: NDArray[np.bool_]) -> Keys:
    """One 64-bit key for each finite row; a row's key depends on its place in the block and on nothing else."""
    draws = stream(seed, _KEYS, index)
    return draws.integers(0, 2**64 - 1, size=len(finite), dtype=np.uint64, endpoint=True)[finite]


def _by_value(values: Array) -> Places:
    """The rows by (value, row), in a third of the time of sorting their numbers by their values."""
    # one number a row: the value's bits, which rise with its size, above the row's own number
    bits = values.view(np.int64)
    size = bits & _SIZE
    size = np.negative(size, out=size, where=bits < 0)
    joint = (size - size.min()).view(np.uint64)  # which is right even where the difference is beyond an int64
    del size
    places = (len(values) - 1).bit_length()
    every = int(np.bitwise_or.reduce(joint))
    spare = (every & -every).bit_length() - 1 if every else 0  # zeros that all end in, as whole numbers do
    lost = max(every.bit_length() - spare + places - 64, 0)
    joint >>= np.uint64(spare + lost)
    joint <<= np.uint64(places)
    joint |= np.arange(len(values), dtype=np.uint64)
    joint = sorted_by_engine(joint)
    order = (joint & np.uint64((1 << places) - 1)).view(np.int64)
    if lost:  # the bits that found no room tell the others apart
        near = _with_an_equal(joint >> np.uint64(places))
        rows = order[near]
        order[near] = rows[np.argsort(values[rows], kind="stable")]
    return order


def _with_an_equal(rising: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries of sorted ones are not the only ones of their value."""
    same = rising[1:] == rising[:-1]
    found = np.zeros(len(rising), dtype=np.bool_)
    found[1:] = same
    found[:-1] |= same
    return found


def ordered(values: Array, keys: Keys) -> Places:
    """The rows by (value, key, row)."""
    order = _by_value(values) if len(values) > 1 else np.zeros(len(values), dtype=np.int64)
    ranked = values[order]
    tied = _with_an_equal(ranked)
    if not tied.any():
        return order
    ranked = ranked[tied]
    group = np.zeros(len(ranked), dtype=np.uint64)
    np.cumsum(ranked[1:] != ranked[:-1], dtype=np.uint64, out=group[1:])
    rows = order[tied]
    # One sort of one number, the value's group above the key, takes a third of the time of lexsort. Only when shortened
    # keys collide, which random keys practically never do, is the full key needed.
    joint = keys[rows]
    bits = int(group[-1]).bit_length()
    if bits:
        joint >>= np.uint64(bits)
        joint |= group << np.uint64(64 - bits)
    inside = np.argsort(joint)
    joint = joint[inside]
    if (joint[1:] == joint[:-1]).any():
        inside = np.lexsort((keys[rows], group))
    order[tied] = rows[inside]
    return order


class Cuts:
    """Where runs end: a row belongs to the run after the last cut that is not above its (value, key)."""

    def __init__(self, values: Array, keys: Keys) -> None:
        self.values, self.keys = values, keys
        self._above = np.append(values, np.inf)
        self._low, self._per_cell = 0.0, 0.0
        self._first: Places | None = None  # cuts below each of many cells of equal width
        self._most = 0  # cuts in one cell
        with np.errstate(all="ignore"):
            width = np.subtract(*values[[-1, 0]]) if len(values) else np.float64(0)
            per_cell = _CELLS / width
        if 0 < per_cell < np.inf:
            self._low, self._per_cell = float(values[0]), float(per_cell)
            own = self._cells(values)
            self._first, self._most = np.searchsorted(own, np.arange(_CELLS + 1)), int(np.bincount(own).max())

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.values) + 1

    def runs_of(self, values: Array, keys: Keys) -> NDArray[np.unsignedinteger]:
        """The run of each row."""
        run = self._runs_by_value(values)
        # A frequent value may hold several cuts: its rows are told apart by their keys, so no run grows with the ties.
        at = np.flatnonzero(self.values[np.maximum(run - 1, 0)] == values) if len(self.values) else run[:0]
        for value in np.unique(values[at]):
            rows = at[values[at] == value]
            first, stop = np.searchsorted(self.values, value, "left"), np.searchsorted(self.values, value, "right")
            run[rows] = first + np.searchsorted(self.keys[first:stop], keys[rows], side="right")
        return run.astype(np.min_scalar_type(len(self.values)))

    def _runs_by_value(self, values: Array) -> Places:
        """How many cuts are not above each value."""
        if self._first is None or self._most > _SHARED:
            return np.searchsorted(self.values, values, side="right")
        # a quarter of the time of searching: a cell's number rises with the value, so that only cuts in its own cell
        # are left to be compared with
        run = self._first[self._cells(values)]
        for _ in range(self._most):
            run += values >= self._above[run]
        return run

    def _cells(self, values: Array) -> Places:
        with np.errstate(over="ignore"):
            place = values - self._low
            place *= self._per_cell
        return np.clip(place, 0.0, float(_CELLS), out=place).astype(np.int64)


def cuts_of(values: Array, keys: Keys, runs: int) -> Cuts:
    """Cuts that divide a sample of the column into ``runs`` equal parts."""
    order = np.lexsort((keys, values))
    chosen = order[np.arange(1, runs) * len(order) // runs]
    return Cuts(values[chosen], keys[chosen])


def sampled(block: Array, index: int, *, seed: int, of_full: int) -> Sample:
    """Rows of a block that decide where the runs are cut: ``of_full`` of a full one.

    In proportion to the finite rows, so that sparse blocks do not decide the cuts.
    """
    known = block[np.isfinite(block)]
    if not len(known):
        return known, np.zeros(0, dtype=np.uint64)
    draws = stream(seed, _SAMPLE, index)
    size = -(-len(known) * of_full // BLOCK)
    chosen = known[draws.integers(0, len(known), size)]
    return chosen, draws.integers(0, 2**64 - 1, size=size, dtype=np.uint64, endpoint=True)


def cut(item: tuple[int, Array], *, cuts: Cuts, seed: int) -> tuple[NDArray[np.unsignedinteger], NDArray[np.void]]:
    """The run of every finite row of a block, and the rows run by run, in the column's order within each."""
    index, block = item
    finite = np.isfinite(block)
    values, keys = block[finite], random_keys(seed, index, finite)
    run = cuts.runs_of(values, keys)
    order = np.argsort(run, kind="stable")
    records = np.empty(len(values), dtype=RECORD)
    records["value"], records["key"] = values[order], keys[order]
    return run, records
