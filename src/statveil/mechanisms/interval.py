"""Interval quantization: the paper's mechanism, along any direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.mechanisms.directed import Directed
from statveil.mechanisms.mechanism import Fibre, apart, fills, quiet, support_from_json, support_to_json
from statveil.numbers import positive
from statveil.problem.location_scale import Form, evaluate
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.support import Support
from statveil.theory.bins import Bins

__all__ = ["Interval"]

_MOST_TEETH = 1000
"""Candidates of a release that are told apart; among more of them a window is as good as on a continuum."""


_HAIR = 1e-9  # of a step: a rounding error of the statistic, not a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Directed):
    """Bins of one coordinate; each line of parameters inside a bin is released at its middle.

    Parameters
    ----------
    along, coordinate, direction : str, Form, Form
        The binned coordinate; lines in the direction share a release.
    bins : Bins
        The bins of the coordinate.
    step : float, optional
        Move by whole steps only: the release is the middle one of the candidates a step apart.
    keep : Support, optional
        Where a release must stay. A line that leaves it inside the bin is released at the point nearest to the
        bin's middle that stays (``centre="bin"``), or at the middle of what stays (``centre="piece"``).
    """

    kind: ClassVar[str] = "interval"
    bins: Bins
    step: float | None = None
    keep: Support = field(default_factory=lambda: Support(limits=()))
    centre: str = "bin"

    def __post_init__(self) -> None:
        Directed.__post_init__(self)
        if self.centre not in ("bin", "piece"):
            raise ProblemError(f"the centre of an interval mechanism must be 'bin' or 'piece'. Got {self.centre!r}.")
        if self.step is not None:
            object.__setattr__(self, "step", positive(self.step, "the step"))

    @property
    def _article(self) -> str:
        return "an interval mechanism"

    @property
    def bin_width(self) -> float | None:
        return self.bins.width

    @property
    def cuts(self) -> NDArray[np.float64] | None:
        starts, stops = self.bins.span(np.arange(self.bins.first, self.bins.last + 1))
        return np.append(starts, stops[-1:])

    @property
    def reach(self) -> float:
        return self.bins.width

    def covers(self, problem: Problem) -> bool:
        if list(self.coordinate.values()) != [1.0]:
            return True
        (name,) = self.coordinate
        return fills(problem, name, self.bins.low, self.bins.high)

    def keeps_shares(self, problem: Problem) -> bool:
        if isinstance(problem.prior, Box):
            return True
        chosen, direction = problem.share_direction
        return (
            {*self.coordinate} == {chosen}
            and self.keep == problem.support
            and {*self.direction} == {*direction}
            and all(abs(move - direction[name]) <= 1e-9 for name, move in self.direction.items())
        )

    def describe(self, slope: float | None) -> tuple[str, str]:
        turned = "" if slope is None else f", slope {slope:.6g}"
        return "bins", f"{self.bins.count} of width {self.bins.width:.6g} along {self.along}{turned}"

    def room(self, params: Mapping[str, float]) -> tuple[float, float]:
        return float(evaluate(self.coordinate, params)) - self.bins.low, self.bins.high - self.bins.low

    def laid(self, move: float) -> Interval:
        return replace(self, bins=self.bins.rescaled(1.0, move), keep=self._kept(move))

    def rescaled(self, factor: float, offset: float, start: Mapping[str, float]) -> Interval:
        limits = tuple(
            (form, factor * bound + float(evaluate(form, {name: start[name] for name in form})))
            for form, bound in self.keep.limits
        )
        begin = float(evaluate(self.coordinate, {name: start[name] for name in self.coordinate}))
        return replace(
            self,
            bins=self.bins.rescaled(factor, begin),
            step=None if self.step is None else factor * self.step,
            keep=Support(limits=limits),
        )

    def turned(self, own: Mapping[str, Form], other: Mapping[str, Form]) -> Interval:
        coordinate = {
            name: sum(part * own[one].get(name, 0.0) for one, part in self.coordinate.items()) for name in other
        }
        direction = {
            name: sum(change * form.get(one, 0.0) for one, change in self.direction.items())
            for name, form in other.items()
        }
        return Interval(
            along=self.along,
            coordinate={name: part for name, part in coordinate.items() if abs(part) > 1e-12},
            direction={name: change for name, change in direction.items() if abs(change) > 1e-12},
            bins=self.bins,
            step=self.step,
        )

    @property
    def finite(self) -> bool:
        return self.step is None and len(self.direction) == 1 and len(self.coordinate) == 1

    def release(
        self, params: Mapping[str, ArrayLike], chance: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        x = evaluate(self.coordinate, params)
        start, stop = self.bins.span(self._located(x))
        middle = 0.5 * (start + stop)
        move = middle - x if self.step is None else self._whole_steps(x, start, stop)
        if self.keep.limits:
            back, ahead = self.keep.extent(params, self.direction)
            if self.centre == "piece":
                move = 0.5 * (np.maximum(back, start - x) + np.minimum(ahead, stop - x))
            else:
                move = np.clip(move, np.minimum(back, 0.0), np.maximum(ahead, 0.0))
        released = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
        moved = {name: released[name] + change * move for name, change in self.direction.items()}
        if self.step is None:  # whole steps keep the residue as it is
            size = max(abs(self.bins.low), abs(self.bins.high), self.bins.width)
            moved = apart({name: quiet(value, self.bins.width, size) for name, value in moved.items()}, moved)
        released |= moved
        if self.finite and not self.keep.limits:
            # the middle itself, free of rounding, so that equal releases are equal numbers
            (name,) = self.coordinate
            released[name] = middle / self.coordinate[name]
        return released

    def ends(self, released: Mapping[str, ArrayLike]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.bins.span(self._located(evaluate(self.coordinate, released)))

    @property
    def levels(self) -> NDArray[np.float64] | None:
        if not self.finite:
            return None
        (name,) = self.coordinate
        edges = self.bins.edges()
        return self.release({name: 0.5 * (edges[1:] + edges[:-1]) / self.coordinate[name]})[name]

    def bin_of(self, params: Mapping[str, float]) -> dict[str, Any]:
        index = int(self._located(evaluate(self.coordinate, params)))
        low, high = self.bins.span(index)
        return {"along": self.along, "index": index, "low": float(low), "high": float(high)}

    def _located(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The bin of each value; a hair below an edge, where whole steps count it to the bin above, the bin above."""
        return self.bins.locate(x if self.step is None else x + _HAIR * self.step)

    def _candidates(
        self, x: NDArray[np.float64], start: NDArray[np.float64], stop: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """First and last whole number of steps that stays in [start, stop)."""
        assert self.step is not None
        first = np.ceil((start - x) / self.step - _HAIR)
        return first, np.maximum(np.ceil((stop - x) / self.step - _HAIR) - 1, first)

    def _whole_steps(
        self, x: NDArray[np.float64], start: NDArray[np.float64], stop: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        assert self.step is not None
        first, last = self._candidates(x, start, stop)
        return np.ceil((first + last) / 2) * self.step

    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        x = evaluate(self.coordinate, released)
        start, stop = self.bins.span(self._located(x))
        if self.step is not None:
            first, last = self._candidates(x, start, stop)
            most = int((last - first).max()) + 1
            fine = most > _MOST_TEETH  # cents of a salary: a row per release would not fit into memory
            share = np.linspace(0.0, 1.0, nodes)
            count = first[:, None] + ((last - first)[:, None] * share if fine else np.arange(most))
            move, weight = count * self.step, (count <= last[:, None] + 1e-9).astype(np.float64)
            points = {name: value[:, None] + self.direction.get(name, 0.0) * move for name, value in released.items()}
            return Fibre(points=points, weight=weight, comb=np.full(len(weight), not fine))
        back, ahead = support.extent(released, self.direction)
        low, high = np.maximum(back, start - x), np.minimum(ahead, stop - x)
        move = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, nodes)
        points = {name: value[:, None] + self.direction.get(name, 0.0) * move for name, value in released.items()}
        return Fibre(points=points, weight=np.ones(move.shape), comb=np.zeros(len(move), dtype=bool))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "along": self.along,
            "coordinate": dict(self.coordinate),
            "direction": dict(self.direction),
            "low": self.bins.low,
            "high": self.bins.high,
            "origin": self.bins.origin,
            "width": self.bins.width,
            "step": self.step,
            "keep": support_to_json(self.keep),
            "centre": self.centre,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Interval:
        return cls(
            along=data["along"],
            coordinate=dict(data["coordinate"]),
            direction=dict(data["direction"]),
            bins=Bins(low=data["low"], high=data["high"], origin=data["origin"], width=data["width"]),
            step=data["step"],
            keep=support_from_json(data["keep"]),
            centre=data["centre"],
        )
