"""Closed forms of H(z) = E[Z; Z <= z], by SciPy's names."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from statveil.numeric import Array

__all__ = ["PARTIAL_MEANS", "Partial"]

Partial = Callable[[Array], tuple[Array, Array]]
"""E(z - Z)^+ and E(Z - z)^+ at z inside the support."""


def _normal() -> Partial:
    from scipy.special import ndtr

    def of(z: Array) -> tuple[Array, Array]:
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        return z * ndtr(z) + density, density - z * ndtr(-z)

    return of


def _logistic() -> Partial:
    return lambda z: (np.logaddexp(0.0, z), np.logaddexp(0.0, -z))


def _laplace() -> Partial:
    def of(z: Array) -> tuple[Array, Array]:
        tail = 0.5 * np.exp(-np.abs(z))
        return np.maximum(z, 0.0) + tail, np.maximum(-z, 0.0) + tail

    return of


def _student(df: float) -> Partial:
    from scipy.special import gammaln, stdtr

    factor = math.exp(gammaln(0.5 * (df + 1)) - gammaln(0.5 * df)) / math.sqrt(df * math.pi)

    def of(z: Array) -> tuple[Array, Array]:
        # H(z) = -(df + z^2) f(z) / (df - 1)
        tail = factor * df / (df - 1) * np.exp(-0.5 * (df - 1) * np.log1p(z * z / df))
        return np.maximum(tail + z * stdtr(df, z), 0.0), np.maximum(tail - z * stdtr(df, -z), 0.0)

    return of


def _gumbel() -> Partial:
    from scipy.special import exp1

    def of(z: Array) -> tuple[Array, Array]:
        t = np.exp(-np.maximum(z, -700.0))
        # int_-inf^z exp(-e^-x) dx = E1(e^-z); above, E(Z - z)^+ = m - z + E1(t) = the entire function Ein(t)
        low = exp1(t)
        return low, np.where(t < 0.5, _ein(np.minimum(t, 0.5)), np.euler_gamma - z + low)

    return of


def _ein(t: Array) -> Array:
    """sum over k >= 1 of (-1)^(k+1) t^k / (k k!), for t up to 1/2."""
    total, term = np.zeros_like(t), np.ones_like(t)
    for k in range(1, 20):
        term = term * -t / k
        total = total - term / k
    return total


def _lognormal(s: float) -> Partial:
    from scipy.special import ndtr

    mean = math.exp(0.5 * s * s)

    def of(z: Array) -> tuple[Array, Array]:
        with np.errstate(divide="ignore"):
            at = np.log(z) / s
        low, high = z * ndtr(at) - mean * ndtr(at - s), mean * ndtr(s - at) - z * ndtr(-at)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    return of


def _gamma(a: float) -> Partial:
    from scipy.special import gammainc, gammaincc

    def of(z: Array) -> tuple[Array, Array]:
        low = z * gammainc(a, z) - a * gammainc(a + 1, z)
        high = a * gammaincc(a + 1, z) - z * gammaincc(a, z)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    return of


def _weibull(c: float) -> Partial:
    from scipy.special import gammainc, gammaincc

    mean = math.gamma(1 + 1 / c)

    def of(z: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            t = z**c
        low = -z * np.expm1(-t) - mean * gammainc(1 + 1 / c, t)
        high = mean * gammaincc(1 + 1 / c, t) - z * np.exp(-t)
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    return of


def _pareto(b: float) -> Partial:
    def of(z: Array) -> tuple[Array, Array]:
        tail = z ** (1 - b) / (b - 1)  # E(Z - z)^+
        return np.maximum(z - b / (b - 1) + tail, 0.0), tail

    return of


def _uniform() -> Partial:
    return lambda z: (0.5 * z * z, 0.5 * (1 - z) ** 2)


def _exponential() -> Partial:
    return lambda z: (z + np.expm1(-z), np.exp(-z))


PARTIAL_MEANS: dict[str, Callable[..., Partial]] = {
    "expon": _exponential,
    "gamma": _gamma,
    "gumbel_r": _gumbel,
    "laplace": _laplace,
    "logistic": _logistic,
    "lognorm": _lognormal,
    "norm": _normal,
    "pareto": _pareto,
    "t": _student,
    "uniform": _uniform,
    "weibull_min": _weibull,
}
"""By SciPy's name: the closed form for its shape arguments. E(z - Z)^+ = z F(z) - H(z), and E(Z - z)^+ alike."""
