"""Directional distribution privacy: ONE Laplace shift of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statveil.alternatives.alternative import Alternative, Array, no_less
from statveil.numbers import positive
from statveil.rounding import shown_up

__all__ = ["CommonShift"]


@dataclass(frozen=True, kw_only=True)
class CommonShift(Alternative):
    """The directional mechanism of Chen and Ohrimenko (2023) on the whole table of a location family.

    The tables of two candidates differ by (gap, ..., gap), of length sqrt(n) gap, so noise is needed in that direction
    only: a Laplace draw of scale sqrt(n) gap / epsilon times the unit vector (1, ..., 1) / sqrt(n), which is one
    Laplace shift of scale gap / epsilon on every row. Given the deviations of the rows, which do not depend on the
    candidate, the release is a number plus Laplace noise: the ratio is at most e^(gap / scale).

    Parameters
    ----------
    gap : float, optional
        Largest difference of the means of two candidates of the location family.
    """

    name: ClassVar[str] = "common-shift"
    doc: ClassVar[str] = "directional distribution privacy: one Laplace shift of all rows"

    gap: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "the scale of the noise"))
        if self.gap is not None:
            positive(self.gap, "the gap between two candidates")

    @classmethod
    def calibrated(cls, *, gap: float, epsilon: float) -> CommonShift:
        """The least noise that is epsilon-private for candidates at most ``gap`` apart."""
        gap = positive(gap, "the gap between two candidates")
        return cls(scale=no_less(gap / positive(epsilon, "epsilon")), gap=gap)

    @property
    def epsilon(self) -> float | None:
        """Largest log-ratio of the densities of a released table under two candidates; ``None`` without candidates."""
        return None if self.gap is None else no_less(self.gap / self.scale)

    @property
    def guarantee(self) -> str:
        epsilon = self.epsilon
        if epsilon is None:
            return "none: the noise was not set from candidates for the mean."
        return (
            f"candidates of one location family whose means lie at most {self.gap:.12g} apart are indistinguishable "
            f"from the whole released column up to a factor of e^{shown_up(epsilon, 4)}, unless a bound or a row "
            "is known."
        )

    def _noisy(self, column: Array, rng: np.random.Generator) -> Array:
        return column + rng.laplace(0.0, self.scale)
