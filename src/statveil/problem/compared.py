"""How two means are compared, whatever they are the means of: their ratio, and their difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ColumnError, ProblemError
from statveil.problem.column_numbers import ColumnNumbers, two_groups
from statveil.problem.of_two import OfTwo
from statveil.problem.structure import Structure

__all__ = ["DifferenceOfMeans", "RatioOfMeans"]


@dataclass(frozen=True, slots=True)
class RatioOfMeans(OfTwo):
    """One mean over the other."""

    sign: ClassVar[str] = "/"

    def check_stated(self, known: Structure, *, relative: bool) -> None:
        if not relative:
            raise ProblemError(
                f"the tolerance of a {self.kind} is a share of it, as in 5% (sv.Relative(0.05)); state it in per cent."
            )
        if known.minimum != 0 or known.fixed_points != (0.0,) or known.spacing is not None:
            raise ProblemError(
                f"the ratio of two {self.two} is hidden by multiplying the rows of each by one number, which keeps a "
                "minimum of 0 (and many rows there) and no other bound, step, heap or frequent value: declare "
                "minimum 0 alone (--known min=0) where nobody knows more of such columns."
            )

    def of_means(self, group: float, base: float) -> float:
        if not (group > 0 and base > 0):
            raise ColumnError(
                f"the {self.kind} of two {self.two} needs means above 0 in both, and in one of them it is not; release "
                "the difference instead."
            )
        return group / base

    def off_by(self, row: float, numbers: ColumnNumbers) -> float:
        group, base = two_groups(numbers).means
        shares = row / group, row / base
        return group / base * ((1 + shares[0]) / (1 - shares[1]) - 1) if shares[1] < 1 else math.inf

    def moved(
        self, group: float, base: float, share: float, wanted: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        factor = np.sqrt(np.asarray(wanted, dtype=np.float64) / self.of_means(group, base))
        return factor * group, base / factor


@dataclass(frozen=True, slots=True)
class DifferenceOfMeans(OfTwo):
    """One mean less the other."""

    sign: ClassVar[str] = "-"

    def check_stated(self, known: Structure, *, relative: bool) -> None:
        if relative:
            raise ProblemError(
                f"the tolerance of a {self.kind} is in the column's unit; state a number, without a per cent sign."
            )
        if known != Structure():
            raise ProblemError(
                f"the difference of two {self.two} is hidden by adding one number to the rows of each, which keeps no "
                "bound, step, heap or frequent value; leave them out where nobody knows them of such columns, or hide "
                f"the ratio of the {self.two}, which keeps a minimum of 0."
            )

    def of_means(self, group: float, base: float) -> float:
        return group - base

    def off_by(self, row: float, numbers: ColumnNumbers) -> float:
        return 2 * row

    def moved(
        self, group: float, base: float, share: float, wanted: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        gap = np.asarray(wanted, dtype=np.float64)
        overall = share * group + (1 - share) * base  # of both together, which stays
        return overall + (1 - share) * gap, overall - share * gap
