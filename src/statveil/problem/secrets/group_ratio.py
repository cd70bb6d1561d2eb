"""How many times the mean of one group of rows is that of another; between two periods it is growth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ColumnError, ProblemError
from statveil.problem.column_numbers import ColumnNumbers, two_groups
from statveil.problem.of_groups import OfGroups
from statveil.problem.secret import Apart, Secret
from statveil.problem.structure import Structure

__all__ = ["GroupRatio"]


@dataclass(frozen=True, slots=True)
class GroupRatio(OfGroups):
    """The mean of the rows with the label ``group`` over that of the rows with the label ``base``.

    ``GroupRatio(by="year", group="2024", base="2023")`` is growth from one year to the next.
    """

    kind: ClassVar[str] = "ratio"
    doc: ClassVar[str] = "the mean of one group of rows over that of another, written ratio:region=north/south"
    argument: ClassVar[str] = "COLUMN=LABEL/LABEL"
    also: ClassVar[Mapping[str, str]] = {"growth": "ratio:COLUMN=LATER/EARLIER"}
    sign: ClassVar[str] = "/"

    @property
    def apart(self) -> Apart:
        # each group takes half of the logarithm, so that neither moves by more than the other
        return Apart(kind="group-scale", of_logarithm=0.5)

    def check_stated(self, known: Structure, *, relative: bool) -> None:
        if not relative:
            raise ProblemError(
                f"the tolerance of a {self.kind} is a share of it, as in 5% (sv.Relative(0.05)); state it in per cent."
            )
        if known.minimum != 0 or known.fixed_points != (0.0,) or known.spacing is not None:
            raise ProblemError(
                "the ratio of two groups is hidden by multiplying the rows of each by one number, which keeps a "
                "minimum of 0 (and many rows there) and no other bound, step, heap or frequent value: declare "
                "minimum 0 alone (--known min=0) where nobody knows more of such columns."
            )

    def of_means(self, group: float, base: float) -> float:
        if not (group > 0 and base > 0):
            raise ColumnError(
                f"the {self.kind} of two groups needs means above 0 in both, and in one of them it is not; release the "
                "difference instead."
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

    @property
    def text(self) -> str:
        return f"ratio of the mean of {self.group!r} to that of {self.base!r}, by {self.by!r}"

    @property
    def plain(self) -> str:
        return f"ratio of the averages of {self.group!r} and {self.base!r}"

    @property
    def explained(self) -> str:
        return f"it says how many times the second the first is; the column {self.by!r} names the two groups"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return (cls("region", "north", "south"),)
