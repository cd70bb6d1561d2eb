"""Labels of few values that stand inside a column of many: in which rows they are, and which value each row has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FEWEST_ROWS", "MOST_KINDS", "Marks", "coded", "marks"]

FEWEST_ROWS = 40
"""Rows below which no label is looked at."""
MOST_KINDS = 128
"""Values of a label; further ones share a value."""

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Marks:
    """Labels of the same rows.

    Parameters
    ----------
    names : tuple of str
        What each label says.
    codes : array
        A line for each label: which of its values a row has, from 0.
    rows : array of int
        The rows that have them.
    """

    names: tuple[str, ...]
    codes: NDArray[np.uint8]
    rows: Codes


def coded(kinds: NDArray[np.generic]) -> Codes:
    """Numbers for values of any kind, from 0."""
    code: Codes = np.unique(kinds, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return code % MOST_KINDS


def marks(size: int, parts: Iterable[tuple[NDArray[np.bool_], Mapping[str, NDArray[np.generic]]]]) -> Iterator[Marks]:
    """Labels in order, those of the same rows together; what is the same in all rows, or of few rows, is left out.

    Parameters
    ----------
    size : int
        Rows of the column.
    parts : iterable
        Which rows have some labels, and these, by name; values from 0.
    """
    together: dict[bytes, tuple[Codes, dict[str, NDArray[np.generic]]]] = {}
    for inside, labels in parts:
        rows = np.flatnonzero(inside)
        if len(rows) < FEWEST_ROWS:
            continue
        kept = together.setdefault(rows.tobytes(), (rows, {}))[1]
        for name, codes in labels.items():
            some = codes if len(rows) == size else codes[rows]
            if (some != some[0]).any():
                kept[name] = some
    for rows, labels in together.values():
        if labels:
            lines: NDArray[np.uint8] = np.stack([one.astype(np.uint8, copy=False) for one in labels.values()])
            yield Marks(names=tuple(labels), codes=lines, rows=rows)
