"""Every row is scaled about a value that stays where it is."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Continuous, Moved
from statveil.modes.shift import ShiftMode
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem

__all__ = ["ScaleMode"]


class ScaleMode(Continuous):
    """about + a (x - about)."""

    name: ClassVar[str] = "scale"
    says: ClassVar[str] = "scale every value about the bound that stays fixed"
    stretches: ClassVar[bool] = True
    pinned: ClassVar[bool] = True

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return (isinstance(problem.family, LocationScale) and kind == self.name) or super().treats(problem, kind, moved)

    def goes(self, family: LocationScale, moved: Moved) -> bool:
        ends = [end for end in (family.minimum, family.maximum) if end is not None]
        # the end of the support that does not move is the fixed point
        return not ShiftMode().goes(family, moved) and any(end not in moved for end in ends) and len(moved) == 1
