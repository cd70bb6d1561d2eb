"""Location(mean): any continuous shape that is only moved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.problem.domain import Param
from statveil.problem.location_scale import Form, LocationScale

__all__ = ["Location"]


class Location(LocationScale):
    """Any continuous shape with a location parameter, named by its ``mean``.

    The guarantee for the mean holds whatever the shape is, so none has to be given. With ``shape`` (the
    name of a continuous distribution of :mod:`scipy.stats` without further arguments) and ``spread``
    (its standard deviation) the family can also be drawn from.
    """

    name: ClassVar[str] = "location"
    doc: ClassVar[str] = "any continuous shape that is only moved: its mean"
    secrets: ClassVar[tuple[str, ...]] = ("mean",)
    coordinates: ClassVar[Mapping[str, Form]] = {"mean": {"mean": 1.0}}
    location: ClassVar[str | None] = "mean"
    shift: ClassVar[Form] = {"mean": 1.0}
    loc_form: ClassVar[Form] = {"mean": 1.0}

    def __init__(self, *, shape: str | None = None, spread: float = 1.0) -> None:
        if not (math.isfinite(spread) and spread > 0):
            raise ProblemError(f"the 'spread' of a location family must be a number above 0. Got {spread:g}.")
        self.shape, self.spread = shape, float(spread)
        if shape is not None and not math.isfinite(self._frozen().std()):
            raise ProblemError(f"the shape {shape!r} has no finite standard deviation; choose another shape.")

    @classmethod
    def example(cls) -> Location:
        return cls(shape="laplace", spread=2.0)

    @property
    def params(self) -> tuple[Param, ...]:
        return (Param(name="mean", typical=(-10.0, 10.0), doc="mean, whatever the shape"),)

    def settings(self) -> dict[str, Any]:
        return {} if self.shape is None else {"shape": self.shape, "spread": self.spread}

    def _frozen(self) -> Any:
        from scipy import stats

        if self.shape is None:
            raise ProblemError(
                "this location family has no shape, so only its mean is defined. Give one to draw from it, "
                "for example Location(shape='laplace', spread=2.0)."
            )
        found = getattr(stats, self.shape, None)
        if not isinstance(found, stats.rv_continuous) or found.numargs:
            plain = sorted(n for n, d in vars(stats).items() if isinstance(d, stats.rv_continuous) and not d.numargs)
            raise ProblemError(unknown_name("shape", str(self.shape), plain))
        return found()

    @property
    def z_mean(self) -> float:
        return 0.0

    @property
    def z_std(self) -> float:
        return 1.0

    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        shape = self._frozen()
        return np.asarray((shape.ppf(alpha) - shape.mean()) / shape.std(), dtype=np.float64)

    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        shape = self._frozen()
        return np.asarray(shape.cdf(shape.mean() + shape.std() * np.asarray(z)), dtype=np.float64)

    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        return self.z_quantile(rng.random(size))

    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        return np.abs(np.asarray(a, dtype=np.float64))  # the shape is fixed: only the location moves

    def scale(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return np.full(np.shape(self.loc(params)), self.spread)

    def shift_optimum(self, q: float) -> tuple[float | None, float]:
        return None, 0.5  # Corollary 1
