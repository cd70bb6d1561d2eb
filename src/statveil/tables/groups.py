"""Which rows belong to the two groups that a secret compares: the same for every engine, wherever the labels lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.errors import ColumnError, shortened
from statveil.made_plan import Plan
from statveil.problem.of_groups import OfGroups
from statveil.problem.problem import Problem
from statveil.tables.source import Source

__all__ = [
    "GroupRows",
    "HeldGroups",
    "LabelColumn",
    "Masks",
    "compares_groups",
    "label_columns",
    "more_rows",
    "read_groups",
]

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Of rows: whether each is in the first group, and whether it is in that which it is compared with."""

_LISTED = 5  # labels that an error names
_SHOWN = 30  # different ones that are no labels, and are not printed


class GroupRows(ABC):
    """The rows of the two groups, by their numbers.

    A map that moves each group by itself must know the group of every row that it is handed, and is handed one column.
    """

    @staticmethod
    def of(pieces: Iterator[Masks]) -> HeldGroups:
        """From pieces of any length, kept as bits.

        >>> rows = GroupRows.of(iter([(np.array([True, False, False]), np.array([False, True, False]))] * 4))
        >>> [mask.tolist() for mask in rows.rows(3, 3)]
        [[True, False, False], [False, True, False]]
        """
        packed: tuple[list[NDArray[np.uint8]], list[NDArray[np.uint8]]] = ([], [])
        held: Masks = (np.zeros(0, np.bool_), np.zeros(0, np.bool_))
        size = 0
        for piece in pieces:
            held = (np.concatenate([held[0], piece[0]]), np.concatenate([held[1], piece[1]]))
            whole = len(held[0]) // 8 * 8
            for parts, mask in zip(packed, held, strict=True):
                parts.append(np.packbits(mask[:whole]))
            held = (held[0][whole:], held[1][whole:])
            size += len(piece[0])
        for parts, mask in zip(packed, held, strict=True):
            parts.append(np.packbits(mask))
        return HeldGroups(bits=(np.concatenate(packed[0]), np.concatenate(packed[1])), size=size)

    @abstractmethod
    def rows(self, start: int, size: int) -> Masks:
        """Those of ``size`` rows from ``start`` on."""

    @property
    @abstractmethod
    def known(self) -> tuple[bool, bool]:
        """Whether each of the two has a row."""

    def before(self, row: int) -> tuple[int, int]:
        """How many rows of each stand before a row: a search that sees one group alone counts its rows."""
        one, two = (int(np.count_nonzero(mask)) for mask in self.rows(0, row))
        return one, two

    @abstractmethod
    def most(self, rows: int) -> tuple[int, int, int]:
        """How many of so many rows there are at most in each, and in neither."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldGroups(GroupRows):
    """The same as two bits a row, from labels that were read once, before."""

    bits: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    size: int
    """Rows of the table."""

    def rows(self, start: int, size: int) -> Masks:
        if start + size > self.size:
            raise more_rows()
        first = start // 8
        one, two = (
            np.unpackbits(bits[first : (start + size + 7) // 8])[start - 8 * first :][:size].astype(np.bool_)
            for bits in self.bits
        )
        return one, two

    @property
    def known(self) -> tuple[bool, bool]:
        one, two = (bool(bits.any()) for bits in self.bits)
        return one, two

    def most(self, rows: int) -> tuple[int, int, int]:
        one, two = self.before(self.size)
        return min(one, rows), min(two, rows), min(self.size - one - two, rows)


def more_rows() -> ColumnError:
    """A refusal of rows that had no label when these were read."""
    return ColumnError("the table has more rows now than when its labels were read; release it as it is again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelColumn:
    """The column that names the groups, and what it calls the two."""

    name: Any
    labels: tuple[str, str]

    def masks(self, table: Source, seen: dict[str, None]) -> Iterator[Masks]:
        """The rows of both groups in pieces of any length; ``seen`` takes in labels, fewer than all where many."""
        return self._numbers(table, seen) or self._texts(table, seen)

    def _numbers(self, table: Source, seen: dict[str, None]) -> Iterator[Masks] | None:
        """The rows of a column of numbers, where the labels are numbers too: 2023 and 2023.0 are one label."""
        if not table.type_of(self.name).numeric:
            return None
        try:
            wanted = [float(label) for label in self.labels]
        except ValueError:
            return None

        def pieces() -> Iterator[Masks]:
            for block in table.blocks(self.name):
                if len(seen) < _SHOWN:
                    seen.update(dict.fromkeys(f"{one:.12g}" for one in np.unique(block[np.isfinite(block)])[:_SHOWN]))
                yield block == wanted[0], block == wanted[1]

        return pieces()

    def _texts(self, table: Source, seen: dict[str, None]) -> Iterator[Masks]:
        """The rows of any other column, by how it is written; true and false however they are."""
        folded = table.type_of(self.name).kind == "boolean"
        for column in table.pieces(self.name):
            texts = _as_text(column, str(self.name))
            if len(seen) < _SHOWN:
                seen.update(dict.fromkeys(texts.drop_nulls().unique(maintain_order=True).head(_SHOWN).to_list()))
            texts = texts.str.to_lowercase() if folded else texts
            wanted = [label.lower() if folded else label for label in self.labels]
            one, two = ((texts == label).fill_null(False).to_numpy(allow_copy=True) for label in wanted)
            yield one, two


def label_columns(table: Source, plans: Mapping[Any, Plan]) -> list[Any]:
    """The columns that name the groups of hidden ones, by their names as the table has them."""
    found = [_label_column(table, secret, name) for name, plan in plans.items() if (secret := _of_groups(plan.problem))]
    return list(dict.fromkeys(found))


def compares_groups(problem: Problem) -> bool:
    """Whether its secret is about two groups of rows."""
    return _of_groups(problem) is not None


def _of_groups(problem: Problem) -> OfGroups | None:
    return problem.secret if isinstance(problem.secret, OfGroups) else None


def _label_column(table: Source, secret: OfGroups, column: Any) -> Any:
    """The column with the labels, by its name as the table has it."""
    if table.names == [None]:
        raise ColumnError(
            f"the {secret.kind} compares groups that the column {shortened(secret.by)!r} names, and a single column "
            "has no other beside it; give the table."
        )
    name = table.called(secret.by)
    if name == column:
        raise ColumnError(
            f"column {str(name)!r} is to be hidden and cannot name the groups of its own rows; name another column."
        )
    return name


def read_groups(table: Source, problem: Problem, column: Any) -> GroupRows | None:
    """The groups of a hidden column's rows, in a pass over the labels; ``None`` where the secret has none."""
    secret = _of_groups(problem)
    if secret is None:
        return None
    named = LabelColumn(name=_label_column(table, secret, column), labels=(secret.group, secret.base))
    seen: dict[str, None] = {}
    found = table.groups_there(named, seen) or GroupRows.of(named.masks(table, seen))
    for label, there in zip(named.labels, found.known, strict=True):
        if not there:
            listed = ", ".join(repr(shortened(one)) for one in [*seen][:_LISTED])
            listed = f". It has {listed or 'none at all'}{' and more' * (len(seen) > _LISTED)}"
            raise ColumnError(
                f"column {str(named.name)!r} has no row with the label {shortened(label)!r}, as the plan's "
                f"{secret.kind} asks for{listed * (len(seen) < _SHOWN)}; plan with two labels that it "
                "has, as it writes them."
            )
    return found


def _as_text(column: pl.Series, name: str) -> pl.Series:
    try:
        return column.alias("").cast(pl.String)  # the engine takes a name such as ``^a.*$`` for a pattern
    except pl.exceptions.PolarsError:
        raise ColumnError(
            f"column {name!r} has the type {column.dtype}, which is no label; name a column of text, numbers or dates."
        ) from None
