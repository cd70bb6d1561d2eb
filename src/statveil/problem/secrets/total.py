"""The sum of the column, of which everyone knows how many rows it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ColumnError, ProblemError
from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.secret import Secret

__all__ = ["Total"]

_MOST_ROWS = 10**15


@dataclass(frozen=True, slots=True)
class Total(Secret):
    """The sum of the column's ``rows`` values, for example ``Total(12_000)``.

    The number of rows with a value is public, since whoever sees the release counts them: the total is that many times
    the mean.
    """

    rows: int
    kind: ClassVar[str] = "total"
    doc: ClassVar[str] = "the sum of N rows with a value, a public number, written total:12000"
    argument: ClassVar[str] = "N"
    also: ClassVar[Mapping[str, str]] = {"sum": "total:N, N the public number of rows with a value"}

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or not 1 <= self.rows <= _MOST_ROWS:
            raise ProblemError(
                f"the 'rows' of a total must be a whole number from 1 to {_MOST_ROWS:g}, the public number of rows "
                f"with a value. Got {self.rows!r}."
            )

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.rows * family.mean(params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return self.rows * numbers.mean

    def check_rows(self, rows: int) -> None:
        if rows != self.rows:
            raise ColumnError(
                f"it has {rows:,} rows with a value, and the plan hides the total of {self.rows:,}; plan with "
                f"total:{rows}, the number that everyone can count in the release."
            )

    @property
    def per_shift(self) -> float:
        return float(self.rows)

    @property
    def times_mean(self) -> float:
        return float(self.rows)

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return float(self.rows), self.rows * family.z_mean

    @property
    def label(self) -> str:
        return f"total:{self.rows}"

    @property
    def text(self) -> str:
        return "total"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return (cls(1_000),)

    @classmethod
    def parse(cls, argument: str, number: Callable[[str, str], float]) -> Secret:
        rows = number(argument, "the number of rows of a total")
        return cls(int(rows) if rows == int(rows) else rows)  # type: ignore[arg-type]  # refused with a sentence

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "rows": self.rows}
