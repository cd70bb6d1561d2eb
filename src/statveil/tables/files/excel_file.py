"""Excel workbooks (.xlsx): the values of the first sheet."""

from __future__ import annotations

import importlib
import os
import warnings
import zipfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from statveil.errors import ColumnError, FileError, StatveilError
from statveil.tables.blocks import BLOCK, Array
from statveil.tables.changes import Changes, Labels, Replacement
from statveil.tables.files.excel_limits import check_workbook
from statveil.tables.files.excel_values import (
    ExcelForm,
    Formats,
    as_text,
    categories,
    numbers,
    refuse_beyond_exact,
    released_numbers,
    written_cell,
)
from statveil.tables.files.failures import cannot_read, cannot_write
from statveil.tables.files.table_file import TableFile
from statveil.tables.rounding_digits import rounded
from statveil.tables.series import ColumnType, codes_of, label_values
from statveil.tables.shuffling import shuffled_order
from statveil.tables.source import CATEGORIES, Progress, Rows

__all__ = ["ExcelFile"]

_GUESS_ROWS = 1000
_Row = tuple[Any, ...]
_Written = tuple[Any, Any, str]


class ExcelFile(TableFile):
    """The first sheet of a workbook; its first row names the columns.

    A new workbook with that sheet's values is written. Other sheets, properties, comments, formulas and their stored
    results may hold the secret and are not carried over.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".xlsx",)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = None
        self.notes = []
        self._forms: dict[str, ExcelForm] = {}
        try:
            self._most_cells = check_workbook(path)
        except StatveilError:
            raise
        except Exception as error:  # a damaged archive raises whatever its place makes it raise
            raise cannot_read(path, error, "an Excel") from None
        with self._sheet() as (book, sheet):
            first = next(sheet.iter_rows(max_row=1), ())
            self._title = str(sheet.title)
            sheets = len(book.sheetnames)
        # cells beyond the last name, kept by some programs for their colour alone, are no columns
        named = [number for number, cell in enumerate(first, 1) if cell.value not in (None, "")]
        if not named:
            raise FileError(f"cannot read {path}: the first row of its first sheet is blank. It must name the columns.")
        self.names = ["" if cell.value is None else str(cell.value) for cell in first[: named[-1]]]
        if sheets > 1:
            self.notes.append(
                f"only the first of {sheets} sheets is read and written; the others are not carried over."
            )
        self._formats: Formats | None = None
        self._formulas = _has_formulas(path)
        if self._formulas:
            self.notes.append("formulas are written as the values they last had, and as nothing where none is stored.")

    # --- what the columns hold ------------------------------------------------------------------
    def type_of(self, column: str) -> ColumnType:
        kind = self.form_of(column).kind
        name = {"boolean": "true/false", "other": "date or time"}.get(kind, kind)
        return ColumnType(kind=kind, name=name, scale=0 if kind == "integer" else None)

    def types_of(self, columns: Collection[str]) -> dict[str, ColumnType]:
        self._look(columns)
        return {name: self.type_of(name) for name in columns}

    def form_of(self, column: str) -> ExcelForm:
        """What the cells of the column are."""
        self._look([column])
        return self._forms[column]

    def _look(self, columns: Collection[str]) -> None:
        """One pass over all of the columns whose form is not known yet."""
        places = {name: self.position(name) for name in columns if name not in self._forms}
        if not places:
            return
        for name, position in places.items() if self._formulas else ():
            self._refuse_formulas_without_value(name, position)
        forms = {name: ExcelForm() for name in places}
        for block in self._blocks_of_rows():
            for form, position in zip(forms.values(), places.values(), strict=True):
                form.see(row[position] for row in block)
        self._forms |= forms

    def column(self, name: str) -> pl.Series:
        cells = [cell for part in self._cells(self.position(name)) for cell in part]
        texts = [None if cell is None or cell.value is None else str(cell.value) for cell in cells]
        return pl.Series(name, texts, dtype=pl.String)

    def numeric_columns(self) -> list[str]:
        forms = [ExcelForm() for _ in self.names]
        for row in islice(self._rows(), _GUESS_ROWS):
            for form, cell in zip(forms, row, strict=True):
                form.see([cell])
        return [name for name, form in zip(self.names, forms, strict=True) if form.numeric and form.values]

    def _refuse_formulas_without_value(self, column: str, position: int) -> None:
        """An error where a formula of the column has no stored result: its number is not in the file."""
        with self._sheet() as (_, values), self._sheet(data_only=False) as (_, formulas):
            area = {"min_row": 2, "min_col": position + 1, "max_col": position + 1}
            pairs = zip(values.iter_rows(**area), formulas.iter_rows(**area), strict=False)
            for number, (value, formula) in enumerate(pairs, 2):
                if value and formula and value[0].value is None and formula[0].data_type == "f":
                    raise ColumnError(
                        f"row {number} of column {column!r} holds a formula without a stored result; open the workbook "
                        "in a spreadsheet program, save it there, and try again."
                    )

    # --- reading --------------------------------------------------------------------------------
    def together(self, columns: Mapping[str, Labels], *, progress: Progress | None = None) -> Iterator[Rows]:
        self._check(columns)
        return self._together(columns, progress)

    def _together(self, columns: Mapping[str, Labels], progress: Progress | None) -> Iterator[Rows]:
        done = 0
        for block in self._blocks_of_rows():
            yield self._own(block, columns, done)
            done += len(block)
            if progress:
                progress(len(block))
        self.rows = done

    def beside(
        self, columns: Mapping[str, Labels], *, progress: Progress | None = None
    ) -> Iterator[tuple[Rows, Mapping[str, pl.Series]]]:
        self._check(columns)
        places, done, often = {self.position(name) for name in columns}, 0, Counter(self.names)
        formats = Formats()
        for block in self._blocks_of_rows():
            for place in range(len(self.names)):
                if place not in places:
                    formats.see(place, (row[place] for row in block))
            others = {
                name if often[name] == 1 else f"{name} ({place})": as_text([row[place] for row in block])
                for place, name in enumerate(self.names)
                if place not in places
            }
            yield self._own(block, columns, done), others
            done += len(block)
            if progress:
                progress(len(block))
        self.rows, self._formats = done, formats

    def _formats_of_cells(self) -> Formats:
        """How the cells are shown, of columns that were looked at beside the hidden ones, or else of all."""
        if self._formats is None:
            formats = Formats()
            for block in self._blocks_of_rows():
                for place in range(len(self.names)):
                    formats.see(place, (row[place] for row in block))
            self._formats = formats
        return self._formats

    def _check(self, columns: Mapping[str, Labels]) -> None:
        """An error unless the columns can be read as asked."""
        self._look([*columns])
        for column, labels in columns.items():
            if labels is None and self.form_of(column).first_text is None:
                self.check_numbers(column, CATEGORIES)

    def _own(self, block: Sequence[_Row], columns: Mapping[str, Labels], done: int) -> Rows:
        """The same rows of several columns as maps see them."""
        return {
            name: self._values([row[self.position(name)] for row in block], name, done, labels)
            for name, labels in columns.items()
        }

    def _values(self, cells: Sequence[Any], column: str, done: int, labels: Labels) -> Array:
        """The rows as a map sees them."""
        if labels is not None:
            form = self.form_of(column)
            if form.kind == "integer":
                refuse_beyond_exact(cells, numbers(cells)[0], column)
            return codes_of(categories(cells, column, labels, form), labels)
        values, wrong = numbers(cells)
        if wrong is not None:
            raise ColumnError(
                f"row {done + wrong + 2} of column {column!r} holds text where a number is expected; mend it, leave it "
                "empty if it is missing, or plan for categories with --labels."
            )
        refuse_beyond_exact(cells, values, column)
        return values

    def _cells(self, position: int) -> Iterator[list[Any]]:
        """The column's cells in blocks."""
        return ([row[position] for row in block] for block in self._blocks_of_rows())

    def _blocks_of_rows(self) -> Iterator[list[_Row]]:
        rows = self._rows()
        while block := list(islice(rows, BLOCK)):
            yield block

    def _rows(self) -> Iterator[_Row]:
        """All rows after the header, each with as many cells as there are names; None where there is no cell."""
        width = len(self.names)
        # closed before the sheet: a reader that an error stops keeps the file open otherwise
        with self._sheet() as (_, sheet), closing(sheet.iter_rows(min_row=2)) as cells:
            number = 2
            # openpyxl warns of odd cells one by one; the filter must not stay set while others run
            while batch := _quietly(cells, 1024):
                if (number + len(batch)) * width > self._most_cells:
                    raise FileError(
                        f"cannot read {self.path}: its first sheet is almost blank, with cells spread over {width:,} "
                        f"column(s) and more than {number:,} rows. Clear the cells far from the others, or save the "
                        "table as CSV."
                    )
                for row in batch:
                    if any(cell.value is not None for cell in row[width:]):
                        raise FileError(
                            f"row {number} of the first sheet of {self.path} has more cells than the {width} column "
                            "name(s) in its first row; name these columns or clear the cells."
                        )
                    yield tuple(row[:width]) + (None,) * (width - len(row))
                    number += 1

    @contextmanager
    def _sheet(self, *, data_only: bool = True) -> Iterator[tuple[Any, Any]]:
        """The workbook and its first sheet, opened for one pass."""
        openpyxl = _openpyxl()
        book = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                book = openpyxl.load_workbook(self.path, read_only=True, data_only=data_only, keep_links=False)
            if not book.worksheets:
                raise FileError(f"cannot read {self.path}: the workbook has no sheet of cells.")
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what the file says of its size is often wrong
            yield book, sheet
        except StatveilError:
            raise
        except Exception as error:  # openpyxl raises whatever the broken place makes it raise
            raise cannot_read(self.path, error, "an Excel") from None
        finally:
            if book is not None:
                book.close()

    # --- writing --------------------------------------------------------------------------------
    def write(
        self, target: Path, changes: Changes, *, shuffle: int | None = None, progress: Progress | None = None
    ) -> None:
        self._check(changes.labels)
        kept = [place for place, name in enumerate(self.names) if name not in changes.dropped]
        new = [name for name in changes.derived if name not in self.names]
        rows = self._released(changes, kept, new, progress)
        if shuffle is not None:  # a sheet has a million rows at most, so they fit into memory
            listed = list(rows)
            rows = (listed[row] for row in shuffled_order(shuffle, len(listed))[: changes.keep].tolist())
        book = _openpyxl().Workbook(write_only=True)
        sheet = book.create_sheet(self._title)
        try:
            _gather(sheet, target.with_name(target.name + ".sheet"))
            sheet.append([*(self.names[place] for place in kept), *new])
            for row in rows:
                sheet.append([written_cell(sheet, cell, value, shown) for cell, value, shown in row])
            writer = importlib.import_module("openpyxl.writer.excel").ExcelWriter
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
                writer(book, archive).save()
        except BaseException as error:
            _remove_temporary(sheet)
            if isinstance(error, OSError):
                raise cannot_write(target, error) from None
            raise

    def _released(
        self, changes: Changes, kept: Sequence[int], new: Sequence[str], progress: Progress | None
    ) -> Iterator[list[_Written]]:
        """Rows as the original cells, the values to write and their formats; no cell where a value is not its own."""
        here = [name for name in changes.derived if name not in new]
        shown = {name: self.form_of(name).number_format for name in (*changes.replaced, *here)}
        done, formats = 0, self._formats_of_cells()
        for index, block in enumerate(self._blocks_of_rows()):
            columns: dict[int, list[_Written]] = {}
            for name, change in changes.replaced.items():
                cells = [row[self.position(name)] for row in block]
                columns[self.position(name)] = [
                    (None, value, shown[name]) if touched or cell is None else (cell, value, str(cell.number_format))
                    for cell, (touched, value) in zip(cells, self._fresh(cells, name, change, index, done), strict=True)
                ]
            released = {name: self._read(name, block, columns) for name in changes.read}
            made = {name: one.to_list() for name, one in changes.worked_out(released).items()}
            for name in here:
                columns[self.position(name)] = [(None, value, shown[name]) for value in made[name]]
            for number, row in enumerate(block):
                own = [
                    columns[place][number]
                    if place in columns
                    else (row[place], None if row[place] is None else row[place].value, formats.of(place, row[place]))
                    for place in kept
                ]
                yield [*own, *((None, made[name][number], "General") for name in new)]
            done += len(block)
            if progress:
                progress(len(block))
        self.rows = done

    def _fresh(
        self, cells: Sequence[Any], name: str, change: Replacement, index: int, done: int
    ) -> Iterator[tuple[bool, Any]]:
        """Whether each cell of the column was released, and the value to write."""
        labels, form = change.labels, self.form_of(name)
        before = self._values(cells, name, done, labels)
        after = change.column_map.block(before, index)
        fresh: list[Any] = [None if cell is None else cell.value for cell in cells]
        known = np.flatnonzero(np.isfinite(before))
        if labels is None:
            after = rounded(after, change.round_digits)
            whole = change.column_map.whole and form.kind == "integer"
            for number, value in zip(known.tolist(), released_numbers(after[known], name, whole), strict=True):
                fresh[number] = value
        else:
            names = label_values(labels, form.dtype).to_list()
            for number in known.tolist():  # changed or not, written alike
                fresh[number] = names[int(after[number])]
        return zip(np.isfinite(before).tolist(), fresh, strict=True)

    def _read(self, name: str, block: Sequence[_Row], columns: Mapping[int, list[_Written]]) -> pl.Series:
        """The released rows of a column as values of its kind, null where one is missing."""
        position, dtype = self.position(name), self.form_of(name).dtype
        cells = [row[position] for row in block]
        if position in columns:
            written = columns[position]
            values = [None if cell is not None else value for cell, value, _ in written]
            return pl.Series(name, values, dtype=pl.Float64() if dtype.is_numeric() else dtype, strict=False)
        if dtype.is_numeric():
            return pl.Series(name, numbers(cells)[0]).fill_nan(None)
        return categories(cells, name, (), self.form_of(name))


