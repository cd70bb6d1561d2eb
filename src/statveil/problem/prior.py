"""What outsiders believe about all parameters together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.numbers import number
from statveil.problem.axis import Axis, axis_from_json
from statveil.problem.domain import Param
from statveil.problem.family import Family
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.priors.elicited import Elicited
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.known import Known
from statveil.problem.structure import Structure
from statveil.problem.support import Support

__all__ = ["Belief", "Box", "Prior", "Simplex", "as_axis", "prior_from_json"]

Belief = Axis | tuple[float, float] | float
"""What may be said of one parameter: a range, a known value, or a density."""


class Prior(ABC):
    """A belief about the parameters; a value, made without any private data."""

    kind: ClassVar[str]

    @abstractmethod
    def fit(self, family: Family, known: Structure | None = None) -> Prior:
        """This belief, checked against the parameters of the family and the known bounds of the column."""

    @abstractmethod
    def support(self, family: Family) -> Support:
        """Where the parameters can lie."""

    def core(self, family: Family) -> Support:
        """Where all but a negligible part of the mass lies."""
        return self.support(family)

    @abstractmethod
    def density(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Density up to a constant factor, inside the support."""

    @abstractmethod
    def sample(self, family: Family, size: int, rng: Generator) -> dict[str, NDArray[np.float64]]:
        """Independent draws of the parameters."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :func:`prior_from_json` makes the same belief."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prior) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(str(self.to_json()))


_PATIENCE, _RARE = 1_000_000, 1e-3
"""After so many draws, a constraint that fewer than this share of them meets ends the drawing."""


class Box(Prior):
    """Independent beliefs about each parameter.

    Each parameter is given by name, as a keyword or in one mapping: a pair is a uniform range, a number is a known
    value, anything else is one of ``Density``, ``Table``, ``Lipschitz``, ``Elicited``.

    >>> Box(mu=(0, 200), sigma=1)
    Box(mu=Flat(low=0.0, high=200.0), sigma=Known(value=1.0))
    >>> Box({"mu": (0, 200), "sigma": 1}) == Box(mu=(0, 200), sigma=1)
    True
    """

    kind: ClassVar[str] = "box"

    def __init__(self, axes: Mapping[str, Belief] | None = None, /, **named: Belief) -> None:
        given = {**(axes or {}), **named}
        self.axes: dict[str, Axis] = {name: as_axis(name, value) for name, value in given.items()}

    def __repr__(self) -> str:
        return f"Box({', '.join(f'{name}={axis!r}' for name, axis in self.axes.items())})"

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the parameters that are not publicly known."""
        return tuple(name for name, axis in self.axes.items() if not axis.known)

    def fit(self, family: Family, known: Structure | None = None) -> Box:
        names = [param.name for param in family.params]
        for name in self.axes:
            if name not in names:
                raise ProblemError(unknown_name(f"parameter of {family.name!r} in the prior", name, names))
        missing = [name for name in names if name not in self.axes]
        if missing:
            raise ProblemError(
                f"the prior says nothing about {', '.join(map(repr, missing))}. The family {family.name!r} needs "
                f"{', '.join(names)}; add a range such as {missing[0]}=LO:HI, or {missing[0]}=X if it is known."
            )
        fitted = Box({param.name: self._fit_axis(family, param, known) for param in family.params})
        if not fitted.free:
            raise ProblemError(
                "every parameter is publicly known, so there is nothing to hide; give one of them a range."
            )
        for form in family.constraints:
            top = sum(c * (fitted.axes[n].high if c > 0 else fitted.axes[n].low) for n, c in form.items())
            if top <= 0:
                raise ProblemError(
                    f"the prior of {family.name!r} is empty: {family.constraint_doc} leaves nothing of it."
                )
        return fitted

    def _fit_axis(self, family: Family, param: Param, known: Structure | None) -> Axis:
        axis = self.axes[param.name]
        # "90 % sure between a and b" says nothing of where the belief ends: not beyond a known bound of the column
        unbounded = isinstance(family, LocationScale) and (family.location, family.minimum, family.maximum) == (
            param.name,
            None,
            None,
        )
        if known is not None and isinstance(axis, Elicited) and unbounded:
            low = param.low if known.minimum is None else max(param.low, known.minimum)
            high = param.high if known.maximum is None else min(param.high, known.maximum)
            return axis.fit(replace(param, low=low, high=high))
        return axis.fit(param)

    def cut(self, family: Family) -> bool:
        """Whether a constraint of the family (low < high) cuts a corner off the box."""
        for form in family.constraints:
            bottom = sum(c * (self.axes[n].low if c > 0 else self.axes[n].high) for n, c in form.items())
            if bottom < 0:
                return True
        return False

    def support(self, family: Family) -> Support:
        limits: list[tuple[Form, float]] = []
        for name, axis in self.axes.items():
            limits += [({name: 1.0}, axis.low), ({name: -1.0}, -axis.high)]
        limits += [(form, 0.0) for form in family.constraints]
        return Support(limits=tuple(limits))

    def core(self, family: Family) -> Support:
        """Where all but a negligible part of the mass lies."""
        limits = list(self.support(family).limits)
        for name, axis in self.axes.items():
            if not axis.flat:
                low, high = axis.core
                limits += [({name: 1.0}, low), ({name: -1.0}, -high)]
        return Support(limits=tuple(limits))

    def density(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = np.ones(())
        for name, axis in self.axes.items():
            if not axis.flat:
                total = total * axis.pdf(params[name])
        return total

    def sample(self, family: Family, size: int, rng: Generator) -> dict[str, NDArray[np.float64]]:
        parts: list[dict[str, NDArray[np.float64]]] = []
        support, found, drawn = self.support(family), 0, 0
        while found < size:
            if drawn >= _PATIENCE and found < _RARE * drawn:
                raise ProblemError(
                    f"the prior of {family.name!r} has hardly any mass where {family.constraint_doc}: fewer than "
                    f"{_RARE:g} of it. State ranges or densities of which most is possible."
                )
            drawn += size
            draw = {name: axis.ppf(rng.random(size)) for name, axis in self.axes.items()}
            if family.constraints:
                inside = np.broadcast_to(support.contains(draw), (size,))
                draw = {name: value[inside] for name, value in draw.items()}
            parts.append(draw)
            found += len(next(iter(draw.values())))
        return {name: np.concatenate([part[name] for part in parts])[:size] for name in self.axes}

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "parameters": {name: axis.to_json() for name, axis in self.axes.items()}}


