"""Bins in two coordinates at once: every pair of parameters in a rectangle is released at its centre."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.mechanisms.mechanism import Fibre, Mechanism, fills, renamed
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.problem import Problem
from statveil.problem.support import Support
from statveil.theory.bins import Bins
from statveil.theory.unequal_bins import UnequalBins

__all__ = ["Tiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles(Mechanism):
    """Rectangles of two parameters, each released at its centre (docs/theory.md, two secrets of one column).

    A release tells in which bin each of the two lies and nothing else, so there are finitely many of them.

    Parameters
    ----------
    axes : mapping of str to Bins or UnequalBins
        The bins of each of the two parameters.
    """

    kind: ClassVar[str] = "tiles"
    tiled: ClassVar[bool] = True
    axes: Mapping[str, Bins | UnequalBins]

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", {str(name): bins for name, bins in dict(self.axes).items()})
        if len(self.axes) != 2 or not all(isinstance(bins, Bins | UnequalBins) for bins in self.axes.values()):
            raise ProblemError("tiles need the bins of two parameters, each by its name.")

    def __hash__(self) -> int:
        return hash(tuple(self.axes.items()))

    @property
    def parameters(self) -> set[str]:
        return set(self.axes)

    @property
    def finite(self) -> bool:
        return True

    @property
    def moves(self) -> Form:
        return dict.fromkeys(self.axes, 1.0)  # any way: what matters is that both are moved

    def covers(self, problem: Problem) -> bool:
        return all(fills(problem, name, bins.low, bins.high) for name, bins in self.axes.items())

    def largest_factor(self, problem: Problem, about: float | None) -> float:
        family = problem.family
        assert isinstance(family, LocationScale)
        (spread,) = family.scale_form  # one of the two stretches the column, the other one only moves it
        start, _, middle = self._cells(spread)
        return float(np.max(middle / start))

    def largest_change(self, problem: Problem) -> float | None:
        family = problem.family
        if not isinstance(family, LocationScale):
            return None
        slopes = family.coefficients(problem.secret)
        return sum(abs(slopes[name]) * self.widest(name) / 2 for name in self.axes)

    def widest(self, name: str) -> float:
        """Length of the longest bin of one parameter."""
        return max(length for length, _ in self.axes[name].pieces())

    def describe(self, slope: float | None) -> tuple[str, str]:
        widths = {
            name: f"width {bins.width:.6g}" if isinstance(bins, Bins) else "different widths"
            for name, bins in self.axes.items()
        }
        parts = (f"{bins.count} of {widths[name]} along {name}" for name, bins in self.axes.items())
        return "bins", " by ".join(parts)

    def rescaled(self, factor: float, offset: float, start: Mapping[str, float]) -> Tiles:
        return replace(self, axes={name: bins.rescaled(factor, start[name]) for name, bins in self.axes.items()})

    def turned(self, own: Mapping[str, Form], other: Mapping[str, Form]) -> Tiles | None:
        names = renamed(own)
        return None if names is None else Tiles(axes={names[name]: bins for name, bins in self.axes.items()})

    def _cells(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        edges = self.axes[name].edges()
        return edges[:-1], edges[1:], 0.5 * (edges[:-1] + edges[1:])

    def release(
        self, params: Mapping[str, ArrayLike], chance: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        released = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
        for name, bins in self.axes.items():
            start, stop = bins.span(bins.locate(released[name]))
            released[name] = np.asarray(0.5 * (start + stop), dtype=np.float64)
        return released

    def bin_of(self, params: Mapping[str, float]) -> dict[str, Any]:
        found: dict[str, Any] = {"along": list(self.axes), "index": [], "low": [], "high": []}
        for name, bins in self.axes.items():
            index = int(bins.locate(params[name]))
            low, high = bins.span(index)
            for key, value in (("index", index), ("low", float(low)), ("high", float(high))):
                found[key].append(value)
        return found

    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        """The diagonal of each rectangle: all of it shares the release, and it holds every value of each parameter.

        What is believed of one parameter where the other one is known to lie in a bin is asked with
        :meth:`fibre_of`.
        """
        points = {
            name: value for one in self.axes for name, value in self._piece(one, released, support, nodes).items()
        }
        shape = next(iter(points.values())).shape
        return Fibre(points=points, weight=np.ones(shape), comb=np.zeros(shape[0], dtype=bool))

    def candidates(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        """Points all over each rectangle: the first parameter in equal steps, the other one by the golden ratio."""
        ends = {name: self._piece(name, released, support, 2)[name] for name in self.axes}
        place = (np.arange(nodes) + 0.5) / nodes
        shares = dict(zip(self.axes, (place, (np.arange(nodes) * 0.5 * (5**0.5 - 1)) % 1.0), strict=True))
        points = {name: low[:, :1] + (low[:, 1:] - low[:, :1]) * shares[name] for name, low in ends.items()}
        shape = next(iter(points.values())).shape
        return Fibre(points=points, weight=np.ones(shape), comb=np.zeros(shape[0], dtype=bool))

    def fibre_of(
        self, parameter: str, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int
    ) -> Fibre:
        """All values of one parameter that a release leaves open, beside the middle of the other one's bin.

        Where the beliefs are independent, what is believed of one in the rectangle is what is believed of it there.
        """
        if parameter not in self.axes:
            return self.fibre(released, support, nodes)
        (other,) = (one for one in self.axes if one != parameter)
        points = self._piece(parameter, released, support, nodes)
        inside = self._piece(other, released, support, 3)[other][:, 1]  # the middle of what the belief leaves of it
        shape = points[parameter].shape
        points[other] = np.broadcast_to(inside[:, None], shape)
        return Fibre(points=points, weight=np.ones(shape), comb=np.zeros(shape[0], dtype=bool))

    def _piece(
        self, name: str, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int
    ) -> dict[str, NDArray[np.float64]]:
        bins = self.axes[name]
        at = np.asarray(released[name], dtype=np.float64)
        low, high = (np.broadcast_to(end, at.shape) for end in bins.span(bins.locate(at)))
        for form, bound in support.limits:  # where the mass lies is a rectangle too
            if list(form) == [name]:
                edge = bound / form[name]
                low, high = (np.maximum(low, edge), high) if form[name] > 0 else (low, np.minimum(high, edge))
        return {name: low[:, None] + (np.maximum(high, low) - low)[:, None] * np.linspace(0.0, 1.0, nodes)}

    def to_json(self) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        for name, bins in self.axes.items():
            if isinstance(bins, Bins):
                parts[name] = {"low": bins.low, "high": bins.high, "origin": bins.origin, "width": bins.width}
            else:
                parts[name] = {"edges": list(bins.ends)}
        return {"kind": self.kind, "axes": parts}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tiles:
        return cls(
            axes={
                name: UnequalBins(ends=tuple(bins["edges"]))
                if "edges" in bins
                else Bins(low=bins["low"], high=bins["high"], origin=bins["origin"], width=bins["width"])
                for name, bins in dict(data["axes"]).items()
            }
        )
