"""release(): a plan and a table in, the same kind of table out, in memory or in a file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from statveil.errors import FileError, TableError
from statveil.made_plan import Plan
from statveil.specification.planned import TablePlan
from statveil.spoken import Spoken
from statveil.tables.bookkeeping import Bookkeeper, Books, NoBooks, Written, books_of, source_mark
from statveil.tables.frame_hash import hash_frame
from statveil.tables.frames import open_frame
from statveil.tables.task import OneColumn, Ready, Task

__all__ = ["Release", "release"]

Table = TypeVar("Table")


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Spoken):
    """A released table with what belongs to it.

    Attributes
    ----------
    table : object
        The released table; for files its path. Public.
    card : dict
        How it was released, with the guarantee and its assumptions. Public.
    record : dict
        True statistic, coefficients and secret seed. Private: never share it.
    notes : tuple of str
        What the holder should know before publishing: what of a file was not carried over, and warnings.
    to_check : tuple of str
        What the guarantee rests on and only the holder can know, with the names of the columns that it is about.
    """

    words = "report.release:describe_release"

    table: Any
    card: dict[str, Any]
    record: dict[str, Any]
    notes: tuple[str, ...] = ()
    to_check: tuple[str, ...] = ()

    def __repr__(self) -> str:
        what = f"mode={self.card['mode']!r}" if "mode" in self.card else f"columns={len(self.card['columns'])}"
        return f"Release(table={type(self.table).__name__}, {what}, record=<private>)"


Place = str | os.PathLike[str]


@overload
def release(
    plan: Plan | TablePlan,
    table: Place,
    *,
    output: Place,
    column: Any = ...,
    accept: Collection[str] = ...,
    round_digits: int | None = ...,
    seed: int | None = ...,
    record: Place | None = ...,
    shuffle: bool = ...,
    ledger: Books | Bookkeeper | None = ...,
    dataset: str | None = ...,
    budget: float | None = ...,
    audience: str | None = ...,
    overwrite: bool = ...,
    details: Literal[False] = ...,
) -> Path: ...
@overload
def release(
    plan: Plan | TablePlan,
    table: Table,
    *,
    column: Any = ...,
    accept: Collection[str] = ...,
    round_digits: int | None = ...,
    seed: int | None = ...,
    record: dict[str, Any] | None = ...,
    shuffle: bool = ...,
    ledger: Books | Bookkeeper | None = ...,
    dataset: str | None = ...,
    budget: float | None = ...,
    audience: str | None = ...,
    details: Literal[False] = ...,
) -> Table: ...
@overload
def release(
    plan: Plan | TablePlan,
    table: Any,
    *,
    output: Place | None = ...,
    column: Any = ...,
    accept: Collection[str] = ...,
    round_digits: int | None = ...,
    seed: int | None = ...,
    record: dict[str, Any] | Place | None = ...,
    shuffle: bool = ...,
    ledger: Books | Bookkeeper | None = ...,
    dataset: str | None = ...,
    budget: float | None = ...,
    audience: str | None = ...,
    overwrite: bool = ...,
    details: Literal[True],
) -> Release: ...
def release(
    plan: Plan | TablePlan,
    table: Any,
    *,
    output: Place | None = None,
    column: Any = None,
    accept: Collection[str] = (),
    round_digits: int | None = None,
    seed: int | None = None,
    record: Any = None,
    shuffle: bool = False,
    ledger: Books | Bookkeeper | None = None,
    dataset: str | None = None,
    budget: float | None = None,
    audience: str | None = None,
    overwrite: bool = False,
    details: bool = False,
) -> Any:
    """The table with one column released under the plan; everything else, and the input, as it was.

    Parameters
    ----------
    plan : Plan or TablePlan
        Made before, without data. The plans of a specification (:func:`plan_specification`) say themselves what becomes
        of each column: ``column``, ``accept``, ``round_digits`` and ``shuffle`` are left out then.
    table : object or path
        A pandas DataFrame or Series, a Polars DataFrame, LazyFrame or Series, a PyArrow Table, a DuckDB relation, a
        Spark DataFrame, a NumPy array or a list, or the path of a file, for which :func:`release_file` says more.
    output : path
        Where a released file is written; for files only.
    column : str
        The column to release; left out for a single column (array, list, series), and where the plan names two
        columns itself.
    accept : collection of str
        What to release in spite of its leak, by the names that a refusal gives: ``"step"``, ``"heaps"``, ``"atoms"``,
        ``"ratios"``, ``"order"``, ``"groups"``, ``"few-rows"``, ``"misfit"``, ``"repeated"``.
    round_digits : int, optional
        Decimals of the released numbers (continuous columns only).
    seed : int, optional
        For tests only: a seed that someone can guess undoes the randomness of ``unit``, ``rank`` and ``category``.
    record : dict or path, optional
        The private record of earlier releases of the same column, whose secret seed is used again. Under another plan
        the joint risk of all of them is in a note, or refused where it is 1 and ``"repeated"`` is not accepted. For a
        file, the path where it is, or where it will be kept.
    shuffle : bool
        Put all rows in a random order, drawn from the secret seed, so that the order tells nothing. Modes that draw
        row by row (``rank``, ``smooth``, ``jitter``, ``unit``, ``category``) refuse a table whose order tells the
        values.
    ledger : Ledger, optional
        Where the release is entered before it is handed over, such as ``sv.Ledger("books.db")``, with the name of the
        ``dataset``, the ``budget`` of the plan's secret where none is set yet, and who gets it (``audience``). What
        would pass a budget is refused before any data is read.
    overwrite : bool
        Replace an existing ``output``; for files only.
    details : bool
        Return a :class:`Release` with the card and the private record instead of the table (or its path) alone.

    Examples
    --------
    >>> import statveil as sv
    >>> salaries = sv.Problem(
    ...     family=sv.Location(),
    ...     prior=sv.Box(mean=(40_000, 140_000)),
    ...     secret=sv.Mean(),
    ...     tolerance=1_000,
    ...     known=sv.Structure(step=1),  # everyone knows that salaries are whole numbers
    ... )
    >>> plan = sv.plan(salaries, max_risk=0.2)
    >>> sv.release(plan, [61_234, 58_310, 71_001, 66_120])
    [64295, 61371, 74062, 69181]
    """
    task: Task
    if isinstance(plan, Plan) and plan.release_mode.of_table:
        task = rows_task(plan, seed, accept=accept, column=column, round_digits=round_digits)
    elif isinstance(plan, Plan):
        task = column_task(plan, column=column, accept=accept, round_digits=round_digits, seed=seed, shuffle=shuffle)
    else:
        task = _whole_table(plan, seed, column=column, accept=accept, round_digits=round_digits, shuffle=shuffle)
    books = books_of(ledger, dataset=dataset, budget=budget, audience=audience)
    if ledger is not None and isinstance(task, OneColumn) and task.column is None:
        raise TableError(
            "a ledger counts releases by the name of the column; say which: column=... A single column has no name, so "
            "release it as a column of a table."
        )
    if isinstance(table, str | os.PathLike):
        from statveil.tables.release_file import release_to  # which needs Release

        if output is None:
            raise FileError("the table is a file, so say where to write the released one: output=...")
        done = release_to(task, table, output, record=record, overwrite=overwrite, ledger=books)
    elif output is not None or overwrite:
        raise TableError("a table in memory is released to a new object; leave out output and overwrite.")
    else:
        done = _in_memory(task, table, record, books=books, kept=details or record is not None)
    if details:
        return done
    for note in done.notes:
        warnings.warn(note, stacklevel=2)
    return done.table


def rows_task(plan: Plan, seed: int | None, *, accept: Collection[str], column: Any, round_digits: int | None) -> Task:
    """The task of a plan that hides the number of rows, which is about no column; rows are always shuffled."""
    from statveil.tables.rows_task import SomeRows  # not loaded for one column alone

    if column is not None or round_digits is not None:
        given = "a column" if column is not None else "a rounding"
        raise TableError(f"the plan hides the number of rows of the whole table. Got {given}; leave it out.")
    return SomeRows(plan=plan, accept=accept, seed=seed)


def column_task(
    plan: Plan, *, column: Any, accept: Collection[str], round_digits: int | None, seed: int | None, shuffle: bool
) -> Task:
    """The task of a plan that hides a statistic of one column, or of the two that its secret names."""
    if not plan.release_mode.of_columns:
        return OneColumn(plan=plan, column=column, accept=accept, round_digits=round_digits, seed=seed, shuffle=shuffle)
    from statveil.tables.pair_task import TwoColumns  # not loaded for one column alone

    if column is not None:
        raise TableError(
            f"the plan compares two columns, which it names itself ({plan.problem.secret.label}). Got column "
            f"{str(column)!r}; leave it out."
        )
    return TwoColumns(plan=plan, accept=accept, round_digits=round_digits, seed=seed, shuffle=shuffle)


def _whole_table(plan: TablePlan, seed: int | None, **others: Any) -> Task:
    """The task of a specification, which says itself what becomes of which column."""
    from statveil.tables.table_task import WholeTable  # not loaded for one column alone

    given = [name for name, value in others.items() if value not in (None, (), False)]
    if given:
        raise TableError(f"a specification says what becomes of each column itself; leave out {', '.join(given)}.")
    return WholeTable(plan=plan, seed=seed)


def _in_memory(task: Task, table: Any, record: Any, *, books: Bookkeeper, kept: bool) -> Release:
    """The release of a table in memory; ``kept`` says whether the holder has, or gets, its record."""
    for column, plan in task.plans.items():
        books.admit(plan, column=column, recorded=record is not None)
    given = open_frame(table)
    task.check(given)
    with given.at_work(from_sums=task.from_sums) as source:
        sha256 = task.hashed(source) if kept else ""
        lent = None if record is None else task.recorded(record, source, sha256=sha256)
        ready = task.ready(source, sha256=sha256, lent=lent)
        released = source.released(ready.changes, shuffle=ready.shuffle)
        if not isinstance(books, NoBooks):
            known = kept and task.seed is None
            _enter(books, task, ready, released, source_mark(ready.seed, sha256) if known else None)
    notes = (*source.notes, *ready.notes, *books.notes)
    return Release(table=released, card=ready.card(None), record=ready.record, notes=notes, to_check=ready.to_check)


def _enter(books: Bookkeeper, task: Task, ready: Ready, released: Any, source: str | None) -> None:
    """The entries of a table in memory, which stand before anyone gets it."""
    sha256 = hash_frame(open_frame(released))
    written = [
        Written(
            plan=plan,
            column=column,
            sha256=sha256,
            source=source,
            accepted=ready.accepted.get(column, ()),
            shuffled=ready.shuffle is not None,
        )
        for column, plan in task.plans.items()
    ]
    with books.entered(*written):
        pass
