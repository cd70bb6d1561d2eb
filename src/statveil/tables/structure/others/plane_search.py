"""Labels that a sum of the column and of several others decides: passed if five marks make 250, one of them hidden.

Such a label goes with ranges of none of the columns. But a plane through all of them (through their logarithms, for a
product) parts its rows, also those that were not fitted, where the best plane without the hidden column does not.
Whoever knows the limit moves the released column until the plane lies there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.alongside import LEFT, SIZES
from statveil.tables.structure.others.copy_search import ranks_alone
from statveil.tables.structure.others.limit_search import errors_of, parted, splits_of
from statveil.tables.structure.others.links import best_cut
from statveil.tables.structure.reading.distinct import distinct, finite_part

__all__ = ["find_planes"]

Keys = NDArray[np.generic]
Flags = NDArray[np.bool_]

_ROWS = 2048  # that are compared
_LEAST_ROWS = 60
_SPLITS = 32  # flags
_CLASSES, _COLUMNS = 9, 16  # labels of a column of which each pair is looked at, and such columns
_NUMBERS = 200  # columns of numbers, of which those are chosen for a flag that matter most
_TOGETHER = 16
_MATTERS, _ADDS = 1.5, 5.0  # standard errors of a weight, of one of them and of the hidden column
_WORTH = 0.7  # of the rows that are wrong without it and may be so in a first look
_FEWEST, _GLANCE = 5, 256  # more of them in any case; rows of a second look
_STRAY = 0.1  # of the rows that are wrong without it: typing errors
_LEFT_OVER, _NEAR = 0.2, 300  # of them, where a linear programme may part the rest; rows by the edge that it looks at
_HELD, _EACH = 0.2, 1.5  # the same of rows that were not fitted, and for each weight: no plane is just the true one
_HALF = 0.5  # of the rows that are wrong without it, at most, in any case
_FOLDS = 10
_LUCK = 1e-3  # that a column with no say puts right all that are wrong without it, each with a chance of a half
_NAMED = 4.0  # standard errors of the weight of a column that is named


def find_planes(
    values: Array,
    numbers: Mapping[str, Array],
    labels: Mapping[str, Keys],
    *,
    known: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, ...]]:
    """Columns with the label that they decide together with this one.

    Parameters
    ----------
    values : array
        The column, with a number in each row.
    numbers, labels : mapping of str to array
        Other columns as numbers, and as labels.
    known : frozenset of str
        Columns that tell the column in another way, which are not looked at again.
    """
    look = np.linspace(0, len(values) - 1, min(len(values), _ROWS)).astype(np.int64)
    x = values[look]
    if len(x) < _LEAST_ROWS or not np.ptp(x):
        return
    splits = ((n, one.flag) for n, keys in labels.items() if n not in known for one in splits_of(x, keys[look]))
    flags = list(islice(splits, _SPLITS))
    usable = (n for n, column in numbers.items() if n not in known and _usable(n, column[look])) if flags else ()
    free = list(islice(usable, _NUMBERS))
    if not free:
        return
    classes = _classes({name: keys[look] for name, keys in labels.items() if name not in known})
    found: set[str] = set()
    luck = np.log(_LUCK) - np.log(len(flags))
    for logs in (False, True):
        if logs and not np.all(x > 0):
            continue
        with np.errstate(all="ignore"):
            beside = {name: np.log(numbers[name][look]) if logs else numbers[name][look] for name in free}
        beside = {name: column for name, column in beside.items() if np.mean(np.isfinite(column)) >= 0.9}
        rows = np.all([np.isfinite(column) for column in beside.values()], axis=0) if beside else np.zeros(0, np.bool_)
        if np.count_nonzero(rows) < max(_LEAST_ROWS, 0.5 * len(x)):
            beside = {name: column for name, column in beside.items() if np.isfinite(column).all()}
            rows = np.ones(len(x), np.bool_)
        if not beside:
            continue
        own = np.log(x[rows]) if logs else x[rows]
        table = np.column_stack([_standard(one) for one in (*(column[rows] for column in beside.values()), own)])
        for name, flag in flags:
            if name in found:
                continue
            told = _decided(table, list(beside), name, flag[rows], luck)
            if told:
                found.add(name)
                yield (*told, name)
        for name, code in classes.items():
            told = [] if name in found else _against_each(table, list(beside), name, code[rows], luck)
            if told:
                found.add(name)
                yield (*told, name)


def _classes(labels: Mapping[str, Keys]) -> dict[str, NDArray[np.int64]]:
    """The first few columns of three labels or more that all have some rows: which of them each row has."""
    found = {}
    for name, keys in labels.items():
        names, code, counts = distinct(keys)
        if 3 <= len(names) <= _CLASSES and counts.min() >= _LEAST_ROWS // 2:
            found[name] = code.astype(np.int64)
        if len(found) == _COLUMNS:
            break
    return found


def _usable(name: str, column: Array) -> bool:
    known = finite_part(column)
    if name.endswith((SIZES, LEFT)) or len(known) < max(_LEAST_ROWS, 0.9 * len(column)) or not np.ptp(known) > 0:
        return False
    return not ranks_alone(known)


def _standard(column: Array) -> Array:
    centred = column - column.mean()
    return np.asarray(centred / max(float(centred.std()), 1e-300))


def _decided(table: Array, names: list[str], label: str, flag: Flags, luck: float) -> list[str]:
    """The columns that part a flag together with the last one of the table; none where they do not."""
    rarer = min(np.count_nonzero(flag), np.count_nonzero(~flag))
    if rarer * np.log(0.5) > luck:
        return []
    wanted = _standard(flag.astype(np.float64))
    own = len(names)
    chosen = [i for i, name in enumerate(names) if name != label and not _same(table[:, i], flag)]
    most = len(wanted) // 4
    if len(chosen) > most:
        chosen = sorted(sorted(chosen, key=lambda i: -abs(float(table[:, i] @ wanted)))[:most])
    size = _in_errors(table[:, [*chosen, own]], wanted)
    if not chosen or size[-1] < _ADDS:
        return []
    order = np.argsort(-size[:-1], kind="stable")[:_TOGETHER]
    chosen = [chosen[i] for i in order if size[i] >= _MATTERS]
    if not chosen:
        return []
    design = np.column_stack((np.ones(len(flag)), table[:, chosen], table[:, own]))
    basis = np.linalg.qr(design)[0]
    along = basis.T @ flag
    without = errors_of(basis[:, :-1] @ along[:-1], flag)
    if (without - 2) * np.log(0.5) > luck or errors_of(basis @ along, flag) > _WORTH * without + _FEWEST:
        return []
    look = slice(None, None, max(len(flag) // _GLANCE, 1))
    if len(flag[look]) < len(flag):  # most noisy labels, in a fifth of the time
        share = len(flag[look]) / len(flag)
        if parted(np.linalg.qr(design[look])[0], flag[look])[0] > _LEFT_OVER * share * without + _FEWEST:
            return []
    without = min(without, parted(basis[:, :-1], flag)[0], errors_of(table[:, own], flag))
    if (without - 2) * np.log(0.5) > luck:
        return []
    wrong = _parted(basis, flag, without)[0]
    if wrong > _STRAY * without or (without - wrong - 2) * np.log(0.5) + _ways(without, wrong) > luck:
        return []
    if _held_out(design, flag, without) > min(_HELD * without + _EACH * design.shape[1], _HALF * without):
        return []
    size = _in_errors(design[:, 1:], wanted)
    return [names[chosen[i]] for i in np.argsort(-size[:-1], kind="stable") if size[i] >= _NAMED]


def _ways(rows: int, some: int) -> float:
    """The logarithm of the number of ways to choose some of the rows."""
    from scipy.special import gammaln

    return float(gammaln(rows + 1) - gammaln(some + 1) - gammaln(rows - some + 1))


def _against_each(table: Array, names: list[str], label: str, code: NDArray[np.int64], luck: float) -> list[str]:
    """The columns that part one label from each of the others: the cheapest before a tax, by another plane for each.

    Of classes along a noisy scale the first and the last are parted by what goes with it, but no neighbours.
    """
    if not np.bincount(code).all():  # a label of rows of which a number is missing
        return []
    means = np.stack([table[code == one].mean(axis=0) for one in range(int(code.max()) + 1)])
    for one, mean in enumerate(means):
        told: list[str] = []
        for other in np.argsort(np.sum((means - mean) ** 2, axis=1), kind="stable")[1:]:  # neighbours first
            rows = (code == one) | (code == other)
            some = table[rows] - table[rows].mean(axis=0)
            some = some / np.maximum(some.std(axis=0), 1e-300)
            columns = _decided(some, names, label, code[rows] == one, luck)
            if not columns:
                break
            told += columns
        else:
            return list(dict.fromkeys(told))
    return []


def _same(column: Array, flag: Flags) -> bool:
    """Whether a column of numbers is the flag, or nearly so, in another way of writing."""
    ends = (column == column.min()) | (column == column.max())
    return bool(ends.all()) and errors_of(column, flag) <= 0.1 * min(flag.sum(), (~flag).sum())


def _in_errors(table: Array, wanted: Array) -> Array:
    """The weights of a least-squares fit in standard errors, without a sign."""
    among = table.T @ table
    inverse = np.linalg.inv(among + 1e-9 * len(table) * np.eye(len(among)))
    weights = inverse @ (table.T @ wanted)
    off = wanted - table @ weights
    error = np.sqrt(float(off @ off) / max(len(table) - len(among) - 1, 1))
    return np.asarray(np.abs(weights) / np.maximum(error * np.sqrt(np.diag(inverse)), 1e-300))


def _parted(basis: Array, flag: Flags, without: int) -> tuple[int, Array]:
    """The fewest rows on the wrong side of a plane, and the plane: where few are left, by a linear programme.

    Its plane leaves the smallest sum of distances on the wrong side, among the rows near the edge: none, where one
    parts them.
    """
    from scipy.optimize import linprog

    wrong, plane = parted(basis, flag)
    if not 0 < wrong <= _LEFT_OVER * without + _FEWEST:
        return wrong, plane
    score = basis @ plane
    near = np.argsort(np.abs(score - best_cut(score, flag)[0]), kind="stable")[:_NEAR]
    sides = basis[near] * np.where(flag[near], 1.0, -1.0)[:, None] * np.sqrt(len(basis))
    size = basis.shape[1]
    found = linprog(
        np.concatenate((np.zeros(size), np.ones(len(near)))),
        A_ub=np.hstack((-sides, -np.eye(len(near)))),
        b_ub=-np.ones(len(near)),
        bounds=[(None, None)] * size + [(0, None)] * len(near),
        method="highs",
    )
    if found.x is None:
        return wrong, plane
    fewer = errors_of(basis @ found.x[:size], flag)
    return (fewer, found.x[:size]) if fewer < wrong else (wrong, plane)


def _held_out(design: Array, flag: Flags, without: int) -> int:
    """How many rows lie on the wrong side of a plane that was fitted without them and a tenth of the others."""
    fold = np.random.default_rng(len(flag)).permutation(len(flag)) % _FOLDS
    wrong = 0
    for one in range(_FOLDS):
        basis, triangle = np.linalg.qr(design[fold != one])
        plane = _parted(basis, flag[fold != one], without)[1]
        cut, rising = best_cut(basis @ plane, flag[fold != one])
        beyond = design[fold == one] @ np.linalg.solve(triangle, plane) > cut
        wrong += int(np.count_nonzero((beyond == rising) != flag[fold == one]))
    return wrong
