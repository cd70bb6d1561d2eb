"""Whether a limit on a weighted sum of several columns, or on a product of their powers, parts the labels.

The mean of five marks, points that add up, weight over height squared. First the columns that go along with the label
are added up as they are, which few rows show; then the plane that parts the rows best is found by logistic regression,
and once more without the rows that it gets wrong by far. As many choices of rows as planes in so many dimensions make
(Cover's count) are what chance has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.limit_search import parted
from statveil.tables.structure.others.links import best_cut
from statveil.tables.structure.others.rule_columns import Readable
from statveil.tables.structure.others.rule_odds import FEWEST, FEWEST_ROWS, STRAY, choices, few_errors, sure

__all__ = ["summed"]

_ROWS = 2048  # that are looked at
_COLUMNS = 12  # of one sum, those that go along with the label best
_TOLD = 0.05  # share of a label's variation that a straight line over the columns tells
_SLIGHT = 0.05  # weight, beside the largest, of a column that may be left out
_OF_ALONE = 1 / 3  # of the errors of the best of the columns by itself
_AGAIN = 2  # times that rows which are wrong by far are left out

Flags = NDArray[np.bool_]


def summed(flags: Flags, columns: Sequence[Readable]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Columns of which a sum, or a product, has a limit that parts some label from the others, in words."""
    plain = [one for one in columns if one.kind != "clock"]
    first = list({one.name: one for one in reversed(plain)}.values())[::-1]  # one reading of each column
    if len(first) < 2 or not len(flags):
        return
    look = np.linspace(0, flags.shape[1] - 1, min(flags.shape[1], _ROWS)).astype(np.int64)
    table = np.stack([one.numbers[look] for one in first], axis=1)
    positive = [i for i, one in enumerate(first) if one.kind != "time" and np.nanmin(table[:, i]) > 0]
    told: set[tuple[str, ...]] = set()
    for logs, chosen in ((False, list(range(len(first)))), (True, positive)):
        made = np.log(table[:, chosen]) if logs else table
        tried = float(np.log(2.0 * len(flags)))
        for flag in flags[:, look] if len(chosen) > 1 else ():
            used = _added(made, flag, tried) or _plane(made, flag, tried)
            names = tuple(first[chosen[i]].name for i in used)
            if names and names not in told:
                told.add(names)
                yield names, f"a {'product' if logs else 'sum'} of {', '.join(map(repr, names))}"


def _added(table: Array, flag: Flags, tried: float) -> list[int]:
    """The columns of which a plain sum, or a difference of sums, has a limit; nothing where there is none.

    Those that go along with the label best come first, and go in with the sign that they go along with.
    """
    along = _correlated(table, flag)
    score = np.zeros(len(table))
    chosen: list[int] = []
    for place in np.argsort(-np.abs(along), kind="stable")[:_COLUMNS].tolist():
        score = score + np.copysign(1.0, along[place]) * table[:, place]
        chosen.append(place)
        there = np.isfinite(score)
        rows = int(np.count_nonzero(there))
        if len(chosen) < 2 or rows < max(FEWEST_ROWS, 0.5 * len(flag)):
            continue
        marked = flag[there]
        wrong = _wrong(score[there], marked)
        ways = tried + choices(table.shape[1], len(chosen)) + len(chosen) * float(np.log(2.0))
        if sure(wrong, rows, int(np.count_nonzero(marked)), ways + float(np.log(2.0 * rows))):
            return sorted(chosen) if _beats_each(wrong, table[np.ix_(there, chosen)], marked) else []
    return []


