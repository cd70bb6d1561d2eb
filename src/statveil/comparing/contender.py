"""What is compared: one mechanism with one setting, which releases a column and is attacked on redrawn ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from numpy.random import Generator

from statveil.comparing.stated import Stated
from statveil.tables.blocks import Array

__all__ = ["Contender", "Hits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """How often the best attacker hit on redrawn columns."""

    attacker: str
    hits: int
    trials: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Contender(ABC):
    """One mechanism with one setting.

    Parameters
    ----------
    stated : Stated
        The question.
    method, form : str
        Which mechanism, and whether it is as the paper ran it, or set from its own guarantee.
    parameter : mapping of str to float
        What the sweep varies, by name.
    """

    stated: Stated
    method: str
    form: str
    parameter: Mapping[str, float]

    @property
    @abstractmethod
    def risk(self) -> float | None:
        """P(best attacker hits) where it can be computed, never below the truth."""

    @property
    @abstractmethod
    def guarantee(self) -> str:
        """What is guaranteed, in one sentence."""

    @abstractmethod
    def release(self, column: Array, rng: Generator, place: float) -> Array:
        """One realisation on the column itself; ``place``, from 0 to 1, is where our bins are laid around it."""

    @abstractmethod
    def informed(self, released: Array) -> float:
        """What an attacker guesses who knows the mechanism and the prior."""

    @abstractmethod
    def attacked(self, column: Array, trials: int, rng: Generator) -> Hits:
        """Attacks on columns like this one whose parameters are drawn from the prior."""
