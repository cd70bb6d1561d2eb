"""Attribute privacy: normal noise on every row, or one normal shift of all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statveil.alternatives.alternative import Alternative, Array, no_less, whole
from statveil.alternatives.gaussian_curve import exact_delta, exact_epsilon, largest_shift, published_shift
from statveil.errors import ColumnError, ProblemError, TargetError
from statveil.numbers import number, positive
from statveil.rounding import shown_up

__all__ = ["GaussianNoise"]


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Alternative):
    """The Gaussian mechanism of attribute privacy (Zhang, Ohrimenko and Cummings 2022).

    Derivation, for a released statistic F and a secret g: let F given g = s be normal with mean E[F | s] and a
    variance v that is the same for every s, and let Z be independent N(0, sigma^2). Then F + Z given g = s is normal
    with mean E[F | s] and variance v + sigma^2: two values of the secret give two normal distributions of one
    variance, at most dF apart. That is a Gaussian mechanism whose noise is the data's own spread and Z together. If
    total noise of standard deviation t dF is (epsilon, delta)-private, then sigma^2 = max(0, (t dF)^2 - v) is
    enough; t = c / epsilon with c^2 = 2 ln(1.25 / delta) as published, or the least possible t (Balle and Wang 2018).

    Here F is the column mean. One shift of all rows is noise on F itself; independent noise on n rows reaches
    F with sigma^2 / n, so it needs n times the variance. With v = 0 the whole column of a location family is
    protected, not only its mean: given the rows' deviations, it is the same mechanism. With v > 0 that holds for
    independent normal rows, where the mean is sufficient. If v depends on the secret, nothing is guaranteed.

    Parameters
    ----------
    scale : float
        Standard deviation of one draw.
    common : bool
        One draw for all rows instead of one per row.
    gap : float, optional
        dF, the largest difference of E[column mean | secret] between two values of the secret.
    delta : float, optional
        Probability with which the bound on the ratio may fail.
    own_variance : float
        v, the variance of the column mean given the secret; 0 if the secret is the column mean itself.
    rows : int, optional
        Number of rows for which independent noise was set; a longer column is refused.
    """

    name: ClassVar[str] = "attribute-privacy"
    doc: ClassVar[str] = "attribute privacy: normal noise on each row, or one normal shift"
    spread: ClassVar[float] = 1.0

    common: bool = False
    gap: float | None = None
    delta: float | None = None
    own_variance: float = 0.0
    rows: int | None = None

    def __post_init__(self) -> None:
        Alternative.__post_init__(self)
        own = number(self.own_variance, "the column's own variance")
        if own < 0:
            raise ProblemError(f"the column's own variance must be 0 or more. Got {own:g}.")
        if self.gap is not None:
            positive(self.gap, "the gap between two candidates")
            _share(self.delta)
        if self.rows is not None:
            whole(self.rows, "the number of rows")

    @classmethod
    def paper(cls, *, beta: float) -> GaussianNoise:
        """The paper's form: independent N(0, beta^2) on every row, tied to no guarantee."""
        return cls(scale=positive(beta, "beta"))

    @classmethod
    def calibrated(
        cls,
        *,
        gap: float,
        epsilon: float,
        delta: float,
        own_variance: float = 0.0,
        rows: int | None = None,
        tight: bool = False,
    ) -> GaussianNoise:
        """The fair form: the noise that makes candidates ``gap`` apart (epsilon, delta)-indistinguishable.

        One shift of all rows, or independent noise if the number of ``rows`` is given. ``tight`` takes the least
        noise instead of the published constant, which does not hold for large epsilon.
        """
        gap, epsilon = positive(gap, "the gap between two candidates"), positive(epsilon, "epsilon")
        delta, own = _share(delta), number(own_variance, "the column's own variance")
        shift = largest_shift(epsilon, delta) if tight else published_shift(epsilon, delta)
        if exact_delta(shift, epsilon) > delta:
            raise TargetError(
                f"the published constant does not reach delta {delta:g} at epsilon {epsilon:g}; it is proven for "
                "epsilon below 1. Ask for a smaller epsilon, or for tight=True."
            )
        draws = 1 if rows is None else whole(rows, "the number of rows")
        scale = no_less(math.sqrt(max(0.0, no_less((gap / shift) ** 2) - own) * draws))
        return cls(scale=scale, common=rows is None, gap=gap, delta=delta, own_variance=own, rows=rows)

    @property
    def epsilon(self) -> float | None:
        """The exact epsilon at ``delta``, rounded up; ``None`` where no candidates were stated."""
        if self.gap is None or self.delta is None or (self.rows is None and not self.common):
            return None
        total = math.sqrt(self.own_variance + self.scale**2 / (1 if self.common else self.rows or 1))
        return exact_epsilon(no_less(self.gap / total) if total > 0 else math.inf, self.delta)

    @property
    def guarantee(self) -> str:
        epsilon = self.epsilon
        if epsilon is None:
            return "none: the noise was not set from candidates for the secret, and independent noise averages out."
        what = (
            "if the rows are independent and normal with the same variance under both"
            if self.own_variance
            else "if the columns under both differ by a shift"
        )
        return (
            f"candidates for the secret whose column means lie at most {self.gap:.12g} apart are indistinguishable up "
            f"to a factor of e^{shown_up(epsilon, 4)}, but for a probability of {self.delta:.12g}, {what}."
        )

    def _noisy(self, column: Array, rng: np.random.Generator) -> Array:
        if not self.common and self.rows is not None and len(column) > self.rows:
            raise ColumnError(
                f"the noise was set for {self.rows} rows and averages out over more. Got {len(column)} rows; "
                "calibrate for them."
            )
        return column + rng.normal(0.0, self.scale, 1 if self.common else len(column))


def _share(value: float | None) -> float:
    if value is None or not 0 < number(value, "delta") < 1:
        raise ProblemError(f"delta must be a number between 0 and 1, such as 1e-6. Got {value!r}.")
    return float(value)
