"""The rows are redrawn from a public shape at the released statistic, in the order of the original."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import ByRank, Moved
from statveil.problem.model import CATALOGUE
from statveil.problem.problem import Problem

__all__ = ["ModelMode"]


class ModelMode(ByRank):
    """The release that exists whatever the column's structure: only ranks, and one of few choices, are the column's."""

    name: ClassVar[str] = "model"
    says: ClassVar[str] = (
        "redraw the column from a public shape at the released statistic, by rank (what the column differs from that "
        "shape comes on top)"
    )
    prepared_in: ClassVar[str] = "statveil.tables.maps.model"
    calibrated: ClassVar[bool] = True

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return kind == self.name

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        model = problem.family.model
        assert model is not None
        which = "the nearest shape of a public catalogue" if model.label == CATALOGUE else f"the shape {model.label}"
        return (f"The column was redrawn from {which}; only the order of its rows is the original's.",)

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        # the statistic of a lattice cannot be hit more closely, nor that of many rows by a few passes over them
        return (problem.known.step or 0.0) + 1e-6 * largest
