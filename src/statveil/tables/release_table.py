"""release_table(): the plans of a specification and a file of any size in, the released table with one card out."""

from __future__ import annotations

import os
from collections.abc import Collection

from statveil.specification.planned import TablePlan
from statveil.tables.bookkeeping import Bookkeeper
from statveil.tables.files import open_table
from statveil.tables.release import Release
from statveil.tables.release_file import Opened, Stage, release_to
from statveil.tables.table_task import WholeTable

__all__ = ["release_table"]


def release_table(
    plan: TablePlan,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    seed: int | None = None,
    record: str | os.PathLike[str] | None = None,
    planned_again: bool = False,
    overwrite: bool = False,
    protect: Collection[str | os.PathLike[str]] = (),
    ledger: Bookkeeper | None = None,
    opened: Opened = open_table,
    progress: Stage = lambda stage, rows, total: None,
) -> Release:
    """Write ``target``, the table of ``source`` with all columns as the specification says, and one card beside it.

    All hidden columns are measured and verified in the same passes, and everything is written in one. Columns that are
    published as they are, and hidden columns under different maps, must not tell each other: what is found is refused
    with what to do about it (``drop``, ``derive``, ``link``, ``shuffle``).

    Parameters
    ----------
    plan : TablePlan
        Made before, without data, by :func:`plan_specification`.
    source, target : path
        As for :func:`release_file`.
    seed : int, optional
        For tests only.
    record : path, optional
        Where to keep the private record of all columns. A record of the same table lends its random streams, also to
        other plans.
    planned_again : bool
        Say on the card that the plans were made again after earlier ones had been tried on this table.
    overwrite, protect, ledger, opened, progress
        As for :func:`release_file`.
    """
    task = WholeTable(plan=plan, seed=seed, planned_again=planned_again)
    return release_to(
        task,
        source,
        target,
        record=record,
        overwrite=overwrite,
        protect=protect,
        ledger=ledger,
        opened=opened,
        progress=progress,
    )
