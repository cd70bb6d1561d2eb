"""Entropies in bits: of releases, of a secret whose density is linear between knots, of the pieces of lines."""

from __future__ import annotations

import math

import numpy as np

from statveil.numeric import Array

__all__ = ["entropy", "log_length", "piecewise_linear_entropy"]


def entropy(mass: Array) -> float:
    """Entropy of masses that add up to 1.

    >>> entropy(np.array([0.5, 0.25, 0.25, 0.0]))
    1.5
    """
    some = mass[mass > 0]
    return float(-np.sum(some * np.log2(some)))


def piecewise_linear_entropy(knots: Array, heights: Array) -> float:
    """Differential entropy of the density that is linear between these knots, brought to mass 1.

    A trapezoid of a long and a short side has log2(long) + short / (2 long ln 2):

    >>> found = piecewise_linear_entropy(np.array([0.0, 1.0, 4.0, 5.0]), np.array([0.0, 1.0, 1.0, 0.0]))
    >>> round(found - (2 + 1 / (8 * math.log(2))), 12)
    0.0
    """
    width = np.diff(knots)
    total = float(np.sum(0.5 * width * (heights[1:] + heights[:-1])))
    caught = float(np.sum(_integral(width, heights[:-1], heights[1:])))
    return math.log2(total) - caught / total


def log_length(width: Array, left: Array, right: Array) -> Array:
    """Integral of length times log2(length) over pieces across which the length is linear."""
    return _integral(width, left, right)


def _integral(width: Array, left: Array, right: Array) -> Array:
    low, high = np.minimum(left, right), np.maximum(left, right)
    flat = high - low <= 1e-9 * np.maximum(high, 1e-300)
    middle = 0.5 * (low + high)
    with np.errstate(divide="ignore", invalid="ignore"):
        slanted = (_upto(high) - _upto(low)) / np.where(flat, 1.0, high - low)
        even = np.where(middle > 0, middle * np.log2(np.where(middle > 0, middle, 1.0)), 0.0)
    return np.asarray(width * np.where(flat, even, slanted))


def _upto(x: Array) -> Array:
    """Integral of x log2 x from 0."""
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, 0.5 * x * x * np.log2(safe) - x * x / (4 * math.log(2)), 0.0)
