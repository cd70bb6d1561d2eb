"""By how much the mean of one group of rows is larger than that of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from statveil.problem.compared import DifferenceOfMeans
from statveil.problem.of_groups import OfGroups
from statveil.problem.secret import Apart, Secret

__all__ = ["GroupDifference"]


@dataclass(frozen=True, slots=True)
class GroupDifference(DifferenceOfMeans, OfGroups):
    """The mean of the rows with the label ``group`` less that of the rows with the label ``base``."""

    kind: ClassVar[str] = "difference"
    doc: ClassVar[str] = "the mean of one group of rows less that of another, written difference:sex=f-m"
    argument: ClassVar[str] = "COLUMN=LABEL-LABEL"
    also: ClassVar[Mapping[str, str]] = {"gap": "difference:COLUMN=LABEL-LABEL"}

    @property
    def apart(self) -> Apart:
        # W1 of the rows is 2 p (1 - p) times the change, p the share of a group: half of it at most
        return Apart(kind="group-shift", in_rows=0.5)

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
