"""A parameter declares its domain once; validation, help texts and test draws follow from it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from statveil.errors import ProblemError

__all__ = ["Param"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of a family.

    Parameters
    ----------
    name : str
        The name used in priors, plans and on the command line.
    low, high : float
        Ends of the domain, both excluded (an infinite or zero scale is never a distribution).
    typical : tuple of float
        A range of ordinary values, from which tests and examples draw.
    doc : str
        One line for people.
    """

    name: str
    low: float = -math.inf
    high: float = math.inf
    typical: tuple[float, float]
    doc: str
    because: str = ""
    """Why the domain ends where it does, where that is not plain."""
    instead: str = ""
    """What else may be stated then."""

    @property
    def domain(self) -> str:
        """The domain in words that fit into an error message."""
        if math.isinf(self.low) and math.isinf(self.high):
            return "any finite number"
        if math.isinf(self.high):
            return f"a number above {self.low:g}"
        if math.isinf(self.low):
            return f"a number below {self.high:g}"
        return f"a number between {self.low:g} and {self.high:g}, both excluded"

    def check_range(self, low: float, high: float) -> None:
        """Refuse a range of values that is empty, not finite, or leaves the domain."""
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ProblemError(
                f"the range of {self.name!r} must be finite. Got {low:g}:{high:g}; "
                "state the widest range an outsider would believe."
            )
        if low >= high:
            what = "reversed" if low > high else "empty"
            raise ProblemError(
                f"the range of {self.name!r} is {what}. Got {low:g}:{high:g}; write the smaller end first, "
                f"or {self.name}={low:g} if the value is publicly known."
            )
        if not (self.low < low and high < self.high):
            raise ProblemError(
                f"the range of {self.name!r} must lie inside its domain ({self.domain}){self.because}. Got "
                f"{low:g}:{high:g}; move the end that touches or leaves the domain inwards{self.instead}."
            )
