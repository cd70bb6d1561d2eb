"""The distortion of a table of which a random part is released: how many of its rows, or which share, is left out."""

from __future__ import annotations

import math
from dataclasses import dataclass

from statveil.errors import ProblemError
from statveil.problem.measure import Measure
from statveil.problem.tolerance import Relative

__all__ = ["LeftOut"]

_HAIR = 1e-9
"""Of a share: more than rounding the end of a bin to whole rows adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(Measure):
    """From half the length of a bin to the rows that are left out, and back.

    A bin is released at its lower end, the only size that all of its tables have rows for. Of a table at the upper end
    the whole length is left out: for half-length d of the logarithms the share 1 - e^(-2d), for d rows the number 2d.

    Parameters
    ----------
    low, high : float
        The smallest and the largest number of rows that is believed possible.
    """

    low: float
    high: float

    def in_unit(self, distance: float) -> float:
        """Rows that are left out at most."""
        if not self.log:
            return 2 * distance
        return self.high * self.as_share(distance)

    def as_share(self, distance: float) -> float:
        """The share of rows that is left out at most: in the first bin where bins have one length in rows."""
        if not self.log:
            return 2 * distance / (self.low + 2 * distance)
        return -math.expm1(-2 * distance) * (1 + _HAIR)

    def bound(self, distance: float) -> float:
        """A lower bound: whoever releases some of the rows, and hides a class of this half-length, leaves out more."""
        return -math.expm1(-2 * distance) * (1 - _HAIR) if self.log else 2 * distance * (1 - _HAIR)

    def inner(self, stated: float | Relative) -> float:
        if isinstance(stated, Relative):
            return self._of_share(stated.share) * (1 - 1e-12)  # no more than was asked for
        if not self.log:
            return 0.5 * stated
        if stated >= self.high:
            raise ProblemError(
                f"no table has so many rows to leave out: the prior ends at {self.high:,.0f}. Got {stated:g}; state "
                "fewer, or a share such as 40%."
            )
        return self._of_share(stated / self.high)

    def of_plan(self, stated: float) -> float:
        return self._of_share(stated) if self.log else 0.5 * stated

    def _of_share(self, share: float) -> float:
        if not self.log:
            return 0.5 * self.low * share / (1 - share)
        return -0.5 * math.log1p(-min(share / (1 + _HAIR), 1 - 1e-15))
