"""Where parameters can lie: a convex set given by linear inequalities, and lines through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.problem.location_scale import Form, evaluate

__all__ = ["Support"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """All parameters with ``form(parameters) >= bound`` for every pair in ``limits``."""

    limits: tuple[tuple[Form, float], ...]

    def contains(self, params: Mapping[str, ArrayLike], *, slack: float = 0.0) -> NDArray[np.bool_]:
        """Whether points lie inside, allowing ``slack`` for rounding."""
        inside: NDArray[np.bool_] = np.ones((), dtype=bool)
        for form, bound in self.limits:
            inside = inside & (evaluate(form, params) >= bound - slack)
        return inside

    def extent(
        self, params: Mapping[str, ArrayLike], direction: Mapping[str, ArrayLike]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Between which multiples of ``direction``, added to each point, the line lies inside."""
        back: NDArray[np.float64] = np.full((), -np.inf)
        ahead: NDArray[np.float64] = np.full((), np.inf)
        for form, bound in self.limits:
            rate = evaluate(form, {name: direction.get(name, 0.0) for name in form})
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                reach = (bound - evaluate(form, params)) / rate
            back = np.maximum(back, np.where(rate > 0, reach, -np.inf))
            ahead = np.minimum(ahead, np.where(rate < 0, reach, np.inf))
        return back, ahead
