"""In which terms a distortion is stated: in the column's unit, as a share, or both."""

from __future__ import annotations

import math
from dataclasses import dataclass

from statveil.errors import ProblemError
from statveil.problem.tolerance import Relative

__all__ = ["Measure"]

_UP, _DOWN = 1 + 1e-14, 1 - 1e-14


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """From the distance in which mechanisms are designed to the numbers that people read, and back.

    Parameters
    ----------
    log : bool
        Whether the distance is one of logarithms. Releases then lie so that both ends of a class of half-length d are
        off by tanh d, the least that can be (docs/theory.md, relative tolerance).
    middle : bool
        Whether they lie in the middle of the logarithms instead, off by e^d - 1: never outside the class, where a bound
        that stays forbids that.
    absolute, relative : float or None
        Largest factor to W1 in the column's unit, and to W1 as a share; ``None`` where it depends on the shape.
    kind : str
        In which of the two terms the distortion of a plan is stated.
    least : float
        Least factor of that kind, for lower bounds.
    part : float
        Which share of a distance of logarithms the rows move by: half of it where two groups move apart, and what is
        stated is the larger one of their two moves.
    """

    log: bool = False
    middle: bool = False
    absolute: float | None = 1.0
    relative: float | None = None
    kind: str = "absolute"
    least: float = 1.0
    part: float = 1.0

    def _grown(self, distance: float) -> float:
        if not self.log:
            return distance
        at = self.part * distance
        return (math.expm1(at) if self.middle else math.tanh(at)) * _UP

    def in_unit(self, distance: float) -> float | None:
        """W1 in the column's unit."""
        return None if self.absolute is None else self.absolute * self._grown(distance)

    def as_share(self, distance: float) -> float | None:
        """W1 as a share."""
        return None if self.relative is None else self.relative * self._grown(distance)

    def stated(self, distance: float) -> float:
        """The number that a plan states."""
        found = self.as_share(distance) if self.kind == "relative" else self.in_unit(distance)
        assert found is not None
        return found

    def bound(self, distance: float) -> float:
        """A lower bound of the distance as a lower bound of what a plan states."""
        return self.least * (math.tanh(self.part * distance) * _DOWN if self.log else distance)

    def inner(self, stated: float | Relative) -> float:
        """The distance of a number that a plan states, or that someone asks for in either term."""
        share = isinstance(stated, Relative)
        value = stated.share if isinstance(stated, Relative) else stated
        factor = self.relative if share else self.absolute
        if factor is None:
            other = (
                "state it in the unit of the column"
                if share
                else "what it is in the column's unit depends on the shape; state it in per cent"
            )
            raise ProblemError(f"this plan's distortion has no such terms: {other}.")
        return self._shrunk(value / factor)

    def of_plan(self, stated: float) -> float:
        """The distance of the number that a plan of this problem states."""
        factor = self.relative if self.kind == "relative" else self.absolute
        assert factor is not None
        return self._shrunk(stated / factor)

    def _shrunk(self, grown: float) -> float:
        if not self.log:
            return grown
        found = math.log1p(grown * _DOWN) if self.middle else math.atanh(min(grown * _DOWN, 1 - 1e-15))
        return found / self.part
