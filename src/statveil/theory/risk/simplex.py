"""Exact risk of bins of one share under a uniform belief on the simplex."""

from __future__ import annotations

import math

import numpy as np

from statveil.theory.bins import Bins

__all__ = ["simplex_risk"]


def simplex_risk(categories: int, bins: Bins, window: float) -> float:
    """P(hit) for bins of a share p_j in which all other shares give way equally.

    Every line piece keeps its lower end (lowering p_j raises the other shares), so the best window starts
    there: the sum over bins of P(p_j in [k s, k s + 2 eps]), with P(p_j >= x) = (1 - x)^(C-1). The printed
    bound is false from nine categories on.
    """
    edges = bins.edges()
    start, stop = edges[:-1], edges[1:]
    caught = np.minimum(start + window, stop)
    power = categories - 1
    return min(1.0, math.fsum((1 - start) ** power - np.maximum(1 - caught, 0.0) ** power))
