"""Flags for a limit by label that not all rows follow: within the groups of a column, the flag turns at one value.

Groups of rows with one label are looked at together. In each, the chance of the flag rises along the column around a
place of its own, between shares of wrong rows that all groups have in common. Around a limit it rises at once, however
many rows are wrong; of a label that merely goes with large values it rises over a good part of the column's spread. So
the likelihood of the best places is compared for rises of no width and for wide ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["steep_limits", "turns_at_limits"]

Flags = NDArray[np.bool_]

_FEWEST, _SIDE = 12, 2
"""Rows of a group that is looked at, and of either side of its flag."""
_WRONG = (0.004, 0.02, 0.06, 0.15, 0.25)
"""Shares of rows that may be wrong, on either side."""
_AT_ONCE, _SLOWLY = (0.0, 0.03), (0.2, 0.35, 0.6, 1.0)
"""Widths of the rise, as shares of the spread within groups. Who knows a limit within a tenth of it has the column."""
_PLACES = 48
"""Places that are tried in a group; four times as many where there is no width."""
_SURE, _EACH = 12.0, 0.75
"""By how much the logarithm of the likelihood must be larger, and how much more for each group."""
_ALIKE = 2.0
"""How many times further apart the averages of ids must lie than by chance for their rows to be alike."""
_IDS, _FINE = 20, 0.2
"""Labels from which a column may be an id, and the share of different values from which equal ones are no accident."""


def steep_limits(values: Array, code: NDArray[np.int64], flag: Flags, ids: Mapping[str, NDArray[np.generic]]) -> bool:
    """Whether the flag turns at one value in each group, also if rows that belong together count once.

    Parameters
    ----------
    values, code, flag : array
        The column, the number of each row's group, and the flag, in the order of the table.
    ids : mapping of str to array
        Other columns, which may say which rows belong together.
    """
    if not turns_at_limits(values, code, flag):
        return False
    return all(turns_at_limits(values[rows], code[rows], flag[rows]) for rows in _thinned(values, code, flag, ids))


def _thinned(
    values: Array, code: NDArray[np.int64], flag: Flags, ids: Mapping[str, NDArray[np.generic]]
) -> Iterator[NDArray[np.int64]]:
    """One row of each of those that may belong together, for each way in which they may."""
    same = (np.diff(code) == 0) & (np.diff(flag) == 0)
    steps = np.diff(values)[same]
    # in rows sorted by the column a flag for a limit changes once
    if len(steps) and max(np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)) < 0.9 * len(steps):
        yield np.flatnonzero(np.concatenate(([True], ~same)))
    if len(np.unique(values)) >= _FINE * len(values):
        yield np.unique(values, return_index=True)[1]
    rest = values - (np.bincount(code, weights=values) / np.maximum(np.bincount(code), 1))[code]
    for keys in ids.values():
        _, first, member, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        if not _IDS <= len(first) <= 0.8 * len(rest):
            continue
        means = np.bincount(member, weights=rest) / counts
        between = float(np.sum(counts * means**2)) / len(first)
        within = float(np.sum((rest - means[member]) ** 2)) / (len(rest) - len(first))
        if between > _ALIKE * within:
            yield np.sort(first)


def turns_at_limits(values: Array, code: NDArray[np.int64], flag: Flags) -> bool:
    """Whether the flag turns at one value in each group, but for errors.

    >>> rng = np.random.default_rng(0)
    >>> region, wage = rng.integers(0, 4, 1_000), rng.lognormal(3, 0.4, 1_000)
    >>> poor = (wage < np.array([14.0, 18, 21, 26])[region]) ^ (rng.random(1_000) < 0.05)
    >>> turns_at_limits(wage, region, poor)
    True
    >>> turns_at_limits(wage * rng.lognormal(0, 0.3, 1_000), region, poor)
    False
    """
    groups = _groups(values, code, flag)
    if not groups:
        return False
    rows = sum(len(x) for x, _ in groups)
    spread = float(np.sqrt(sum(len(x) * np.var(x) for x, _ in groups) / rows))
    if not spread > 0:
        return False
    if sum(len(x) * np.sign(x[marked].mean() - x[~marked].mean()) for x, marked in groups) < 0:
        groups = [(-x[::-1], marked[::-1]) for x, marked in groups]
    scaled = [(x / spread, marked) for x, marked in groups]
    wanted = _SURE + _EACH * len(groups)
    best = max(_likelihood(scaled, width) for width in _AT_ONCE)
    return all(best - _likelihood(scaled, width) >= wanted for width in _SLOWLY)


def _groups(values: Array, code: NDArray[np.int64], flag: Flags) -> list[tuple[Array, Flags]]:
    """The values in rising order and the flags of each group in which both sides are met."""
    order = np.lexsort((values, code))
    starts = np.flatnonzero(np.diff(code[order])) + 1
    found = [(values[rows], flag[rows]) for rows in np.split(order, starts)]
    return [
        (x, marked)
        for x, marked in found
        if len(x) >= _FEWEST and _SIDE <= np.count_nonzero(marked) <= len(x) - _SIDE and x[0] < x[-1]
    ]


def _likelihood(groups: Sequence[tuple[Array, Flags]], width: float) -> float:
    """The logarithm of the likelihood with the best place in each group and the best shares of wrong rows."""
    wrong = np.array([*product(_WRONG, _WRONG)])
    low, high = wrong[:, :1], wrong[:, 1:]
    total = np.zeros(len(wrong))
    for x, marked in groups:
        between = 0.5 * (x[1:] + x[:-1])[x[1:] > x[:-1]]
        places = np.concatenate(([x[0] - width - 1e-9], between, [x[-1] + width + 1e-9]))
        most = _PLACES if width else 4 * _PLACES
        if len(places) > most:
            places = places[np.linspace(0, len(places) - 1, most).astype(np.int64)]
        if width:
            rise = 1 / (1 + np.exp(-np.clip((x - places[:, None]) / width, -40, 40)))
            chance = low[:, :, None] + (1 - low - high)[:, :, None] * rise
            said = np.where(marked, np.log(chance), np.log1p(-chance)).sum(axis=2)
        else:
            below = np.searchsorted(x, places)
            held = np.concatenate(([0], np.cumsum(marked)))
            flagged, above = held[-1] - held[below], len(x) - below
            said = flagged * np.log1p(-high) + (above - flagged) * np.log(high)
            said += held[below] * np.log(low) + (below - held[below]) * np.log1p(-low)
        total += said.max(axis=1)
    return float(total.max())
