"""Whether a public rule of two or more other columns tells the label: late by 15 minutes, over budget, the most votes.

No column tells such a label by itself. But rows that are relabelled at random break the rule, so whoever knows it
counts what the labels were. Looked for are limits, whichever they are, on the difference or the quotient of two
columns, comparisons of several (:mod:`rule_comparisons`), weighted sums (:mod:`rule_sums`), and equal texts, which one
label or several have against all others, nearly without errors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.label_facets import told_inside
from statveil.tables.structure.others.rule_columns import DAY, Readable, readable, texts_of, two_values
from statveil.tables.structure.others.rule_comparisons import compared
from statveil.tables.structure.others.rule_odds import FEWEST, FEWEST_ROWS, sure
from statveil.tables.structure.others.rule_sums import summed
from statveil.tables.structure.reading.distinct import distinct, mid_ranks

__all__ = ["find_rules"]

Flags = NDArray[np.bool_]

_ROWS, _GLANCE = 4096, 256  # that are looked at, and of these in a first look
_SUBSETS, _LABELS = 4, 12  # labels of which every part is held against the others, and that are so one by one
_ALL_PAIRS, _MOST_PAIRS = 32, 500  # columns of which every pair is looked at; else the pairs that go along best
_TEXTS = 24  # columns of text of which every pair is compared
_OPEN = 0.35  # errors in the first look, as a share of the rows on the smaller side
_WORTH = 0.7  # beside the errors of the better one of the two columns by itself
_AT_ONCE = 128  # differences and quotients in the memory


def find_rules(values: Array, columns: Mapping[str, pl.Series], *, known: Collection[str] = ()) -> list[str]:
    """Rules that tell the labels, in words.

    Parameters
    ----------
    values
        The number of each row's label.
    columns
        The other columns in the same rows.
    known
        Those that tell the labels by themselves, and need not be looked at.
    """
    there = np.flatnonzero(np.isfinite(values))
    rows = there[np.linspace(0, len(there) - 1, min(len(there), _ROWS)).astype(np.int64)] if len(there) else there
    if len(rows) < FEWEST_ROWS:
        return []
    label = distinct(values[rows]).code
    flags = _flags(label)
    if not len(flags):
        return []
    some = {name: column[rows].alias("") for name, column in columns.items() if name not in known}
    found = list(told_inside(label, flags, some))
    inside = {name for names, _ in found for name in names}
    some = {name: column for name, column in some.items() if name not in inside}
    every = readable(some)
    found += [*_of_two(label, flags, every), *_equal(flags, texts_of(some))]
    named = {name for names, _ in found for name in names}
    free = [one for one in every if one.name not in named]
    found += list(compared(flags, free))
    named |= {name for names, _ in found for name in names}
    free = [one for one in free if one.name not in named]
    found += list(summed(flags, [*free, *(one for one in two_values(some) if one.name not in named)]))
    return list(dict.fromkeys(says for _, says in found))


def _flags(label: NDArray[np.int64]) -> Flags:
    """The labels to hold against all others: each, and, where they are few, each part of them."""
    counts = np.bincount(label)
    several = len(counts)
    chosen: list[tuple[int, ...]] = [(i,) for i in np.argsort(-counts, kind="stable")[:_LABELS].tolist()]
    if several == 2:
        chosen = chosen[:1]
    elif several <= _SUBSETS:
        chosen += [one for one in combinations(range(several), 2) if several == _SUBSETS and 0 in one]
    else:
        chosen += [tuple(range(cut)) for cut in range(2, several - 1)][: 2 * _LABELS]
    sides = [np.isin(label, one) for one in chosen]
    kept = [one for one in sides if FEWEST <= np.count_nonzero(one) <= len(label) - FEWEST]
    return np.array(kept, dtype=np.bool_).reshape(len(kept), len(label))


# --- two columns ----------------------------------------------------------------------------------
def _of_two(label: NDArray[np.int64], flags: Flags, every: list[Readable]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Differences and quotients of two columns, of which a limit, or a range, parts the labels."""
    scores = _scores(every)
    if not scores:
        return
    look = _balanced(label)
    cuts = len(np.unique(label)) - 2 if len(np.unique(label)) > _SUBSETS else 0
    tried = float(np.log(len(scores) * (len(flags) + cuts)))
    told: set[str] = set()
    for start in range(0, len(scores), _AT_ONCE):
        part = scores[start : start + _AT_ONCE]
        glance = np.stack([_score(how, *(every[i].numbers[look] for i in pair)) for pair, how in part])
        open_ = _glanced(glance, flags[:, look])
        for (pair, how), row, hits in zip(part, glance, open_, strict=True):
            names = tuple(dict.fromkeys(every[i].name for i in pair))
            if told & set(names):
                continue
            tests = [flags[i] for i in np.flatnonzero(hits).tolist()]
            tests += _cuts_by(row, label, look) if cuts else []
            if tests and _parts((every[pair[0]].numbers, every[pair[1]].numbers), how, tests, tried):
                told |= set(names)
                yield names, f"the {how} {' and '.join(map(repr, names))}"


