"""Flags and classes for a limit that another column says: overweight beside the height, poor by the line of a region.

Such a flag mixes large and small values, so it shows no edge by itself. But among rows with one label, or along a curve
over a column of numbers, the flagged rows have the larger values without exception, and whoever knows the limits sees
how far the column has moved. Flags that merely go with large values make exceptions, in every group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.copy_search import find_changes, ranks_alone
from statveil.tables.structure.others.limit_links import Curve, CurveLink, Split, limit_link
from statveil.tables.structure.others.links import Link, best_cut, lagged
from statveil.tables.structure.others.steep_search import steep_limits
from statveil.tables.structure.reading.distinct import distinct, finite_part

__all__ = ["curve_splits", "errors_of", "find_limits", "group_splits", "parted", "splits_of"]

Keys = NDArray[np.generic]
Flags = NDArray[np.bool_]

_ROWS = 2048  # that are compared
_CLASSES = 8  # labels of a column that may be classes
_SPLITS, _GROUPINGS, _PAIRED, _NUMBERS = 32, 32, 10, 24  # flags, columns of labels, of which pairs, and of numbers
_FEWEST = 5  # rows on either side of a flag
_STRAY = 0.01  # of the rarer side that may be wrong: typing errors
_LUCK, _LUCK_GROUPS = 1e-5, 1e-4  # that a flag which merely goes with the column makes so few exceptions
_USUAL = 0.75  # share of pairs in order that nobody would wonder about
_ASTRAY, _STEEP = 0.6, 24  # share of a flag's rarer sides that is wrong where a limit may have errors; flags looked at
_CURVE = 5  # rows that a curve of the third degree may put right by itself
_WORTH = 0.7  # of the rows that are wrong otherwise and may be so in a first look
_ADDS = 0.01  # share of a flag's variation that the column explains beside the other one
_STEPS = 25


def find_limits(
    values: Array,
    numbers: Mapping[str, Array],
    labels: Mapping[str, Keys],
    *,
    known: frozenset[str] = frozenset(),
    breaks: NDArray[np.bool_] | None = None,
) -> Iterator[Link]:
    """Links of flags to the columns that say their limit: labels, pairs of labels, numbers, the row before or after.

    Parameters
    ----------
    values : array
        The column, with a number in each row.
    numbers, labels : mapping of str to array
        Other columns as numbers, and as labels.
    known : frozenset of str
        Columns that tell the column in another way, which are not looked at again.
    breaks : array of bool, optional
        Rows that do not follow the one before; without it no neighbours are looked at.
    """
    if len(values) < 2 * _FEWEST or not np.ptp(values):
        return
    splits = [(name, one) for name, keys in labels.items() if name not in known for one in splits_of(values, keys)]
    splits = splits[:_SPLITS]
    found: set[str] = set()
    steep = _STEEP
    for names, code in _groupings(labels, known) if splits else ():
        rows = _some_groups(code)
        open_ = [(name, split) for name, split in splits if name not in found and name not in names]
        if not open_:
            continue
        told = group_splits(values[rows], code[rows], [split.flag[rows] for _, split in open_])
        for (name, split), wrong in zip(open_, told, strict=True):
            hit = wrong == 0
            if 0 < wrong <= _ASTRAY and name not in found and steep:
                steep -= 1
                ids = {one: keys[rows] for one, keys in labels.items() if one not in (name, *names)}
                hit = steep_limits(values[rows], code[rows], split.flag[rows], ids)
            if hit and name not in found:
                found.add(name)
                yield limit_link(values, names, [labels[one] for one in names], name, split)
    look = np.linspace(0, len(values) - 1, min(len(values), _ROWS)).astype(np.int64)
    for beside, lag, column in _beside(values, numbers, known, breaks) if splits else ():
        open_ = [(name, split) for name, split in splits if name not in found and name != beside]
        curves = curve_splits(values[look], column[look], [split.flag[look] for _, split in open_])
        for (name, split), curve in zip(open_, curves, strict=True):
            if curve is not None and name not in found:
                found.add(name)
                columns = (beside, name) if beside else (name,)
                yield CurveLink(columns=columns, split=split, curve=curve, lag=lag)


def splits_of(values: Array, keys: Keys) -> list[Split]:
    """The ways to part a few labels in two: each from the others, and by the averages of the column.

    >>> splits_of(np.arange(15.0), np.repeat(["a", "b"], [5, 10]))[0].flag[4:6].tolist()
    [False, True]
    """
    names, code, counts = distinct(keys)
    if not 2 <= len(names) <= _CLASSES or (len(names) > 2 and np.ptp(counts) <= 1):
        return []  # as many rows each: quarters, which know ranks alone
    rank = np.argsort(np.argsort(np.bincount(code, weights=values) / counts))
    chosen = [rank > cut for cut in range(len(names) - 1)]
    if len(names) > 3:
        chosen += [rank == one for one in range(1, len(names) - 1)]
    splits = [
        Split(flag=one[code], names=names, marked=np.flatnonzero(one), other=np.flatnonzero(~one)) for one in chosen
    ]
    return [one for one in splits if _FEWEST <= np.count_nonzero(one.flag) <= len(code) - _FEWEST]


def group_splits(values: Array, code: NDArray[np.int64], flags: list[Flags]) -> list[float]:
    """How many rows are wrong if a flag parts the small from the large values in each group, not in all rows together.

    0 where that is sure, 1 where it cannot be; else as a share of the rarer sides.

    By chance, where a flagged row has the larger value in a share a of all pairs, and values are drawn from the
    smallest on with odds of a to 1 - a for each row that is not flagged, n of these come before all m flagged rows of a
    group with a probability of the product of j / (j + m (1 - a) / a) for j up to n.
    """
    from scipy.special import gammaln

    order = np.lexsort((values, code))
    group, x = code[order], values[order]
    starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    size = np.diff(starts, append=len(x))
    inside = np.concatenate(((group[1:] == group[:-1]) & (x[1:] == x[:-1]), [False]))  # equal values are not parted
    ranks = _mid_ranks(values)
    told: list[float] = []
    for flag in flags:
        marked = flag[order]
        above = np.add.reduceat(marked.astype(np.int64), starts)
        usual = _in_order(ranks, flag)
        usual = min(max(_USUAL, usual, 1 - usual), 1 - 1e-9)
        odds = above * (1 - usual) / usual
        chance = float((gammaln(size - above + 1.0) + gammaln(1.0 + odds) - gammaln(size - above + 1 + odds)).sum())
        if chance > np.log(_LUCK_GROUPS):
            told.append(1.0)
            continue
        balance = np.cumsum(np.where(marked, 1, -1))
        before = np.concatenate(([0], balance[starts[1:] - 1]))
        local = balance - np.repeat(before, size)  # flagged less other rows up to here
        wrong = []
        for sign in (1, -1):
            least = np.minimum.reduceat(np.where(inside, len(x), sign * local), starts)
            rest = size - above if sign == 1 else above
            wrong.append(int((rest + np.minimum(least, 0)).sum()))
        rarer = int(np.minimum(above, size - above).sum())
        sure = _sure(min(wrong), rarer, chance + np.log(len(x)) * min(wrong), _LUCK_GROUPS)
        told.append(0.0 if sure else max(min(wrong), 1) / max(rarer, 1))
    return told


def curve_splits(values: Array, beside: Array, flags: list[Flags]) -> list[Curve | None]:
    """The curves over another column along which flags part the rows: x above p(y), or log x above p(log y)."""
    good = np.isfinite(values) & np.isfinite(beside)
    x, y = values[good], beside[good]
    told: list[Curve | None] = [None] * len(flags)
    if np.count_nonzero(good) < 8 * _FEWEST or not np.ptp(y) or not np.ptp(x):
        return told
    forms = [(x, y)]
    if np.all(x > 0) and np.all(y > 0):
        forms.append((np.log(x), np.log(y)))
    chosen = np.stack([flag[good] for flag in flags], axis=1) if flags else np.zeros((len(x), 0), dtype=np.bool_)
    single = [errors_of(x, chosen[:, i]) for i in range(chosen.shape[1])]
    for form in forms:
        centre, spread = [float(one.mean()) for one in form], [float(one.std()) for one in form]
        u, v = ((one - middle) / width for one, middle, width in zip(form, centre, spread, strict=True))
        design = np.column_stack((np.ones(len(u)), v, v * v, v**3, u))
        basis, triangle = np.linalg.qr(design)
        for i in range(chosen.shape[1]):
            flag = chosen[:, i]
            if told[i] is not None or (single[i] - _CURVE) * np.log(_USUAL) > np.log(_LUCK):
                continue
            target = basis.T @ flag
            share = flag.mean()
            if target[4] ** 2 < _ADDS * len(x) * share * (1 - share):
                continue  # the column adds nothing to a curve over the other one
            # what the other column, or a curve over it, gets wrong by itself
            alone = min(single[i], errors_of(basis[:, :4] @ target[:4], flag), errors_of(v, flag))
            chance = (alone - _CURVE) * np.log(_USUAL)
            if chance > np.log(_LUCK) or errors_of(basis @ target, flag) > _WORTH * alone + _FEWEST:
                continue
            wrong, weights = parted(basis, flag)
            if not _sure(wrong, alone, chance + np.log(len(x)) * wrong) or find_changes(y, flag):
                continue  # a range of the other column is its own
            alone = min(alone, parted(basis[:, :4], flag)[0])
            chance = (alone - _CURVE) * np.log(_USUAL)
            if _sure(wrong, alone, chance + np.log(len(x)) * wrong):
                plane = _plainest(design, flag, wrong, np.linalg.solve(triangle, weights))
                cut, rising = best_cut(design @ plane, flag)
                told[i] = Curve(
                    logs=form is not forms[0],
                    centre=(centre[0], centre[1]),
                    spread=(spread[0], spread[1]),
                    weights=plane,
                    cut=cut,
                    rising=rising,
                )
    return told


def _plainest(design: Array, flag: Flags, wrong: int, weights: Array) -> Array:
    """The weights of the curve of the lowest degree that parts the rows as well: nobody knows the bends of another."""
    for degree in (1, 2):
        chosen = [*range(degree + 1), design.shape[1] - 1]
        basis, triangle = np.linalg.qr(design[:, chosen])
        errors, plane = parted(basis, flag)
        if errors <= wrong:
            weights = np.zeros(design.shape[1])
            weights[chosen] = np.linalg.solve(triangle, plane)
            break
    return weights


def parted(design: Array, flag: Flags) -> tuple[int, Array]:
    """The fewest rows on the wrong side of a plane, as logistic regression finds it, and the plane."""
    signs = np.where(flag, 1.0, -1.0)
    scaled = design * np.sqrt(len(design))
    weights = np.zeros(design.shape[1])
    best, plane = len(flag), weights
    for _ in range(_STEPS):
        score = np.clip(scaled @ weights, -30, 30)
        wrong = errors_of(score, flag) if np.any(weights) else len(flag)
        if wrong < best:
            best, plane = wrong, weights
        if best == 0:
            break
        chance = 1 / (1 + np.exp(signs * score))
        slope = scaled.T @ (signs * chance) - 1e-6 * weights
        bend = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + 1e-6 * np.eye(len(weights))
        step = np.linalg.solve(bend, slope)
        weights = weights + step * min(1.0, 10.0 / max(float(np.abs(step).max()), 1e-300))
    return best, plane


def errors_of(score: Array, flag: Flags) -> int:
    """The fewest rows on the wrong side of a cut, the flagged ones above or below it."""
    marked = np.where(flag[np.argsort(score)], 1, -1)
    balance = np.concatenate(([0], np.cumsum(marked)))
    flagged = int(np.count_nonzero(flag))
    return int(min(len(flag) - flagged + balance.min(), flagged - balance.max()))


def _sure(wrong: int, otherwise: int, chance: float, luck: float = _LUCK) -> bool:
    """Whether hardly any row is wrong of those that otherwise would be, and that is no accident."""
    return wrong <= _STRAY * otherwise and chance <= np.log(luck)


def _in_order(ranks: Array, flag: Flags) -> float:
    """The share of pairs of a flagged and another row in which the flagged one has the larger value."""
    above = int(np.count_nonzero(flag))
    below = len(flag) - above
    return float((ranks[flag].sum() - above * (above + 1) / 2) / (above * below)) if above and below else 0.5


def _mid_ranks(column: Array) -> Array:
    _, code, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - 0.5 * (counts - 1))[code])


def _groupings(
    labels: Mapping[str, Keys], known: frozenset[str]
) -> Iterator[tuple[tuple[str, ...], NDArray[np.int64]]]:
    """Columns of labels, each by itself and the first few in pairs."""
    single: dict[str, tuple[NDArray[np.int64], int]] = {}
    for name, keys in labels.items():
        names, code, _ = distinct(keys)
        if name not in known and 2 <= len(names) <= 0.5 * len(keys):
            single[name] = code.astype(np.int64), len(names)
    chosen = dict(list(single.items())[:_GROUPINGS])
    yield from (((name,), code) for name, (code, _) in chosen.items())
    few = {name: one for name, one in single.items() if one[1] <= np.sqrt(len(one[0])) * 4}
    for one, two in combinations(list(few)[:_PAIRED], 2):
        (first, _), (second, width) = few[one], few[two]
        yield (one, two), np.unique(first * width + second, return_inverse=True)[1].astype(np.int64)


def _some_groups(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of some groups, whole ones as far as these are small: a pair of rows is worth something in one group."""
    if len(code) <= 2 * _ROWS:
        return np.arange(len(code))
    groups = int(code.max()) + 1
    rank = np.random.default_rng(0).permutation(groups)[code]
    order = np.argsort(rank, kind="stable")
    if len(code) // groups >= _ROWS // 32:  # large groups: a part of each
        return np.linspace(0, len(code) - 1, 2 * _ROWS).astype(np.int64)
    return order[: 2 * _ROWS]


def _beside(
    values: Array, numbers: Mapping[str, Array], known: frozenset[str], breaks: NDArray[np.bool_] | None
) -> Iterator[tuple[str, int, Array]]:
    if breaks is not None and len(breaks) == len(values):
        piece = np.cumsum(breaks).astype(np.float64)
        for lag in (1, -1):
            yield "", lag, np.where(lagged(piece, lag) == piece, lagged(values, lag), np.nan)
    tried = 0
    for name, column in numbers.items():
        given = finite_part(column)
        if name in known or tried >= _NUMBERS or len(given) < 8 * _FEWEST or ranks_alone(given):
            continue
        tried += 1
        yield name, 0, column
