"""What everyone knows of such columns: bounds, a lattice step, atoms. Declared, never detected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from statveil.errors import ProblemError
from statveil.numbers import number

__all__ = ["Structure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Publicly known structure of the column.

    Parameters
    ----------
    minimum, maximum : float, optional
        A bound that the column is known to reach, such as 0 for a count or a duration.
    step : float, optional
        The column is known to consist of multiples of this step, up to one common offset.
    atoms : tuple of float
        Values that are known to occur often, such as 0.
    """

    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    atoms: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "step"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, number(value, f"the known {name!r}"))
        object.__setattr__(self, "atoms", tuple(sorted({number(atom, "a known atom") for atom in self.atoms})))
        if self.step is not None and self.step <= 0:
            raise ProblemError(
                f"the known 'step' must be a number above 0. Got {self.step:g}; whole numbers have step 1."
            )
        if self.minimum is not None and self.maximum is not None and self.minimum >= self.maximum:
            raise ProblemError(
                f"the known minimum must lie below the known maximum. Got {self.minimum:g} and {self.maximum:g}."
            )
        for atom in self.atoms:
            if (self.minimum is not None and atom < self.minimum) or (self.maximum is not None and atom > self.maximum):
                raise ProblemError(f"the known atom {atom:g} lies outside the known bounds; change one of them.")

    @property
    def fixed_points(self) -> tuple[float, ...]:
        """Values that a map of the column must leave where they are."""
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        return tuple(sorted({*bounds, *self.atoms}))

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` makes the same structure."""
        return {"minimum": self.minimum, "maximum": self.maximum, "step": self.step, "atoms": list(self.atoms)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Structure:
        """The structure that :meth:`to_json` wrote."""
        return cls(minimum=data["minimum"], maximum=data["maximum"], step=data["step"], atoms=tuple(data["atoms"]))