def _scores(every: list[Readable]) -> list[tuple[tuple[int, int], str]]:
    """What is worked out of which two columns."""
    pairs = [one for one in combinations(range(len(every)), 2) if every[one[0]].kind == every[one[1]].kind]
    if len(every) > _ALL_PAIRS and len(pairs) > _MOST_PAIRS:
        ranks = np.stack([_ranks(one.numbers[:: max(1, len(one.numbers) // _GLANCE)]) for one in every])
        along = np.abs(ranks @ ranks.T)
        pairs = sorted(pairs, key=lambda one: -along[one])[:_MOST_PAIRS]
    return [(one, how) for one in pairs for how in _JOINED[every[one[0]].kind]]


_JOINED = {
    "number": ("difference of", "quotient of"),
    "span": ("difference of", "quotient of"),
    "time": ("time between",),
    "clock": ("difference of", "time between"),
}


def _score(how: str, one: Array, two: Array) -> Array:
    with np.errstate(all="ignore"):
        if how == "quotient of":
            made = two / one
        else:
            made = two - one
            if how == "time between" and np.nanmax(np.abs(one), initial=0.0) <= DAY:  # by the shorter way round
                made = (made + DAY / 2) % DAY - DAY / 2
    return np.where(np.isfinite(made), made, np.nan)


def _ranks(numbers: Array) -> Array:
    filled = np.where(np.isfinite(numbers), numbers, np.nanmedian(numbers))
    ranks = mid_ranks(filled) - (len(filled) - 1) / 2
    return np.asarray(ranks / max(float(np.linalg.norm(ranks)), 1e-300))


def _balanced(label: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows for a first look: about as many of each label, as far as there are."""
    size = len(np.unique(label))
    each = max(_GLANCE // size, FEWEST)
    rows = [np.flatnonzero(label == one) for one in range(size)]
    return np.sort(np.concatenate([one[:: max(1, len(one) // each)][:each] for one in rows]))


def _glanced(scores: Array, flags: Flags) -> NDArray[np.bool_]:
    """Which flags each score may part from the others, by a first look."""
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    known = np.isfinite(ranked)
    cut = _between(ranked)
    found = np.zeros((len(scores), len(flags)), np.bool_)
    for i, flag in enumerate(flags):
        marked = flag[order]
        wrong = _fewest(marked, known, cut)[1]
        fewer = np.minimum((marked & known).sum(axis=1), (~marked & known).sum(axis=1))
        found[:, i] = (wrong <= 1 + _OPEN * fewer) & (fewer > 0)
    return found


def _between(ranked: Array) -> NDArray[np.bool_]:
    """The places where sorted numbers may be parted: before the first, between different ones, after the last."""
    ends = np.ones((len(ranked), 1), np.bool_)
    with np.errstate(invalid="ignore"):
        return np.concatenate((ends, ranked[:, 1:] != ranked[:, :-1], ends), axis=1)


def _fewest(
    marked: NDArray[np.bool_], known: NDArray[np.bool_], cut: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The fewest rows on the wrong side of a limit, and of a range, for rows that are sorted by each of some scores."""
    signs = np.where(known, np.where(marked, 1, -1), 0)
    size = signs.shape[1]
    balance = np.concatenate((np.zeros((len(signs), 1), np.int64), np.cumsum(signs, axis=1)), axis=1)
    low, high = np.where(cut, balance, 4 * size), np.where(cut, balance, -4 * size)
    flagged = (marked & known).sum(axis=1)
    others = (~marked & known).sum(axis=1)
    limit = np.minimum(others + low.min(axis=1), flagged - high.max(axis=1))
    inside = flagged - (high - np.minimum.accumulate(low, axis=1)).max(axis=1)
    outside = others + (low - np.maximum.accumulate(high, axis=1)).min(axis=1)
    return limit, np.minimum(inside, outside)


def _cuts_by(score: Array, label: NDArray[np.int64], look: NDArray[np.int64]) -> list[Flags]:
    """Of many labels: those that have the larger scores on average against the others."""
    known = np.isfinite(score)
    if np.count_nonzero(known) < FEWEST_ROWS:
        return []
    size = int(label.max()) + 1
    ranks = mid_ranks(score[known])
    seen = label[look][known]
    counts = np.bincount(seen, minlength=size)
    place = np.argsort(np.argsort(np.bincount(seen, ranks, minlength=size) / np.maximum(counts, 1)))
    some = np.stack([place[label[look]] > cut for cut in range(size - 1)])
    open_ = _glanced(score[None, :], some)[0]
    return [place[label] > cut for cut in np.flatnonzero(open_).tolist()]


def _parts(both: tuple[Array, Array], how: str, flags: list[Flags], tried: float) -> bool:
    """Whether a limit or a range of what two columns make parts some label, in all rows, from the others.

    What either column does by itself nearly as well is no matter of the two.
    """
    score = _score(how, *both)
    there = np.isfinite(score)
    if np.count_nonzero(there) < 0.5 * len(score):
        return False
    for flag in flags:
        limit, inside = _errors(score[there], flag[there])
        rows, flagged = int(np.count_nonzero(there)), int(np.count_nonzero(flag[there]))
        ways = tried + float(np.log(rows + 1.0))
        if not (sure(limit, rows, flagged, ways + np.log(2)) or sure(inside, rows, flagged, ways + np.log(rows + 1.0))):
            continue
        alone = min(_errors(column[there], flag[there])[1] for column in both)
        if min(limit, inside) <= _WORTH * alone:
            return True
    return False


def _errors(score: Array, flag: Flags) -> tuple[int, int]:
    order = np.argsort(score, kind="stable")
    ranked = score[order][None, :]
    limit, inside = _fewest(flag[order][None, :], np.isfinite(ranked), _between(ranked))
    return int(limit[0]), int(inside[0])


# --- texts ----------------------------------------------------------------------------------------
def _equal(flags: Flags, texts: Mapping[str, NDArray[np.uint64]]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Two columns of text that say the same in the rows of some labels alone."""
    pairs = list(combinations(list(texts)[:_TEXTS], 2))
    for one, two in pairs:
        same = texts[one] == texts[two]
        equal = int(np.count_nonzero(same))
        if not FEWEST <= equal <= len(same) - FEWEST:
            continue
        for flag in flags:
            wrong = int(np.count_nonzero(same != flag))
            wrong = min(wrong, len(flag) - wrong)
            if sure(wrong, len(flag), int(np.count_nonzero(flag)), float(np.log(2 * len(pairs) * len(flags)))):
                yield (one, two), f"whether {one!r} and {two!r} are equal"
                break
