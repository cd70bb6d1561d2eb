"""Every row moves by the same whole number of steps."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import BLUR, SHIFT_BLUR, Mode, Moved, moved_blur
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem

__all__ = ["LatticeMode"]


class LatticeMode(Mode):
    """x + k step."""

    name: ClassVar[str] = "lattice"
    says: ClassVar[str] = "shift every value by a whole number of steps"
    prepared_in: ClassVar[str] = "statveil.tables.maps.lattice"
    line: ClassVar[bool] = True
    near_line: ClassVar[bool] = True
    whole_steps: ClassVar[bool] = True
    keeps_steps: ClassVar[bool] = True

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return isinstance(problem.family, LocationScale) and kind == self.name

    def blur_width(self, problem: Problem) -> float:
        if problem.known.step is not None:  # every value is its place on the lattice
            return 0.0
        return min(moved_blur(problem), SHIFT_BLUR * min(problem.known.heaps))

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        off = self.wander(problem)
        return BLUR * largest + off if off else 0.0

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        favourites = "No multiples of the step are favourites, not even slightly: none were declared."
        learnt = "The receiver learns the statistic up to whole steps; the stated risk accounts for that."
        return (learnt,) if problem.known.heaps else (favourites, learnt)
