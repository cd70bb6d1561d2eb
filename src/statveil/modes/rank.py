"""The rows are drawn from the released model, in the order of the original."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import ByRank, Moved
from statveil.modes.unit import UnitMode
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem

__all__ = ["RankMode"]


class RankMode(ByRank):
    """The model's quantiles, by rank: what no other map keeps."""

    name: ClassVar[str] = "rank"
    says: ClassVar[str] = (
        "redraw the column from the released model, by rank (what the column differs from it comes on top)"
    )
    prepared_in: ClassVar[str] = "statveil.tables.maps.rank"

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        if isinstance(problem.family, LocationScale):
            return kind == self.name
        return not isinstance(problem.family, Categorical) and not UnitMode().treats(problem, kind, moved)

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return ("The column was redrawn from the stated model; only the order of its rows is the original's.",)
