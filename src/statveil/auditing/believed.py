"""Which originals an attacker has in mind after a release that keeps nothing but the ranks.

With a family they are the family's own distributions. Without one an attacker can take the released shape for the
original's, moved to each candidate statistic as columns of that kind are moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.auditing.inversion import released_statistic
from statveil.auditing.view import View
from statveil.problem.column_numbers import InMemory
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.model import Model
from statveil.tables.blocks import Array

__all__ = ["Originals", "originals"]


class Originals(Protocol):
    """Distributions by parameter."""

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Quantile function."""

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Share of rows up to a value."""


def originals(view: View) -> Originals:
    """The originals of a release by rank, for every candidate."""
    family = view.plan.problem.family
    return _Moved(view, family, family.model) if isinstance(family, AnyShape) and family.model is not None else family


class _Moved:
    """The released rows, moved to a candidate's statistic."""

    def __init__(self, view: View, family: AnyShape, model: Model) -> None:
        self.family, self.model = family, model
        self.ranked = np.sort(view.column[np.isfinite(view.column)])
        self.levels = (np.arange(len(self.ranked)) + 0.5) / max(len(self.ranked), 1)
        self.released = released_statistic(view)
        spread = model.secret.per_shift == 0
        self.centre = model.secret.centre(InMemory(self.ranked)) if spread and len(self.ranked) else 0.0

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        values = np.interp(np.asarray(alpha, dtype=np.float64), self.levels, self.ranked)
        return self.model.moved(values, self.released, self._secrets(params), self.centre)

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        here = self.model.moved(np.asarray(x, dtype=np.float64), self._secrets(params), self.released, self.centre)
        return np.asarray(np.searchsorted(self.ranked, here, side="right") / max(len(self.ranked), 1))

    def _secrets(self, params: Mapping[str, ArrayLike]) -> Array:
        return self.family.value(self.model.secret, params)
