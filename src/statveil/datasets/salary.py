"""Salaries of people with a Master's or a PhD, in two age groups (the paper's appendix, secret = mean)."""

from __future__ import annotations

import os

import numpy as np

from statveil.datasets.dataset import Dataset
from statveil.datasets.small_table import find_column, numbers_of, plain, texts_of
from statveil.datasets.unpacking import unpacked
from statveil.errors import TableError
from statveil.tables.files import TableFile, open_table

__all__ = ["OLDER", "YOUNGER", "read_salary"]

YOUNGER, OLDER = "age <= 40", "age > 40"
"""The two groups of the paper; each is one peak of the histogram."""

_LIMIT = 40
_DEGREES = ("masters", "phd")


def read_salary(path: str | os.PathLike[str]) -> Dataset:
    """Salaries of people with a Master's or a PhD, each with its age group, in the file's order.

    Parameters
    ----------
    path : path
        Kaggle's "salaly-prediction-for-beginer": a table with age, education (or education level) and salary, in any
        known format. Rows that lack one of the three are left out.
    """
    with unpacked(path) as place:
        table = open_table(place)
        age = numbers_of(table, _column(table, "age"))
        salary = numbers_of(table, _column(table, "salary"))
        education = texts_of(table, _column(table, "education", "education level"))
        degree = np.array([_has_degree(text) for text in education.to_list()], dtype=bool)
        kept = degree & np.isfinite(age) & np.isfinite(salary)
        if not kept.any():
            found = ", ".join(map(repr, education.drop_nulls().unique().sort().head(8).to_list())) or "nothing"
            raise TableError(
                f"none of the {len(kept)} rows of {table.path} has an age, a salary and a Master's or PhD; its "
                f"education column holds {found}. Give the salary table that the paper used."
            )
        return Dataset(
            name="salary",
            label="Salaries, Master's and PhD",
            values=salary[kept],
            unit="the file's currency, a year",
            source=f"{table.path.name}: people with a Master's or a PhD",
            rows_read=len(kept),
            rows_kept=int(kept.sum()),
            is_stand_in=False,
            groups=tuple(YOUNGER if years <= _LIMIT else OLDER for years in age[kept].tolist()),
        )


def _column(table: TableFile, *spellings: str) -> str:
    """The column with this name, or an error."""
    found = find_column(table, *spellings)
    if found is None:
        raise TableError(
            f"{table.path} has no column {' or '.join(map(repr, spellings))}; its columns are "
            f"{', '.join(map(repr, table.names[:10]))}. Give a table with age, education and salary."
        )
    return found


def _has_degree(education: str | None) -> bool:
    """Whether this is a Master's or a PhD, however it is written.

    >>> [_has_degree(text) for text in ("Master's", "Master's Degree", "phD", "Bachelor's", None)]
    [True, True, True, False, False]
    """
    return education is not None and plain(education).startswith(_DEGREES)
