"""One number is added to the rows of one group, and another to those of a second."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import BLUR, moved_blur
from statveil.modes.two_groups import TwoGroupsMode
from statveil.problem.problem import Problem

__all__ = ["GroupShiftMode"]


class GroupShiftMode(TwoGroupsMode):
    """x + a in one group and x + b in the other, x as it is elsewhere; the mean of both together stays."""

    name: ClassVar[str] = "group-shift"
    says: ClassVar[str] = "add one number to the rows of one group and another to those of the other"
    alone: ClassVar[str] = "shift"
    kept: ClassVar[str] = (
        "Each of the two groups was shifted by one number, and all differences within it are the original's up to a "
        "hundredth of the tolerance; so is the mean of both groups together."
    )

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        return BLUR * largest + self.wander(problem)

    def blur_width(self, problem: Problem) -> float:
        return moved_blur(problem)
