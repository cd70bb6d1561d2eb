"""What a mode is: a map of the column that realises a plan, and all that others must know of it.

Nothing here reads a table. Where the rows are prepared stands here by name only, and table code looks it up: deciding
stays apart from data, and a mode is described in one place all the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.problem.structure import Structure

__all__ = [
    "BLUR",
    "MODES",
    "SEVEN_DIGITS",
    "SHIFT_BLUR",
    "ByRank",
    "Continuous",
    "Mode",
    "Redrawn",
    "known_point",
    "mode_of",
    "moved_blur",
]

BLUR = 2.0**-23
"""Of a value: the widest cell of a 32-bit float, for a value at the lower end of its octave."""
SEVEN_DIGITS = 8 * BLUR
"""Of a value: more than any blurred one is moved by, which is less than five times the blur."""

SHIFT_BLUR = 2.0**-10
"""Of the tolerance: how wide the blur of values is that are only moved. Two of them differ by a hundredth at most."""

_BLURRED = 1.4 * BLUR
"""Of a value: steps up to this keep less than 1e-4 of their wave under a map that blurs (exp(-2 pi^2 / 1.4^2))."""
_ROUNDED = 2.0**-40
"""Of the largest value: steps far below this are rounded away by a map that only moves."""

MODES: dict[str, Mode] = {}
"""Every mode by name; filled when the files of ``statveil/modes`` are loaded."""

Moved = Mapping[str, float]
"""Direction in which a mechanism moves the parameters; those that it leaves alone are left out."""


class Mode(ABC):
    """A map of the column. A subclass in one new file is enough: naming it registers it.

    A mode of your own says where it is used (:meth:`treats`; modes that were registered later are asked first), and
    has a method ``prepare(job)`` that gives the map of the rows (:class:`statveil.tables.maps.column_map.ColumnMap`)
    for a :class:`statveil.tables.maps.build.Job`.
    """

    name: ClassVar[str]
    says: ClassVar[str]
    """The map in a few words, for the report of a plan."""
    prepared_in: ClassVar[str] = ""
    """The module whose function ``prepare`` makes the map; a mode with a method of that name needs none."""

    # --- what the rows become -----------------------------------------------------------------
    random: ClassVar[bool] = False
    """Whether rows are drawn by the secret seed, so that they must be exchangeable."""
    nested: ClassVar[bool] = False
    """Whether every plan takes the first in one order of the column, so that releases under several plans with one
    record provably tell no more than their parameters."""
    parts_equals: ClassVar[bool] = False
    """Whether rows of one value come out in a random order."""
    line: ClassVar[bool] = False
    """Whether every row becomes the same offset + factor x, up to rounding."""
    near_line: ClassVar[bool] = False
    """Whether it does so up to a step of the column."""
    stretches: ClassVar[bool] = False
    """Whether the factor of such a line may be other than 1."""
    continuous: ClassVar[bool] = False
    """Whether any number may come out, whose last bits must tell nothing."""
    whole_steps: ClassVar[bool] = False
    """Whether the column moves by whole steps, so that nothing lies between them."""
    keeps_steps: ClassVar[bool] = False
    """Whether each place of the column's lattice stays visible."""
    apart: ClassVar[bool] = False
    """Whether each of two groups of rows becomes a line of its own, and all other rows stay."""
    alone: ClassVar[str] = ""
    """The mode that each of these groups is under, by itself."""
    bends: ClassVar[bool] = False
    """Whether every row moves by one odds map between two bounds, which bends the shape."""
    pinned: ClassVar[bool] = False
    """Whether a publicly known value stays where it is."""
    of_model: ClassVar[bool] = False
    """Whether the rows are quantiles of the released model, and only their order is the original's."""
    calibrated: ClassVar[bool] = False
    """Whether such rows have the released statistic themselves, and not only about the model's."""
    of_family: ClassVar[bool] = False
    """Whether the rows are counts that follow the stated family before and after."""
    categories: ClassVar[bool] = False
    """Whether the rows are categories instead of numbers."""
    of_table: ClassVar[bool] = False
    """Whether it is about the rows of the whole table, and no column."""

    of_columns: ClassVar[bool] = False
    """Whether it is about two columns, which the secret names, each of which becomes a line of its own."""

    # --- what that means for who looks at it --------------------------------------------------
    structure_shows: ClassVar[bool] = True
    """Whether undeclared structure of the column would show in the release."""
    harmless: ClassVar[tuple[str, ...]] = ()
    """Names of findings that do not show in the release."""
    row_tells: ClassVar[bool] = True
    """Whether one known row tells how far the others moved."""
    blur: ClassVar[float] = 0.0
    """By which share of its distance from the bound a row may be off its place."""
    phases: ClassVar[int] = 1
    """Places inside a step at which an attacker must look for the levels of equal rows."""
    but: ClassVar[str] = ""
    """What takes away from the guarantee, said where the guarantee is said."""

    @property
    def of_one_column(self) -> bool:
        """Whether a holder must say which column it is about."""
        return not (self.of_table or self.of_columns)

    @property
    def blurs(self) -> bool:
        """Whether every value is first moved by about 2^-23 of itself, so that no fine lattice tells the factor."""
        return self.continuous and (self.stretches or self.bends)

    def blur_width(self, problem: Problem) -> float:
        """How wide the blur of every value is where values are only moved, in the column's unit; 0 without one.

        Functions of round numbers (logarithms of 32-bit floats, say) lie on a lattice that no list knows, and whoever
        knows the function tells the move from it. A blur far wider than its cells leaves nothing of them.
        """
        return 0.0

    def wander(self, problem: Problem) -> float:
        """How far at most that blur takes a row off its place: no normal number of it lies beyond five widths."""
        return 5 * self.blur_width(problem)

    def hides_cells(self, beside: float, overall: float) -> bool:
        """Whether a lattice of this step, as a share of its values and of the largest one, is lost in the release."""
        return beside <= _BLURRED if self.blurs else self.continuous and overall <= _ROUNDED

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            MODES[cls.name] = cls()

    @abstractmethod
    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        """Whether the column of this problem is released so, by the kind of treatment and the direction of its bins."""

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        """What the card says of this mode beside the assumptions of all."""
        return ()

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        """How far the statistic of a released column may be off; ``largest`` is its largest value in size."""
        return 0.0

    def first_level(self, rise: NDArray[np.float64], phase: float) -> NDArray[np.float64]:
        """Where the rows of the first place lie on average, in steps from the bound, if places lie ``rise`` apart."""
        return phase * rise

    def fixed_point(self, problem: Problem) -> float | None:
        """The publicly known value that stays where it is."""
        return known_point(problem, problem.known) if self.pinned else None


