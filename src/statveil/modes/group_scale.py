"""The rows of two groups are multiplied, each group by a number of its own."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import SEVEN_DIGITS
from statveil.modes.two_groups import TwoGroupsMode
from statveil.problem.problem import Problem

__all__ = ["GroupScaleMode"]


class GroupScaleMode(TwoGroupsMode):
    """a x in one group and b x in the other, x as it is elsewhere; 0 stays 0."""

    name: ClassVar[str] = "group-scale"
    says: ClassVar[str] = "multiply the rows of one group by one number and those of the other by another"
    alone: ClassVar[str] = "scale"
    stretches: ClassVar[bool] = True
    pinned: ClassVar[bool] = True
    kept: ClassVar[str] = (
        "Each of the two groups was multiplied by one number, and all of its other ratios are the original's; the "
        "product of the two means is the original's up to a number that the plan tells."
    )

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        return SEVEN_DIGITS * largest
