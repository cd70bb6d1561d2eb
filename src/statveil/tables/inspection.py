"""inspect(): what a column looks like to its holder, so that the holder knows what to declare. Private."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from statveil.errors import ColumnError, FileError, StatveilError, TableError
from statveil.spoken import Drawn, Progress
from statveil.tables.blocks import Array
from statveil.tables.files import TableFile
from statveil.tables.fit import Fit, fits
from statveil.tables.measure import Measured, measure
from statveil.tables.proposal import name_grids, propose
from statveil.tables.series import ColumnType
from statveil.tables.source import Source, open_source
from statveil.tables.structure.column.bound_search import bounds_shown, ends_shown
from statveil.tables.structure.column.end_search import End
from statveil.tables.structure.column.findings import Finding, Sampler, find_structure
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.text_look import text_says
from statveil.tables.verification import bound_findings, end_asked, name_filled, precision, step_of

__all__ = ["ColumnReport", "Inspection", "inspect"]

MOST_COLUMNS = 1000
"""Columns of a file that are looked at in one go: each takes a pass over the whole file."""
_FILLED = 0.02
"""Standard deviations between an atom and the mean or median within which it is taken for filled gaps."""
_FAR = 10.0
"""How many times its distance from the mean a sharp end may lie from 0 to be proposed: beyond, 5 % of the statistic,
the tolerance of the proposed command, is more than half of that distance, and hardly any such plan can be made."""
PRIVATE = "PRIVATE: computed from the original table. Do not publish, and do not choose a prior from it."


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """One column: its numbers, the structure found, the families that fit, and what would leak."""

    column: str
    type: str
    rows: int
    untouched: int
    """Rows that are missing, NaN or infinite; a release leaves them as they are."""
    measured: Measured | None
    structure: tuple[Finding, ...]
    families: tuple[Fit, ...]
    leaks: tuple[str, ...]
    known: str
    """What to give to ``--known``, if it is common knowledge of such columns."""
    command: str = ""
    """The ``statveil plan`` to copy, with the prior to fill in; empty where no map of the column hides it."""
    shuffle: bool = False
    """Whether the release needs ``--shuffle``: the order of the rows tells their values."""
    no_map: tuple[str, ...] = ()
    """Which declarations have no map, for which statistics."""

    def to_json(self) -> dict[str, Any]:
        """The report for scripts."""
        numbers = self.measured
        return {
            "column": self.column,
            "type": self.type,
            "rows": self.rows,
            "untouched": self.untouched,
            "minimum": None if numbers is None else numbers.minimum,
            "maximum": None if numbers is None else numbers.maximum,
            "mean": None if numbers is None else numbers.mean,
            "std": None if numbers is None else numbers.std,
            "structure": [
                {"name": found.name, "values": list(found.values), "flag": found.flag, "says": found.says}
                for found in self.structure
            ],
            "families": [
                {"family": fit.family, "parameters": fit.params, "distance": fit.distance, "says": fit.says}
                for fit in self.families
            ],
            "leaks": list(self.leaks),
            "known": self.known,
            "command": self.command,
            "shuffle": self.shuffle,
            "no_map": list(self.no_map),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection(Drawn):
    """What was found in a table. Private."""

    words = "report.inspection:describe_inspection"
    picture = "report.inspection_chart:inspection_chart"
    frame = "report.frames:inspection_frame"

    columns: tuple[ColumnReport, ...]

    def to_json(self) -> dict[str, Any]:
        """The inspection for scripts."""
        return {"private": PRIVATE, "columns": [report.to_json() for report in self.columns]}


def inspect(
    table: Any,
    *,
    column: Any = None,
    progress: Progress = lambda stage, rows, total: None,
) -> Inspection:
    """Look at one column of a table, or at all of them.

    Parameters
    ----------
    table : object or path
        Anything that :func:`release` takes: a table in memory, or the path of a file.
    column : str, optional
        One column; all if left out.
    progress : callable, optional
        Called with what is done, rows just done, and rows in all where that is known.
    """
    source = open_source(table)
    if column is None and isinstance(source, TableFile) and len(source.names) > MOST_COLUMNS:
        raise TableError(
            f"{source} has {len(source.names):,} columns, and at most {MOST_COLUMNS:,} are looked at together; "
            "name one with --column (column=...)."
        )
    names = source.names if column is None else [source.find(column)]
    reports = [_column(source, name, progress) for name in names]
    # a column without numbers is not read to its end, but another one may have told how many rows there are
    return Inspection(columns=tuple(replace(one, rows=one.rows or source.rows or 0) for one in reports))


def _column(source: Source, name: Any, progress: Progress) -> ColumnReport:
    label = "values" if name is None else str(name)

    def blocks() -> Iterator[Array]:
        return source.blocks(name, progress=lambda rows: progress(f"reading {label}", rows, source.rows))

    try:
        source.find(name)
        label = source.label(name)
        kind = source.type_of(name)
        if kind.kind == "text":
            return _empty(label, kind.name, (text_says(next(iter(source.pieces(name)), pl.Series(dtype=pl.String))),))
        return _report(label, kind, blocks)
    except ColumnError as error:  # the other columns can still be looked at
        return _empty(label, "other", (str(error),))


def _empty(name: str, kind: str, leaks: tuple[str, ...], rows: int = 0, untouched: int = 0) -> ColumnReport:
    return ColumnReport(
        column=name,
        type=kind,
        rows=rows,
        untouched=untouched,
        measured=None,
        structure=(),
        families=(),
        leaks=leaks,
        known="",
    )


def _report(name: str, found: ColumnType, blocks: Callable[[], Iterator[Array]]) -> ColumnReport:
    if not found.numeric:
        says = {
            "boolean": "Categories: plan with --family categorical --labels true,false.",
        }
        return _empty(name, found.name, (says.get(found.kind, "Neither numbers nor categories."),))
    sampler, order, seen = Sampler(), Order(), Counter[str]()

    def watch(values: Array, start: int) -> None:
        sampler.add(values, start)
        order.add(values)
        seen["rows"] += len(values)
        seen["whole"] += int(np.count_nonzero(values == np.floor(values)))

    try:
        measured = measure(blocks, watch=watch)
    except FileError:  # no other column can be trusted then
        raise
    except StatveilError as error:
        return _empty(name, found.name, (str(error),), seen["rows"], untouched=seen["rows"])
    sample = sampler.values
    shown = find_structure(sample, bits=precision(sample, found.bits, ()))
    structure = name_filled(
        name_grids(shown, found.bits), (measured.mean, float(np.median(sample))), _FILLED * measured.std
    )
    counts = measured.minimum >= 0 and seen["whole"] >= measured.rows
    families = tuple(fits(sampler.values, whole=counts)) if measured.maximum > measured.minimum else ()
    minimum, maximum = bounds_shown(sample)
    if minimum is None and 0 <= measured.minimum <= 0.1 * measured.mean:  # far from 0, the bound tells nothing
        minimum, maximum = 0.0, maximum if maximum is not None else bounds_shown(sample, (0.0, None))[1]
    low, high = ends_shown(sample, (minimum, maximum), step_of(shown))
    # not two bounds by sharp ends: between two few statistics can be hidden, and only the holder knows which are known
    if low is not None and low.clear and maximum is None and _near_zero(low, measured):
        minimum = low.value
    if high is not None and high.clear and minimum is None and _near_zero(high, measured):
        maximum = high.value
    declared = [*bound_findings(minimum, maximum), *structure]
    leaks = [
        f"{one.says} Declare it ({one.flag}) if it is known of such columns." if one.flag else one.says
        for one in declared
    ]
    leaks += [end_asked(name, end) for name, end in (("min", low), ("max", high)) if end is not None]
    proposal = propose(declared, sample=sample, structure=shown, measured=measured, order=order, bits=found.bits)
    return ColumnReport(
        column=name,
        type=found.name,
        rows=seen["rows"],
        untouched=seen["rows"] - measured.rows,
        measured=measured,
        structure=tuple(structure),
        families=families,
        leaks=tuple(leaks),
        known=proposal.known,
        command=proposal.command,
        shuffle=proposal.shuffle,
        no_map=proposal.no_map,
    )


def _near_zero(end: End, measured: Measured) -> bool:
    return abs(end.value) <= _FAR * abs(measured.mean - end.value)
