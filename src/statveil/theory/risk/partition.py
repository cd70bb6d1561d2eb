"""Risk of any bins of one parameter: exact for a straight secret, else by a search for the best window of each bin."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from statveil.problem.axis import Axis
from statveil.theory.curve import Curve, curve
from statveil.theory.risk.preimage import bin_cost, contiguous_cost
from statveil.theory.risk.touching import touched_risk
from statveil.theory.windows import windows

__all__ = ["partition_risk"]


def partition_risk(
    secret: Curve,
    axis: Axis,
    edges: NDArray[np.float64],
    window: float,
    *,
    contiguous: bool = False,
    quick: bool = False,
) -> float:
    """Sum over the bins of the largest mass that one guess catches (``contiguous``: by the paper's window).

    A secret of the user's own goes by the cells that a window touches, an upper bound. Else bins on which the
    secret only rises or only falls go together through their windows, and a bin with a turning point inside goes
    through the pre-images of all guesses.
    """
    if secret.rough and not contiguous:
        bins = np.arange(len(edges) - 1)
        return touched_risk(secret, axis, edges, (bins, bins, np.ones(len(bins))), window, quick=quick)[0]
    turns = np.array(secret.turns)
    # turning points below an edge, and up to it: those between two edges lie inside the bin
    straddling = np.searchsorted(turns, edges[1:], side="left") > np.searchsorted(turns, edges[:-1], side="right")
    parts: list[float] = []
    for i in np.flatnonzero(straddling):
        cost = contiguous_cost if contiguous else bin_cost
        parts.append(cost(secret, axis, float(edges[i]), float(edges[i + 1]), window))
    start = 0
    for stop in [*np.flatnonzero(straddling).tolist(), len(edges) - 1]:
        if stop > start:
            parts += _monotone_costs(secret, axis, edges[start : stop + 1], window)
        start = stop + 1
    return min(1.0, math.fsum(parts))


def _monotone_costs(secret: Curve, axis: Axis, edges: NDArray[np.float64], window: float) -> list[float]:
    costs: list[float] = []
    cuts = [0, *(i for i in range(1, len(edges) - 1) if edges[i] in secret.turns), len(edges) - 1]
    for a, b in pairwise(cuts):
        part = edges[a : b + 1]
        found = windows(
            curve(secret.value, float(part[0]), float(part[-1]), turns=[]), axis.cdf, part, window, axis.landmarks
        )
        costs += found.costs().tolist()
    return costs
