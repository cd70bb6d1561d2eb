"""The exact (epsilon, delta) of two normal distributions of one variance (Balle and Wang 2018, theorem 8)."""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

__all__ = ["exact_delta", "exact_epsilon", "largest_shift", "published_shift"]

_SLACK = 1e-9
"""Relative room for the rounding errors of the curve and of the root; taken against ourselves."""


def exact_delta(shift: float, epsilon: float) -> float:
    """Least delta at this epsilon, for means ``shift`` standard deviations apart.

    Phi(a) - e^epsilon Phi(b), a = shift/2 - epsilon/shift, b = a - shift. As b^2 = a^2 + 2 epsilon, the second term
    is phi(a) times the Mills ratio Phi(-x)/phi(x) at x = -b, which neither overflows nor cancels in the exponent.

    >>> round(exact_delta(1.0, 0.0), 4)  # the total variation distance, 2 Phi(1/2) - 1
    0.3829
    """
    a = shift / 2 - epsilon / shift
    density, tail = math.exp(-a * a / 2), _mills(shift - a)
    return float(ndtr(a) - density * tail) if a >= 0 else density * (_mills(-a) - tail)


def _mills(x: float) -> float:
    """Phi(-x) / exp(-x^2 / 2), free of underflow: the Mills ratio over sqrt(2 pi)."""
    return float(erfcx(x / math.sqrt(2)) / 2)


def exact_epsilon(shift: float, delta: float) -> float:
    """Least epsilon at this delta, rounded up."""
    if math.isinf(shift):
        return math.inf
    goal = delta * (1 - _SLACK)
    if exact_delta(shift, 0.0) <= goal:
        return 0.0
    most = shift * shift / 2 + shift * math.sqrt(-2 * math.log(delta)) + 1.0  # Chernoff: the log-ratio is N(s^2/2, s^2)
    found: float = brentq(lambda epsilon: exact_delta(shift, epsilon) - goal, 0.0, most, xtol=1e-300, rtol=1e-12)
    return found * (1 + _SLACK)


def largest_shift(epsilon: float, delta: float) -> float:
    """How many standard deviations the means may lie apart, rounded down."""
    goal, high = delta * (1 - _SLACK), 1.0
    while exact_delta(high, epsilon) < goal:
        high *= 2
    while exact_delta(high / 2, epsilon) >= goal:
        high /= 2
    found: float = brentq(lambda shift: exact_delta(shift, epsilon) - goal, high / 2, high, xtol=1e-300, rtol=1e-12)
    return found * (1 - 10 * _SLACK)


def published_shift(epsilon: float, delta: float) -> float:
    """The published constant: noise of c / epsilon, c^2 = 2 ln(1.25 / delta), per unit of the difference.

    Its proof (Dwork and Roth 2014, theorem A.1) is for epsilon < 1.
    """
    return epsilon / math.sqrt(2 * math.log(1.25 / delta))
