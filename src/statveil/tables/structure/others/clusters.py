"""Which rows are one piece of evidence: those of a person, a family, a day count once, however many they are.

Ten rows of one person have one income and one label. That a label is met beside ten equal incomes then says no more
than if it were met once, and an error that takes them for ten is three times too small. So a difference of two rates
is judged by errors that come from leaving out one cluster at a time (a jackknife), once per way in which rows may
belong together: by equal values or values near one another, by neighbouring rows, by every id of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["cluster_error", "clusters_of"]

_IDS = 20  # groups from which a column of labels may be an id of persons or places
_MOST_IDS = 12
_BLOCKS, _LUMPS = 128, 10  # pieces of the table, and of a window
_LEAST = 8  # clusters on either side: fewer equal values are a short scale, fewer persons prove nothing
_REPEATED = 1.2  # rows per cluster

Codes = NDArray[np.int64]


def clusters_of(values: Array, labels: Mapping[str, NDArray[np.generic]]) -> dict[str, Codes]:
    """Ways in which rows may belong together, each as the number of a row's cluster, by the name of the column or "".

    Parameters
    ----------
    values : array
        The column, in the order of the table.
    labels : mapping of str to array
        Other columns.
    """
    rows = len(values)
    found = {}
    found["\0equal"] = distinct(values).code.astype(np.int64)
    found["\0runs"] = np.cumsum(np.concatenate(([True], np.diff(values) != 0))).astype(np.int64)
    found["\0blocks"] = np.arange(rows, dtype=np.int64) * _BLOCKS // max(rows, 1)
    for name, keys in labels.items():
        if len(found) >= _MOST_IDS:
            break
        names, code, _ = distinct(keys)
        if _IDS <= len(names) <= rows / _REPEATED:
            found[name] = code.astype(np.int64)
    return {name: codes for name, codes in found.items() if name == "\0blocks" or _repeats(codes)}


def _repeats(codes: Codes) -> bool:
    return len(codes) >= _REPEATED * len(np.unique(codes))


def cluster_error(
    flag: NDArray[np.bool_], below: Codes, above: Codes, clusters: Mapping[str, Codes], *, without: str = ""
) -> float:
    """The largest standard error of the difference of two rates, over the ways in which rows may belong together.

    Parameters
    ----------
    flag : array of bool
        Which rows are marked, in the order of the table.
    below, above : array of int
        The rows of the two windows, sorted by the column.
    clusters : mapping
        As of :func:`clusters_of`.
    without : str
        The column that the flag comes from: rows of one label are not its clusters.
    """
    sides = [(part, (flag[part] - flag[part].mean()) / len(part)) for part in (below, above)]
    # values near one another: where users come with jobs of their own size, marked rows lie in lumps within a window
    lumps = (np.arange(len(part)) * _LUMPS // len(part) for part in (below, above))
    near = np.sqrt(sum(_spread(codes, part) for codes, (_, part) in zip(lumps, sides, strict=True)))
    return max((float(near), *_errors(sides, clusters, without)))


def _errors(sides: list[tuple[Codes, Array]], clusters: Mapping[str, Codes], without: str) -> Iterator[float]:
    for name, codes in clusters.items():
        if name == without:
            continue
        if min(len(np.unique(codes[part])) for part, _ in sides) < _LEAST:
            if name.startswith("\0") or not any(_gathered(codes, part) for part, _ in sides):
                continue
            yield np.inf  # a few persons make up a window, whose labels are a few accidents
        yield float(np.sqrt(sum(_spread(codes[part], weight) for part, weight in sides)))


def _gathered(codes: Codes, part: Codes) -> bool:
    """Whether far fewer clusters are in a window than in as many rows from anywhere.

    A column that is 0 in most rows has few values in every window, and says nothing about whose rows these are.
    """
    shares = np.bincount(codes) / len(codes)
    usual = float(np.sum(1 - (1 - shares) ** len(part)))
    return len(np.unique(codes[part])) < 0.5 * usual


def _spread(codes: Codes, weight: Array) -> float:
    """The variance of a rate by leaving out one cluster at a time: a single one must not make the rate."""
    _, code, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rest = np.maximum(1 - counts / len(codes), 1e-9)
    return float(np.sum((np.bincount(code, weights=weight) / rest) ** 2))
