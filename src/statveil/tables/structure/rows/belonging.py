"""Ways in which a table says that rows belong together without a column for it.

A part of a text does (the number in ``order 4711 of Mr Smith``, the domain of an e-mail, the first digits of a code),
a column that names other rows by a value of theirs (a partner's id, a manager's, the order before), and two columns
that only together say it. Whether the rows of such a group are alike is for others to ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.structure.reading.text_parts import Written, parts_of, shared_tokens, written
from statveil.tables.structure.rows.group_search import keys_of
from statveil.tables.structure.rows.naming import naming_groups, numbered
from statveil.tables.structure.rows.relation import Keys

__all__ = ["Belonging", "belonging"]

Codes = NDArray[np.int64]

_FEWEST_ROWS = 10
_LARGE = 100  # rows of a text on average, from which on the text itself shows what a part of it would
_IN_PARTS, _TOGETHER = 16, 16  # columns that are read in parts, and of which each pair is looked at
_REPEATED = 2.0  # rows of a label, on average, for it to be one of two that say it together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Belonging:
    """Groups of rows.

    Parameters
    ----------
    name : str
        What makes them, for people.
    columns : tuple of str
        The columns that do.
    code : array of int
        The number of each row's group, -1 for rows that are alone.
    """

    name: str
    columns: tuple[str, ...]
    code: Codes


def belonging(columns: Mapping[str, pl.Series]) -> list[Belonging]:
    """All groupings of some rows that the columns make, each of them once; whole columns among them."""
    found: dict[bytes, Belonging] = {}
    for one in _made(columns):
        if np.count_nonzero(one.code >= 0) >= _FEWEST_ROWS and int(one.code.max(initial=0)) > 0:
            found.setdefault(one.code.tobytes(), one)
    return list(found.values())


def _made(columns: Mapping[str, pl.Series]) -> Iterator[Belonging]:
    keys: dict[str, tuple[Keys, NDArray[np.bool_]]] = {}
    texts: dict[str, Written] = {}
    for name, column in columns.items():
        keys[name] = keys_of(column), column.is_not_null().to_numpy()
        if (text := written(column)) is not None:
            texts[name] = text
        yield Belonging(name=name, columns=(name,), code=numbered(*keys[name]))
    yield from _parts(texts)
    for name, by, code in naming_groups(texts):
        yield Belonging(name=name, columns=by, code=code)
    yield from _pairs(keys)


def _parts(texts: Mapping[str, Written]) -> Iterator[Belonging]:
    # texts before numbers, which are rarely read in parts
    ordered = sorted(texts.items(), key=lambda one: one[1].number)
    small = [(name, one) for name, one in ordered if _LARGE * one.different > len(one.plain)]
    for name, one in small[:_IN_PARTS]:
        for how, part in parts_of(one):
            known = part.is_not_null().to_numpy()
            yield Belonging(name=f"{name} ({how})", columns=(name,), code=numbered(keys_of(part), known))
        if not one.number and (token := shared_tokens(one)) is not None:
            yield Belonging(name=f"{name} (a word or number in it)", columns=(name,), code=numbered(token, token >= 0))


def _pairs(keys: Mapping[str, tuple[Keys, NDArray[np.bool_]]]) -> Iterator[Belonging]:
    """Two columns that only together say it, as street and number do."""
    labels: dict[str, tuple[Codes, int, NDArray[np.bool_]]] = {}
    for name, (column, known) in keys.items():
        places, code = np.unique(column, return_inverse=True)
        if 2 <= len(places) <= len(column) / _REPEATED:
            labels[name] = code.ravel().astype(np.int64), len(places), known
    for one, two in combinations(list(labels)[:_TOGETHER], 2):
        (a, _, in_a), (b, size, in_b) = labels[one], labels[two]
        yield Belonging(name=f"{one} with {two}", columns=(one, two), code=numbered(a * size + b, in_a & in_b))
