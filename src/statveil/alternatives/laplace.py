"""Distribution privacy: independent Laplace noise on every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statveil.alternatives.alternative import Alternative, Array, no_less, whole
from statveil.errors import ColumnError
from statveil.numbers import positive
from statveil.rounding import shown_up

__all__ = ["LaplaceNoise"]


@dataclass(frozen=True, kw_only=True)
class LaplaceNoise(Alternative):
    """The Wasserstein mechanism of distribution privacy on every row (Chen and Ohrimenko 2023).

    Two candidate distributions of a row that can be coupled with rows at most ``gap`` apart (for a location family:
    the difference of the means) put whole tables at most n gap apart in the sum of absolute differences, so Laplace
    noise of scale n gap / epsilon is epsilon-private. The mean alone needs as much: the density of a sum of Laplace
    draws falls like e^(-x / scale) in its tails, where the ratio for a shift of n gap tends to e^(n gap / scale).

    Parameters
    ----------
    gap : float, optional
        Largest distance between rows of two candidate distributions.
    rows : int, optional
        Number of rows for which the noise was set; a longer column is refused.
    """

    name: ClassVar[str] = "distribution-privacy"
    doc: ClassVar[str] = "distribution privacy: Laplace noise on each row"

    gap: float | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "the scale of the noise"))
        if self.gap is not None:
            positive(self.gap, "the gap between two candidates")
        if self.rows is not None:
            whole(self.rows, "the number of rows")

    @classmethod
    def paper(cls, *, beta: float) -> LaplaceNoise:
        """The paper's form: independent noise of *variance* beta^2 on every row, tied to no guarantee."""
        return cls(scale=positive(beta, "beta") / cls.spread)

    @classmethod
    def calibrated(cls, *, gap: float, rows: int, epsilon: float) -> LaplaceNoise:
        """The fair form: scale rows * gap / epsilon on every row."""
        gap, rows = positive(gap, "the gap between two candidates"), whole(rows, "the number of rows")
        return cls(scale=no_less(rows * gap / positive(epsilon, "epsilon")), gap=gap, rows=rows)

    @property
    def epsilon(self) -> float | None:
        """Largest log-ratio of the densities of a released table, or of its mean, under two candidates."""
        return None if self.gap is None or self.rows is None else no_less(self.rows * self.gap / self.scale)

    @property
    def guarantee(self) -> str:
        epsilon = self.epsilon
        if epsilon is None:
            return (
                "none: the noise was not set from candidates and a number of rows, and independent noise averages out."
            )
        return (
            f"two candidate distributions of a row, coupled at most {self.gap:.12g} apart, are indistinguishable from "
            f"{self.rows} released rows up to a factor of e^{shown_up(epsilon, 4)}."
        )

    def _noisy(self, column: Array, rng: np.random.Generator) -> Array:
        if self.rows is not None and len(column) > self.rows:
            raise ColumnError(
                f"the noise was set for {self.rows} rows and averages out over more. Got {len(column)} rows; "
                "calibrate for them."
            )
        return column + rng.laplace(0.0, self.scale, len(column))