class Simplex(Prior):
    """Every vector of shares is believed equally likely: the prior of a categorical column."""

    kind: ClassVar[str] = "simplex"

    def __repr__(self) -> str:
        return "Simplex()"

    def fit(self, family: Family, known: Structure | None = None) -> Simplex:
        return self

    def support(self, family: Family) -> Support:
        return Support(limits=tuple(({param.name: 1.0}, 0.0) for param in family.params))

    def density(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return np.ones(())

    def sample(self, family: Family, size: int, rng: Generator) -> dict[str, NDArray[np.float64]]:
        # normalised exponentials are uniform on the simplex
        raw = rng.standard_exponential((len(family.params), size))
        return {param.name: row for param, row in zip(family.params, raw / raw.sum(axis=0), strict=True)}

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}


def as_axis(name: str, value: Any) -> Axis:
    """What is said of one parameter as a belief: a pair is a uniform range, a number a known value."""
    if isinstance(value, Axis):
        return value
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise ProblemError(f"the range of {name!r} must be a pair (low, high). Got {value!r}.")
        low, high = (number(end, f"the range of {name!r}") for end in value)
        if low >= high:
            state = "reversed" if low > high else "empty"
            raise ProblemError(
                f"the range of {name!r} is {state}. Got {low:g}:{high:g}; write two numbers, the smaller first, "
                f"or one number if the value is publicly known."
            )
        return Flat(low, high)
    return Known(number(value, f"the prior of {name!r}"))


def prior_from_json(data: Mapping[str, Any]) -> Prior:
    """Any prior from its JSON object."""
    if data.get("kind") == Simplex.kind:
        return Simplex()
    if data.get("kind") != Box.kind:
        raise ProblemError(unknown_name("prior", str(data.get("kind")), [Box.kind, Simplex.kind]))
    return Box({name: axis_from_json(axis) for name, axis in data["parameters"].items()})
