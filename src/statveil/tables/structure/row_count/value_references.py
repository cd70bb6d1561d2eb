"""Whether rows name other rows by a value of theirs: a manager's code, the balance before, the time since the last one.

The release of a part of the rows shows which share of those that are named is missing, and that is the share of rows
which were left out. Values of two columns also meet by chance: as often as values of one of them repeat, if both are
drawn from one pool of labels, and as often beside a value as at it, if they are numbers on a lattice. Labels that occur
again and again (airports, accounts) name no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.row_count.referring import MOST_BY_CHANCE, Referring, beyond_chance, more_than_chance

__all__ = ["names_other_rows", "steps_to_other_rows"]

_NAMED = 8
"""Different rows that are named, at least."""
_FEWEST = 20
_INSIDE = 0.2
"""Share of what is named that the table has: few name rows of another table, and a pool of names has few in common."""
_FEW = 4  # rows that may repeat by chance where none is seen
_BESIDE = (1, -1, 2, -2, 3, 5, -5, 7, 10, -10, 20, 50, 100, -100, 500, 1000, -1000, 10_000, 100_000, 1_000_000)
_OFF = (4.0, -4.0, 9.0, -9.0, 23.0, -23.0, 100.0, -100.0, 1000.0, -1000.0)
_GLANCE = 1024
_MOST_TARGETS, _MOST_STEPS = 32, 64


def names_other_rows(columns: Sequence[Referring], share: float) -> dict[str, str]:
    """Columns whose values are those of another column in other rows, each with that column.

    ``share`` is that of the rows which are looked at.
    """
    keys = [one for one in columns if one.known.sum() >= _FEWEST and one.different >= _FEWEST]
    keys = [one for one in keys if one.repeated <= MOST_BY_CHANCE][:_MOST_TARGETS]
    found: dict[str, str] = {}
    for key in keys:
        for other in columns:
            if other is key or found.get(key.name) == other.name or not _like(other, key):
                continue
            if _names(other, key, share):
                found.setdefault(other.name, key.name)
    return found


def _names(column: Referring, key: Referring, share: float) -> bool:
    ours, theirs, there, step = _comparable(column, key)
    asked = (column.known if there.dtype == np.float64 else column.filled) & (
        ours != theirs
    )  # a copy names its own row
    if asked.sum() < _NAMED:
        return False
    values = ours[asked]
    chance = key.repeated + _FEW / float(key.known.sum())
    # of a part of the rows fewer meet those that they name, and numbers beside them say what chance is
    times = 2.0 if step and share < 1 else 4.0
    some = values[:: max(len(values) // _GLANCE, 1)]
    if not more_than_chance(2 * float(_among(some, there).mean()), chance, times):
        return False
    met = float(_among(values, there).mean())
    different = np.unique(values)
    named = int(_among(different, there).sum())
    if named < max(_NAMED, _INSIDE * share * len(different)) or not more_than_chance(met, chance, times):
        return False
    if step:
        chance = max(chance, *(float(_among(values + shift, there).mean()) for shift in _BESIDE))
    # rows that name the same one agree with each other, so it goes by the different values as well
    return more_than_chance(met, chance, times) and beyond_chance(named, len(different), chance)


def _comparable(column: Referring, key: Referring) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """Two columns as numbers, on their lattice if both have one, or as texts.

    With the key's different values, rising, and the step of the lattice.
    """
    if column.numbers is None or key.numbers is None:
        return column.texts, key.texts, key.different_texts, 0.0
    step = min(column.step, key.step)
    if not step:
        return column.numbers, key.numbers, key.different_numbers, 0.0
    # the key's own step is no finer, so its numbers stay different
    return np.round(column.numbers / step), np.round(key.numbers / step), np.round(key.different_numbers / step), step


def _like(column: Referring, key: Referring) -> bool:
    """Whether values of two columns can be the same: numbers or texts; keys may have been read as either."""
    if column.numbers is None or key.numbers is None:
        return all(one.numbers is None or one.whole for one in (column, key))
    return column.temporal == key.temporal


def _among(values: NDArray[np.generic], there: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which values are among others, which rise."""
    at = np.minimum(np.searchsorted(there, values), len(there) - 1)
    return np.asarray(there[at] == values)


def steps_to_other_rows(columns: Sequence[Referring], share: float) -> dict[str, str]:
    """Columns whose number, taken from or added to that of another column, is the number of another row there.

    ``share`` is that of the rows which are looked at.
    """
    numbers = [one for one in columns if one.numbers is not None and one.known.sum() >= _FEWEST]
    places = [one for one in numbers if one.different >= _FEWEST and one.repeated <= MOST_BY_CHANCE]
    rng = np.random.default_rng(0)
    found: dict[str, str] = {}
    for place in places[:_MOST_TARGETS]:
        for gap in numbers[:_MOST_STEPS]:
            if gap is place or gap.temporal or gap.name in found:
                continue
            if _leads(place, gap, share, rng):
                found[gap.name] = place.name
    return found


def _leads(place: Referring, gap: Referring, share: float, rng: Generator) -> bool:
    if place.numbers is None or gap.numbers is None:
        return False
    near = 1.01 * max(place.step, gap.step) if place.step and gap.step else 0.51 * place.step
    near += place.fine
    rows = np.flatnonzero(place.known & gap.known & (np.abs(gap.numbers) > near))
    if len(rows) < _FEWEST:
        return False
    if len(rows) > _GLANCE:
        rows = rng.choice(rows, _GLANCE, replace=False)
    there = place.different_numbers
    at, by = place.numbers[rows], gap.numbers[rows]
    others = rng.permutation(by)
    for sign in (-1.0, 1.0):
        close, which = _close(at + sign * by, there, near)
        met = float(close.mean())
        if met < _INSIDE * share or len(np.unique(which[close])) < _NAMED:
            continue
        # by chance: another row's step, and places beside those that are reached
        beside = (at + sign * by + off * near for off in _OFF)
        elsewhere = chain([at + sign * others], beside)
        if all(more_than_chance(met, _share(one, at, there, near)) for one in elsewhere):
            return True
    return False


def _share(values: Array, own: Array, there: Array, near: float) -> float:
    """Share of the values that are near to others, which rise, and not to their own row's."""
    return float((_close(values, there, near)[0] & (np.abs(values - own) > 2 * near)).mean())


def _close(values: Array, there: Array, near: float) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which values are near to others, which rise, and to which of them."""
    at = np.clip(np.searchsorted(there, values), 1, len(there) - 1)
    at = at - (values - there[at - 1] < there[at] - values)
    return np.abs(there[at] - values) <= near, at
