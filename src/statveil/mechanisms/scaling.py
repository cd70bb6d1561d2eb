"""Scaling about a known bound: the release keeps the bound and every ratio to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.mechanisms.mechanism import Fibre, Mechanism, quiet
from statveil.numbers import number
from statveil.problem.location_scale import Form, evaluate
from statveil.problem.problem import Problem
from statveil.problem.support import Support
from statveil.theory.bins import Bins

__all__ = ["Scaling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling(Mechanism):
    """Bins of the secret, measured from the bound ``about``; a release scales the column about it.

    Parameters
    ----------
    about : float
        The known bound or atom.
    loc, scale : str
        Names of the location and the scale parameter.
    form : Form
        The secret measured from the bound, as a linear form of (location - bound, scale); positive.
    bins : Bins
        Bins of that form.
    """

    kind: ClassVar[str] = "scaling"
    about: float
    loc: str
    scale: str
    form: Form
    bins: Bins

    def __post_init__(self) -> None:
        object.__setattr__(self, "about", number(self.about, "the bound of a scaling"))
        form = {str(key): number(value, "a part of the secret") for key, value in dict(self.form).items()}
        object.__setattr__(self, "form", form)
        if not form or not set(form) <= {self.loc, self.scale} or self.bins.low <= 0:
            raise ProblemError("a scaling mechanism needs a positive secret made of its location and scale.")

    @property
    def parameters(self) -> set[str]:
        return {self.loc, self.scale}

    @property
    def finite(self) -> bool:
        return False

    @property
    def bin_width(self) -> float | None:
        return self.bins.width

    def largest_factor(self, problem: Problem, about: float | None) -> float:
        return 0.5 * (1 + float(self.bins.span(self.bins.first)[1]) / self.bins.low)

    def describe(self, slope: float | None) -> tuple[str, str]:
        return "bins", f"{self.bins.count} of width {self.bins.width:.6g} along the secret"

    def rescaled(self, factor: float, offset: float, start: Mapping[str, float]) -> Scaling:
        return replace(self, about=factor * self.about + offset, bins=self.bins.rescaled(factor, 0.0))

    def _from_bound(self, params: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
        shifted = {name: np.asarray(value, dtype=np.float64) for name, value in params.items()}
        shifted[self.loc] = shifted[self.loc] - self.about
        return shifted

    def release(
        self, params: Mapping[str, ArrayLike], chance: ArrayLike | None = None
    ) -> dict[str, NDArray[np.float64]]:
        shifted = self._from_bound(params)
        level = evaluate(self.form, shifted)
        start, stop = self.bins.span(self.bins.locate(level))
        factor = 0.5 * (start + stop) / level
        return {
            self.loc: quiet(self.about + factor * shifted[self.loc], self.bins.width, abs(self.about) + self.bins.high),
            self.scale: quiet(factor * shifted[self.scale], self.bins.width, self.bins.high),
        }

    def bin_of(self, params: Mapping[str, float]) -> dict[str, Any]:
        index = int(self.bins.locate(evaluate(self.form, self._from_bound(params))))
        low, high = self.bins.span(index)
        return {"along": "secret", "index": index, "low": float(low), "high": float(high)}

    def fibre(self, released: Mapping[str, NDArray[np.float64]], support: Support, nodes: int) -> Fibre:
        shifted = self._from_bound(released)
        level = evaluate(self.form, shifted)
        start, stop = self.bins.span(self.bins.locate(level))
        apex = {self.loc: np.full(level.shape, self.about), self.scale: np.zeros(level.shape)}
        back, ahead = support.extent(apex, shifted)
        low, high = np.maximum(back, start / level), np.minimum(ahead, stop / level)
        factor = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, nodes)
        points = {name: apex[name][:, None] + factor * shifted[name][:, None] for name in (self.loc, self.scale)}
        # polar coordinates: the density grows with the distance
        return Fibre(points=points, weight=factor, comb=np.zeros(len(factor), dtype=bool))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "about": self.about,
            "loc": self.loc,
            "scale": self.scale,
            "form": dict(self.form),
            "low": self.bins.low,
            "high": self.bins.high,
            "origin": self.bins.origin,
            "width": self.bins.width,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scaling:
        return cls(
            about=data["about"],
            loc=data["loc"],
            scale=data["scale"],
            form=dict(data["form"]),
            bins=Bins(low=data["low"], high=data["high"], origin=data["origin"], width=data["width"]),
        )
