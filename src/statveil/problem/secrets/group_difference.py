"""By how much the mean of one group of rows is larger than that of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.column_numbers import ColumnNumbers
from statveil.problem.of_groups import OfGroups
from statveil.problem.secret import Apart, Secret
from statveil.problem.structure import Structure

__all__ = ["GroupDifference"]


@dataclass(frozen=True, slots=True)
class GroupDifference(OfGroups):
    """The mean of the rows with the label ``group`` less that of the rows with the label ``base``."""

    kind: ClassVar[str] = "difference"
    doc: ClassVar[str] = "the mean of one group of rows less that of another, written difference:sex=f-m"
    argument: ClassVar[str] = "COLUMN=LABEL-LABEL"
    also: ClassVar[Mapping[str, str]] = {"gap": "difference:COLUMN=LABEL-LABEL"}
    sign: ClassVar[str] = "-"

    @property
    def apart(self) -> Apart:
        # W1 of the rows is 2 p (1 - p) times the change, p the share of a group: half of it at most
        return Apart(kind="group-shift", in_rows=0.5)

    def check_stated(self, known: Structure, *, relative: bool) -> None:
        if relative:
            raise ProblemError(
                f"the tolerance of a {self.kind} is in the column's unit; state a number, without a per cent sign."
            )
        if known != Structure():
            raise ProblemError(
                "the difference of two groups is hidden by adding one number to the rows of each, which keeps no "
                "bound, step, heap or frequent value; leave them out where nobody knows them of such columns, or hide "
                "the ratio of the groups, which keeps a minimum of 0."
            )

    def of_means(self, group: float, base: float) -> float:
        return group - base

    def off_by(self, row: float, numbers: ColumnNumbers) -> float:
        return 2 * row

    def moved(
        self, group: float, base: float, share: float, wanted: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        gap = np.asarray(wanted, dtype=np.float64)
        overall = share * group + (1 - share) * base  # of both groups together, which stays
        return overall + (1 - share) * gap, overall - share * gap

    @property
    def text(self) -> str:
        return f"difference of the means of {self.group!r} and {self.base!r}, by {self.by!r}"

    @property
    def plain(self) -> str:
        return f"gap between the averages of {self.group!r} and {self.base!r}"

    @property
    def explained(self) -> str:
        return f"the column {self.by!r} names the two groups"

    @classmethod
    def examples(cls) -> tuple[Secret, ...]:
        return (cls("sex", "f", "m"),)
