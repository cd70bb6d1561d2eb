"""Numbers as people give them: checked once, in one way, with one kind of error."""

from __future__ import annotations

import math
from typing import Any

from statveil.errors import ProblemError

__all__ = ["LARGEST", "check_seed", "number", "positive"]

LARGEST = 1e100
"""Beyond this size (and below its inverse) products of a few numbers leave floating point."""


def number(value: Any, what: str) -> float:
    """A finite number of ordinary size.

    >>> number(3, "the tolerance")
    3.0
    """
    if type(value) is float and -LARGEST <= value <= LARGEST:  # most are: files have thousands of edges
        return value
    if isinstance(value, bool | str | bytes):
        raise ProblemError(f"{what} must be a number. Got {value!r}.")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    except (TypeError, ValueError):
        raise ProblemError(f"{what} must be a number. Got {type(value).__name__}.") from None
    if not math.isfinite(found):
        raise ProblemError(f"{what} must be a finite number. Got {found:g}.")
    if abs(found) > LARGEST:
        raise ProblemError(f"{what} must lie between {-LARGEST:g} and {LARGEST:g}. Got {found:g}; change the unit.")
    return found


def positive(value: Any, what: str) -> float:
    """A number above 0 of ordinary size."""
    found = number(value, what)
    if found <= 0:
        raise ProblemError(f"{what} must be a number above 0. Got {found:g}.")
    if found < 1 / LARGEST:
        raise ProblemError(f"{what} must be at least {1 / LARGEST:g}. Got {found:g}; change the unit.")
    return found


def check_seed(seed: Any) -> int:
    """A seed: a whole number from 0."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ProblemError(f"the seed must be a whole number from 0. Got {seed!r}.")
    return seed
