"""LogShape(of): a column whose logarithm has a public shape, ln X = loc + scale Z."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.column_numbers import ColumnNumbers, InMemory
from statveil.problem.domain import Param
from statveil.problem.families.shape import Shape
from statveil.problem.secret import Secret
from statveil.problem.tolerance import Relative

__all__ = ["LogShape"]

_HIDDEN = ("median", "quantile")
_LARGEST = 500
"""Of a logarithm: numbers end at about 709."""


class LogShape(Shape):
    """Columns of positive values X = exp(loc + scale Z), where everyone knows the shape Z of the logarithm.

    Lognormal (``"norm"``), log-logistic (``"logistic"``), Weibull (``"gumbel_l"``), Frechet (``"gumbel_r"``) and Pareto
    columns (``"expon"``) with both parameters unknown, also where X has no mean. The secret is a quantile, closeness is
    relative, and distances are those of the logarithms, so that everything is the theory of :class:`Shape` on ln X
    (docs/theory.md, relative tolerance). The column is redrawn from the released model by rank.

    Parameters
    ----------
    of : str, mapping or sequence
        The shape of the logarithm, as for :class:`Shape`.
    parameters : pair of str, optional
        What the prior is about: one of ``log_mean``, ``log_median``, ``log_min``, ``log_max``, ``log_loc`` and one of
        ``log_std``, ``log_iqr``, ``log_scale``, all of the natural logarithm of the values.

    Examples
    --------
    >>> import statveil as sv
    >>> prior = sv.Box(log_mean=(3, 4), log_std=(0.5, 1.5))
    >>> secret, close = sv.Quantile(0.95), sv.Relative(0.05)
    >>> problem = sv.Problem(family=sv.LogShape("norm"), prior=prior, secret=secret, tolerance=close)
    >>> float(problem.secret_of({"log_mean": 3.0, "log_std": 1.0}).round(6))  # exp(3 + 1.6448536)
    104.048135
    """

    name: ClassVar[str] = "log-shape"
    doc: ClassVar[str] = "positive values whose logarithm has a public shape, written log-shape:norm"
    secrets: ClassVar[tuple[str, ...]] = ("quantile",)
    distances: ClassVar[tuple[str, ...]] = ("log-w1",)
    prefix: ClassVar[str] = "log_"
    redrawn: ClassVar[bool] = True

    def __init__(self, of: Any, *, parameters: Sequence[str] | None = None) -> None:
        super().__init__(of, parameters=parameters)
        # no parameter is a bound of the column itself
        vars(self).update(minimum=0.0, maximum=None)

    def _secrets(self) -> tuple[str, ...]:
        return ("quantile",)

    @classmethod
    def example(cls) -> LogShape:
        return cls("norm")

    @property
    def params(self) -> tuple[Param, ...]:
        place, unit = super().params
        return (
            replace(place, typical=(0.0, 4.0), doc=f"{place.doc} of the natural logarithms"),
            replace(unit, typical=(0.2, 1.5), doc=f"{unit.doc} of the natural logarithms"),
        )

    def stated_in(self, axes: Mapping[str, Any]) -> LogShape:
        found = super().stated_in(axes)
        assert isinstance(found, LogShape)
        place = axes.get(found.parameters[0])
        if place is not None and max(abs(place.low), abs(place.high)) > _LARGEST:
            raise ProblemError(
                f"the prior of {found.parameters[0]!r} is about natural logarithms: 4.6 stands for 100, and beyond "
                f"{_LARGEST} no number has one. Got {place.low:g}:{place.high:g}."
            )
        found.closeness = self.closeness
        return found

    def close_by(self, tolerance: float | Relative) -> LogShape:
        if not isinstance(tolerance, Relative):
            raise ProblemError(
                f"closeness is relative where the logarithm has the shape: write the tolerance in per cent, such as 5% "
                f"(in Python sv.Relative(0.05)). Got {tolerance!r}."
            )
        found = copy.copy(self)
        found.closeness = tolerance
        return found

    def tolerated(self, tolerance: float | Relative) -> float:
        assert isinstance(tolerance, Relative)  # close_by() has seen to it
        return tolerance.in_logarithm

    def check_secret(self, secret: Secret) -> None:
        if secret.kind not in _HIDDEN:
            raise ProblemError(
                f"of columns whose logarithm has a public shape a quantile can be hidden, such as quantile:0.95 or the "
                f"median. Got {secret.label!r}; for the mean leave out the family and declare --known min=0."
            )
        secret.check(self)

    # --- the column: what the logarithms become ------------------------------------------------
    def value(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return np.exp(self.position(secret, params))

    def position(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        moves, stretches = self._parts(secret)
        return np.asarray(moves * self.loc(params) + stretches * self.scale(params), dtype=np.float64)

    def _parts(self, secret: Secret) -> tuple[float, float]:
        parts = secret.linear(self)
        assert parts is not None  # a quantile
        return parts

    def coordinate(self, value: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(value, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(at > 0, np.log(at), -math.inf)

    def read(self, secret: Secret, numbers: ColumnNumbers) -> float:
        """A quantile of the logarithms is the logarithm of the quantile; their spread is taken by quartiles."""
        if secret.kind in _HIDDEN:
            return float(self.coordinate(secret.of_column(numbers, self)))
        low, high = (float(self.coordinate(numbers.quantile(level))) for level in (0.25, 0.75))
        return high - low

    def moved(self, secret: Secret, values: NDArray[np.float64], params: Mapping[str, float]) -> NDArray[np.float64]:
        """The rows with other parameters, their shape kept: their logarithms moved and stretched."""
        numbers = InMemory(values)
        logs, width = self.coordinate(values), self.read(self.measured_spread(), numbers)
        own = float(self.scale(params) * np.diff(self.z_quantile(np.array([0.25, 0.75])))[0])
        stretch = own / width if width > 0 and math.isfinite(width) else 1.0
        return np.exp(self.position(secret, params) + stretch * (logs - self.read(secret, numbers)))

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            return np.exp(super().quantile(alpha, params))

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        return np.where(at > 0, super().cdf(self.coordinate(np.where(at > 0, at, 1.0)), params), 0.0)

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            return np.exp(super().sample(params, size, rng))

    def mean(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        raise self._none("mean")

    def std(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        raise self._none("standard deviation")

    def _none(self, what: str) -> ProblemError:
        return ProblemError(f"a column whose logarithm has a public shape may have no {what}; ask for a quantile.")

    def measured_place(self) -> Secret:
        from statveil.problem.secrets.quantile import Quantile

        return Quantile(0.5)

    def measured_spread(self) -> Secret:
        from statveil.problem.secrets.iqr import Iqr

        return Iqr()
