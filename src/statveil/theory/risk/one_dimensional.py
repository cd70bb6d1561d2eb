"""Risk of bins along one parameter, or one share: the attacker takes the best window inside each bin."""

from __future__ import annotations

import math

import numpy as np

from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.rounding import tolerant_floor
from statveil.theory.bins import Bins
from statveil.theory.comb_layout import Layout, layout
from statveil.theory.risk.classes import best_in_classes
from statveil.theory.risk.pieces import best_in_bins

__all__ = ["comb_axis_risk", "comb_risk", "interval_risk", "packed_risk", "share_of", "simplex_risk", "teeth"]


def interval_risk(axis: Axis, bins: Bins, window: float, *, quick: bool = False) -> float:
    """P(hit) when a window of length ``window`` along the parameter is a hit.

    Uniform belief: sum of min(window, length) over the bins, divided by the range (docs/theory.md, exact risk);
    the paper's 2 eps / s is the case where the width divides the range. ``quick`` compares fewer windows.
    """
    if axis.flat:
        total = sum(count * min(window, length) for length, count in bins.pieces())
        return min(1.0, total / (bins.high - bins.low))
    if axis.falling:
        edges = bins.edges()
        starts = axis.cdf(edges[:-1])
        caught = axis.cdf(np.minimum(edges[:-1] + window, edges[1:])) - starts
        # each difference is off by a rounding error of a number up to 1
        return share_of(axis, bins.low, bins.high, math.fsum(caught) + len(caught) * 2.0**-52, tails=0.0)
    edges = _core_edges(axis, bins)
    start, stop = edges[:-1], edges[1:]
    caught = best_in_bins(axis, start, stop, window, quick=quick)
    return share_of(axis, bins.low, bins.high, math.fsum(caught))


def share_of(axis: Axis, low: float, high: float, hit: float, *, tails: float = 2e-12) -> float:
    """What is caught over the mass, 1 unless a constraint cuts the range; rounding errors and far tails are hits."""
    whole = float(axis.cdf(high) - axis.cdf(low))
    return min(1.0, (hit * (1 + 1e-12) + tails) / whole)


def _core_edges(axis: Axis, bins: Bins) -> Array:
    """Edges of the bins that hold more than 2e-12 of the mass together."""
    low, high = axis.core
    first, last = (int(i) for i in bins.locate(np.array([max(low, bins.low), min(high, bins.high)])))
    start, stop = bins.span(first), bins.span(last)
    inner = Bins(low=float(start[0]), high=float(stop[1]), origin=bins.origin, width=bins.width)
    return inner.edges()


def teeth(window: float, step: float) -> int:
    """Most points of a lattice with this step in one closed window (the theory's K)."""
    return tolerant_floor(window / step) + 1


def comb_risk(axis: Axis, bins: Bins, step: float, window: float) -> float:
    """P(hit) when the release gives the residue modulo ``step`` away: candidates form a comb in each bin.

    Uniform belief: of the n0 or n0 + 1 candidates of a bin, n0 = floor(length / step), a window holds K. With
    f = frac(length / step) the theory's [(1-f) min(K, n0) + f min(K, n0+1)] step is min(length, K step): a comb
    costs what an interval costs against a window of K whole steps.
    """
    if axis.flat or axis.falling:  # of a falling belief a class's first teeth are its heaviest
        return interval_risk(axis, bins, teeth(window, step) * step)
    edges = _core_edges(axis, bins)
    start, size = edges[:-1], np.diff(edges)
    caught = best_in_classes(axis, start, size, np.full(len(start), step), window)
    return share_of(axis, bins.low, bins.high, caught)


def comb_axis_risk(
    axis: Axis,
    low: float,
    high: float,
    teeth: int,
    extent: float,
    window: float,
    attacker: float,
    *,
    quick: bool = False,
) -> float:
    """P(hit) for the combs of one range: the attacker takes the best window of each residue class."""
    found = layout(high - low, teeth, extent, window)
    block, spacing, rest = float(found.block), float(found.spacing), float(found.rest)
    first, last = axis.core
    # only the blocks that hold more than 2e-12 of the mass together
    begin = max(0, math.floor((first - low) / block) - 1)
    end = min(int(found.count), math.floor((last - low) / block) + 2)
    start: Array = np.asarray(low + block * np.arange(begin, max(end, begin)), dtype=np.float64)
    parts = [0.0]
    if spacing > 0:
        size = np.full(len(start), block)
        parts.append(best_in_classes(axis, start, size, np.full(len(start), spacing), attacker, quick=quick))
    else:
        parts += best_in_bins(axis, start, np.minimum(start + block, high), attacker, quick=quick).tolist()
    if rest > 0:
        parts += best_in_bins(axis, np.array([high - rest]), np.array([high]), attacker, quick=quick).tolist()
    return share_of(axis, low, high, math.fsum(parts))


def packed_risk(axis: Axis, blocks: Layout, attacker: float) -> float:
    """P(hit) for packed combs under a belief that only falls: of every class the first teeth are the heaviest.

    A window holds q neighbouring teeth, so it catches the first q spacings of each block.
    """
    block, spacing, rest = float(blocks.block), float(blocks.spacing), float(blocks.rest)
    held = (tolerant_floor(attacker / spacing) + 1) * spacing
    starts = axis.low + block * np.arange(int(blocks.count))
    caught = (axis.cdf(starts + min(block, held)) - axis.cdf(starts)).tolist()
    if rest > 0:
        reach = min(rest, held if bool(blocks.toothed) else attacker)
        caught.append(float(axis.cdf(axis.high - rest + reach) - axis.cdf(axis.high - rest)))
    # each difference is off by a rounding error of a number up to 1
    return share_of(axis, axis.low, axis.high, math.fsum(caught) + len(caught) * 2.0**-52, tails=0.0)


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
