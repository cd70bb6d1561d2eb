"""What a mechanism is: parameter in, released parameter out, and what a release leaves open."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import PlanFileError, ProblemError, unknown_name
from statveil.numbers import number
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.support import Support

__all__ = [
    "MECHANISMS",
    "Fibre",
    "Mechanism",
    "apart",
    "cell_of",
    "fills",
    "mechanism_from_json",
    "quiet",
    "renamed",
    "stretched",
    "support_from_json",
    "support_to_json",
]

MECHANISMS: dict[str, type[Mechanism]] = {}
"""Every mechanism by kind, for reading plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fibre:
    """All parameters that could have led to each release, as points along a line.

    ``points`` has one row per release. A piece of a line (``comb`` false for its row) is given by equally spaced
    points from end to end and the Jacobian ``weight`` there; a comb by its single points, equally spaced too, with
    weight 0 at the end of a row that has fewer of them.
    """

    points: Mapping[str, NDArray[np.float64]]
    weight: NDArray[np.float64]
    comb: NDArray[np.bool_]


class Mechanism(ABC):
    """A frozen rule from parameter to released parameter. No search happens in it."""

    kind: ClassVar[str]
    hair: ClassVar[float] = 1.0
    """A risk counts as met up to this factor."""
    scattered: ClassVar[bool] = False
    """Whether parameters that share a release need not be neighbours."""
    tiled: ClassVar[bool] = False
    """Whether a release leaves a rectangle of two parameters open, and no line."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            MECHANISMS[cls.kind] = cls

    @property
    @abstractmethod
    def parameters(self) -> set[str]:
        """Names of the parameters that it looks at or changes."""

    @property
    def randomised(self) -> bool:
        """Whether a release depends on secret randomness too."""
        return False

    @property
    def moves(self) -> Form:
        """How the parameters change per unit of what is binned; empty where that depends on the parameter."""
        return {}

    @property
    def bin_width(self) -> float | None:
        """Width of its bins, where they have one."""
        return None

    @property
    def cuts(self) -> NDArray[np.float64] | None:
        """Where its bins begin and end along their line; ``None`` where a release is not that of one bin."""
        return None

    @property
    def spacing(self) -> float | None:
        """Least distance between neighbours that share a release; ``None`` where a release leaves no gaps."""
        return None

    @property
    def step(self) -> float | None:
        """It moves by whole multiples of this; ``None`` where by any amount."""
        return None

    def covers(self, problem: Problem) -> bool:
        """Whether its bins begin and end where the prior does."""
        return True

    def keeps_shares(self, problem: Problem) -> bool:
        """Whether shares of categories stay shares: what one gains the others give alike, and none leaves 0 to 1."""
        return True

    @abstractmethod
    def largest_factor(self, problem: Problem, about: float | None) -> float:
        """By how much at most a map of rows that makes its releases stretches a column, about a fixed value if any."""

    @abstractmethod
    def describe(self, slope: float | None) -> tuple[str, str]:
        """A word and a sentence for people; ``slope`` is the paper's t0 of its direction."""

    def largest_change(self, problem: Problem) -> float | None:
        """By how much at most a release changes the secret, where it is more than one direction that says so."""
        return None

    def rescaled(self, factor: float, offset: float, start: Mapping[str, float]) -> Mechanism | None:
        """The same for a column ``factor x + offset``, whose parameters are ``factor p + start``, if there is one."""
        return None

    def turned(self, own: Mapping[str, Form], other: Mapping[str, Form]) -> Mechanism | None:
        """The same with other parameters, for accounting alone, if there is one.

        ``own`` gives each of its parameters as a linear form of the others, ``other`` each of those as one of its own.
        """
        return None

    @abstractmethod
    def release(
        self, params: Mapping[str, ArrayLike], chance: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """The paper's online phase: the released parameter of each parameter.

        ``chance`` holds numbers drawn evenly from [0, 1), one per parameter; only a randomised mechanism uses them.
        """

    def snap(self, released: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
        """The release nearest to parameters that were measured on a released column."""
        return self.release(released)

    def possible(self, params: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
        """Every release that one parameter can have; a single one where nothing is left to chance."""
        return {name: np.atleast_1d(value) for name, value in self.release(params).items()}

    def ends(self, released: Mapping[str, ArrayLike]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper end of the bin of each release, for neighbouring bins of one parameter."""
        raise ProblemError(f"a {self.kind} mechanism has no neighbouring bins with two ends.")

    @property
    def levels(self) -> NDArray[np.float64] | None:
        """Every value that the one moved parameter can be released as; ``None`` where there is a continuum."""
        return None

    @abstractmethod
    def bin_of(self, params: Mapping[str, float]) -> dict[str, Any]:
        """The bin into which a parameter falls: private, for the record."""

    @abstractmethod
    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        """What each release leaves open."""

    def fibre_of(
        self, parameter: str, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int
    ) -> Fibre:
        """What each release leaves open of one parameter: the same where it leaves a line open."""
        return self.fibre(released, support, nodes)

    def candidates(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        """Points that stand for all that each release leaves open, on a line or not; only the prior weighs them."""
        return self.fibre(released, support, nodes)

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether there are finitely many releases, so that draws can be grouped by them."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :func:`mechanism_from_json` makes the same mechanism."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mechanism:
        """The mechanism that :meth:`to_json` wrote."""


def quiet(value: ArrayLike, width: float, size: float) -> NDArray[np.float64]:
    """The value rounded to 40 bits of the bin ``width``, or 49 bits of the ``size`` of the numbers.

    The rounding error of a sum depends on its parts: without this, the last bits of a released parameter tell
    how far it was moved.
    """
    grain = 2.0 ** max(math.floor(math.log2(width)) - 40, math.floor(math.log2(size)) - 49)
    return np.round(np.asarray(value, dtype=np.float64) / grain) * grain


def fills(problem: Problem, parameter: str, low: float, high: float) -> bool:
    """Whether a range of one parameter, or share, is that of the prior."""
    start, stop = 0.0, 1.0
    if isinstance(problem.prior, Box):
        start, stop = problem.box.axes[parameter].low, problem.box.axes[parameter].high
    slack = 1e-9 * max(abs(start), abs(stop))
    return abs(low - start) <= slack and abs(high - stop) <= slack


def stretched(problem: Problem, about: float | None, ends: NDArray[np.float64], released: NDArray[np.float64]) -> float:
    """The largest factor from the ends of bins (rows: low, high) to the parameter released for each."""
    family = problem.family
    assert isinstance(family, LocationScale)
    from_bound = about if about is not None and family.location is not None else 0.0
    near = np.abs(ends - from_bound).min(axis=0)
    return float(np.max(np.abs(released - from_bound) / np.maximum(near, 1e-12 * np.abs(released).max())))


def renamed(own: Mapping[str, Form]) -> dict[str, str] | None:
    """New names of parameters that are given as linear forms of others; ``None`` where they are not the same numbers.

    >>> renamed({"mu": {"mean": 1.0, "std": 0.0}, "sigma": {"mean": 0.0, "std": 1.0}})
    {'mu': 'mean', 'sigma': 'std'}
    """
    found = {}
    for name, form in own.items():
        parts = {other: part for other, part in form.items() if abs(part) > 1e-12}
        if [abs(part - 1) <= 1e-12 for part in parts.values()] != [True]:
            return None
        found[name] = next(iter(parts))
    return found if len(set(found.values())) == len(found) else None


def cell_of(edges: Sequence[float], parameter: str, params: Mapping[str, float]) -> dict[str, Any]:
    """The cell ``[edges[i], edges[i+1])`` into which a parameter falls."""
    index = int(np.clip(np.searchsorted(np.array(edges), params[parameter], side="right") - 1, 0, len(edges) - 2))
    return {"along": parameter, "index": index, "low": edges[index], "high": edges[index + 1]}


def apart(
    rounded: Mapping[str, NDArray[np.float64]], exact: Mapping[str, NDArray[np.float64]]
) -> dict[str, NDArray[np.float64]]:
    """The rounded parameters, save where rounding would put two of them onto each other: low stays below high."""
    kept = dict(rounded)
    for one, two in pairwise(exact):
        ordered = np.sign(kept[two] - kept[one]) == np.sign(exact[two] - exact[one])
        kept[one] = np.where(ordered, kept[one], exact[one])
        kept[two] = np.where(ordered, kept[two], exact[two])
    return kept


def support_to_json(support: Support) -> list[dict[str, Any]]:
    """The limits of a support, for a plan file."""
    return [{"form": dict(form), "at_least": bound} for form, bound in support.limits]


def support_from_json(data: Sequence[Mapping[str, Any]]) -> Support:
    """The support that :func:`support_to_json` wrote."""
    limits = []
    for limit in data:
        form = {str(name): number(value, "a part of a limit") for name, value in dict(limit["form"]).items()}
        limits.append((form, number(limit["at_least"], "a limit")))
    return Support(limits=tuple(limits))


def mechanism_from_json(data: Mapping[str, Any]) -> Mechanism:
    """Any mechanism from its JSON object."""
    kind = data.get("kind")
    if kind not in MECHANISMS:
        raise PlanFileError(unknown_name("mechanism", str(kind), MECHANISMS))
    return MECHANISMS[kind].from_json(data)
