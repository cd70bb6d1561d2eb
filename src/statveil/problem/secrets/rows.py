"""The number of rows of the table itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.family import Family
from statveil.problem.secret import Secret

__all__ = ["ROWS", "Rows"]

ROWS = "(rows)"
"""What stands in the place of a column's name where the number of rows is hidden."""


@dataclass(frozen=True, slots=True)
class Rows(Secret):
    """How many rows the table has: how many customers, patients, orders.

    It is no statistic of a column: the table is released as a random part of its rows, whose size is public and stands
    for a whole bin of numbers (docs/row-count.md).
    """

    kind: ClassVar[str] = "rows"
    doc: ClassVar[str] = "the number of rows of the table, of which a random part is released"
    also: ClassVar[Mapping[str, str]] = {"count": "rows", "n": "rows", "size": "rows"}
    of_table: ClassVar[bool] = True

    @property
    def text(self) -> str:
        return "number of rows"

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        raise ProblemError("the number of rows is not a statistic of a family of columns; leave out the family.")