class Continuous(Mode):
    """x' = offset + factor x for all rows."""

    prepared_in: ClassVar[str] = "statveil.tables.maps.affine"
    line: ClassVar[bool] = True
    near_line: ClassVar[bool] = True
    continuous: ClassVar[bool] = True

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        # 32-bit originals were smeared over their cells, and all values were blurred, by less than five times its width
        return (SEVEN_DIGITS if self.blurs else BLUR) * largest + self.wander(problem)

    def blur_width(self, problem: Problem) -> float:
        return 0.0 if self.stretches else moved_blur(problem)

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return isinstance(problem.family, LocationScale) and kind == "free" and self.goes(problem.family, moved)

    @abstractmethod
    def goes(self, family: LocationScale, moved: Moved) -> bool:
        """Whether it moves the parameters in this direction."""


class Redrawn(Mode):
    """The shape above a bound kept, its lattice blurred: scaled about the bound, and redrawn around its places."""

    random: ClassVar[bool] = True
    parts_equals: ClassVar[bool] = True
    stretches: ClassVar[bool] = True
    pinned: ClassVar[bool] = True
    but: ClassVar[str] = "That is what the released mean tells; that the rows tell no more was measured, not proven."

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return isinstance(problem.family, LocationScale) and kind == self.name

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return ("That the rows tell no more than their mean was measured against attackers, not proven.",)

    def slack(self, problem: Problem, rows: int, largest: float) -> float:
        return 0.5 * (problem.known.step or 1.0) / rows


class ByRank(Mode):
    """Values that a model makes, given out by rank: of the column itself only the order of its rows is kept."""

    random: ClassVar[bool] = True
    parts_equals: ClassVar[bool] = True
    of_model: ClassVar[bool] = True
    structure_shows: ClassVar[bool] = False


def moved_blur(problem: Problem) -> float:
    """How wide the blur of values is that are only moved: a share of the tolerance, beside which it does not count."""
    secret, family = problem.secret, problem.family
    if secret.apart is not None:
        return SHIFT_BLUR * problem.least_tolerance
    if secret.anchor is secret:
        assert isinstance(family, LocationScale)
        return SHIFT_BLUR * problem.least_tolerance / abs(secret.shift_rate(family))
    # a function of the one parameter has a tolerance in a unit of its own
    axes = (problem.box.axes[name] for name in problem.box.free)
    return SHIFT_BLUR**2 * min(axis.high - axis.low for axis in axes)


def known_point(problem: Problem, known: Structure) -> float | None:
    """A value that everyone knows of the columns of a continuous family: declared, or an end of its support."""
    family = problem.family
    if not isinstance(family, LocationScale):
        return None
    if known.fixed_points:
        return known.fixed_points[0]
    for end in (family.minimum, family.maximum):
        if isinstance(end, float):
            return end
        if end is not None and problem.box.axes[end].known:
            return problem.box.axes[end].low
    return None


def mode_of(problem: Problem, kind: str, direction: Mapping[str, float]) -> Mode:
    """The mode that realises bins in this direction and keeps what is publicly known."""
    moved = {name: change for name, change in direction.items() if change}
    return next(mode for mode in reversed(MODES.values()) if mode.treats(problem, kind, moved))
