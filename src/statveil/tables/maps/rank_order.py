"""The order of a column's rows: by value, equal ones by secret random keys; and where it is cut into runs.

A run is what is sorted at a time. Any cuts give the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import BLOCK, Array
from statveil.tables.maps.column_map import stream

__all__ = ["RECORD", "Cuts", "Keys", "Places", "Sample", "cut", "cuts_of", "ordered", "random_keys", "sampled"]

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]
Sample = tuple[Array, Keys]
"""Some values, and as many keys as any rows may have."""

RECORD = np.dtype([("value", np.float64), ("key", np.uint64)])
_KEYS, _SAMPLE = 0x20, 0x21  # purposes of the random streams


def random_keys(seed: int, index: int, finite: NDArray[np.bool_]) -> Keys:
    """One 64-bit key for each finite row; a row's key depends on its place in the block and on nothing else."""
    draws = stream(seed, _KEYS, index)
    return draws.integers(0, 2**64 - 1, size=len(finite), dtype=np.uint64, endpoint=True)[finite]


def ordered(values: Array, keys: Keys) -> Places:
    """The rows by (value, key, row)."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    same = ranked[1:] == ranked[:-1]
    del ranked  # the arrays are as long as the column, so none stays longer than it is used
    if not same.any():
        return order
    tied = np.zeros(len(values), dtype=np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    group = np.zeros(len(values), dtype=np.uint64)
    np.cumsum(~same, dtype=np.uint64, out=group[1:])
    group = group[tied]
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Cuts:
    """Where runs end: a row belongs to the run after the last cut that is not above its (value, key)."""

    values: Array
    keys: Keys

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.values) + 1

    def runs_of(self, values: Array, keys: Keys) -> NDArray[np.unsignedinteger]:
        """The run of each row."""
        run = np.searchsorted(self.values, values, side="right")
        # A frequent value may hold several cuts: its rows are told apart by their keys, so no run grows with the ties.
        tied = np.flatnonzero(self.values[run - 1] == values) if len(self.values) else run[:0]
        tied = tied[np.argsort(run[tied], kind="stable")]
        for rows in np.split(tied, np.flatnonzero(np.diff(run[tied])) + 1) if len(tied) else ():
            start, stop = np.searchsorted(self.values, values[rows[0]], side="left"), run[rows[0]]
            run[rows] = start + np.searchsorted(self.keys[start:stop], keys[rows], side="right")
        return run.astype(np.min_scalar_type(len(self.values)))


def cuts_of(values: Array, keys: Keys, runs: int) -> Cuts:
    """Cuts that divide a sample of the column into ``runs`` equal parts."""
    order = np.lexsort((keys, values))
    chosen = order[np.arange(1, runs) * len(order) // runs]
    return Cuts(values=values[chosen], keys=keys[chosen])


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
