"""Whether labels of other columns make the column as a weighted sum: a total beside its answers in words.

A score is the sum of points for twenty answers, a price that of a model and its options, a count that of the columns
that say "yes". As numbers those columns would be found as a sum; as words each of their labels is one: 1 in the rows
that have it, 0 in others. Columns with the same labels are also looked at together, by how many of them have each
label: so many more of them fit into few rows. What counts is each row as all others foretell it (what a fit leaves of
it, over one less its leverage), so that many labels and few rows prove nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.alongside import EMPTY, SIZES
from statveil.tables.structure.others.copy_search import ranks_alone, surely_less
from statveil.tables.structure.reading.distinct import distinct, finite_part, mid_ranks

__all__ = ["find_label_sum"]

Keys = NDArray[np.generic]

_LEAST_ROWS = 30
_ROWS = 2048  # that are compared
_LABELS = 20  # different labels of a column
_MOST = 200  # columns, and numbers and labels in a sum
_SPARE = 20  # rows more than there are weights
_CLOSE = 0.995**2  # share of the variation that a sum tells, as of columns of numbers
_SINGLE = 0.1  # what it leaves, of that which one column, or all numbers without the labels, leave
_LEVER = 0.9  # leverage from which nothing but a row itself says what its label counts
_ALIKE = 3  # columns with the same labels that are counted
_RANKS = 0.5  # share of the ranks' variation from which labels of equal size are classes of the column
_HEAVY = 1e-4  # share of the variation from which a column is named


class _Labels(NamedTuple):
    """A column of few labels: which there are, and which of them each row has."""

    names: Keys
    code: NDArray[np.int64]


class _Part(NamedTuple):
    """Columns with the numbers that they are in a sum."""

    columns: tuple[str, ...]
    table: Array


def find_label_sum(
    values: Array, numbers: Mapping[str, Array], labels: Mapping[str, Keys], *, known: Collection[str] = ()
) -> tuple[str, ...]:
    """Columns that make the column, or its logarithm, as a weighted sum of labels and numbers; none if there are none.

    Parameters
    ----------
    values : array
        The column, with a number in each row.
    numbers, labels : mapping of str to array
        Other columns as numbers, and as labels.
    known : collection of str
        Numbers that tell it in another way, which are not looked at again.

    Examples
    --------
    >>> answers = np.random.default_rng(0).integers(0, 3, (100, 4))
    >>> words = {f"q{i}": np.array(["no", "partly", "yes"])[answers[:, i]] for i in range(4)}
    >>> find_label_sum(answers @ [1.0, 2.0, 5.0, 3.0], {}, words)
    ('q2', 'q3', 'q1', 'q0')
    >>> find_label_sum(np.random.default_rng(1).normal(0, 1, 100), {}, words)
    ()
    """
    look = np.linspace(0, len(values) - 1, min(len(values), _ROWS)).astype(np.int64)
    x = values[look]
    if len(x) < _LEAST_ROWS or not np.ptp(x):
        return ()
    few = _few(x, labels, numbers, look)
    if not few:
        return ()
    free = (name for name, column in numbers.items() if name not in known and _usable(name, column[look]))
    beside = {name: numbers[name][look] for name in islice(free, _MOST)}
    ways = [one for one in (_counted(few), [_one_by_one(name, one) for name, one in few.items()]) if one]
    for logs in (False, True):
        if logs and not np.all(x > 0):
            continue
        with np.errstate(all="ignore"):
            target = np.log(x) if logs else x
            plain = [_Part((name,), np.log(one) if logs else one) for name, one in beside.items()]
        plain = [one for one in plain if np.mean(np.isfinite(one.table)) >= 0.9]
        for parts in ways:
            found = _made_of(target, parts, plain, few)
            if found:
                return found
    return ()


def _few(
    values: Array, labels: Mapping[str, Keys], numbers: Mapping[str, Array], look: NDArray[np.int64]
) -> dict[str, _Labels]:
    """Columns of few labels, but for those that know ranks alone; of columns of many, whether a cell is empty."""
    found: dict[str, _Labels] = {}
    for name, keys in labels.items():
        names, code, counts = distinct(keys if len(look) == len(keys) else keys[look])
        if not 2 <= len(names) <= _LABELS or name.removesuffix(f" {EMPTY}") in found:
            continue
        if len(names) == 2 and name in numbers and np.isfinite(numbers[name]).all():
            continue  # the number says it
        if len(names) > 2 and np.ptp(counts) <= 1 and _left_by_labels(mid_ranks(values), code) <= 1 - _RANKS:
            continue
        found[name] = _Labels(names, code.astype(np.int64))
        if len(found) == _MOST:
            break
    return found


def _usable(name: str, column: Array) -> bool:
    known = finite_part(column)
    if name.endswith(SIZES) or len(known) < max(_LEAST_ROWS, 0.9 * len(column)) or not np.ptp(known) > 0:
        return False
    return not ranks_alone(known)


def _one_by_one(name: str, one: _Labels) -> _Part:
    """The labels of a column, but for the most frequent one."""
    counts = np.bincount(one.code)
    others = np.delete(np.arange(len(counts)), np.argmax(counts))
    return _Part((name,), (one.code[:, None] == others).astype(np.float64))


def _counted(few: Mapping[str, _Labels]) -> list[_Part]:
    """How many of several columns with the same labels have each, beside all others; nothing if no labels recur."""
    sets: list[tuple[Keys, list[str]]] = []
    for name, one in sorted(few.items(), key=lambda item: -len(item[1].names)):
        for names, columns in sets:
            if one.names.dtype == names.dtype and np.isin(one.names, names).all():
                columns.append(name)
                break
        else:
            sets.append((one.names, [name]))
    if all(len(columns) < _ALIKE for _, columns in sets):
        return []
    parts = []
    for names, columns in sets:
        if len(columns) < _ALIKE:
            parts += [_one_by_one(name, few[name]) for name in columns]
            continue
        counts = np.zeros((len(few[columns[0]].code), len(names)))
        for name in columns:
            counts[np.arange(len(counts)), np.searchsorted(names, few[name].names)[few[name].code]] += 1
        parts.append(_Part(tuple(columns), counts[:, 1:]))
    return parts


def _made_of(
    target: Array, labels: Sequence[_Part], numbers: Sequence[_Part], few: Mapping[str, _Labels]
) -> tuple[str, ...]:
    """The columns of a sum that foretells rows that were not fitted, far better than one column, or numbers, do."""
    used: list[_Part] = []
    for part in (*labels, *numbers):
        table = part.table if part.table.ndim == 2 else part.table[:, None]
        if sum(one.table.shape[1] for one in used) + table.shape[1] <= min(_MOST, len(target) - _SPARE):
            used.append(_Part(part.columns, table))
    if not used:
        return ()
    rows = np.all([np.isfinite(part.table).all(axis=1) for part in used], axis=0)
    table, wanted = np.hstack([part.table for part in used])[rows], target[rows]
    if len(wanted) < max(_LEAST_ROWS, table.shape[1] + _SPARE) or not np.ptp(wanted):
        return ()
    spread = table.std(axis=0)
    table = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    centred = wanted - wanted.mean()
    if surely_less(table, centred, _CLOSE):
        return ()
    left, weights = _left_out(table, centred)
    if left > 1 - _CLOSE:
        return ()
    several = table[:, [part.columns[0] not in few for part in used for _ in range(part.table.shape[1])]]
    alone = [_left_by_labels(wanted, one.code[rows]) for one in few.values()]
    alone += [1 - np.corrcoef(column, centred)[0, 1] ** 2 for column in several.T]
    if several.shape[1] and several.shape[1] + _SPARE <= len(centred):
        alone.append(_left_out(several, centred)[0])
    if left > _SINGLE * min(alone):
        return ()
    ends = np.cumsum([part.table.shape[1] for part in used])[:-1]
    made = [one @ weight for one, weight in zip(np.split(table, ends, axis=1), np.split(weights, ends), strict=True)]
    heavy = np.array([float(one.var()) for one in made]) / float(centred.var())
    order = [int(i) for i in np.argsort(-heavy, kind="stable") if heavy[i] >= _HEAVY]
    return tuple(dict.fromkeys(name for i in order for name in used[i].columns))


def _left_out(table: Array, wanted: Array) -> tuple[float, Array]:
    """What a fit leaves, of rows that it does not know, as a share of their variation; and the weights of all rows."""
    left, sizes, right = np.linalg.svd(table, full_matrices=False)
    kept = sizes > 1e-9 * max(float(sizes[0]), 1e-300)
    basis, along = left[:, kept], left[:, kept].T @ wanted
    weights = right[kept].T @ (along / sizes[kept])
    lever = np.sum(basis**2, axis=1) + 1 / len(wanted)
    told = lever < _LEVER
    if np.count_nonzero(told) < max(_LEAST_ROWS, 0.5 * len(wanted)) or not np.ptp(wanted[told]) > 0:
        return 1.0, weights
    off = (wanted - basis @ along)[told] / (1 - lever[told])
    around = wanted[told] - wanted[told].mean()
    return float(off @ off) / float(around @ around), weights


def _left_by_labels(wanted: Array, code: NDArray[np.int64]) -> float:
    """The share of the variation that the means by label leave."""
    rows = np.bincount(code)
    means = np.bincount(code, weights=wanted) / np.maximum(rows, 1)
    off, around = wanted - means[code], wanted - wanted.mean()
    return float(off @ off) / max(float(around @ around), 1e-300)
