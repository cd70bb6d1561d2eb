"""The alpha-quantile of the column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", number(self.alpha, "the 'alpha' of a quantile"))
        if not 0 <= self.alpha <= 1:
            raise ProblemError(
                f"the 'alpha' of a quantile must be a number in [0, 1]. Got {self.alpha:g}; "
                "write 0.95 for the 95th percentile."
            )

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.quantile(self.alpha, params)

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

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "alpha": self.alpha}
