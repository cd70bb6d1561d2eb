"""What the two private histograms share: bins that do not come from the data, clipping, and drawing rows anew."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from statveil.alternatives.alternative import Alternative, Array, no_less, whole
from statveil.errors import ProblemError, unknown_name
from statveil.numbers import number, positive
from statveil.rounding import shown_up

__all__ = ["BinnedAlternative", "Neighbours"]

Neighbours = Literal["add-or-remove", "replace"]
"""Which tables a differentially private release must not tell apart: one row more or less, or one row changed."""

_CHANGES: dict[str, int] = {"add-or-remove": 1, "replace": 2}
"""How much the counts of neighbouring tables differ at most, in total: a replaced row leaves one bin for another."""
_WORDS = {
    "add-or-remove": "adding or removing one row changes the probability of any noisy histogram",
    "replace": "replacing one row changes the probability of any release",
}


@dataclass(frozen=True, kw_only=True)
class BinnedAlternative(Alternative):
    """Counts of equal bins, made noisy, clipped at 0, normalised; as many rows as before are drawn from them.

    A row is drawn uniformly inside its bin; the order of the rows is lost. Where all noisy counts are clipped to 0
    the rows are uniform over the range. The number of rows is public: it is released as it is.

    Parameters
    ----------
    bins : int
        Number of bins.
    low, high : float
        The range, stated without looking at the data; values outside are clipped into it and count in the outer bins.
    neighbours : str
        The neighbour relation of the guarantee: ``"replace"`` (the number of rows is public) or ``"add-or-remove"``.
    """

    bins: int
    low: float
    high: float
    neighbours: Neighbours = "replace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", whole(self.bins, "the number of bins"))
        object.__setattr__(self, "scale", positive(self.scale, "the scale of the noise"))
        object.__setattr__(self, "low", number(self.low, "the lower end of the range"))
        object.__setattr__(self, "high", number(self.high, "the upper end of the range"))
        if not self.low < self.high:
            raise ProblemError(
                f"the lower end of the range must lie below the upper end. Got {self.low:g} and {self.high:g}."
            )
        if self.neighbours not in get_args(Neighbours):
            raise ProblemError(unknown_name("neighbour relation", str(self.neighbours), get_args(Neighbours)))
        if not np.all(np.diff(self.edges) > 0):
            raise ProblemError(
                f"{self.bins} bins are too many for the range {self.low:g} to {self.high:g}; take fewer."
            )

    @classmethod
    def paper(cls, *, beta: float, bins: int, low: float, high: float) -> Self:
        """The paper's form: noise of *variance* beta^2 on each count, so its scale is beta / sqrt(2)."""
        return cls(scale=positive(beta, "beta") / cls.spread, bins=bins, low=low, high=high)

    @classmethod
    def calibrated(
        cls, *, epsilon: float, bins: int, low: float, high: float, neighbours: Neighbours = "replace"
    ) -> Self:
        """The fair form: the least noise that is epsilon-differentially private."""
        if neighbours not in _CHANGES:
            raise ProblemError(unknown_name("neighbour relation", str(neighbours), _CHANGES))
        scale = no_less(_CHANGES[neighbours] / positive(epsilon, "epsilon"))
        return cls(scale=scale, bins=bins, low=low, high=high, neighbours=neighbours)

    @property
    def edges(self) -> Array:
        """The ends of the bins."""
        return np.linspace(self.low, self.high, self.bins + 1)

    @property
    def change(self) -> int:
        """Largest total difference between the counts of neighbouring tables."""
        return _CHANGES[self.neighbours]

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Largest log-ratio of the probabilities of a noisy histogram under neighbouring tables, never too small."""

    @property
    def guarantee(self) -> str:
        return (
            f"{_WORDS[self.neighbours]} by a factor of at most e^{shown_up(self.epsilon, 4)}, if bins and range were "
            "stated without looking at the data; the number of rows is released, and no statistic of the column is "
            "protected."
        )

    def counts(self, values: Array) -> Array:
        """Rows in each bin, those outside the range in the outer ones."""
        found: Array = np.histogram(np.clip(values, self.low, self.high), self.edges)[0].astype(np.float64)
        return found

    @abstractmethod
    def noisy_counts(self, column: Array, rng: np.random.Generator) -> Array:
        """The counts with noise, before they are clipped at 0."""

    @abstractmethod
    def empty_bin(self, rate: float) -> tuple[float, float]:
        """What an attacker knows of a bin that had no row.

        Returns the expected clipped count, and the probability that the release has no row there, where
        ``rate`` rows are drawn per unit of the clipped count.
        """

    def _noisy(self, column: Array, rng: np.random.Generator) -> Array:
        clipped = np.maximum(self.noisy_counts(column, rng), 0.0)
        total = clipped.sum()
        shares = clipped / total if total > 0 else np.full(self.bins, 1 / self.bins)
        edges = self.edges
        bin = rng.choice(self.bins, len(column), p=shares)
        drawn: Array = rng.uniform(edges[bin], edges[bin + 1])
        return drawn