def _plane(table: Array, flag: Flags, tried: float) -> list[int]:
    """The columns of a plane that parts the rows; nothing where there is none."""
    best = _along(table, flag)
    there = np.isfinite(table[:, best]).all(axis=1)
    rows, marked = int(np.count_nonzero(there)), flag[there]
    flagged = int(np.count_nonzero(marked))
    if rows < max(FEWEST_ROWS, 0.5 * len(flag)) or not FEWEST <= flagged <= rows - FEWEST:
        return []
    some = table[np.ix_(there, best)]
    spread = some.std(axis=0)
    varied = np.flatnonzero(spread > 0)
    if len(varied) < 2:
        return []
    some = (some[:, varied] - some[:, varied].mean(axis=0)) / spread[varied]
    if not _linear(some, marked):
        return []
    wrong, weights = _best(some, marked)
    if not few_errors(wrong, rows, flagged):
        return []
    size = np.abs(weights)
    used = np.flatnonzero(size > _SLIGHT * size.max())
    if 2 <= len(used) < len(varied):
        fewer = _best(some[:, used], marked)[0]
        if few_errors(fewer, rows, flagged):
            wrong, varied = fewer, varied[used]
    ways = tried + _planes(rows, len(varied)) + choices(table.shape[1], len(varied))
    if len(varied) < 2 or not sure(wrong, rows, flagged, ways) or not _beats_each(wrong, some, marked):
        return []
    return [int(best[i]) for i in varied]


def _beats_each(wrong: int, table: Array, flag: Flags) -> bool:
    """Whether far fewer rows are wrong than by any of the columns: of these many, others put some right by chance."""
    return wrong <= _OF_ALONE * min(_wrong(column, flag) for column in table.T)


def _wrong(score: Array, flag: Flags) -> int:
    """The fewest rows on the wrong side of a limit."""
    cut, above = best_cut(score, flag)
    return int(np.count_nonzero(((score > cut) == above) != flag))


def _along(table: Array, flag: Flags) -> NDArray[np.int64]:
    """The columns that go along with a flag best."""
    if table.shape[1] <= _COLUMNS:
        return np.arange(table.shape[1])
    return np.sort(np.argsort(-np.abs(_correlated(table, flag)), kind="stable")[:_COLUMNS])


def _correlated(table: Array, flag: Flags) -> Array:
    """How well each column goes along with a flag, in the rows that it has."""
    there = np.isfinite(table)
    middle = np.where(there, table, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    centred = np.where(there, table - middle, 0.0)
    size = np.linalg.norm(centred, axis=0)
    return np.asarray((flag - flag.mean()) @ centred / np.maximum(size, 1e-300))


def _linear(some: Array, flag: Flags) -> bool:
    """Whether a straight line over the columns tells so much of a flag that it is worth a longer look."""
    basis, _ = np.linalg.qr(some)
    share = float(flag.mean())
    told = float(((basis.T @ flag) ** 2).sum()) / (len(flag) * share * (1 - share))
    parts = some.shape[1]
    return bool(told >= max(_TOLD, (parts + 4 * np.sqrt(2.0 * parts)) / len(flag)))


def _best(some: Array, flag: Flags) -> tuple[int, Array]:
    """The fewest rows on the wrong side of a plane, and its weights, but for the first one."""
    design = np.column_stack((np.ones(len(some)), some))
    basis, triangle = np.linalg.qr(design)
    inside = np.ones(len(flag), np.bool_)
    fewest, weights = len(flag), np.zeros(design.shape[1])
    for _ in range(1 + _AGAIN):
        _, plane = parted(basis[inside], flag[inside])
        score = basis @ plane
        wrong = int(np.count_nonzero((score > 0) != flag))
        if wrong < fewest:
            fewest, weights = wrong, plane
        if not 0 < wrong <= 4 * (1 + STRAY * len(flag)):
            break
        off = np.where(flag, -score, score)
        least = np.sort(off)[-int(1 + STRAY * len(flag))]
        inside = off < max(float(least), 0.0)
    return fewest, np.linalg.lstsq(triangle, weights, rcond=None)[0][1:]


def _planes(rows: int, parts: int) -> float:
    """The logarithm of the number of ways in which planes part so many points of so many dimensions."""
    many = [choices(rows - 1, k) for k in range(min(parts, rows - 1) + 1)]
    return float(np.log(2.0) + np.logaddexp.reduce(many))
