"""Any bins of one parameter, each with its released parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.mechanisms.mechanism import Fibre, Mechanism, cell_of, fills, stretched
from statveil.numbers import number
from statveil.problem.location_scale import Form
from statveil.problem.problem import Problem
from statveil.problem.support import Support

__all__ = ["Partition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition(Mechanism):
    """Bins ``[edges[i], edges[i+1])`` of a parameter; every parameter of a bin is released as ``released[i]``."""

    kind: ClassVar[str] = "partition"
    parameter: str
    edges: tuple[float, ...]
    released: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = tuple(number(edge, "an edge of a partition") for edge in self.edges)
        released = tuple(number(value, "a released parameter") for value in self.released)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "released", released)
        if len(edges) != len(released) + 1 or not released or not all(a < b for a, b in pairwise(edges)):
            raise ProblemError("a partition needs increasing edges and one released parameter between each two.")

    @property
    def parameters(self) -> set[str]:
        return {self.parameter}

    @property
    def finite(self) -> bool:
        return True

    @property
    def moves(self) -> Form:
        return {self.parameter: 1.0}

    @property
    def cuts(self) -> NDArray[np.float64] | None:
        return np.array(self.edges)

    def covers(self, problem: Problem) -> bool:
        return fills(problem, self.parameter, self.edges[0], self.edges[-1])

    def largest_factor(self, problem: Problem, about: float | None) -> float:
        edges = np.array(self.edges)
        return stretched(problem, about, np.stack([edges[:-1], edges[1:]]), np.array(self.released))

    def describe(self, slope: float | None) -> tuple[str, str]:
        return "bins", f"{len(self.released)} of different widths along {self.parameter}"

    def rescaled(self, factor: float, offset: float, start: Mapping[str, float]) -> Partition:
        begin = start[self.parameter]
        return replace(
            self,
            edges=tuple(factor * edge + begin for edge in self.edges),
            released=tuple(factor * value + begin for value in self.released),
        )

    def release(
        self, params: Mapping[str, ArrayLike], chance: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        out = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
        index = np.searchsorted(np.array(self.edges), out[self.parameter], side="right") - 1
        out[self.parameter] = np.array(self.released)[np.clip(index, 0, len(self.released) - 1)]
        return out

    def ends(self, released: Mapping[str, ArrayLike]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        edges, at = np.array(self.edges), np.asarray(released[self.parameter], dtype=np.float64)
        index = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(self.released) - 1)
        return edges[index], edges[index + 1]

    @property
    def levels(self) -> NDArray[np.float64] | None:
        return np.array(self.released)

    def bin_of(self, params: Mapping[str, float]) -> dict[str, Any]:
        return cell_of(self.edges, self.parameter, params)

    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        at = released[self.parameter]
        index = np.array([self.released.index(float(value)) for value in at])
        edges = np.array(self.edges)
        low, high = edges[index], edges[index + 1]
        points = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, nodes)
        whole = np.zeros(len(points), dtype=bool)
        return Fibre(points={self.parameter: points}, weight=np.ones(points.shape), comb=whole)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "parameter": self.parameter,
            "edges": list(self.edges),
            "released": list(self.released),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Partition:
        return cls(parameter=data["parameter"], edges=tuple(data["edges"]), released=tuple(data["released"]))
