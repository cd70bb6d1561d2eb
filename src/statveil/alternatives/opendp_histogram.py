"""Differential privacy by OpenDP: its histogram and its whole-number noise, safe in floating point."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from statveil.alternatives.alternative import Array
from statveil.alternatives.binned import BinnedAlternative
from statveil.errors import ProblemError

__all__ = ["OpenDPHistogram"]


@dataclass(frozen=True, kw_only=True)
class OpenDPHistogram(BinnedAlternative):
    """Discrete Laplace noise on each count; bins, counts, noise and epsilon are OpenDP's.

    OpenDP draws from its own secure generator, so ``rng`` decides only which rows are drawn from the noisy counts.
    """

    name: ClassVar[str] = "opendp-histogram"
    doc: ClassVar[str] = "differential privacy by OpenDP: rows drawn from its noisy histogram"
    reproducible: ClassVar[bool] = False

    @property
    def epsilon(self) -> float:
        # rows added and removed are OpenDP's distance of tables: a replaced row is one of each
        return float(self._measurement().map(self.change))

    def noisy_counts(self, column: Array, rng: np.random.Generator) -> Array:
        return np.array(self._measurement()(column.tolist()), dtype=np.float64)

    def empty_bin(self, rate: float) -> tuple[float, float]:
        # P(noise = k) = (1 - q) / (1 + q) q^|k|, and k rows on average are drawn at count k
        q = math.exp(-1 / self.scale)
        thinned = q * math.exp(-rate)
        return q / (1 - q * q), (1 + (1 - q) * thinned / (1 - thinned)) / (1 + q)

    def _measurement(self) -> Any:
        dp = _opendp()
        was_on = "contrib" in dp.GLOBAL_FEATURES
        dp.enable_features("contrib")  # OpenDP asks for this word before anything can be built
        try:
            rows = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
            return (
                rows
                >> dp.t.then_find_bin(self.edges[1:-1].tolist())  # values outside fall into the outer bins
                >> dp.t.then_count_by_categories(list(range(self.bins)), null_category=False)
                >> dp.m.then_laplace(self.scale)
            )
        finally:
            if not was_on:
                dp.disable_features("contrib")


def _opendp() -> Any:
    try:
        return importlib.import_module("opendp.prelude")
    except ImportError:
        raise ProblemError(
            "the alternative 'opendp-histogram' needs OpenDP, which is not installed. Install the extra "
            "statveil[opendp], or take 'dp-histogram', which needs nothing more."
        ) from None
