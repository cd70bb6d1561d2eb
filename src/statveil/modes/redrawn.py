"""What the modes share that keep the shape above a bound and blur its lattice."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Mode, Moved
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem

__all__ = ["Redrawn"]


class Redrawn(Mode):
    """Scales about the bound and redraws the rows around their places."""

    random: ClassVar[bool] = True
    parts_equals: ClassVar[bool] = True
    stretches: ClassVar[bool] = True
    pinned: ClassVar[bool] = True
    but: ClassVar[str] = "That is what the released mean tells; that the rows tell no more was measured, not proven."

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return isinstance(problem.family, LocationScale) and kind == self.name

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return ("That the rows tell no more than their mean was measured against attackers, not proven.",)

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        return 0.5 * (problem.known.step or 1.0) / rows
