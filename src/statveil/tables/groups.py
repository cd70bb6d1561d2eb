"""Which rows belong to the two groups that a secret compares: two bits a row, the same for every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

__all__ = ["GroupRows", "Masks", "label_columns", "read_groups"]

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_]]
"""Of rows: whether each is in the first group, and whether it is in that which it is compared with."""

_LISTED = 5  # labels that an error names
_SHOWN = 30  # different ones that are no labels, and are not printed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupRows:
    """The rows of the two groups, by their numbers.

    A map that moves each group by itself must know the group of every row that it is handed, and is handed one column:
    so the labels are read once, before, and kept as bits.
    """

    bits: tuple[NDArray[np.uint8], NDArray[np.uint8]]
    size: int
    """Rows of the table."""

    @classmethod
    def of(cls, pieces: Iterator[Masks]) -> GroupRows:
        """From pieces of any length.

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
        return cls(bits=(np.concatenate(packed[0]), np.concatenate(packed[1])), size=size)

    def rows(self, start: int, size: int) -> Masks:
        """Those of ``size`` rows from ``start`` on."""
        if start + size > self.size:
            raise ColumnError("the table has more rows now than when its labels were read; release it as it is again.")
        first = start // 8
        one, two = (
            np.unpackbits(bits[first : (start + size + 7) // 8])[start - 8 * first :][:size].astype(np.bool_)
            for bits in self.bits
        )
        return one, two


def label_columns(table: Source, plans: Mapping[Any, Plan]) -> list[Any]:
    """The columns that name the groups of hidden ones, by their names as the table has them."""
    found = [_label_column(table, secret, name) for name, plan in plans.items() if (secret := _of_groups(plan.problem))]
    return list(dict.fromkeys(found))


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
    name = _label_column(table, secret, column)
    labels = (secret.group, secret.base)
    seen: dict[str, None] = {}
    found = GroupRows.of(_numbers(table, name, labels, seen) or _texts(table, name, labels, seen))
    for label, bits in zip(labels, found.bits, strict=True):
        if not bits.any():
            there = ", ".join(repr(shortened(one)) for one in [*seen][:_LISTED])
            there = f". It has {there or 'none at all'}{' and more' * (len(seen) > _LISTED)}"
            raise ColumnError(
                f"column {str(name)!r} has no row with the label {shortened(label)!r}, as the plan's {secret.kind} "
                f"asks for{there * (len(seen) < _SHOWN)}; plan with two labels that it "
                "has, as it writes them."
            )
    return found


def _numbers(table: Source, name: Any, labels: Sequence[str], seen: dict[str, None]) -> Iterator[Masks] | None:
    """The rows of a column of numbers, where the labels are numbers too: 2023 and 2023.0 are one label."""
    if not table.type_of(name).numeric:
        return None
    try:
        wanted = [float(label) for label in labels]
    except ValueError:
        return None

    def pieces() -> Iterator[Masks]:
        for block in table.blocks(name):
            if len(seen) < _SHOWN:
                seen.update(dict.fromkeys(f"{value:.12g}" for value in np.unique(block[np.isfinite(block)])[:_SHOWN]))
            yield block == wanted[0], block == wanted[1]

    return pieces()


def _texts(table: Source, name: Any, labels: Sequence[str], seen: dict[str, None]) -> Iterator[Masks]:
    """The rows of any other column, by how it is written; true and false however they are."""
    folded = table.type_of(name).kind == "boolean"
    for column in table.pieces(name):
        texts = _as_text(column, str(name))
        if len(seen) < _SHOWN:
            seen.update(dict.fromkeys(texts.drop_nulls().unique(maintain_order=True).head(_SHOWN).to_list()))
        texts = texts.str.to_lowercase() if folded else texts
        wanted = [label.lower() if folded else label for label in labels]
        one, two = ((texts == label).fill_null(False).to_numpy(allow_copy=True) for label in wanted)
        yield one, two


def _as_text(column: pl.Series, name: str) -> pl.Series:
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise ColumnError(
            f"column {name!r} has the type {column.dtype}, which is no label; name a column of text, numbers or dates."
        ) from None
