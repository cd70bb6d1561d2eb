"""Whether the rows of a label are those in which several comparisons hold: the largest of three, a value in its limits.

Of all comparisons of two columns those are kept that hold in nearly all rows of the label. Then the other rows are
gone through: each comparison that the rows of the label keep to must be broken by some of them, until hardly any row is
left in which all hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.structure.others.rule_columns import Readable
from statveil.tables.structure.others.rule_odds import FEWEST, OF_FEWER, STRAY, sure

__all__ = ["compared"]

_COLUMNS = 24  # of which each pair is compared
_ROWS = 2048  # that are looked at
_MOST = 8  # comparisons that make one rule

Flags = NDArray[np.bool_]


def compared(flags: Flags, columns: Sequence[Readable]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Columns with a rule of comparisons among them, in words."""
    pairs, holds = _comparisons(columns, flags.shape[1])
    if not len(pairs):
        return
    look = np.linspace(0, flags.shape[1] - 1, holds.shape[1]).astype(np.int64)
    told: set[tuple[str, ...]] = set()
    for flag in flags[:, look]:
        for side in (flag, ~flag):
            rule = _rule(holds, side, float(np.log(4.0 * len(flags))))
            if rule:
                names = tuple(dict.fromkeys(columns[i].name for one in rule for i in pairs[one].tolist()))
                if names not in told:
                    told.add(names)
                    yield names, f"which of {', '.join(map(repr, names))} are larger"


def _comparisons(columns: Sequence[Readable], rows: int) -> tuple[NDArray[np.int64], Flags]:
    """Pairs of columns, and for each in which rows the one is the larger, the smaller, or either of them or equal."""
    look = np.linspace(0, rows - 1, min(rows, _ROWS)).astype(np.int64)
    some = [one.numbers[look] for one in columns[:_COLUMNS]]
    pairs: list[tuple[int, int]] = []
    holds: list[Flags] = []
    for i, j in combinations(range(len(some)), 2):
        if columns[i].kind != columns[j].kind:
            continue
        larger, smaller = some[i] > some[j], some[i] < some[j]
        equal = some[i] == some[j]
        ties = bool(equal.any())
        for made in (larger, smaller, *((larger | equal, smaller | equal) if ties else ())):
            if FEWEST <= np.count_nonzero(made) <= len(look) - FEWEST:
                pairs.append((i, j))
                holds.append(made)
    found = np.array(holds, dtype=np.bool_).reshape(len(holds), len(look))
    return np.array(pairs, dtype=np.int64).reshape(len(pairs), 2), found


def _rule(holds: Flags, flag: Flags, tried: float) -> list[int]:
    """Comparisons that all hold in the flagged rows and in no others, but for a few; nothing where there are none."""
    rows, flagged = len(flag), int(np.count_nonzero(flag))
    if not FEWEST <= flagged <= rows - FEWEST:
        return []
    allowed = min(1 + STRAY * rows, OF_FEWER * min(flagged, rows - flagged))
    kept = np.flatnonzero((~holds[:, flag]).sum(axis=1) <= allowed)
    if not len(kept):
        return []
    broken = ~holds[kept]
    inside = np.ones(rows, np.bool_)
    chosen: list[int] = []
    while len(chosen) < _MOST:
        gain = (broken & (inside & ~flag)).sum(axis=1) - (broken & (inside & flag)).sum(axis=1)
        best = int(np.argmax(gain))
        if gain[best] < 1:
            break
        chosen.append(int(kept[best]))
        inside &= ~broken[best]
        wrong = int(np.count_nonzero(inside != flag))
        ways = tried + len(chosen) * float(np.log(len(holds)))
        if len(chosen) > 1 and sure(wrong, rows, flagged, ways):
            return chosen
    return []