def _openpyxl() -> Any:
    """The library that reads workbooks, which not every installation has."""
    try:
        return importlib.import_module("openpyxl")
    except ImportError:
        raise FileError(
            "reading Excel files needs openpyxl, which is not installed; pip install 'statveil[excel]'."
        ) from None


def _quietly(rows: Iterator[_Row], count: int) -> list[_Row]:
    """Up to ``count`` rows, without the reader's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(islice(rows, count))


def _has_formulas(path: Path) -> bool:
    """Whether any sheet holds a formula: an element called ``f``."""
    try:
        with zipfile.ZipFile(path) as archive:
            sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
            return any(_holds_formula(archive, name) for name in sheets if name.endswith(".xml"))
    except Exception as error:  # a damaged part raises whatever its place makes it raise
        raise cannot_read(path, error, "an Excel") from None


def _holds_formula(archive: zipfile.ZipFile, name: str) -> bool:
    """Whether a sheet holds a formula; its text is looked at piece by piece."""
    with archive.open(name) as part:
        tail = b""
        while chunk := part.read(1 << 20):
            text = tail + chunk
            if any(mark in text for mark in (b"<f>", b"<f ", b"<f/", b":f>", b":f ")):
                return True
            tail = text[-3:]
    return False


def _gather(sheet: Any, path: Path) -> None:
    """Have openpyxl gather the sheet here: in the common temporary folder a kill would leave it for good."""
    writing = importlib.import_module("openpyxl.worksheet._writer")
    writing.ALL_TEMP_FILES.append(os.fspath(path))  # which openpyxl removes at the end
    sheet._writer = writing.WorksheetWriter(sheet, out=os.fspath(path))
    sheet._writer.write_top()


def _remove_temporary(sheet: Any) -> None:
    """Remove the file in which openpyxl gathers the sheet, which it keeps until the process ends otherwise."""
    with suppress(Exception):
        sheet.close()
    with suppress(Exception):
        sheet._writer.cleanup()
