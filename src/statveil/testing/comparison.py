"""Two ways to the same number: where they differ, by how much."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from statveil.errors import ProblemError
from statveil.problem.families.categorical import Categorical
from statveil.problem.family import FAMILIES, Family
from statveil.problem.secret import SECRETS, Secret

__all__ = ["ConformanceError", "close", "drawn", "registered_families", "same", "typical_secrets"]


class ConformanceError(AssertionError):
    """An extension contradicts itself or the library; the message says where and by how much."""


def same(holds: bool, message: str) -> None:
    """Raise with this message where something does not hold."""
    if not holds:
        raise ConformanceError(message)


def close(a: object, b: object, tolerance: float, what: str, *, absolute: bool = False) -> None:
    """Raise with the difference of two numbers, or arrays, that are not equal up to a tolerance."""
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    scale = 1.0 if absolute else np.maximum(1.0, np.abs(right))
    gap = float(np.max(np.abs(left - right) / scale))
    if not gap <= tolerance:
        raise ConformanceError(f"{what} differ by {gap:.3g}, more than {tolerance:.3g}")


def drawn(family: Family, rng: Generator) -> dict[str, float]:
    """Parameters from the typical ranges; shares are normalised."""
    point = {param.name: float(rng.uniform(*param.typical)) for param in family.params}
    if isinstance(family, Categorical):
        total = sum(point.values())
        point = {name: share / total for name, share in point.items()}
    for form in family.constraints:
        if sum(c * point[name] for name, c in form.items()) <= 0:
            raise ProblemError(f"the typical ranges of {family.name!r} break {family.constraint_doc}.")
    return point


def registered_families() -> list[Family]:
    """A typical member of every registered family."""
    return [FAMILIES[name].example() for name in sorted(FAMILIES)]


def typical_secrets(family: Family) -> list[Secret]:
    """The secrets that the family says it supports, with a few arguments each."""
    return [secret for kind in family.secrets if kind in SECRETS for secret in SECRETS[kind].examples()]
