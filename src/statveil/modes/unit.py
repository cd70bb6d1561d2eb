"""Units of counts are kept, taken away or added at random."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Mode, Moved
from statveil.problem.problem import Problem
from statveil.problem.secrets.mean import Mean

__all__ = ["UnitMode"]


class UnitMode(Mode):
    """Thins or adds units, so that Poisson and geometric counts stay such counts."""

    name: ClassVar[str] = "unit"
    says: ClassVar[str] = "keep or add units of the counts at random"
    prepared_in: ClassVar[str] = "statveil.tables.maps.unit"
    random: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    of_family: ClassVar[bool] = True
    row_tells: ClassVar[bool] = False
    harmless: ClassVar[tuple[str, ...]] = ("atoms", "rough", "digits", "transform")
    """Which counts are too frequent, and whether the shape is rough, is asked beside the family itself."""

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        """Units of a count carry its mean and nothing else: other secrets and declared structure need the model."""
        known = problem.known
        plain = known.step in (None, 1.0) and not known.heaps and set(known.fixed_points) <= {0.0} and not known.atoms
        return problem.family.name in ("geometric", "poisson") and isinstance(problem.secret, Mean) and plain

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return ("The counts follow the stated family.",)

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        return 0.5 * (problem.known.step or 1.0) / rows
