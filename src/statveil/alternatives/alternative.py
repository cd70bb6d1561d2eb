"""What an alternative is: a column in, a noisy column out, and one sentence that says what the noise guarantees."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from statveil.errors import ColumnError, ProblemError
from statveil.numbers import number
from statveil.numeric import Array

__all__ = ["ALTERNATIVES", "Alternative", "Array", "no_less", "whole"]


ALTERNATIVES: dict[str, type[Alternative]] = {}
"""Every alternative by name; filled when the files of ``alternatives`` are loaded."""


@dataclass(frozen=True, kw_only=True)
class Alternative(ABC):
    """Noise on the rows or counts of one column, for comparison with statveil's own mechanisms.

    The guarantees are those of exact arithmetic with real-valued noise: floating-point noise has gaps that an
    attacker can use (Mironov 2012), so these classes are made to compare with, not to release with.

    Parameters
    ----------
    scale : float
        Scale of one draw of noise as NumPy takes it: b of a Laplace, standard deviation of a normal distribution.
    """

    name: ClassVar[str]
    doc: ClassVar[str]
    """What it does, in a few words."""
    reproducible: ClassVar[bool] = True
    """Whether the same generator state gives the same release."""
    spread: ClassVar[float] = math.sqrt(2)
    """Standard deviation of the noise at scale 1 (Laplace by default)."""

    scale: float

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            ALTERNATIVES[cls.name] = cls

    def __post_init__(self) -> None:
        scale = number(self.scale, "the scale of the noise")
        if scale < 0:
            raise ProblemError(f"the scale of the noise must be 0 or more. Got {scale:g}.")
        object.__setattr__(self, "scale", scale)

    @property
    def parameter(self) -> float:
        """What the paper's sweeps vary: its beta, the standard deviation of one draw of noise."""
        return self.scale * self.spread

    def at(self, parameter: float) -> Self:
        """The same alternative with another standard deviation of the noise."""
        return replace(self, scale=number(parameter, "the standard deviation of the noise") / self.spread)

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """One sentence: what is guaranteed, or "none: ..." and why."""

    def release(self, values: Array, rng: np.random.Generator) -> Array:
        """A noisy column with as many rows; ``values`` is left as it is."""
        column = np.asarray(values, dtype=np.float64)
        if column.ndim != 1 or not len(column):
            raise ColumnError(
                f"a column must be one row of numbers, at least one. Got an array of shape {column.shape}."
            )
        if not np.isfinite(column).all():
            raise ColumnError(
                "the column has missing or infinite values; noise needs numbers. Drop or fill those rows."
            )
        return self._noisy(column, rng)

    @abstractmethod
    def _noisy(self, column: Array, rng: np.random.Generator) -> Array:
        """The release of a checked column, as a new array."""


def no_less(value: float) -> float:
    """The value, a few units in the last place up, so that a quotient of it errs against ourselves."""
    return value * (1 + 4 * sys.float_info.epsilon)


def whole(value: Any, what: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ProblemError(f"{what} must be a whole number of at least 1. Got {value!r}.")
    return int(value)
