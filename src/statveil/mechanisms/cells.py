"""Cells of one parameter, each sent to one release or, at random, to one of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
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

__all__ = ["Cells"]


@dataclass(frozen=True, kw_only=True)
class Cells(Mechanism):
    """A parameter in the cell ``[edges[i], edges[i+1])`` is released as ``released[r]`` with probability P(r | i).

    Parameters
    ----------
    parameter : str
        Name of the parameter.
    edges : tuple of float
        Edges of the cells, increasing.
    released : tuple of float
        Every parameter that can be released; two releases never have the same one.
    choices : tuple of tuple of (int, float)
        For each cell the numbers of its releases with their probabilities.
    """

    kind: ClassVar[str] = "cells"
    scattered: ClassVar[bool] = True
    parameter: str
    edges: tuple[float, ...]
    released: tuple[float, ...]
    choices: tuple[tuple[tuple[int, float], ...], ...]

    def __post_init__(self) -> None:
        edges = tuple(number(edge, "an edge of a cell") for edge in self.edges)
        released = tuple(number(value, "a released parameter") for value in self.released)
        choices = tuple(
            tuple((_index(release, len(released)), number(share, "a probability")) for release, share in choice)
            for choice in self.choices
        )
        for name, value in (("edges", edges), ("released", released), ("choices", choices)):
            object.__setattr__(self, name, value)
        if len(edges) != len(choices) + 1 or not choices or not all(a < b for a, b in pairwise(edges)):
            raise ProblemError("cells need increasing edges and one list of choices between each two.")
        if len(set(released)) != len(released):
            raise ProblemError("two releases of cells are the same; join them.")
        for choice in choices:
            shares = [share for _, share in choice]
            if min(shares, default=-1.0) < 0 or abs(sum(shares) - 1) > 1e-9:
                raise ProblemError("the probabilities of every cell must not be negative and must add up to 1.")

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
        edges, (cell, release, _) = np.array(self.edges), self.entries
        return stretched(problem, about, np.stack([edges[cell], edges[cell + 1]]), np.array(self.released)[release])

    def describe(self, slope: float | None) -> tuple[str, str]:
        how = "at random among" if self.randomised else "to one of"
        return "cells", f"{len(self.choices)} along {self.parameter}, sent {how} {len(self.released)} releases"

    @property
    def randomised(self) -> bool:
        return any(len(choice) > 1 for choice in self.choices)

    @cached_property
    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Cell, release and probability of every choice, in the order of the cells."""
        cell = np.repeat(np.arange(len(self.choices)), [len(choice) for choice in self.choices])
        flat = [pair for choice in self.choices for pair in choice]
        return cell, np.array([r for r, _ in flat], dtype=np.int64), np.array([p for _, p in flat])

    @cached_property
    def _ladder(self) -> NDArray[np.float64]:
        """i + P(first choices up to each one | i), increasing over all cells: where a chance falls is a choice."""
        cell, _, share = self.entries
        total = np.cumsum(share)
        before = np.concatenate([[0.0], total])[np.searchsorted(cell, np.arange(len(self.choices)))]
        rungs: NDArray[np.float64] = cell + np.minimum(total - before[cell], 1.0)
        return rungs

    def release(
        self, params: Mapping[str, ArrayLike], chance: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        out = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
        theta = out[self.parameter]
        cell = np.clip(np.searchsorted(np.array(self.edges), theta, side="right") - 1, 0, len(self.choices) - 1)
        owner, release, _ = self.entries
        first = np.searchsorted(owner, cell, side="left")
        if self.randomised:
            if chance is None:
                raise ProblemError(
                    "this plan releases at random and needs secret randomness; give a seed, which must stay secret."
                )
            drawn = np.searchsorted(self._ladder, cell + np.asarray(chance, dtype=np.float64), side="right")
            first = np.clip(drawn, first, np.searchsorted(owner, cell, side="right") - 1)
        out[self.parameter] = np.array(self.released)[release[first]]
        return out

    def snap(self, released: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
        out = {name: np.asarray(value, dtype=np.float64) for name, value in released.items()}
        out[self.parameter] = np.array(self.released)[self._nearest(out[self.parameter])]
        return out

    def possible(self, params: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
        choice = self.choices[self.bin_of(params)["index"]]
        values = np.array([self.released[release] for release, share in choice if share > 0])
        return {name: np.full(len(values), value) for name, value in params.items()} | {self.parameter: values}

    @property
    def levels(self) -> NDArray[np.float64] | None:
        return np.array(self.released)

    def bin_of(self, params: Mapping[str, float]) -> dict[str, Any]:
        return cell_of(self.edges, self.parameter, params)

    def _nearest(self, theta: NDArray[np.float64]) -> NDArray[np.int64]:
        order = np.argsort(self.released)
        levels = np.array(self.released)[order]
        middles = 0.5 * (levels[1:] + levels[:-1])
        nearest: NDArray[np.int64] = order[np.searchsorted(middles, theta)]
        return nearest

    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        cell, release, share = self.entries
        edges = np.array(self.edges)
        rows = []
        for number_of in self._nearest(np.atleast_1d(released[self.parameter])):
            held = release == number_of
            start, stop, weight = edges[cell[held]], edges[cell[held] + 1], share[held]
            inside = max(1, nodes // max(1, len(start)))  # points in the middles of equal parts of each cell
            at = (np.arange(inside) + 0.5) / inside
            points = (start[:, None] + (stop - start)[:, None] * at).ravel()
            rows.append((points, np.repeat(weight * (stop - start) / inside, inside)))
        most = max(len(points) for points, _ in rows)
        filled = np.array([np.pad(points, (0, most - len(points)), mode="edge") for points, _ in rows])
        weights = np.array([np.pad(weight, (0, most - len(weight))) for _, weight in rows])
        return Fibre(points={self.parameter: filled}, weight=weights, comb=np.ones(len(rows), dtype=bool))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "parameter": self.parameter,
            "edges": list(self.edges),
            "released": list(self.released),
            "choices": [[[release, share] for release, share in choice] for choice in self.choices],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cells:
        return cls(
            parameter=data["parameter"],
            edges=tuple(data["edges"]),
            released=tuple(data["released"]),
            choices=tuple(tuple((release, share) for release, share in choice) for choice in data["choices"]),
        )


def _index(value: Any, count: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise ProblemError(f"a choice of a cell must be the number of a release, 0 to {count - 1}. Got {value!r}.")
    return value
