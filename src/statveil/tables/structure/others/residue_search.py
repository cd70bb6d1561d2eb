"""Whether what another column leaves modulo a step is a band of this one: a price by weight, plus extras of 2.50 each.

Such a column is no function of the hidden one and hardly goes with it, but its rest after the extras is a label that
changes where a band of the hidden one ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.copy_search import find_changes
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["bands_of_the_rest"]

_LEAST_ROWS = 30
_LEAST_PLACES, _MOST_PLACES = 6, 256  # different values of the other column
_STEPS = 12  # the most frequent differences, of which those are tried that leave few rests
_RESTS = 12
_LOOKED = 1024  # rows that are looked at first
_FINE = 1e-6  # of a step: what is lost in binary


def bands_of_the_rest(values: Array, column: Array) -> float | None:
    """The step after which the rest of the other column changes with ranges of this one; ``None`` if there is none.

    >>> rng = np.random.default_rng(0)
    >>> weight = rng.normal(100, 20, 200)
    >>> price = np.where(weight < 100, 3.9, 4.9) + 2.5 * rng.integers(0, 9, 200)
    >>> bands_of_the_rest(weight, price), bands_of_the_rest(rng.normal(100, 20, 200), price)
    (2.5, None)
    """
    known = np.isfinite(column)
    if np.count_nonzero(known) < _LEAST_ROWS:
        return None
    x, y = (values, column) if known.all() else (values[known], column[known])
    look = slice(0, None, max(len(x) // _LOOKED, 1))
    if len(np.unique(y[look])) > _MOST_PLACES:  # most columns: sorting a part of them takes less time
        return None
    places, code, _ = distinct(y)
    if not _LEAST_PLACES <= len(places) <= _MOST_PLACES:
        return None
    for step in _steps(places):
        rest = _rests(places, step)
        number = int(rest.max()) + 1
        if not 2 <= number <= min(_RESTS, len(places) // 3):
            continue
        label = rest[code]
        if find_changes(x[look], label[look]) and find_changes(x, label):
            return step
    return None


def _steps(places: Array) -> list[float]:
    """The most frequent differences of two values."""
    size = float(np.abs(places).max())
    apart = np.round(np.abs(places[:, None] - places)[np.triu_indices(len(places), k=1)] / size, 9)
    steps, counts = np.unique(apart[apart > 0], return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:_STEPS]
    return [float(np.format_float_positional(one * size, precision=8, fractional=False)) for one in steps[frequent]]


def _rests(places: Array, step: float) -> NDArray[np.int64]:
    """Which rest each value leaves, numbered; those that differ by rounding errors are one."""
    rest = (places / step) % 1.0
    order = np.argsort(rest)
    new = np.concatenate(([False], np.diff(rest[order]) > _FINE))
    number = np.empty(len(places), dtype=np.int64)
    number[order] = np.cumsum(new)
    if rest[order[-1]] >= 1 - _FINE and rest[order[0]] <= _FINE:  # just below a step is a step
        number[number == number.max()] = 0
    return number
