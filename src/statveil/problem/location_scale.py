"""Families X = loc + scale * Z with a fixed Z: every secret is linear and W1 is a norm.

Both facts carry the whole analytic theory. With loc and scale linear in the parameters, the mean, the
standard deviation and every quantile are linear in the parameters, and by monotone coupling
``W1(theta, theta + d) = E|dloc + dscale Z|`` depends on the difference ``d`` alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.family import FAMILIES, Family
from statveil.problem.secret import Secret

__all__ = ["Form", "LocationScale", "evaluate"]

Change = TypeVar("Change", float, NDArray[np.float64])
Form = Mapping[str, float]
"""A linear form: coefficient by parameter name. Also used for directions: change by parameter name."""


def evaluate(form: Form, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    """Value of a linear form.

    >>> float(evaluate({"low": -1.0, "high": 1.0}, {"low": 2.0, "high": 5.0}))
    3.0
    """
    total: NDArray[np.float64] = np.zeros(())
    for name, coefficient in form.items():
        total = total + coefficient * np.asarray(params[name], dtype=np.float64)
    return total


class LocationScale(Family):
    """Base of the continuous families."""

    coordinates: ClassVar[Mapping[str, Form]]
    """What bins can be cut along, by name; the paper's choice for std and quantiles comes first."""
    location: ClassVar[str | None] = None
    """Name of the coordinate that a pure shift moves, if the family can be shifted."""
    shift: ClassVar[Form] = {}
    """Direction of a pure shift, by one unit of the location."""
    loc_form: ClassVar[Form] = {}
    scale_form: ClassVar[Form] = {}
    minimum: ClassVar[str | float | None] = None
    """What the family says of the column's minimum: a parameter, a number, or nothing."""
    maximum: ClassVar[str | float | None] = None

    in_paper: ClassVar[bool] = True
    """Whether the paper prints bounds for it."""

    # --- the standard variable Z --------------------------------------------------------------
    @property
    @abstractmethod
    def z_mean(self) -> float:
        """E Z."""

    @property
    @abstractmethod
    def z_std(self) -> float:
        """Standard deviation of Z."""

    @abstractmethod
    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        """Quantile function of Z."""

    @abstractmethod
    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        """Distribution function of Z."""

    @abstractmethod
    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        """Independent draws of Z."""

    @abstractmethod
    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """E|a + b Z|, the Wasserstein-1 length of a change of loc by ``a`` and of scale by ``b``."""

    # --- directions of the paper --------------------------------------------------------------
    def z_trimmed(self, share: float) -> float:
        """Mean of Z without this share of it at each end; its quantiles must have no bends but in the tails."""
        ends = share * 2.0 ** np.arange(max(1, math.ceil(-math.log2(2 * share))))
        edges = np.concatenate([ends, [0.5], 1 - ends[::-1]])  # finer and finer towards both ends
        nodes, weights = np.polynomial.legendre.leggauss(40)
        half = 0.5 * np.diff(edges)
        levels = edges[:-1, None] + half[:, None] * (1 + nodes)
        return float(np.sum(half[:, None] * weights * self.z_quantile(levels))) / (1 - 2 * share)

    def shift_optimum(self, q: float) -> tuple[float | None, float] | None:
        """Best slope and gamma, in closed form, for a secret loc + q scale; ``None`` where there is no closed form."""
        return None

    def scale_optimum(self) -> tuple[float | None, float] | None:
        """Best slope and gamma, in closed form, for the standard deviation; ``None`` where there is no closed form."""
        return None

    def _optimum(self, secret: Secret) -> tuple[float | None, float] | None:
        """Both for any linear secret: a multiple of another has its slope, and gamma over the multiple."""
        parts = secret.linear(self)
        if parts is None:
            return None
        moves, stretches = parts
        found = self.shift_optimum(stretches / moves) if moves else self.scale_optimum()
        return None if found is None else (found[0], found[1] / abs(moves if moves else stretches / self.z_std))

    def best_slope(self, secret: Secret) -> float | None:
        """The paper's t0: slope of least W1 per change of the secret; ``None`` is the pure shift."""
        found = self._optimum(secret)
        return None if found is None else found[0]

    def direction(self, slope: float) -> Form:
        """Direction of a slope, normalised to one unit of the first coordinate."""
        raise ProblemError(f"the family {self.name!r} has no slope: its only direction is fixed. Leave out the slope.")

    def slope_of(self, direction: Form) -> float | None:
        """Slope of a direction in the paper's convention; ``None`` where it has no meaning."""
        return None

    def closed_gamma(self, secret: Secret) -> float | None:
        """gamma where every direction is open (no parameter is known), in closed form, or ``None``."""
        found = self._optimum(secret)
        return None if found is None else found[1]

    def check_secret(self, secret: Secret) -> None:
        """Any secret that is linear in loc and scale makes sense here, also one that the family has not heard of."""
        # where families state this kind, each says itself whether it has it
        stated = any(secret.kind in family.secrets for family in FAMILIES.values())
        if secret.fits(self) or stated or secret.linear(self) is None:
            super().check_secret(secret)
        else:
            secret.check(self)
            self.coefficients(secret)

    # --- what a column is measured by, beside its secret ----------------------------------------
    def measured_place(self) -> Secret:
        """The statistic of rows that tells where a column lies, where its secret does not move with it."""
        from statveil.problem.secrets.mean import Mean  # which imports this file

        return Mean()

    def measured_spread(self) -> Secret:
        """The statistic of rows that tells how wide a column is, where its secret moves with it."""
        from statveil.problem.secrets.std import Std

        return Std()

    # --- linear facts -------------------------------------------------------------------------
    def loc(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The location."""
        return evaluate(self.loc_form, params)

    def scale(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The scale."""
        return evaluate(self.scale_form, params)

    def coefficients(self, secret: Secret) -> Form:
        """The secret as a linear form of the parameters (up to a constant)."""
        parts = secret.linear(self)
        if parts is None:
            raise ProblemError(
                f"the secret {secret.label!r} is not a linear form of the parameters of {self.name!r}, as equal bins, "
                "directions and limits of this family need it. Use one of the methods 'dynamic', 'greedy', 'layered' "
                "or 'optimal' with one uncertain parameter, or give the secret a method 'linear'."
            )
        loc_part, scale_part = parts
        if not (math.isfinite(loc_part) and math.isfinite(scale_part)):
            raise ProblemError(
                f"the secret {secret.label!r} of {self.name!r} must be a finite form a loc + b scale. Got a = "
                f"{loc_part:g}, b = {scale_part:g}; choose a secret that is finite for this family."
            )
        return {
            p.name: loc_part * self.loc_form.get(p.name, 0.0) + scale_part * self.scale_form.get(p.name, 0.0)
            for p in self.params
        }

    def rate(self, secret: Secret, direction: Mapping[str, Change]) -> Change:
        """How fast the secret changes along a direction, |dg/dx|; for many directions at once where it holds arrays."""
        slopes = self.coefficients(secret)
        change: Any = sum(slopes[name] * part for name, part in direction.items())
        rate: Change = abs(change)
        return rate

    def length(self, direction: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """W1 between a member and the one that lies ``direction`` away."""
        moved = {p.name: direction.get(p.name, 0.0) for p in self.params}
        return self.z_distance(evaluate(self.loc_form, moved), evaluate(self.scale_form, moved))

    # --- the distribution ---------------------------------------------------------------------
    def mean(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.loc(params) + self.scale(params) * self.z_mean

    def std(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.scale(params) * self.z_std

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.loc(params) + self.scale(params) * self.z_quantile(alpha)

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.z_cdf((np.asarray(x, dtype=np.float64) - self.loc(params)) / self.scale(params))

    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        return np.asarray(self.loc(params) + self.scale(params) * self.z_sample(size, rng), dtype=np.float64)

    def w1(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.z_distance(self.loc(b) - self.loc(a), self.scale(b) - self.scale(a))
