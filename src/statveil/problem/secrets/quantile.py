"""The alpha-quantile of the column."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number
from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.secret import Secret

__all__ = ["Quantile"]


@dataclass(frozen=True, slots=True)
class Quantile(Secret):
    """The alpha-quantile of the column, for example ``Quantile(0.95)``."""

    alpha: float
    kind: ClassVar[str] = "quantile"
    doc: ClassVar[str] = "the alpha-quantile, written quantile:0.95"
    argument: ClassVar[str] = "A"
    on_steps: ClassVar[bool] = True
    also: ClassVar[Mapping[str, str]] = {
        "percentile": "quantile:0.95 for the 95th percentile",
    }

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", number(self.alpha, "the 'alpha' of a quantile"))
        if not 0 <= self.alpha <= 1:
            raise ProblemError(
                f"the 'alpha' of a quantile must be a number in [0, 1]. Got {self.alpha:g}; "
                "write 0.95 for the 95th percentile."
            )

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.quantile(self.alpha, params)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return numbers.quantile(self.alpha)

    @property
    def levels(self) -> tuple[float, ...]:
        return (self.alpha,)

    @property
    def per_shift(self) -> float:
        return 1.0

    @property
    def most_away(self) -> float | None:
        # E|X - q| <= (std^2 + (q - mean)^2)^(1/2), and Cantelli bounds |q - mean| / std by ((1 - a) / a)^(1/2) below
        # and (a / (1 - a))^(1/2) above
        rarer = min(self.alpha, 1 - self.alpha)
        return rarer**-0.5 if rarer > 0 else None

    def check(self, family: Family) -> None:
        zero, one = family.quantile_ends
        if (self.alpha == 0 and not zero) or (self.alpha == 1 and not one):
            raise ProblemError(
                f"the {self.alpha:g}-quantile of {family.name!r} is infinite or the same for every parameter, so there "
                f"is nothing to hide. Allowed: alpha in {'[' if zero else '('}0, 1{']' if one else ')'}."
            )

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 1.0, float(family.z_quantile(self.alpha))

    @property
    def label(self) -> str:
        return f"quantile:{self.alpha!r}"

    @property
    def text(self) -> str:
        return f"{self.alpha:g}-quantile"

    @property
    def plain(self) -> str:
        return f"{100 * self.alpha:.6g} % mark"

    @property
    def explained(self) -> str:
        return f"{100 * self.alpha:.6g} % of the rows lie at or below it"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return cls(0.95), cls(0.1), cls(0.5)

    @classmethod
    def meant(cls, text: str) -> str | None:
        percentile = re.fullmatch(r"[pq](\d{1,2})", text)
        return f"quantile:{int(percentile[1]) / 100:g}" if percentile else cls.also.get(text.partition(":")[0].lower())

    @classmethod
    def parse(cls, argument: str, number: Callable[[str, str], float]) -> Secret:
        return cls(number(argument, "the alpha of a quantile"))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "alpha": self.alpha}
