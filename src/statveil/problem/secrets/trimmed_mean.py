"""The mean of the column without its smallest and largest rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import number as finite
from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.secret import Secret

__all__ = ["TrimmedMean"]


@dataclass(frozen=True, slots=True)
class TrimmedMean(Secret):
    """The mean without a ``share`` of the rows at each end (rounded down to whole rows), as SciPy's ``trim_mean``."""

    share: float
    kind: ClassVar[str] = "trimmed-mean"
    doc: ClassVar[str] = "the mean without a share A of the rows at each end, written trimmed-mean:0.1"
    argument: ClassVar[str] = "A"

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", finite(self.share, "the 'share' of a trimmed mean"))
        if not 0 < self.share < 0.5:
            raise ProblemError(
                f"the 'share' of a trimmed mean must be a number between 0 and 0.5, both excluded. Got {self.share:g}; "
                "0.1 leaves out a tenth of the rows at each end."
            )

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        if isinstance(family, LocationScale):
            return np.asarray(family.loc(params) + family.scale(params) * family.z_trimmed(self.share))
        nodes, weights = np.polynomial.legendre.leggauss(400)
        levels = self.share + (1 - 2 * self.share) * 0.5 * (1 + nodes)
        with_levels = {name: np.asarray(value, dtype=np.float64)[..., None] for name, value in params.items()}
        return np.asarray(family.quantile(levels, with_levels) @ (0.5 * weights), dtype=np.float64)

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        rows = numbers.rows
        cut = math.floor(self.share * rows)
        if rows == 1 or not cut:
            return numbers.mean
        low, high = numbers.quantile(cut / (rows - 1)), numbers.quantile((rows - 1 - cut) / (rows - 1))
        if low == high:
            return low
        between, up_to, below = [], 0, 0
        for block in numbers.blocks():
            between.append(float(block[(block > low) & (block < high)].sum()))
            up_to += int(np.count_nonzero(block <= low))
            below += int(np.count_nonzero(block < high))
        # of the rows that are equal to an end, as many as are left between the two cuts
        return math.fsum([*between, (up_to - cut) * low, (rows - cut - below) * high]) / (rows - 2 * cut)

    @property
    def per_shift(self) -> float:
        return 1.0

    def linear(self, family: LocationScale) -> tuple[float, float]:
        return 1.0, family.z_trimmed(self.share)

    @property
    def label(self) -> str:
        return f"trimmed-mean:{self.share!r}"

    @property
    def text(self) -> str:
        return f"mean without {self.share:.3g} of the rows at each end"

    @property
    def plain(self) -> str:
        return "trimmed average"

    @property
    def explained(self) -> str:
        return f"the average without {100 * self.share:.3g} % of the rows at each end"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return (cls(0.1),)

    @classmethod
    def parse(cls, argument: str, number: Callable[[str, str], float]) -> Secret:
        return cls(number(argument, "the share of a trimmed mean"))

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "share": self.share}
