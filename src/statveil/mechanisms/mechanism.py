"""What a mechanism is: parameter in, released parameter out, and what a release leaves open."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import PlanFileError, unknown_name
from statveil.problem.support import Support

__all__ = ["MECHANISMS", "Fibre", "Mechanism", "mechanism_from_json", "quiet"]

MECHANISMS: dict[str, type[Mechanism]] = {}
"""Every mechanism by kind, for reading plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fibre:
    """All parameters that could have led to each release, as points along a line.

    ``points`` has one row a release. A piece of a line (``comb`` false) is given by equally spaced points
    from end to end and the Jacobian ``weight`` there; a comb by its single points, weight 0 where a row has
    fewer of them.
    """

    points: Mapping[str, NDArray[np.float64]]
    weight: NDArray[np.float64]
    comb: bool


class Mechanism(ABC):
    """A frozen rule from parameter to released parameter. No search happens in it."""

    kind: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            MECHANISMS[cls.kind] = cls

    @property
    @abstractmethod
    def parameters(self) -> set[str]:
        """Names of the parameters that it looks at or changes."""

    @abstractmethod
    def release(self, params: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
        """The paper's online phase: the released parameter of each parameter."""

    @abstractmethod
    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        """What each release leaves open."""

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


def mechanism_from_json(data: Mapping[str, Any]) -> Mechanism:
    """Any mechanism from its JSON object."""
    kind = data.get("kind")
    if kind not in MECHANISMS:
        raise PlanFileError(unknown_name("mechanism", str(kind), MECHANISMS))
    return MECHANISMS[kind].from_json(data)
