"""Whether rows are made of other rows: a total among its parts, subtotals, opposites, reciprocals.

A sum of k rows moves k times as far as each of them, and opposites move apart from their middle: who knows that a row
is the sum of others, or that rows come in pairs of x and -x, reads the move off the released rows. A scaling about 0
keeps sums and opposites, and breaks reciprocals.

What is exact by chance is told by what is nearly so: on a lattice as many rows miss by one step as hit, and continuous
values hit to the last digit only if they were made so.
"""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import find_lattice
from statveil.tables.structure.reading.distinct import counted

__all__ = ["find_sums"]

_LEAST_ROWS = 5
_ERROR = 1e-13  # of the sum of all sizes: rounding errors of a sum
_STANDS_OUT = 2.0  # times the largest other row: what makes a total no value of the column
_MOST_PARTS = 50
_ORDERED = 2**16  # rows that are looked at for subtotals
_PAIRED = 2**17  # rows that are looked at for opposites, those nearest to the middle
_RECUR = 0.3  # share of the rows that equal the one before
_NEAR = 0.2  # of a standard deviation: sums that miss by so much tell how many hit by chance
_LUCK = 1e-3
_MIDDLES = (0.0, 1.0, 100.0)  # what pairs may add up to: net flows, shares and their complements
_BESIDE = 40  # middles to either side that tell how many pairs there are by chance
_PAIRS = 3
_SURE = 5.0  # standard deviations of the numbers of pairs beside it
_FEW = 0.2  # different values per row below which pairs are common


def find_sums(values: Array, *, bits: int = 53, about_zero: bool = False) -> str | None:
    """What rows of the column are, in a few words, if some are made of others.

    Parameters
    ----------
    values : array
        Finite rows, in their order.
    bits : int
        Significant bits of the numbers.
    about_zero : bool
        Whether only the column's unit will change, so that sums and opposites stay what they are.
    """
    rows = values[values != 0]  # a sum with zeros is a copy, and 0 is its own opposite
    if len(rows) < _LEAST_ROWS or not np.ptp(rows):
        return None
    places = counted(values)[0]
    places = places[places != 0]
    lattice = find_lattice(places, len(rows), bits)
    step = 0.0 if lattice is None else lattice.step
    # what the last digit of a number may be off by, in its own size
    fine = 2.0 ** (2 - bits) if bits < 53 else 1e-14
    if not about_zero:
        if _total(rows, step, fine):
            return "a row is the total of the others"
        if _subtotals(rows, step, fine) or _subtotals(rows[::-1], step, fine):
            return "rows are sums of the rows before or after them"
    for middle in _MIDDLES[1 if about_zero else 0 :]:
        if _opposites(rows, middle, step, fine):
            return "rows come in pairs that add up to one number" if middle else "rows come in pairs of x and -x"
    if _reciprocals(rows, step, fine):
        return "rows come in pairs of x and 1/x"
    return None


def _total(rows: Array, step: float, fine: float) -> bool:
    """Whether a row is the sum of the others, or half of it, where subtotals stand among them."""
    total, sizes = float(rows.sum()), float(np.abs(rows).sum())
    slack = max(_ERROR, fine) * sizes + 1e-6 * step
    for times in (2, 3):
        for at in np.flatnonzero(np.abs(times * rows - total) <= slack):
            others = np.delete(rows, at)
            if abs(rows[at]) > _STANDS_OUT * float(np.abs(others).max()):
                return True
            # how often one of the rows is the sum of others by chance
            spread = float(np.std(others)) * np.sqrt(len(others))
            if spread and len(rows) * (step + 2 * slack) / (2.5 * spread) < _LUCK / 10:
                return True
    return False


