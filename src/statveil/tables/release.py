"""release(): a plan and a table in, the same kind of table out."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from statveil.contradictions import refuse_contradictions
from statveil.planning import Plan
from statveil.spoken import Spoken
from statveil.tables.card import make_card
from statveil.tables.frames import open_frame
from statveil.tables.frames.frame import mapped
from statveil.tables.preparing import prepare
from statveil.tables.record import hash_column, make_record, seed_in

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
    """

    words = "report.release:describe_release"

    table: Any
    card: dict[str, Any]
    record: dict[str, Any]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Release(table={type(self.table).__name__}, mode={self.card['mode']!r}, record=<private>)"


@overload
def release(
    plan: Plan,
    table: Table,
    *,
    column: Any = ...,
    accept: Collection[str] = ...,
    round_digits: int | None = ...,
    seed: int | None = ...,
    record: dict[str, Any] | None = ...,
    shuffle: bool = ...,
    details: Literal[False] = ...,
) -> Table: ...
@overload
def release(
    plan: Plan,
    table: Table,
    *,
    column: Any = ...,
    accept: Collection[str] = ...,
    round_digits: int | None = ...,
    seed: int | None = ...,
    record: dict[str, Any] | None = ...,
    shuffle: bool = ...,
    details: Literal[True],
) -> Release: ...
def release(
    plan: Plan,
    table: Any,
    *,
    column: Any = None,
    accept: Collection[str] = (),
    round_digits: int | None = None,
    seed: int | None = None,
    record: dict[str, Any] | None = None,
    shuffle: bool = False,
    details: bool = False,
) -> Any:
    """The table with one column released under the plan; everything else, and the input, as it was.

    Parameters
    ----------
    plan : Plan
        Made before, without data.
    table : object
        A pandas DataFrame or Series, a Polars DataFrame, LazyFrame or Series, a PyArrow Table, a DuckDB relation, a
        NumPy array or a list. For files there is :func:`release_file`.
    column : str
        The column to release; left out for a single column (array, list, series).
    accept : collection of str
        What to release in spite of its leak, by the names that a refusal gives: ``"step"``, ``"heaps"``, ``"atoms"``,
        ``"ratios"``, ``"order"``, ``"groups"``, ``"few-rows"``, ``"misfit"``.
    round_digits : int, optional
        Decimals of the released numbers (continuous columns only).
    seed : int, optional
        For tests only: a seed that someone can guess undoes the randomness of ``unit``, ``rank`` and ``category``.
    record : dict, optional
        The private record of an earlier release of the same column, whose secret seed is used again.
    shuffle : bool
        Put all rows in a random order, drawn from the secret seed, so that the order tells nothing. Modes that draw
        row by row (``rank``, ``smooth``, ``jitter``, ``unit``, ``category``) refuse a table whose order tells the
        values.
    details : bool
        Return a :class:`Release` with the card and the private record instead of the table alone.

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
    refuse_contradictions(plan)
    frame = open_frame(table, column)
    name = str(frame.series().name or "values") if column is None else str(column)
    sha256 = hash_column(frame) if details or record is not None else ""
    prepared = prepare(
        plan,
        frame.blocks,
        column=name,
        type=frame.type(),
        accept=accept,
        round_digits=round_digits,
        seed=seed,
        secret_seed=None if record is None else seed_in(record, plan, column=column, sha256=sha256, shuffled=shuffle),
        beside=frame.beside,
        shuffled=shuffle,
    )
    release_rows = mapped(prepared.column_map, prepared.labels, round_digits)
    released = frame.released(release_rows, shuffle=prepared.seed if shuffle else None)
    if not details:
        for warning in prepared.warnings:
            warnings.warn(warning, stacklevel=2)
        return released
    card = make_card(
        plan,
        column=None if column is None else name,
        accepted=prepared.accepted,
        round_digits=round_digits,
        test_seed=prepared.test_seed,
        shuffled=shuffle,
        rows=prepared.rows,
    )
    facts = make_record(plan, prepared, column=column, sha256=sha256, shuffled=shuffle)
    return Release(table=released, card=card, record=facts, notes=prepared.warnings)
