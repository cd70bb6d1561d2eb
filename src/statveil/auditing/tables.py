"""A table as the audit needs it: the column as numbers, other numeric columns, and groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.auditing.together import together_in
from statveil.errors import ColumnError
from statveil.made_plan import Plan
from statveil.problem.of_columns import OfColumns
from statveil.tables.blocks import Array
from statveil.tables.groups import Masks, read_groups
from statveil.tables.preparing import column_labels
from statveil.tables.series import numbers_of
from statveil.tables.source import Source, open_source
from statveil.tables.stacked import both_columns
from statveil.tables.structure.others.alongside import EMPTY, sizes_of
from statveil.tables.structure.reading.text_forms import other_forms
from statveil.tables.structure.rows.group_search import numbers_in, read_in_full

__all__ = ["AuditTable", "joined_blocks", "read_table"]

_SIZED = 0.9  # correlation from which the size of a group may be the audited number itself
_MOST_COLUMNS = 100
"""Other columns of a kind that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AuditTable:
    """One table in memory, as far as an audit looks at it.

    Attributes
    ----------
    column : array
        The audited column as numbers (of categories), NaN where a row has none.
    bits : int
        Precision of its numbers.
    others : dict of str to array
        Other numeric columns, and points in time as seconds.
    groups : dict of str to array
        Other columns of text or of true and false, as numbers of the text; names and ids among them.
    parts : pair of array, optional
        The rows of the two groups, or columns, that the secret compares.
    together : dict of str to array
        Groups of rows that tell, named by parts of texts, by other rows or by two columns; a number for each row.
    """

    column: Array
    bits: int
    others: dict[str, Array]
    groups: dict[str, Array]
    parts: Masks | None = None
    together: dict[str, Array] = field(default_factory=dict)
    paired: bool = False
    """Whether the column is two of the table, the second one below the first: then all else is there twice."""

    @property
    def size(self) -> int:
        """Rows of the table."""
        return len(self.column) // (2 if self.paired else 1)

    @property
    def first_half(self) -> AuditTable:
        """Of two columns the rows of the first one."""
        return self._taken(np.arange(self.size))

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the values of these rows of the table are."""
        return np.concatenate([rows, rows + self.size]) if self.paired else rows

    def in_order(self, rows: NDArray[np.int64]) -> AuditTable:
        """The same table with its rows in another order."""
        return self._taken(self.places(rows))

    def _taken(self, rows: NDArray[np.int64]) -> AuditTable:
        return replace(
            self,
            column=self.column[rows],
            others={name: values[rows] for name, values in self.others.items()},
            groups={name: values[rows] for name, values in self.groups.items()},
            together={name: values[rows] for name, values in self.together.items()},
            parts=None if self.parts is None else (self.parts[0][rows], self.parts[1][rows]),
        )


def read_table(
    table: Any, *, column: Any, plan: Plan, beside: Collection[Any] | None = None, original: bool = False
) -> AuditTable:
    """Read a file or a frame; ``beside`` names the other columns to look at, if not all of them.

    Of an ``original`` also groups of rows are looked for that belong together without a column for it.
    """
    source = open_source(table)
    if isinstance(plan.problem.secret, OfColumns):
        return _read_two(source, plan.problem.secret, original=original)
    target = source.find(column)
    found = source.type_of(target)
    values = joined_blocks(source.blocks(target, labels=column_labels(plan, source.label(target), found)))
    others: dict[str, Array] = {}
    groups: dict[str, Array] = {}
    for name in source.names:
        if name != target and source.names.count(name) == 1 and (beside is None or name in beside):
            _sort_in(source, name, others, groups)
    others |= _sizes(values, others, groups)
    inside = read_groups(source, plan.problem, target)
    parts = None if inside is None else inside.rows(0, len(values))
    named = [name for name in source.names if name != target and (beside is None or name in beside)]
    together = together_in(source, named, values, parts, categories=plan.release_mode.categories) if original else {}
    return AuditTable(
        column=values,
        bits=found.bits,
        others=others,
        groups=groups | _gaps(others, groups),
        parts=parts,
        together=together,
    )


def _read_two(source: Source, secret: OfColumns, *, original: bool) -> AuditTable:
    """Both columns that a secret compares, one below the other, with everything else twice."""
    both = both_columns(source, secret)
    types = source.types_of(both)
    halves = [joined_blocks(source.blocks(name)) for name in both]
    others: dict[str, Array] = {}
    groups: dict[str, Array] = {}
    for name in source.names:
        if name not in both and source.names.count(name) == 1:
            _sort_in(source, name, others, groups)
    others |= _sizes(halves[0], others, groups) | _sizes(halves[1], others, groups)
    groups |= _gaps(others, groups)
    first = np.arange(sum(map(len, halves))) < len(halves[0])
    named = [name for name in source.names if name not in both]
    together = together_in(source, named, halves[0], halves[1], categories=False) if original else {}
    return AuditTable(
        column=np.concatenate(halves),
        bits=min(one.bits for one in types.values()),
        others={name: np.concatenate([one, one]) for name, one in others.items()},
        groups={name: np.concatenate([one, one]) for name, one in groups.items()},
        parts=(first, ~first),
        together={name: np.concatenate([one, one]) for name, one in together.items()},
        paired=True,
    )


def _sort_in(source: Source, label: Any, others: dict[str, Array], groups: dict[str, Array]) -> None:
    """Put a column where it belongs; columns of other kinds are left out."""
    name = str(label)
    try:
        if source.type_of(label).numeric:
            if len(others) < _MOST_COLUMNS:
                others[name] = joined_blocks(source.blocks(label))
            return
        column = source.column(label)
    except (ColumnError, pl.exceptions.PolarsError):
        return
    column = text = column.alias("")  # the engine takes a name such as ``^a.*$`` for a pattern
    if column.dtype in (pl.String, pl.Object):
        column = _as_times(column)
    if column.dtype.is_temporal():
        column = column.to_physical().cast(pl.Float64) * _SECONDS.get(str(getattr(column.dtype, "time_unit", "")), 1e-9)
    if column.dtype.is_numeric():
        try:
            if len(others) < _MOST_COLUMNS:
                others[name] = numbers_of(column)
        except ColumnError:
            return
    elif column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean) and len(groups) < _MOST_COLUMNS:
        codes = column.cast(pl.String).rank("dense").cast(pl.Float64)
        groups[name] = codes.to_numpy(allow_copy=True)
        if column.dtype == pl.String and len(others) < _MOST_COLUMNS:  # as the release reads them
            found = [one for one in numbers_in(text) if np.isfinite(one).any()]
            others |= {f"{name} (number {i + 1})": one for i, one in enumerate(found)}
            others |= {} if read_in_full(text) else {f"{name} ({how})": one for how, one in other_forms(text).items()}


def _sizes(values: Array, others: dict[str, Array], groups: dict[str, Array]) -> dict[str, Array]:
    """How many rows share another column's value, where that has to do with the audited one."""
    finite, found = np.isfinite(values), {}
    if np.count_nonzero(finite) < 3 or np.ptp(values[finite]) == 0:
        return {}
    for name, column in {**others, **groups}.items():
        for label, sizes in sizes_of(name, np.nan_to_num(column, nan=-1e300)).items():
            if np.ptp(sizes[finite]) and abs(np.corrcoef(values[finite], sizes[finite])[0, 1]) >= _SIZED:
                found[label] = sizes
    return found


def _gaps(others: dict[str, Array], groups: dict[str, Array]) -> dict[str, Array]:
    """Which cells have no value, of columns that have both kinds: what was asked of some rows alone is a label."""
    gaps = {name: np.isnan(values) for name, values in {**others, **groups}.items()}
    return {f"{name} {EMPTY}": gap.astype(np.float64) for name, gap in gaps.items() if 0 < gap.sum() < len(gap)}


_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}


def _as_times(column: pl.Series) -> pl.Series:
    """Text that is a point in time in every row, as such: an end minus a start is a duration."""
    some = column.drop_nulls().head(64)
    for read in (pl.Datetime("us"), pl.Time):
        try:
            if len(some) and not some.str.strptime(read, strict=False).is_null().any():
                return column.str.strptime(read, strict=False)
        except pl.exceptions.PolarsError:
            continue
    return column


def joined_blocks(blocks: Iterator[Array]) -> Array:
    """All rows of a pass over a column."""
    parts = list(blocks)
    return np.concatenate(parts) if parts else np.zeros(0)
