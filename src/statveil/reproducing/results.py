"""What an item gives back: figures, tables, the paper's claims held against the numbers, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statveil.datasets.dataset import Dataset

__all__ = ["Claim", "Column", "Figure", "Outcome", "ResultTable"]

Value = str | float | int | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something that the paper says or shows, and whether the numbers here agree."""

    says: str
    holds: bool
    evidence: str
    """The numbers that decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One picture."""

    name: str
    """Name of its files, without suffix."""
    chart: Any
    """An Altair chart."""
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table: what it means, and to which side its numbers are rounded where they are shown short."""

    name: str
    meaning: str
    rounded: str = "near"
    """``"up"`` for risks and distortions of ours, ``"down"`` for limits, so that a short number claims no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """Rows by column name. Files have every digit, the page four."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Value]]
    on_page: bool = True
    """Whether the page shows the rows; the points of a curve are in the files only."""

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        if any(set(row) != names for row in self.rows):
            raise ValueError(f"every row of {self.name} must have the columns {sorted(names)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that an item found."""

    figures: tuple[Figure, ...] = ()
    tables: tuple[ResultTable, ...] = ()
    claims: tuple[Claim, ...] = ()
    differs: tuple[str, ...] = ()
    """What is not as in the paper, each with why."""
    datasets: tuple[Dataset, ...] = ()

    @property
    def from_own_file(self) -> bool:
        """Whether numbers were computed from a file that the user gave."""
        return any(not data.is_stand_in for data in self.datasets)
