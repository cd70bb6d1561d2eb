"""What holds of every mode that moves the rows of two groups, each by a number of its own."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Mode, Moved
from statveil.problem.problem import Problem

__all__ = ["TwoGroupsMode"]


class TwoGroupsMode(Mode):
    """Rows of neither group stay as they are."""

    prepared_in: ClassVar[str] = "statveil.tables.maps.grouped"
    continuous: ClassVar[bool] = True
    apart: ClassVar[bool] = True
    kept: ClassVar[str]
    """What of the two groups is the original's, in a sentence or two."""

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return kind == self.name

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return (
            f"{self.kept} Rows of neither group, and rows without a label, are as they were.",
            "Nobody knows the mean of one of the two groups, nor more of how they compare with the other rows than the "
            "prior says: who knows the mean of one knows by how much it moved.",
            "Nobody knows how a single row of one group compares with one of the other, or of the others: that it did "
            "not change, say.",
        )
