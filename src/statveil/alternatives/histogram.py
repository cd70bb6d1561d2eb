"""Differential privacy: a histogram with Laplace noise on its counts, from which rows are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statveil.alternatives.alternative import Array, no_less
from statveil.alternatives.binned import BinnedAlternative

__all__ = ["PrivateHistogram"]


@dataclass(frozen=True, kw_only=True)
class PrivateHistogram(BinnedAlternative):
    """Independent Laplace noise on each count (Wasserman and Zhou 2010).

    Counts of neighbouring tables differ by ``change`` in total, and so does the exponent of the Laplace densities,
    in units of the scale: epsilon = change / scale. Clipping, normalising and drawing use the noisy counts alone.
    """

    name: ClassVar[str] = "dp-histogram"
    doc: ClassVar[str] = "differential privacy: rows drawn from a histogram with Laplace noise"

    @property
    def epsilon(self) -> float:
        return no_less(self.change / self.scale)

    def noisy_counts(self, column: Array, rng: np.random.Generator) -> Array:
        return self.counts(column) + rng.laplace(0.0, self.scale, self.bins)

    def empty_bin(self, rate: float) -> tuple[float, float]:
        # half of the noise is clipped to 0, half is exponential; a Poisson number of rows is drawn from it
        return self.scale / 2, 0.5 + 0.5 / (1 + rate * self.scale)
