"""Every row's odds between two bounds are multiplied by one number."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import SEVEN_DIGITS, Mode, Moved
from statveil.problem.problem import Problem

__all__ = ["OddsMode"]


class OddsMode(Mode):
    """y -> a y / (1 - y + a y) for y between the bounds, which stay where they are."""

    name: ClassVar[str] = "odds"
    says: ClassVar[str] = "multiply every value's odds between the two bounds, which stay fixed, by one number"
    prepared_in: ClassVar[str] = "statveil.tables.maps.odds"
    continuous: ClassVar[bool] = True
    pinned: ClassVar[bool] = True
    bends: ClassVar[bool] = True

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return kind == self.name

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return (
            "Nobody believes in a family of shapes that this map leaves, such as a Beta distribution: the shape of "
            "many rows would tell such a believer how far they moved.",
        )

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        return SEVEN_DIGITS * largest
