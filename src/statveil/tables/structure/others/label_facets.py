"""Whether something inside another column tells the label: its weekday or hour, a digit or rest, a word, its case.

Each other column is read as labels of few values (:mod:`hidden_flags`). Of each, the values are taken that go with a
hidden label, whichever they are: hours around midnight, days of a weekend, a range. Where they part that label from all
others nearly without errors, and so many sets of values would hardly do so by chance (:mod:`rule_odds`), rows that are
relabelled at random stick out. Two columns are held against it together by a digit, weekday or flag of each: an even
sum, one last digit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import gammaln

from statveil.tables.blocks import Array
from statveil.tables.structure.others.hidden_flags import Inside
from statveil.tables.structure.others.marks import Marks
from statveil.tables.structure.others.number_marks import RANGE
from statveil.tables.structure.others.rule_odds import few_errors, sure
from statveil.tables.structure.rows.group_search import keys_of, numbers_in

__all__ = ["told_inside"]

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]

_ROWS = 1024  # that are looked at, about as many of each label
_COLUMNS = 256
_FEWEST_LABELLED = 12  # rows of a label, and of all others: below it nothing is told
_OF_RARER = 0.12  # errors, as a share of the rows of the label, or of all others
_TOGETHER = 12  # columns of which every two are looked at together
_KINDS = 12  # values of a label that is looked at together with another one
_OF_EACH = 3  # such labels of a column
_OPEN = 8  # lines with the fewest errors, which are looked at closely
_DIGITS = frozenset(("rest by 2", "digit 1 from the right"))  # of one number: each is held against its like
_CROSSED = ("", "rest by 2", "digit 1 from the right", "weekday", "character 1 from the end", "half of the day", "sign")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """The rows that are looked at, with the flags to hold against, and how many rows of the table each stands for."""

    flags: Flags
    weights: Array

    def of(self, rows: Codes) -> _Rows:
        return _Rows(flags=self.flags[:, rows], weights=self.weights[rows])


def told_inside(label: Codes, flags: Flags, columns: Mapping[str, pl.Series]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Columns with what in them tells some label, in words: alone, or two together.

    Parameters
    ----------
    label : array of int
        The number of each row's label, from 0.
    flags : array of bool
        A line for each label, or set of labels, to hold against all others.
    columns : dict of str to Series
        The other columns in the same rows.
    """
    rows = _looked_at(label)
    some = _Rows(flags=flags[:, rows], weights=(np.bincount(label) / np.bincount(label[rows]))[label[rows]])
    read: dict[str, tuple[Codes, tuple[Marks, ...]]] = {}
    for name, column in list(columns.items())[:_COLUMNS]:
        part = column[rows].alias("")
        one = Inside(part, numbers_in(part), keys_of(part), numbering=True)
        read[name] = one.rows, one.marks
    lines = sum(len(kept.names) for _, found in read.values() for kept in found)
    if not lines:
        return
    tried = float(np.log(lines * len(flags)))
    told: set[str] = set()
    for name, (order, found) in read.items():
        for kept in found:
            which = _tells(some.of(order[kept.rows]), kept.codes, tried)
            if which is not None:
                told.add(name)
                yield (name,), f"{kept.names[which] or 'the values'} of {name!r}"
                break
    yield from _of_two(some, {name: one for name, one in read.items() if name not in told})


def _looked_at(label: Codes) -> Codes:
    """About as many rows of each label, in their order."""
    if len(label) <= _ROWS:
        return np.arange(len(label))
    counts = np.bincount(label)
    # what rare labels leave, the others may have
    fits = [each for each in range(1, _ROWS + 1) if int(np.minimum(counts, each).sum()) <= _ROWS]
    each = max(fits, default=1)
    shuffled = np.random.default_rng(len(label)).permutation(len(label))
    kept = [shuffled[label[shuffled] == one][:each] for one in range(len(counts))]
    return np.sort(np.concatenate(kept))


