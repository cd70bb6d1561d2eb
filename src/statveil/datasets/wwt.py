"""Wikipedia Web Traffic: the mean daily views of each page (the paper's first data set, secret = mean)."""

from __future__ import annotations

import datetime as dt
import os
import re

import numpy as np
import polars as pl

from statveil.datasets.csv_stream import collect_csv, refuse_wrong_cell
from statveil.datasets.dataset import Dataset
from statveil.datasets.small_table import numbers_of
from statveil.datasets.unpacking import unpacked
from statveil.errors import TableError
from statveil.tables.blocks import Array
from statveil.tables.files import TableFile, open_table

__all__ = ["read_wwt"]

_PAGE, _MEAN = "Page", "mean_views"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def read_wwt(path: str | os.PathLike[str]) -> Dataset:
    """Mean daily views of the pages that have a number on every day, in the file's order.

    Parameters
    ----------
    path : path
        Kaggle's ``train_1.csv`` (also as ``.csv.gz``, or in the ``.zip`` that Kaggle ships): a column ``Page``, then
        a column a day named YYYY-MM-DD. Or a table of any known format that has the means already, in ``mean_views``.

    Notes
    -----
    As in the paper: a page with an empty day is left out (117,277 of 145,063 pages are left), and a page's value is
    its mean over all days.
    """
    with unpacked(path) as place:
        table = open_table(place)
        if _PAGE in table.names:
            return _from_days(table)
        if _MEAN in table.names:
            return _from_means(table)
        raise TableError(
            f"{table.path} has neither a column {_PAGE!r} nor a column {_MEAN!r}; its columns begin with "
            f"{', '.join(map(repr, table.names[:3]))}. Give Kaggle's train_1.csv (a column {_PAGE!r}, then a column "
            f"a day named YYYY-MM-DD), or a table with the mean of each page in {_MEAN!r}."
        )


def _from_days(table: TableFile) -> Dataset:
    """The layout of Kaggle: one row per page, one column per day."""
    days = _days(table)
    # one gap makes the sum null, so a page with a gap has no mean
    total = pl.sum_horizontal(pl.col(days), ignore_nulls=False)
    answer, rows = collect_csv(table, numbers=days, query=lambda scan: scan.select(total=total).drop_nulls())
    totals = answer["total"].to_numpy()
    if not np.isfinite(totals).all():  # a NaN is a gap, but infinities of both signs add up to one as well
        refuse_wrong_cell(table, days)
        totals = totals[np.isfinite(totals)]
    if not len(totals):
        raise TableError(
            f"none of the {rows:,} pages of {table.path} has a number on every one of its {len(days)} days, and only "
            "such pages are kept. Check that the file is whole."
        )
    period = f"{len(days)} days, {min(days)} to {max(days)}"
    source = f"{table.path.name}: mean over {period}, of pages without an empty day"
    return _dataset(totals / len(days), rows_read=rows, source=source)


def _from_means(table: TableFile) -> Dataset:
    """A table that was reduced before: one row per page, with its mean."""
    read = numbers_of(table, _MEAN)
    kept = read[np.isfinite(read)]
    if not len(kept):
        raise TableError(f"column {_MEAN!r} of {table.path} holds no number in {len(read):,} rows. Check the file.")
    return _dataset(kept, rows_read=len(read), source=f"{table.path.name}: column {_MEAN!r} as it stands")


def _days(table: TableFile) -> list[str]:
    """The day columns; an error if there is none, or if a column is neither a day nor the page."""
    others = [name for name in table.names if name != _PAGE]
    strange = [name for name in others if not _is_day(name)]
    if strange or not others:
        found = f"a column {strange[0]!r}" if strange else "no other column"
        raise TableError(
            f"{table.path} has {found} beside {_PAGE!r}, where every other column must be a day named YYYY-MM-DD, as "
            "in Kaggle's train_1.csv. Remove what is not a day, or give that file."
        )
    return others


def _is_day(name: str) -> bool:
    """Whether the name is a date that exists."""
    if not _DATE.fullmatch(name):
        return False
    try:
        dt.date.fromisoformat(name)
    except ValueError:
        return False
    return True


def _dataset(values: Array, *, rows_read: int, source: str) -> Dataset:
    return Dataset(
        name="wwt",
        label="Wikipedia Web Traffic",
        values=values,
        unit="views a day",
        source=source,
        rows_read=rows_read,
        rows_kept=len(values),
        is_stand_in=False,
    )
