"""Conformance of an engine or a file format: every row, in its order, in its type, when read and when released."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError

from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.families.categorical import Categorical
from statveil.problem.families.location import Location
from statveil.problem.families.poisson import Poisson
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secrets.fraction import Fraction
from statveil.problem.secrets.mean import Mean
from statveil.tables.blocks import BLOCK, Array
from statveil.tables.changes import Changes, Derived, Replacement
from statveil.tables.files import TableFile
from statveil.tables.frames import Frame
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.release import Release, release
from statveil.tables.released import read_rows
from statveil.tables.series import column_type
from statveil.tables.source import Source, open_source
from statveil.tables.verification import LEAKS
from statveil.tables.verify_file import verify
from statveil.testing.comparison import ConformanceError, same

__all__ = ["check_source"]

_LABELS = ("north", "south", "east")
_ROWS = BLOCK + 700  # a whole block and a part
_KEPT = "after a release the original"
_SHUFFLED = {"size": False, "count": True, "place": False}

Read = Callable[[Any], pl.DataFrame]


def check_source(make: Callable[[pl.DataFrame], Any], *, read: Read | None = None) -> None:
    """An engine or a file format, on one table of floats with missing values, whole numbers and text.

    What the source says of the table is held against the table: names, types, whole columns, blocks of rows, all other
    columns beside one, in two passes. Each column is released under a plan, and what comes out must have the rows of
    the same release of a Polars frame, one of them shuffled; the original must be left as it was. Then several columns
    are changed at once: moved, worked out of others, added and left out. Floats are compared
    to 14 digits of the largest, as some formats do not keep more.

    Parameters
    ----------
    make : callable
        The table as the engine has it, from a Polars frame: an object, or the path of a file that it writes.
    read : callable, optional
        A released table as a Polars frame, by other means than the source's own; by default the source is asked. Only
        with it a loss is found that reading hides.
    """
    table = _table()
    native = make(table)
    _check_reading(open_source(native), table)
    for name, found in _plans().items():
        _check_released(native, table, name, found, read)
        _check_rows(_as_frame(open_source(native), table, _KEPT), table, _KEPT)
    _check_several(native, table, read)


@cache
def _table() -> pl.DataFrame:
    rng = np.random.default_rng(20)
    size = rng.normal(90.0, 20.0, _ROWS).tolist()
    return pl.DataFrame(
        {
            "size": [None if row % 97 == 5 else value for row, value in enumerate(size)],
            "count": rng.poisson(9.0, _ROWS),
            "place": rng.choice(_LABELS, _ROWS, p=[0.5, 0.3, 0.2]),
        }
    )


@cache
def _plans() -> Mapping[str, Plan]:
    """A plan for each column: one that moves all rows alike, and two that draw per block of rows."""
    mean = Mean()
    size = Problem(family=Location(), prior=Box(mean=(0, 200)), secret=mean, tolerance=1.0)
    count = Problem(family=Poisson(), prior=Box(rate=(2, 30)), secret=mean, tolerance=0.3)
    place = Problem(family=Categorical(labels=_LABELS), secret=Fraction("north"), tolerance=0.03)
    return {
        "size": plan(size, max_risk=0.2),
        "count": plan(count, max_risk=0.2, method="dynamic", grid=100),
        "place": plan(place, max_risk=0.2),
    }


# --- reading ------------------------------------------------------------------------------------
def _check_reading(source: Source, table: pl.DataFrame) -> None:
    same(bool(str(source)), "messages have no word for the table: __str__ is empty")
    _check_rows(_as_frame(source, table, "read:"), table, "column:")
    numeric = source.numeric_columns()
    same(numeric == ["size", "count"], f"numeric_columns gives {numeric} instead of ['size', 'count']")
    for name in table.columns:
        labels = _LABELS if name == "place" else None
        _check_beside(source, table, name, labels)  # the first pass of a release, so it counts the rows
        for when in ("blocks:", "blocks, in a second pass:"):
            _check_blocks(source, table, name, labels, when)


def _check_blocks(source: Source, table: pl.DataFrame, name: str, labels: tuple[str, ...] | None, when: str) -> None:
    told: list[int] = []
    blocks = list(source.blocks(name, labels=labels, progress=told.append))
    lengths, whole = [len(block) for block in blocks], [BLOCK, _ROWS - BLOCK]
    same(sum(lengths) == _ROWS, f"{when} column {name!r} has {sum(lengths)} rows instead of {_ROWS}")
    same(lengths == whole, f"{when} column {name!r} comes in blocks of {lengths} rows instead of {whole}")
    _check_series(pl.Series(name, np.concatenate(blocks)), pl.Series(name, read_rows(table[name], labels)), when)
    same(sum(told) == _ROWS, f"{when} progress was told of {sum(told)} rows instead of {_ROWS}")
    same(source.rows == _ROWS, f"{when} rows is {source.rows} after the pass instead of {_ROWS}")


def _check_beside(source: Source, table: pl.DataFrame, name: str, labels: tuple[str, ...] | None) -> None:
    pieces = [(rows[name], others) for rows, others in source.beside({name: labels})]
    values = np.concatenate([rows for rows, _ in pieces])
    _check_series(pl.Series(name, values), pl.Series(name, read_rows(table[name], labels)), "beside:")
    same(source.rows == _ROWS, f"beside: rows is {source.rows} after the pass instead of {_ROWS}")
    for other in table.columns:
        if other == name:
            continue
        same(
            all(other in others for _, others in pieces),
            f"beside: column {other!r} is missing beside {name!r}, so what it tells would not be seen",
        )
        _check_series(pl.concat([others[other] for _, others in pieces]), table[other], f"beside {name!r}:")


# --- releasing ----------------------------------------------------------------------------------
def _check_released(native: Any, table: pl.DataFrame, name: str, found: Plan, read: Read | None) -> None:
    when = f"released column {name!r}{', shuffled' if _SHUFFLED[name] else ''}:"
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a holder should know is for a holder
        output = None
        if isinstance(native, str | os.PathLike):
            output = Path(folder) / f"released{''.join(Path(native).suffixes)}"
        done, wanted = _release(found, native, name, output), _polars(name)
        after = _as_frame(open_source(done.table), wanted, when) if read is None else read(done.table)
        _check_rows(after, wanted, when)
        checked = verify(done.table) if output is not None else verify(done.table, done.card)
        wrong = [check.name for check in checked.checks if not check.ok]
        same(not wrong, f"{when} the check of the released table fails: {', '.join(wrong)}")


@cache
def _polars(name: str) -> pl.DataFrame:
    """The same release of a Polars frame."""
    frame: pl.DataFrame = _release(_plans()[name], _table(), name, None).table
    return frame


def _release(found: Plan, native: Any, name: str, output: Path | None) -> Release:
    return release(
        found,
        native,
        column=name,
        seed=5,
        shuffle=_SHUFFLED[name],
        accept=tuple(LEAKS),
        output=output,
        overwrite=output is not None,
        details=True,
    )


class _Moved(ColumnMap):
    """Every row one further."""

    def block(self, values: Array, index: int) -> Array:
        return values + 1.0

    def coefficients(self) -> dict[str, Any]:
        return {}


def _check_several(native: Any, table: pl.DataFrame, read: Read | None) -> None:
    """One column moved, one worked out of it in the place of another, one new, and one left out, in one pass."""
    twice = Derived(needs=("size",), kind="float", rows=lambda columns: columns["size"] * 2.0)
    changes = Changes(
        replaced={"size": Replacement(column_map=_Moved())},
        dropped=("place",),
        derived={"count": twice, "twice": twice},
    )
    moved = table["size"] + 1.0
    wanted = pl.DataFrame({"size": moved, "count": moved * 2.0, "twice": moved * 2.0})
    when, source = "several columns changed:", open_source(native)
    for _ in source.together({"size": None}):  # as a release does, before it writes
        pass
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(source, TableFile):
            after: Any = Path(folder) / f"released{''.join(source.path.suffixes)}"
            source.write(after, changes)
        else:
            assert isinstance(source, Frame)
            after = source.released(changes)
        _check_rows(_as_frame(open_source(after), wanted, when) if read is None else read(after), wanted, when)
    _check_rows(_as_frame(open_source(native), table, _KEPT), table, _KEPT)


# --- comparing ----------------------------------------------------------------------------------
def _as_frame(source: Source, like: pl.DataFrame, when: str) -> pl.DataFrame:
    """All columns that the source has, where they are those of the other frame, of its types and equally long."""
    same(source.names == like.columns, f"{when} the columns are {source.names} instead of {like.columns}")
    for name, dtype in like.schema.items():
        kind, wanted = source.type_of(name).kind, column_type(dtype).kind
        same(kind == wanted, f"{when} type_of says that column {name!r} is of kind {kind!r}; it is {wanted!r}")
    columns = {name: source.column(name) for name in source.names}
    lengths = {name: len(column) for name, column in columns.items()}
    same(set(lengths.values()) == {len(like)}, f"{when} the columns have {lengths} rows instead of {len(like)}")
    return pl.DataFrame(columns)


def _check_rows(found: pl.DataFrame, wanted: pl.DataFrame, when: str) -> None:
    same(found.columns == wanted.columns, f"{when} the columns are {found.columns} instead of {wanted.columns}")
    for name in wanted.columns:
        _check_series(found[name], wanted[name], when)


def _check_series(found: pl.Series, wanted: pl.Series, when: str) -> None:
    """The same rows in the same order and of the same kind; text where the table has no types."""
    name, size = wanted.name, len(wanted)
    same(len(found) == size, f"{when} column {name!r} has {len(found)} rows instead of {size}")
    kinds = column_type(found.dtype).kind, column_type(wanted.dtype).kind
    same(kinds[0] in (kinds[1], "text"), f"{when} column {name!r} is of kind {kinds[0]!r} instead of {kinds[1]!r}")
    if found.dtype == pl.String and wanted.dtype != pl.String:
        found = found.replace("", None)  # text knows no other missing value
    try:
        found = found.cast(wanted.dtype)
    except PolarsError:
        raise ConformanceError(f"{when} column {name!r} holds what is no {wanted.dtype}") from None
    differ = _differ(found, wanted)
    if differ.any():
        moved = not _differ(found.sort(nulls_last=True), wanted.sort(nulls_last=True)).any()
        what = "has its rows in another order" if moved else "has other values"
        first = int(np.argmax(differ)) + 1
        raise ConformanceError(f"{when} column {name!r} {what}, first in row {first} ({differ.sum()} rows differ)")


def _differ(found: pl.Series, wanted: pl.Series) -> NDArray[np.bool_]:
    """Which rows are not the same."""
    if not wanted.dtype.is_float():
        return found.ne_missing(wanted).to_numpy()
    # an engine may know no other missing value than NaN, and a format no 16th digit
    there, here = (one.fill_null(np.nan).to_numpy() for one in (found, wanted))
    differ: NDArray[np.bool_] = ~np.isclose(
        there, here, rtol=0.0, atol=1e-14 * float(np.nanmax(np.abs(here))), equal_nan=True
    )
    return differ
