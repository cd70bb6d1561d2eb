"""Two attackers: one takes the released statistic; the other knows mechanism and prior, and corrects for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from statveil.alternatives.alternative import Alternative
from statveil.alternatives.binned import BinnedAlternative
from statveil.alternatives.common_shift import CommonShift
from statveil.alternatives.debiasing import debiased_counts
from statveil.alternatives.gaussian import GaussianNoise
from statveil.alternatives.histogram_statistics import HistogramNumbers
from statveil.comparing.deconvolution import quantile_behind
from statveil.comparing.stated import Stated, statistic
from statveil.problem.column_numbers import InMemory
from statveil.problem.problem import Problem
from statveil.tables.blocks import Array

__all__ = ["corrected", "informed_guess", "noise_cdf", "within_prior"]


def informed_guess(stated: Stated, mechanism: Alternative, released: Array) -> float:
    """What an attacker guesses who knows the mechanism and the prior."""
    guess = corrected(stated.problem, mechanism, released, stated.floor)
    return min(max(guess, stated.ends[0]), stated.ends[1])


def within_prior(stated: Stated, guess: float) -> float:
    """The guess moved so that no part of its window is wasted outside the prior."""
    (low, high), eps = stated.ends, stated.problem.tolerance
    return min(max(guess, low + eps), high - eps)


def corrected(problem: Problem, mechanism: Alternative, released: Array, floor: float | None) -> float:
    """The released statistic without the bias that the mechanism is known to have.

    Counts are debiased; independent noise of mean 0 leaves the mean unbiased, adds its variance to the column's, and
    is deconvolved for a quantile. One common shift is symmetric: nothing can be corrected.
    """
    secret, family = problem.secret, problem.family
    if isinstance(mechanism, BinnedAlternative):
        return secret.of_column(HistogramNumbers(debiased_counts(mechanism, released), mechanism.edges), family)
    if is_common(mechanism):
        return statistic(problem, released)
    return secret.of_column(_Denoised(released, mechanism, floor), family)


@dataclass(frozen=True, slots=True, eq=False)
class _Denoised(InMemory):
    """Rows behind independent noise of mean 0, as far as their statistics can be told."""

    mechanism: Alternative
    floor: float | None

    @property
    def std(self) -> float:
        return math.sqrt(max(0.0, float(self.values.var()) - self.mechanism.parameter**2))

    def quantile(self, alpha: float) -> float:
        cdf = partial(noise_cdf, self.mechanism)
        return quantile_behind(self.values, alpha, cdf, noise=self.mechanism.parameter, floor=self.floor)


def is_common(mechanism: Alternative) -> bool:
    """Whether one draw of noise serves all rows."""
    return isinstance(mechanism, CommonShift) or (isinstance(mechanism, GaussianNoise) and mechanism.common)


def noise_cdf(mechanism: Alternative, x: Array) -> Array:
    """Distribution function of one draw of the noise: normal or Laplace."""
    if isinstance(mechanism, GaussianNoise):
        from scipy.special import ndtr

        return np.asarray(ndtr(x / mechanism.scale), dtype=np.float64)
    tail = 0.5 * np.exp(-np.abs(x) / mechanism.scale)
    return np.where(x < 0, tail, 1 - tail)
