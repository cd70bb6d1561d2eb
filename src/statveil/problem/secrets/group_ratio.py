"""How many times the mean of one group of rows is that of another; between two periods it is growth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from statveil.problem.compared import RatioOfMeans
from statveil.problem.of_groups import OfGroups
from statveil.problem.secret import Apart, Secret

__all__ = ["GroupRatio"]


@dataclass(frozen=True, slots=True)
class GroupRatio(RatioOfMeans, OfGroups):
    """The mean of the rows with the label ``group`` over that of the rows with the label ``base``.

    ``GroupRatio(by="year", group="2024", base="2023")`` is growth from one year to the next.
    """

    kind: ClassVar[str] = "ratio"
    doc: ClassVar[str] = "the mean of one group of rows over that of another, written ratio:region=north/south"
    argument: ClassVar[str] = "COLUMN=LABEL/LABEL"
    also: ClassVar[Mapping[str, str]] = {"growth": "ratio:COLUMN=LATER/EARLIER"}

    @property
    def apart(self) -> Apart:
        # each group takes half of the logarithm, so that neither moves by more than the other
        return Apart(kind="group-scale", of_logarithm=0.5)

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
