"""What another column tells of this one by a rule that is no formula: a bound, a surface, a limit of their difference.

A column that is never below the hidden one (a list price, a credit limit) shows by how much the hidden one may have
moved at most; two columns may make it by any function, smooth as a surface; a flag may tell which of two is larger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.alongside import LEFT
from statveil.tables.structure.others.copy_search import find_changes, likely_pairs, ranks_alone

__all__ = ["bounds", "find_partners"]

Keys = NDArray[np.generic]

_LEAST_ROWS, _LEAST_VALUES = 30, 10
_STRAY = 0.01  # share of rows that may break a rule: typing errors
_LUCK = 1e-6  # that unrelated columns keep to the rule by chance
_NEAR = 0.05  # of its own spread: how near to the bound the difference must come for the bound to tell something
_BESIDE, _CROWD = 0.25, 0.02  # and the share of the rows that lie beside it
_ROWS = 2048  # that are compared
_SURFACE = 0.99  # share of the variation that a surface over two columns tells
_EXPLAINED = 1e-9  # what a rounding error leaves
_FACTOR = 0.01  # share of what the one column leaves of the other that their product with the column leaves
_PAIRED = 32  # columns of which each pair is compared
_MOST = 2000  # flags with columns that are compared


def find_partners(
    values: Array, numbers: Mapping[str, Array], labels: Mapping[str, Keys], *, known: frozenset[str]
) -> Iterator[tuple[str, ...]]:
    """Columns, alone or in pairs, that tell the column by a bound, as a surface, or by a limit of both.

    ``known`` are those that tell it in another way, which are not looked at again.
    """
    look = np.linspace(0, len(values) - 1, min(len(values), _ROWS)).astype(np.int64)
    free = {name: column for name, column in numbers.items() if name not in known and _several(column[look])}
    for name, column in free.items():
        # what a link leaves lies below its column wherever the other one is positive: no rule of the table
        if not name.endswith(LEFT) and bounds(values, column):
            yield (name,)
    x, some = values[look], {name: column[look] for name, column in free.items()}
    yield from _surfaces(x, some)
    rates = {name: column[look] for name, column in numbers.items() if name not in known and _varies(column[look])}
    yield from _factors(x, rates, some)
    flags = {name: keys[look] for name, keys in labels.items() if name not in known and _is_flag(keys[look])}
    yield from _limits(x, some, flags)


def bounds(values: Array, column: Array) -> bool:
    """Whether a column is never below, or never above, this one, row by row, and comes near to it.

    That it is so by chance is judged by the same rows in another order: where the one is always larger anyway the rule
    says nothing, and shows nothing of where the column lies.
    """
    good = np.isfinite(values) & np.isfinite(column)
    x, y = values[good], column[good]
    if len(x) < _LEAST_ROWS:
        return False
    for sign in (1.0, -1.0):
        apart = sign * (y - x)
        broken = int(np.count_nonzero(apart < 0))
        if broken <= _STRAY * len(x) and _by_rule(sign * x, sign * y, broken):
            return _comes_near(apart) or bool(np.all(x > 0) and np.all(y > 0) and _comes_near(sign * np.log(y / x)))
    return False


def _by_rule(low: Array, high: Array, broken: int) -> bool:
    """Whether so few rows break the rule although the columns, in any other order, would more often."""
    from scipy.special import bdtr

    share = float(np.mean(1 - np.searchsorted(np.sort(low), high, side="right") / len(low)))
    return 0 < share < 1 and float(bdtr(broken, len(low), share)) < _LUCK


def _comes_near(apart: Array) -> bool:
    """Whether rows crowd at the bound: the tail of two columns that merely go together ends near it now and then."""
    kept = apart[apart >= 0]
    spread = float(np.std(kept)) if len(kept) >= _LEAST_ROWS else 0.0
    if spread == 0:
        return False
    return bool(np.min(kept) <= _NEAR * spread and np.mean(kept <= _BESIDE * spread) >= _CROWD)


def _surfaces(values: Array, columns: Mapping[str, Array]) -> Iterator[tuple[str, ...]]:
    names = list(columns)
    for one, two in likely_pairs(values, names, columns):
        if _on_a_surface(values, columns[names[one]], columns[names[two]]):
            yield names[one], names[two]


def _on_a_surface(values: Array, one: Array, two: Array) -> bool:
    """Whether the column is a smooth function of two others: a surface of the third degree, also of logarithms."""
    good = np.isfinite(values) & np.isfinite(one) & np.isfinite(two)
    if np.count_nonzero(good) < 4 * _LEAST_ROWS:
        return False
    parts = [column[good] for column in (values, one, two)]
    forms = [parts, *([[np.log(part) for part in parts]] if all(np.all(part > 0) for part in parts) else [])]
    for x, y, z in forms:
        u, v = ((part - part.mean()) / max(float(part.std()), 1e-300) for part in (y, z))
        surface = np.column_stack([u**i * v**j for i in range(4) for j in range(4 - i)])
        if _left_by(x, surface) <= 1 - _SURFACE:
            return True
    return False


def _factors(values: Array, rates: Mapping[str, Array], columns: Mapping[str, Array]) -> Iterator[tuple[str, ...]]:
    """Pairs of which one is made of the other times this column: a change and its rate in per cent, a tax and its rate.

    A quotient would not show it where rates come near 0. The product, and the column itself, must explain nearly all
    that the rate alone leaves, or any two columns in proportion would do.
    """
    some = dict(islice(columns.items(), _PAIRED))
    unlikely: dict[str, set[str]] = {}
    for rate, name in product(list(rates)[:_PAIRED], some):
        if rate not in unlikely:
            unlikely[rate] = _left_alone(values, rates[rate], some)
        if name in unlikely[rate]:
            continue
        y, z = rates[rate], columns[name]
        good = np.isfinite(values) & np.isfinite(y) & np.isfinite(z)
        if rate == name or np.count_nonzero(good) < _LEAST_ROWS:
            continue
        x, y, z = values[good], y[good], z[good]
        ones = np.ones_like(x)
        alone, both = (_left_by(z, np.column_stack(parts)) for parts in ((ones, y), (ones, y, x, x * y)))
        if alone > _EXPLAINED and both <= _FACTOR * alone:
            yield rate, name


def _left_alone(values: Array, rate: Array, columns: Mapping[str, Array]) -> set[str]:
    """Columns of which a rate, the column and their product leave so much that no closer look can change it.

    All at once, on one basis of the three; the rate alone leaves no more than everything. What is not complete, or
    cannot be told from rounding errors, is left to the closer look.
    """
    complete = {name: column for name, column in columns.items() if np.isfinite(column).all()}
    if not complete or not (np.isfinite(values).all() and np.isfinite(rate).all()):
        return set()
    with np.errstate(all="ignore"):
        basis = np.column_stack((rate, values, values * rate))
        basis -= basis.mean(axis=0)
        basis = np.linalg.qr(basis / np.maximum(np.abs(basis).max(axis=0), 1e-300))[0]
        table = np.column_stack(list(complete.values()))
        table -= table.mean(axis=0)
        whole = np.sum(table**2, axis=0)
        left = 1 - np.sum((basis.T @ table) ** 2, axis=0) / whole
    return {name for name, much in zip(complete, left, strict=True) if 2 * _FACTOR < much <= 1.0}


def _left_by(column: Array, parts: Array) -> float:
    """Share of the variation of a column that a weighted sum of others leaves."""
    scaled = parts / np.maximum(np.abs(parts).max(axis=0), 1e-300)
    weights, *_ = np.linalg.lstsq(scaled, column, rcond=None)
    left = column - scaled @ weights
    return float(left @ left) / max(float(np.var(column)) * len(column), 1e-300)


def _limits(values: Array, columns: Mapping[str, Array], flags: Mapping[str, Keys]) -> Iterator[tuple[str, ...]]:
    """Flags that say which side of a limit a difference, a sum or a ratio with another column lies on."""
    tried = 0
    for flag, keys in flags.items():
        for name, column in columns.items():
            good = np.isfinite(values) & np.isfinite(column)
            tried += 1
            if name == flag or tried > _MOST or np.count_nonzero(good) < _LEAST_ROWS:
                continue
            x, y, told = values[good], column[good], keys[good]
            if find_changes(y, told) or find_changes(x, told):
                continue  # one of them alone says it
            joints = [x - y, x + y, *([y / x] if np.all(x > 0) or np.all(x < 0) else [])]
            if any(find_changes(joint, told) for joint in joints):
                yield name, flag


def _varies(column: Array) -> bool:
    known = column[np.isfinite(column)]
    return len(known) >= _LEAST_ROWS and bool(np.ptp(known) > 0) and not ranks_alone(known)


def _several(column: Array) -> bool:
    known = column[np.isfinite(column)]
    return len(known) >= _LEAST_ROWS and len(np.unique(known)) >= _LEAST_VALUES and not ranks_alone(known)


def _is_flag(keys: Keys) -> bool:
    names, rows = np.unique(keys, return_counts=True)
    return len(names) == 2 and int(rows.min()) >= _LEAST_VALUES
