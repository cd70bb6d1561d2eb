"""One of two secrets by itself: a line with a belief on it, and a window that is a hit."""

from __future__ import annotations

from dataclasses import dataclass

from statveil.problem.axis import Axis
from statveil.problem.problem import Problem

__all__ = ["Coordinate"]


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """A coordinate of tiles."""

    name: str
    line: Problem

    @property
    def axis(self) -> Axis:
        """What is believed of it."""
        return self.line.box.axes["mean"]

    @property
    def window(self) -> float:
        """How much of it one guess covers."""
        return 2 * self.line.tolerance
