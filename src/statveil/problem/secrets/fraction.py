"""The share of one category, or of one count."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.family import Family
from statveil.problem.ordinal import Ordinal, Shape
from statveil.problem.secret import Secret

__all__ = ["Fraction"]


@dataclass(frozen=True, slots=True)
class Fraction(Secret):
    """The share of one category: its label, or its number counted from 0.

    For counts (geometric, binomial, Poisson) the category is the count itself: ``Fraction(0)`` is the
    share of zeros.
    """

    category: int | str
    kind: ClassVar[str] = "fraction"
    doc: ClassVar[str] = "the share of category J, written fraction:J (J counts from 0, or is a label)"
    argument: ClassVar[str] = "J"
    also: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("share", "proportion"), "fraction:J, J the label or number of the category"
    )
    synonyms: ClassVar[tuple[str, ...]] = ("share", "proportion")
    of_rows: ClassVar[bool] = True
    is_share: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.category, bool) or not isinstance(self.category, int | str):
            raise ProblemError(
                f"the 'category' of a fraction must be a whole number from 0 or a label. Got {self.category!r}."
            )

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.pmf(self.counted(family), params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.share(self.counted(family))

    def counted(self, family: Family) -> int:
        return family.category_index(self.category)

    def check(self, family: Family) -> None:
        self.counted(family)

    def shape(self, family: Ordinal) -> Shape:
        return family.share_shape(self.counted(family))

    @property
    def label(self) -> str:
        return f"fraction:{self.category}"

    @property
    def text(self) -> str:
        return f"share of {self.category}"

    @property
    def plain(self) -> str:
        return f"share of {self.category!r}"

    @property
    def explained(self) -> str:
        return "how many of all rows hold it"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return cls(0), cls(1)

    @classmethod
    def parse(cls, argument: str, number: Callable[[str, str], float]) -> Secret:
        # a number of thousands of digits is no place among the categories, and Python would not read it
        return cls(int(argument) if re.fullmatch(r"-?[0-9]{1,18}", argument) else argument)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "category": self.category}