def _subtotals(rows: Array, step: float, fine: float) -> bool:
    """Whether more rows are sums of some number of rows before them than miss such a sum by little."""
    rows = rows[:_ORDERED]
    again = np.concatenate(([False], np.diff(rows) == 0))
    if np.mean(again) > _RECUR:  # rows of a panel: their sums are multiples of one value
        rows = rows[~again]
    if len(rows) < _LEAST_ROWS:
        return False
    most, size = min(_MOST_PARTS, len(rows) // 2), np.abs(rows)
    largest = float(size.max()) * (1 + 1e-9)
    made = rows[1:-1] + rows[:-2]
    for parts in range(2, most + 1):
        rest = np.abs(rows[parts:] - made)
        # as a rule all sums miss by far more than the sizes of so many rows allow, and nothing else is worked out
        far = float(rest.min()) > fine * ((parts + 1) * largest) + 1e-6 * step
        if not far and _recurs(rows, parts, rest, step, fine):
            return True
        made = made[1:] + rows[: -parts - 1]
    return False


def _recurs(rows: Array, parts: int, rest: Array, step: float, fine: float) -> bool:
    """Whether more rows are sums of so many rows before them, which they miss by ``rest``, than miss it by little."""
    from scipy.special import bdtrc

    most = min(_MOST_PARTS, len(rows) // 2)
    wide = max(5.5 * step, _NEAR * float(np.std(rows)))
    size = np.abs(rows)
    slack = fine * (_sums_before(size, parts) + size[parts:]) + 1e-6 * step
    hits = int(np.count_nonzero(rest <= slack))
    least = 3 if step or len(rows) > 100 else 2
    if hits < least:
        return False
    # rows that recur with the same rows before them are one piece of evidence
    missed = np.round(rest / (step or wide), 6)
    hits, near = (len(np.unique(np.column_stack((rows[parts:], missed))[rest <= far], axis=0)) for far in (slack, wide))
    if hits < least:
        return False
    mixed = np.random.default_rng(0).permutation(rows)
    chance = np.abs(mixed[parts:] - _sums_before(mixed, parts))
    share = (step or 2 * float(slack.mean())) / (2 * wide)
    by_chance = int(np.count_nonzero(chance <= slack)) / max(int(np.count_nonzero(chance <= wide)), 10)
    return float(bdtrc(hits - 1, near, min(max(share, by_chance), 1.0))) * most < _LUCK


def _sums_before(rows: Array, parts: int) -> Array:
    """The sum of so many rows before each, added up from the nearest on."""
    made = rows[1:-1] + rows[:-2]
    for number in range(2, parts):
        made = made[1:] + rows[: -number - 1]
    return made


def _opposites(rows: Array, total: float, step: float, fine: float) -> bool:
    """Whether more pairs of rows add up to a number than to those beside it."""
    if min(np.count_nonzero(rows > total / 2), np.count_nonzero(rows < total / 2)) < _PAIRS:
        return False
    away = np.sort(_nearest(rows[rows != total / 2] - total / 2))
    if step and len(np.unique(away)) < _FEW * len(away):
        return False
    slack = max(1e-6 * step, fine * max(float(np.abs(rows).max()), abs(total)))
    return _stands_out(away, slack, step or 4 * slack)


def _nearest(away: Array) -> Array:
    """Those nearest to 0, where there are more than are looked at."""
    if len(away) <= _PAIRED:
        return away
    size = np.abs(away)
    near = size <= np.partition(size, _PAIRED - 1)[_PAIRED - 1]
    # where several are as far as the last one, which of them are taken is a matter of the order
    return away[near] if np.count_nonzero(near) == _PAIRED else away[np.argpartition(size, _PAIRED)[:_PAIRED]]


def _reciprocals(rows: Array, step: float, fine: float) -> bool:
    """Whether more pairs of rows have the product 1 than others beside it; on a lattice they are common."""
    if step or np.count_nonzero(rows > 1) < _PAIRS or np.count_nonzero((rows > 0) & (rows < 1)) < _PAIRS:
        return False
    logs = np.log(rows[(rows > 0) & (rows != 1)])
    logs = np.sort(_nearest(logs))
    slack = fine * max(4.0, float(np.abs(logs).max()))
    return _stands_out(logs, slack, 4 * slack)


def _stands_out(away: Array, slack: float, beside: float) -> bool:
    """Whether more pairs add up to 0 than to numbers beside it, each row being in one pair at most."""
    places, counts = np.unique(away, return_counts=True)

    def pairs(total: float) -> int:
        wanted = total - places
        at = np.minimum(np.searchsorted(places, wanted - slack), len(places) - 1)
        found = np.minimum(counts, counts[at])[np.abs(places[at] - wanted) <= slack]
        return int(found.sum()) // 2

    seen = pairs(0.0)
    if seen < _PAIRS:
        return False
    luck = [pairs(sign * far * beside) for far in range(1, _BESIDE + 1) for sign in (-1, 1)]
    middle = float(np.mean(luck))
    return seen >= _PAIRS + max(luck) and seen >= middle + _SURE * max(float(np.std(luck)), middle**0.5)
