"""Whether two columns of like labels list pairs that come together: each pair both ways, or each of all pairs once.

Of an edge that is listed both ways the other way shows which share of the rows is left. Of a round robin everyone knows
how many pairs there were, and of a season how often each team played, at home or away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.structure.reading.group_sizes import steadier_than_chance
from statveil.tables.structure.row_count.referring import Referring, more_than_chance

__all__ = ["pairs_that_come_together"]

Codes = NDArray[np.int64]

_LABELS = 6
_ALIKE = 0.5  # of the labels of the column that has fewer
_APART = 0.5  # of the rows
_BOTH_WAYS = 0.5  # of the rows that are listed
_FULL, _ONCE = 0.5, 0.1  # of all pairs, and of the rows that chance would give twice
_EXPECTED = 8.0
_MOST_COLUMNS = 32
_FEWEST = 20


def pairs_that_come_together(columns: Sequence[Referring], share: float) -> Iterator[tuple[str, str, str]]:
    """Two columns each, and how their pairs come together: ``"both ways"`` or ``"once"``.

    ``share`` is that of the rows which are looked at.
    """
    labels = [one for one in columns if (one.numbers is None or one.whole) and one.different >= _LABELS]
    for one, other in combinations(labels[:_MOST_COLUMNS], 2):
        if (one.numbers is None) == (other.numbers is None) and not (one.temporal or other.temporal):
            told = _told(one, other, share)
            if told:
                yield one.name, other.name, told


def _told(one: Referring, other: Referring, share: float) -> str:
    both = one.known & other.known
    ours, theirs = (column.texts if column.numbers is None else column.numbers for column in (one, other))
    a, b, labels = _shared_codes(ours[both], theirs[both])
    apart = a != b
    if labels < _LABELS or apart.mean() < _APART or apart.sum() < _FEWEST:
        return ""
    a, b = a[apart], b[apart]
    pair, back = a * labels + b, b * labels + a
    counts = np.unique(pair, return_counts=True)[1]
    again = float(counts[counts > 1].sum() / len(pair))
    reversed_ = float(np.isin(pair, back).mean())
    if reversed_ >= _BOTH_WAYS * share and more_than_chance(reversed_, again):
        return "both ways"
    if share < 1:
        return ""
    if steadier_than_chance(np.bincount(np.concatenate((a, b))).astype(np.float64)):
        return "once"
    for possible, seen in ((labels * (labels - 1) // 2, np.minimum(pair, back)), (labels * (labels - 1), pair)):
        counts = np.unique(seen, return_counts=True)[1]
        expected = -len(seen) * math.expm1(-len(seen) / possible)
        full = len(counts) >= _FULL * possible and expected >= _EXPECTED
        if full and counts[counts > 1].sum() <= _ONCE * expected:
            return "once"
    return ""


def _shared_codes(ours: NDArray[np.generic], theirs: NDArray[np.generic]) -> tuple[Codes, Codes, int]:
    """Both columns by the number of their labels, and how many labels there are: none where they share too few."""
    if not len(ours):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 0
    labels, code = np.unique(np.concatenate((ours, theirs)), return_inverse=True)
    a, b = code.ravel()[: len(ours)], code.ravel()[len(ours) :]
    in_one, in_other = (np.bincount(part, minlength=len(labels)) > 0 for part in (a, b))
    common = int((in_one & in_other).sum())
    alike = common >= max(_ALIKE * min(in_one.sum(), in_other.sum()), _LABELS)
    return a, b, len(labels) if alike else 0
