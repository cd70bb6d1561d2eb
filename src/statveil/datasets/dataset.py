"""One column of numbers with where it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.errors import TableError, unknown_name
from statveil.tables.blocks import Array

__all__ = ["Dataset"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """The values of one data set of the paper, and where they come from.

    Parameters
    ----------
    name : str
        Short name: ``wwt``, ``mba`` or ``salary``.
    label : str
        What a figure or a table calls it. A stand-in's label must say "stand-in".
    values : array
        Finite numbers; kept as a copy that cannot be written to.
    unit : str
        What one unit of a value is.
    source : str
        Which file, or which generator and seed, and what was selected.
    rows_read, rows_kept : int
        Rows of the file, and rows of it that the values were computed from (several may make one value).
    is_stand_in : bool
        Whether the values are generated.
    groups : tuple of str
        The group of each value; empty where there are none.
    """

    name: str
    label: str
    values: Array
    unit: str
    source: str
    rows_read: int
    rows_kept: int
    is_stand_in: bool
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.ndim != 1 or not len(values):
            raise TableError(
                f"a data set needs at least one value in one column, but {self.name!r} has an array of shape "
                f"{values.shape}. Give a file with usable rows, or ask for at least one."
            )
        if not np.isfinite(values).all():
            raise TableError(f"the values of {self.name!r} must be finite numbers; leave out rows without one.")
        if not len(values) <= self.rows_kept <= self.rows_read:
            raise TableError(
                f"{len(values)} values of {self.name!r} cannot come from {self.rows_kept} rows kept of the "
                f"{self.rows_read} read; a value needs a row that was kept, and a kept row was read."
            )
        if self.groups and len(self.groups) != len(values):
            raise TableError(
                f"{self.name!r} has {len(values)} values but {len(self.groups)} groups; give one for each."
            )
        # no figure may show generated numbers under the name of real ones
        if self.is_stand_in != ("stand-in" in self.label):
            raise TableError(
                f"the label {self.label!r} of {self.name!r} must say 'stand-in' exactly if the values are generated."
            )
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    def in_group(self, group: str) -> Array:
        """The values of one group."""
        if group not in self.groups:
            raise TableError(unknown_name(f"group of {self.label}", group, sorted(set(self.groups))))
        return np.compress([name == group for name in self.groups], self.values)

    @property
    def says(self) -> str:
        """One sentence: how many values, and from what."""
        kept = "" if self.is_stand_in else f"{self.rows_kept:,} of {self.rows_read:,} rows kept; "
        return f"{self.label}: {len(self.values):,} values in {self.unit} ({kept}{self.source})."
