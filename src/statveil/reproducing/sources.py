"""The data sets of the paper: read from the user's files where given, generated stand-ins otherwise."""

from __future__ import annotations

import os
from dataclasses import dataclass

from statveil.datasets.dataset import Dataset
from statveil.datasets.mba import PROVIDER, read_mba
from statveil.datasets.salary import read_salary
from statveil.datasets.stand_ins import mba_stand_in, salary_stand_in, wwt_stand_in
from statveil.datasets.wwt import read_wwt
from statveil.errors import FileError

__all__ = ["Path", "Sources"]

Path = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the data sets are.

    Parameters
    ----------
    wwt, mba, salary : path, optional
        The user's files; a stand-in is generated where there is none.
    mba_homes : path, optional
        Which provider each home of ``mba`` has, where the file does not say.
    mba_provider : str or None
        Whose homes of ``mba`` to take; None takes all.
    """

    wwt: Path | None = None
    mba: Path | None = None
    mba_homes: Path | None = None
    mba_provider: str | None = PROVIDER
    salary: Path | None = None

    def __post_init__(self) -> None:
        if self.mba is None and self.mba_homes is not None:
            raise FileError("a table of homes says whose client each home of the MBA file is; give that file too.")

    def dataset(self, name: str, *, seed: int, pages: int) -> Dataset:
        """One data set by name."""
        if name == "wwt":
            return wwt_stand_in(seed=seed, pages=pages) if self.wwt is None else read_wwt(self.wwt)
        if name == "mba":
            if self.mba is None:
                return mba_stand_in(seed=seed)
            return read_mba(self.mba, homes=self.mba_homes, provider=self.mba_provider)
        return salary_stand_in(seed=seed) if self.salary is None else read_salary(self.salary)
