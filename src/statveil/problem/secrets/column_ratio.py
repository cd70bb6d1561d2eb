"""How many times the mean of one column is that of another column of the same table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from statveil.problem.compared import RatioOfMeans
from statveil.problem.of_columns import OfColumns
from statveil.problem.secret import Apart, Secret

__all__ = ["ColumnRatio"]


@dataclass(frozen=True, slots=True)
class ColumnRatio(RatioOfMeans, OfColumns):
    """The mean of ``column`` over that of ``base``, two columns of one table.

    ``ColumnRatio(column="salary_2024", base="salary_2023")`` is growth from one year to the next.
    """

    kind: ClassVar[str] = "column-ratio"
    doc: ClassVar[str] = "the mean of one column over that of another, written column-ratio:cost/revenue"
    argument: ClassVar[str] = "COLUMN/COLUMN"

    @property
    def apart(self) -> Apart:
        # each column takes half of the logarithm, so that neither moves by more than the other
        return Apart(kind="column-scale", of_logarithm=0.5, parts=self.two)

    @property
    def text(self) -> str:
        return f"ratio of the mean of column {self.column!r} to that of column {self.base!r}"

    @property
    def plain(self) -> str:
        return f"ratio of the averages of the columns {self.column!r} and {self.base!r}"

    @property
    def explained(self) -> str:
        return "it says how many times the second average the first is"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return (cls("cost", "revenue"),)
