"""What is done with one column: hidden, kept, dropped, moved with another one, or recomputed after the release."""

from __future__ import annotations

from dataclasses import dataclass, field

from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.specification.expressions import Expression

__all__ = ["Budget", "Derive", "Drop", "HiddenSecret", "Hide", "Keep", "Link", "Treatment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenSecret:
    """One statistic of a column that is hidden, spelled as on the command line."""

    secret: str
    """``mean``, ``quantile:0.9``, ``std`` and so on."""
    prior: tuple[str, ...] = ()
    """``("10:50",)``; with a family one text for each parameter, as in ``("mu=0:100", "sigma=5:10")``."""
    tolerance: str
    """``"5%"`` or ``"0.5"``."""
    problem: Problem = field(init=False, compare=False, repr=False)
    """What the texts state, with the family, structure and shape of the column; set by :class:`Hide`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hide:
    """A column whose statistics are hidden under a plan of its own."""

    secrets: tuple[HiddenSecret, ...]
    known: str | None = None
    """Public structure, as in ``"min=0,step=1"``."""
    max_risk: float | None = None
    max_distortion: float | Relative | None = None
    bin: float | None = None
    """At most one of these three is set: the column's own target. Without one the budget of the table is split."""
    method: str = "auto"
    shape: str | None = None
    family: str | None = None
    trials: int | None = None
    categories: int | None = None
    labels: tuple[str, ...] | None = None
    distance: str = ""
    round_digits: int | None = None
    """Decimals of the released numbers."""
    accept: tuple[str, ...] = ()
    """Leaks that are accepted by name, as in ``("order",)``."""
    group: str | None = None
    """A column whose equal values mark rows that hold one and the same hidden value, as of one person in a panel; they
    are moved together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """A column that is published as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A column that is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A column that moves under the map of a hidden one.

    If ``x`` of the hidden column ``to`` becomes ``m(x)``, then ``y`` of this one becomes ``y + factor * (m(x) - x)``
    where the map is a shift, and ``factor * m(y / factor)`` in general: ``factor`` is how many units of this column
    one unit of the hidden one is (0.19 for a tax of 19 %, 1 for a second clock, 100 for cents beside euros).
    """

    to: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Derive:
    """A column that is recomputed from *released* columns after the release; the table's own values are not used."""

    expression: Expression


Treatment = Hide | Keep | Drop | Link | Derive


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The risk that any of the hidden statistics is guessed, which is split over the columns without own targets."""

    max_risk: float
    dependence: str = "independent"
    """``"independent"``, ``"comonotone"`` (columns that are copies of one another) or ``"worst"`` (theory 17.2)."""
    minimise: str = "total"
    """``"total"``, ``"euclidean"`` or ``"worst"`` of the columns' distortions."""
