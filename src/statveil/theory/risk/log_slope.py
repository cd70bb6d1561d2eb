"""Upper bounds on the risk when only the slope of the log-density in the logarithm is known.

With l that slope, a window of length c (in logarithms) holds at most (1 - e^(-l c)) / (1 - e^(-l s)) of the mass of any
interval of length s that it lies in (docs/theory.md, log-Lipschitz lemma; equality for the density e^(l h)).
"""

from __future__ import annotations

import math

import numpy as np

from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.priors.log_slope import LogSlope
from statveil.problem.priors.logged import Logged
from statveil.rounding import tolerant_floor
from statveil.theory.bins import Bins
from statveil.theory.comb_layout import Layout

__all__ = ["class_slope", "log_slope_combs", "log_slope_risk", "most_of"]


def class_slope(axis: Axis) -> float | None:
    """The slope, where the belief is such a class, in its own terms or in those of its logarithm."""
    if isinstance(axis, LogSlope):
        return axis.slope
    return axis.slope if isinstance(axis, Logged) and isinstance(axis.belief, LogSlope) else None


def most_of(part: Array | float, whole: Array | float, slope: float) -> Array:
    """Largest share of an interval of length ``whole`` that one of length ``part`` inside it can hold.

    >>> round(float(most_of(1.0, 10.0, 0.0)), 9), round(float(most_of(1.0, 10.0, 1.0)), 6)
    (0.1, 0.632149)
    """
    inner, outer = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = inner / outer if not slope else np.expm1(-slope * inner) / np.expm1(-slope * outer)
    return np.where(inner < outer, np.minimum(share * (1 + 1e-14), 1.0), 1.0)


def log_slope_risk(axis: Axis, slope: float, bins: Bins, window: float) -> float:
    """Upper bound for bins along one parameter, whose belief is known in the logarithm or is about the logarithm."""
    edges = bins.edges()
    if isinstance(axis, Logged):
        return _worst(most_of(window, np.diff(edges), slope), np.diff(edges), slope)
    # a window of one length is longest in logarithms where the bin starts
    reach = np.log1p(window / edges[:-1])
    return _worst(most_of(reach, np.diff(np.log(edges)), slope), np.diff(np.log(edges)), slope)


def log_slope_combs(axis: Axis, slope: float, blocks: Layout, attacker: float) -> float:
    """Upper bound for combs along the logarithm: of m teeth, sigma apart, q neighbours hold what intervals would."""
    if not isinstance(axis, Logged):
        return 1.0  # teeth that are equally far apart are not so in logarithms: no bound is known
    block, spacing, rest = float(blocks.block), float(blocks.spacing), float(blocks.rest)
    held = (tolerant_floor(attacker / spacing) + 1) * spacing if spacing > 0 else attacker

    def share(length: float, toothed: bool) -> float:
        if not toothed:
            return float(most_of(attacker, length, slope))
        return float(most_of(held, tolerant_floor(length / spacing) * spacing, slope))

    shares, lengths = [share(block, spacing > 0)] * int(blocks.count), [block] * int(blocks.count)
    if rest > 0:
        shares.append(share(rest, bool(blocks.toothed)))
        lengths.append(rest)
    return _worst(np.array(shares), np.array(lengths), slope)


def _worst(shares: Array, lengths: Array, slope: float) -> float:
    """Largest sum of P(bin) share(bin) over all ways in which the class can spread its mass over the bins."""
    caps = most_of(lengths, float(lengths.sum()), slope)
    left, total = 1.0, []
    for i in np.argsort(-shares):
        taken = min(left, float(caps[i]))
        total.append(taken * float(shares[i]))
        left -= taken
        if left <= 0:
            break
    return min(1.0, math.fsum(total) * (1 + 1e-12))
