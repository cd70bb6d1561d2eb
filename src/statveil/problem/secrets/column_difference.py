"""By how much the mean of one column is larger than that of another column of the same table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from statveil.problem.compared import DifferenceOfMeans
from statveil.problem.of_columns import OfColumns
from statveil.problem.secret import Apart, Secret

__all__ = ["ColumnDifference"]


@dataclass(frozen=True, slots=True)
class ColumnDifference(DifferenceOfMeans, OfColumns):
    """The mean of ``column`` less that of ``base``, two columns of one table in one unit."""

    kind: ClassVar[str] = "column-difference"
    doc: ClassVar[str] = "the mean of one column less that of another, written column-difference:revenue-cost"
    argument: ClassVar[str] = "COLUMN-COLUMN"

    @property
    def apart(self) -> Apart:
        # each column moves by half of the change
        return Apart(kind="column-shift", in_rows=0.5, parts=self.two)

    @property
    def text(self) -> str:
        return f"difference of the means of the columns {self.column!r} and {self.base!r}"

    @property
    def plain(self) -> str:
        return f"gap between the averages of the columns {self.column!r} and {self.base!r}"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return (cls("revenue", "cost"),)
