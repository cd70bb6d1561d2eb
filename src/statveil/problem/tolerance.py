"""How close a guess counts: by a distance, or by a share of the statistic."""

from __future__ import annotations

import math
from dataclasses import dataclass

from statveil.errors import ProblemError
from statveil.numbers import number

__all__ = ["Relative"]

_UP = 1 + 2.0**-51


@dataclass(frozen=True, slots=True)
class Relative:
    """A share of the statistic: a guess is a hit if it lies within ``share`` times the statistic of it.

    Such a hit is a window of length 2 artanh(share) in the logarithm of the statistic, whatever the guess
    (docs/theory.md, relative tolerance).

    >>> Relative(0.05)
    Relative(share=0.05)
    """

    share: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", number(self.share, "a relative tolerance or distortion"))
        if not 0 < self.share < 1:
            raise ProblemError(
                f"a relative tolerance or distortion must lie between 0 % and 100 %, both excluded. Got "
                f"{100 * self.share:g} %; from 100 % on the guess 0 is always a hit."
            )

    @property
    def in_logarithm(self) -> float:
        """Half the length of a hit in the logarithm, rounded up."""
        return math.atanh(self.share) * _UP

    def below(self, high: float) -> float:
        """Half the length of the longest hit among values up to ``high``: from guess / (1 + share) to ``high``."""
        return high * self.share / (1 + self.share) * _UP

    def __str__(self) -> str:
        return f"{100 * self.share:.10g} %"
