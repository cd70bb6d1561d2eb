"""What holds of every mode that moves two columns, each by a number of its own."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.two_groups import TwoGroupsMode
from statveil.problem.problem import Problem

__all__ = ["TwoColumnsMode"]


class TwoColumnsMode(TwoGroupsMode):
    """All other columns stay as they are."""

    of_columns: ClassVar[bool] = True

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return (
            self.kept,
            "Nobody knows the mean of one of the two columns: who does knows by how much it moved.",
            "Nobody knows how the two values of a single row compare: that they were equal, that one was never above "
            "the other, or that one was a known multiple of it.",
        )
