"""Rows that name other rows: a value of one column, or a part of its text, that another column has in another row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from statveil.tables.structure.reading.text_parts import Tokens, Written, tokens_of

__all__ = ["naming_groups", "numbered"]

Codes = NDArray[np.int64]
Keys = NDArray[np.uint64]

_FEWEST = 8  # different values, and rows that name another one
_SHARE = 0.01  # of the rows with a value there that do, at least
_ROWS_EACH = 50.0  # of a value on average, for it to be a name of a row, or of few
_COLUMNS = 16
_GIANT = 0.5  # of the rows that are linked: a chain that joins everything says nothing


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Names:
    """What names the rows by one column: the whole text, or the only number in it."""

    keys: Keys
    known: NDArray[np.bool_]
    places: Keys
    """The different ones, rising."""

    @classmethod
    def of(cls, text: pl.Series) -> _Names:
        keys = np.asarray(text.hash(seed=1).to_numpy(), np.uint64)
        known = text.is_not_null().to_numpy()
        return cls(keys=keys, known=known, places=np.unique(keys[known]))

    @property
    def few_rows_each(self) -> bool:
        return len(self.places) >= _FEWEST and bool(np.count_nonzero(self.known) <= _ROWS_EACH * len(self.places))


def naming_groups(texts: Mapping[str, Written]) -> Iterator[tuple[str, tuple[str, str], Codes]]:
    """Groups of rows of which one names the others: a name for people, the two columns, and the group of each row.

    Rows that hang together by any number of steps are a group (a household, a chain of orders); and, as a tree hangs
    together as a whole, each row with those that name it directly.
    """
    several = {name: one for name, one in texts.items() if one.different >= _FEWEST}
    chosen = list(several)[:_COLUMNS]
    names = {name: _forms(several[name]) for name in chosen}
    tokens = {name: tokens_of(several[name]) for name in chosen}
    for key in chosen:
        every: list[Tokens] = []
        for form, own in names[key].items():
            for other in chosen:
                if other == key or not own.few_rows_each:
                    continue
                links = _links(own, tokens[other])
                if links is None:
                    continue
                every.append(links)
                said = f"{other} (names other rows by {key}{form})"
                for code in _groups(own, links):
                    yield said, (other, key), code
            if len(every) > 1:
                rows, keys = (np.concatenate([getattr(one, part) for one in every]) for part in ("rows", "keys"))
                for code in _groups(own, Tokens(rows=rows, keys=keys)):
                    yield f"several columns that name other rows by {key}", (key, key), code
            if every:
                break  # the number in a text names no more than the text itself


def _forms(text: Written) -> dict[str, _Names]:
    """The whole text; where it holds a single number beside letters, that number; where it has words, the first."""
    found = {"": _Names.of(text.normal)}
    if not text.number:
        digits = text.normal.str.extract_all(r"\p{N}+")
        if bool((digits.list.len().fill_null(1) == 1).all()):
            found[", its number"] = _Names.of(digits.list.get(0, null_on_oob=True))
        else:
            found[", its last number"] = _Names.of(digits.list.get(-1, null_on_oob=True))
    return found


def _links(own: _Names, tokens: Tokens) -> Tokens | None:
    """What of another column's texts are names of other rows than their own; ``None`` where these are few."""
    at = np.minimum(np.searchsorted(own.places, tokens.keys), len(own.places) - 1)
    named = (own.places[at] == tokens.keys) & ~((own.keys[tokens.rows] == tokens.keys) & own.known[tokens.rows])
    rows, keys = tokens.rows[named], tokens.keys[named]
    if len(np.unique(keys)) < _FEWEST or len(np.unique(rows)) < _SHARE * len(np.unique(tokens.rows)):
        return None
    return Tokens(rows=rows, keys=keys)


def _groups(own: _Names, links: Tokens) -> Iterator[Codes]:
    """What hangs together, and rows with those that name them."""
    size = len(own.keys)
    named = np.unique(links.keys)
    holders = np.flatnonzero(own.known & np.isin(own.keys, named))
    rows = np.concatenate((holders, links.rows))
    at = np.searchsorted(named, np.concatenate((own.keys[holders], links.keys)))
    graph = coo_array((np.ones(len(rows), np.int8), (rows, size + at)), shape=(size + len(named),) * 2)
    part = connected_components(graph, directed=False)[1][:size].astype(np.int64)
    linked = np.zeros(size, dtype=np.bool_)
    linked[rows] = True
    code = numbered(part, linked)
    if np.bincount(code[code >= 0]).max(initial=0) <= _GIANT * np.count_nonzero(code >= 0):
        yield code
    # a tree is one group as a whole: of two halves of the names, chosen by their hash, each row with those that name it
    for side in (0, 1):
        centre = (named >> np.uint64(17) & np.uint64(1)) == side
        star = np.full(size, -1, dtype=np.int64)
        ours = centre[np.searchsorted(named, links.keys)]
        star[links.rows[ours]] = np.searchsorted(named, links.keys[ours])
        place = np.searchsorted(named, own.keys[holders])
        star[holders[centre[place]]] = place[centre[place]]
        yield numbered(star, star >= 0)


def numbered(keys: NDArray[np.generic], known: NDArray[np.bool_]) -> Codes:
    """Groups of equal keys, numbered as they come; -1 for rows that are alone, or of which nothing is known.

    >>> numbered(np.array([7, 3, 3, 7, 5]), np.array([True, True, True, True, True])).tolist()
    [0, 1, 1, 0, -1]
    """
    code = np.full(len(keys), -1, dtype=np.int64)
    rows = np.flatnonzero(known)
    _, first, group, counts = np.unique(keys[rows], return_index=True, return_inverse=True, return_counts=True)
    several = np.flatnonzero(counts > 1)
    number = np.full(len(counts), -1, dtype=np.int64)
    number[several[np.argsort(first[several], kind="stable")]] = np.arange(len(several))
    code[rows] = number[group.ravel()]
    return code
