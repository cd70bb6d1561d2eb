"""The share of one category, or of one count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.family import Family
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

    def __post_init__(self) -> None:
        if isinstance(self.category, bool) or not isinstance(self.category, int | str):
            raise ProblemError(
                f"the 'category' of a fraction must be a whole number from 0 or a label. Got {self.category!r}."
            )

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.pmf(family.category_index(self.category), params)

    def check(self, family: Family) -> None:
        family.category_index(self.category)

    @property
    def label(self) -> str:
        return f"fraction:{self.category}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "category": self.category}
