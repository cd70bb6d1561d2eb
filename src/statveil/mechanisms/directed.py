"""What moves along straight lines: one coordinate that is cut, one direction in which parameters share a release."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from statveil.errors import ProblemError
from statveil.mechanisms.mechanism import Mechanism
from statveil.numbers import number
from statveil.problem.location_scale import Form, LocationScale, evaluate
from statveil.problem.problem import Problem
from statveil.problem.support import Support

__all__ = ["Directed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Directed(Mechanism):
    """Lines of one direction, each cut into parts that share a release.

    Parameters
    ----------
    along : str
        Name of the coordinate.
    coordinate : Form
        The coordinate as a linear form of the parameters.
    direction : Form
        How the parameters change per unit of the coordinate.
    keep : Support
        Where releases stay.
    """

    along: str
    coordinate: Form
    direction: Form
    keep: Support

    def __post_init__(self) -> None:
        for name in ("coordinate", "direction"):
            form = {
                str(key): number(value, f"a part of the {name!r}") for key, value in dict(getattr(self, name)).items()
            }
            object.__setattr__(self, name, form)
        unit = sum(self.coordinate.get(name, 0.0) * change for name, change in self.direction.items())
        if abs(unit - 1) > 1e-9:
            raise ProblemError(f"the direction of {self._article} must be one unit of its coordinate long.")

    @property
    @abstractmethod
    def _article(self) -> str:
        """What it is called in a sentence."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """Largest distance along the coordinate between parameters that share a release."""

    @abstractmethod
    def room(self, params: Mapping[str, float]) -> tuple[float, float]:
        """How far along its line a parameter lies, and how long that line is, in the coordinate."""

    @abstractmethod
    def laid(self, move: float) -> Self:
        """The mechanism with its range moved by so much along its direction."""

    @property
    def parameters(self) -> set[str]:
        return {*self.coordinate, *self.direction, *(name for form, _ in self.keep.limits for name in form)}

    @property
    def moves(self) -> Form:
        return self.direction

    def largest_factor(self, problem: Problem, about: float | None) -> float:
        family, axes = problem.family, problem.box.axes
        assert isinstance(family, LocationScale)
        if not family.scale_form:  # a location family scaled about its bound
            (axis,) = (axes[name] for name in self.coordinate)
            least = min(abs(axis.low - (about or 0.0)), abs(axis.high - (about or 0.0)))
            return 1 + 0.5 * self.reach / least
        least = sum(min(slope * axes[name].low, slope * axes[name].high) for name, slope in family.scale_form.items())
        stretch = abs(
            float(evaluate(family.scale_form, {p.name: self.direction.get(p.name, 0.0) for p in family.params}))
        )
        # a uniform's length can be as small as you like: from a 64th of the change on, nothing more is lost
        return 1 + stretch * self.reach / max(least, stretch * self.reach / 64)

    def _kept(self, move: float) -> Support:
        """Where releases stay, moved along its direction."""
        limits = tuple(
            (form, bound + move * float(evaluate(form, {name: self.direction.get(name, 0.0) for name in form})))
            for form, bound in self.keep.limits
        )
        return Support(limits=limits)
