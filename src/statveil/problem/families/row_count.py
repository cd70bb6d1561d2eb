"""The number of rows of a table: the prior is on it, and a random part of the rows is released."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.axis import Axis
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.left_out import LeftOut
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.log_uniform import LogUniform
from statveil.problem.secret import Secret
from statveil.problem.tolerance import Relative

__all__ = ["LEAST_ROWS", "RowCount"]

LEAST_ROWS = 10
"""The smallest number of rows that a prior may allow: bins of fewer are mostly rounding."""
_MOST_ROWS = 10**15
_BESIDE = 1.5
"""Rows by which a tolerance is widened on each side: n is a whole number, and so is what a bin holds."""


class RowCount(AnyShape):
    """How many rows there are: bins of it, each released at its lower end as a uniformly random part of the rows.

    Given the released size, which rows were chosen tells nothing about n if the rows are exchangeable and their law
    does not depend on n: the risk is that of one parameter (docs/row-count.md).

    n is a whole number, and beliefs are stated on a line. The number that is believed is the nearest whole one to a
    draw from the stated range: a closed window of length W then holds up to W + 1 rows, and an edge of a bin may cut
    one at each end. Windows are taken to be three rows longer than they are, which covers all of it, so risks are
    upper bounds.

    Parameters
    ----------
    secret, belief : Secret, Axis
        The number of rows, and what outsiders believe of it: a plain range, or one that is uniform in the logarithm.
    tolerance : float or Relative
        How close a guess counts, in rows or as a share.
    """

    column_text: ClassVar[str] = "a table"
    in_paper: ClassVar[bool] = False
    distances: ClassVar[tuple[str, ...]] = ("left-out",)
    methods: ClassVar[tuple[str, ...]] = ("interval", "dynamic", "greedy")

    def __init__(self, *, secret: Secret, belief: Axis, tolerance: float | Relative) -> None:
        if not isinstance(belief, Flat | LogUniform):
            raise ProblemError(
                "what outsiders believe of a number of rows is a plain range, LO:HI, or one that is uniform in the "
                f"logarithm, LO:HI~log. Got {belief.kind!r}; other beliefs are not accounted for row by row."
            )
        if not LEAST_ROWS <= belief.low < belief.high <= _MOST_ROWS:
            raise ProblemError(
                f"a range of numbers of rows lies between {LEAST_ROWS} and {_MOST_ROWS:g}. Got {belief.low:g}:"
                f"{belief.high:g}."
            )
        relative = isinstance(tolerance, Relative)
        super().__init__(
            secret=secret, belief=belief, log=relative, closeness=tolerance if isinstance(tolerance, Relative) else None
        )
        self.stated = None if isinstance(tolerance, Relative) else tolerance
        self.widened = True

    def _check_follows(self, secret: Secret) -> None:
        """Rows are not moved at all."""

    @property
    def moves(self) -> str:
        return "subset"

    @property
    def beside(self) -> float:
        """By how much a tolerance is widened, on the scale of the parameter."""
        return _BESIDE / (self.belief.low - 1) if self.log else _BESIDE

    def widen(self, tolerance: float) -> float:
        return tolerance + self.beside

    def narrow(self, tolerance: float) -> float:
        if self.stated is not None and tolerance == self.widen(self.stated):
            return self.stated  # to the last bit
        return max(tolerance - self.beside, 0.0)

    def tolerated(self, tolerance: float | Relative) -> float:
        return self.widen(tolerance.in_logarithm) if isinstance(tolerance, Relative) else tolerance

    @property
    def in_rows(self) -> float:
        return 1.0

    @property
    def measure(self) -> LeftOut:
        kind = "relative" if self.log else "absolute"
        return LeftOut(log=self.log, kind=kind, low=self.belief.low, high=self.belief.high)

    def largest_change(self, stated: float) -> float:
        return self.measure.in_unit(self.measure.of_plan(stated))

    def unshrunk(self, params: Any, stated: float) -> Any:
        return params

    def least(self, start: ArrayLike, stop: ArrayLike) -> NDArray[np.float64]:
        """The size at which a bin of the parameter is released: the smallest whole number in it."""
        ends = [self.value(self.secret, {self.parameter: end}) for end in (start, stop)]
        return np.ceil(np.minimum(*ends) * (1 - 1e-12))

    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        return np.abs(np.asarray(a, dtype=np.float64))

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "rows": True}

    @property
    def fewest(self) -> int:
        """The least number of rows that is released."""
        return math.ceil(self.belief.low)