def _tells(rows: _Rows, codes: NDArray[np.uint8], tried: float) -> int | None:
    """The first line of codes of which some values part one of the flags from all other rows."""
    sizes = codes.max(axis=1).astype(np.int64) + 1
    base = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    keys = codes + base[:, None]
    total = int(sizes.sum())
    counts = np.bincount(keys.ravel(), minlength=total)
    weighed = np.bincount(keys.ravel(), np.tile(rows.weights, len(keys)), minlength=total)
    used = np.add.reduceat((counts > 0).astype(np.int64), base)
    size, every = codes.shape[1], round(float(rows.weights.sum()))
    for flag in rows.flags:
        flagged = int(np.count_nonzero(flag))
        if min(flagged, size - flagged) < _FEWEST_LABELLED:
            continue
        inside = keys[:, flag].ravel()
        held = np.bincount(inside, minlength=total)
        heavy = np.bincount(inside, np.tile(rows.weights[flag], len(keys)), minlength=total)
        chosen = (2 * heavy > weighed) & (counts > 1)  # of a value that one row has nothing was known before
        wrong = np.add.reduceat(np.where(chosen, counts - held, held), base)
        missed = np.add.reduceat(np.where(chosen, weighed - heavy, heavy), base)
        taken = np.add.reduceat((chosen & (counts > 0)).astype(np.int64), base)
        sets = gammaln(used + 1.0) - gammaln(taken + 1.0) - gammaln(used - taken + 1.0) + np.log(used + 1.0)
        labelled = round(float(rows.weights[flag].sum()))
        surest: list[int] = np.argsort(wrong, kind="stable")[:_OPEN].tolist()
        for line in surest:
            much = round(float(missed[line]))
            # of so many labels in a column one tells most of a rare label now and then: that is not nearly all of it
            if much > 1 + _OF_RARER * min(labelled, every - labelled):
                continue
            if few_errors(much, every, labelled) and sure(int(wrong[line]), size, flagged, tried + float(sets[line])):
                return line
    return None


# --- two columns ----------------------------------------------------------------------------------
def _of_two(rows: _Rows, read: Mapping[str, tuple[Codes, tuple[Marks, ...]]]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Two columns of which a value each, in whatever pairs of values, tell a label."""
    size = rows.flags.shape[1]
    chosen: list[tuple[str, str, NDArray[np.uint8]]] = []
    for name, (order, found) in read.items():
        names = dict.fromkeys(one for one, *_ in chosen)
        if len(names) >= _TOGETHER:
            break
        chosen += _crossed(name, order, found, size)
    pairs = [
        (one, two)
        for one, two in combinations(chosen, 2)
        if one[0] != two[0] and (one[1] == two[1] or not {one[1], two[1]} <= _DIGITS)
    ]
    if not pairs:
        return
    tried = float(np.log(len(pairs) * len(rows.flags)))
    told: set[str] = set()
    for one, two in pairs:
        if told & {one[0], two[0]}:
            continue
        both = one[2].astype(np.int64) * _KINDS + two[2]
        together = np.unique(both, return_inverse=True)[1].reshape(1, -1).astype(np.uint8)
        if _tells(rows, together, tried) is not None:
            told |= {one[0], two[0]}
            said = [f"{what} of {name!r}" if what else repr(name) for name, what, _ in (one, two)]
            yield (one[0], two[0]), " with ".join(said)


def _crossed(name: str, order: Codes, found: tuple[Marks, ...], size: int) -> list[tuple[str, str, NDArray[np.uint8]]]:
    """The labels of a column that are looked at together with those of another one, in the rows' own order."""
    made: dict[str, NDArray[np.uint8]] = {}
    for kept in found:
        if len(kept.rows) < size:
            continue
        for what, codes in zip(kept.names, kept.codes, strict=True):
            if what in _CROSSED and what != RANGE and what not in made and codes.max() < _KINDS:
                made[what] = np.empty(size, np.uint8)
                made[what][order[kept.rows]] = codes
    first = sorted(made, key=_CROSSED.index)[:_OF_EACH]
    return [(name, what, made[what]) for what in first]
