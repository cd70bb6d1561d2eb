"""What everyone knows of such columns: bounds, a lattice step, heaps, atoms. Declared, never detected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
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
    heaps : tuple of float
        Multiples of these are known favourites, as 5 and 100 in numbers that people round.
    """

    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None
    atoms: tuple[float, ...] = ()
    heaps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("minimum", "maximum", "step"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, number(value, f"the known {name!r}"))
        object.__setattr__(self, "atoms", tuple(sorted({number(atom, "a known atom") for atom in self.atoms})))
        object.__setattr__(self, "heaps", tuple(sorted({number(heap, "a known heap") for heap in self.heaps})))
        if any(heap <= 0 for heap in self.heaps):
            raise ProblemError(
                f"known 'heaps' must be numbers above 0. Got {self.heaps[0]:g}; write heaps=5 for multiples of 5."
            )
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

    @property
    def spacing(self) -> float | None:
        """By which multiples a column can move so that its step and its heaps stay where they are.

        >>> Structure(step=2, heaps=(5, 10)).spacing
        10.0
        >>> Structure(step=1 / 365.25, heaps=(7 / 365.25,)).spacing == 7 / 365.25  # weeks, of dates in years
        True
        """
        if self.step is not None and self.heaps and (common := _common(self.step, self.heaps)) is not None:
            return common
        periods = [Fraction(repr(value)) for value in (self.step, *self.heaps) if value is not None]
        if not periods:
            return None
        whole = math.lcm(*(period.denominator for period in periods))
        return float(Fraction(min(math.lcm(*(int(period * whole) for period in periods)), 10**200 * whole), whole))

    def times(self, factor: float) -> Structure:
        """What is known of a column that is so many times another.

        >>> Structure(minimum=0, step=0.5, heaps=(5,)).times(-2)
        Structure(minimum=None, maximum=-0.0, step=1.0, atoms=(), heaps=(10.0,))
        """
        low, high = (self.minimum, self.maximum) if factor > 0 else (self.maximum, self.minimum)
        return Structure(
            minimum=None if low is None else factor * low,
            maximum=None if high is None else factor * high,
            step=None if self.step is None else abs(factor) * self.step,
            atoms=tuple(factor * atom for atom in self.atoms),
            heaps=tuple(abs(factor) * heap for heap in self.heaps),
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` makes the same structure."""
        plain = {"minimum": self.minimum, "maximum": self.maximum, "step": self.step, "atoms": list(self.atoms)}
        return {**plain, "heaps": list(self.heaps)} if self.heaps else plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Structure:
        """The structure that :meth:`to_json` wrote."""
        return cls(
            minimum=data["minimum"],
            maximum=data["maximum"],
            step=data["step"],
            atoms=tuple(data["atoms"]),
            heaps=tuple(data.get("heaps", ())),
        )


def _common(step: float, heaps: tuple[float, ...]) -> float | None:
    """The common multiple of heaps that are whole numbers of steps up to rounding, where no decimals say so exactly."""
    times = [round(heap / step) for heap in heaps]
    if not all(many and abs(heap / step - many) <= 1e-9 * many for heap, many in zip(heaps, times, strict=True)):
        return None
    common = math.lcm(*times)
    if common in times:
        return heaps[times.index(common)]
    return float(min(Fraction(repr(step)) * common, Fraction(10) ** 200))
