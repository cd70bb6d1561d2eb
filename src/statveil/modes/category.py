"""The fewest rows get another category."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Mode, Moved
from statveil.problem.families.categorical import Categorical
from statveil.problem.problem import Problem

__all__ = ["CategoryMode"]


class CategoryMode(Mode):
    """Relabels rows at random until the shares are the released ones."""

    name: ClassVar[str] = "category"
    says: ClassVar[str] = "relabel the fewest rows"
    prepared_in: ClassVar[str] = "statveil.tables.maps.category"
    random: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    categories: ClassVar[bool] = True
    structure_shows: ClassVar[bool] = False
    row_tells: ClassVar[bool] = False

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return isinstance(problem.family, Categorical)
