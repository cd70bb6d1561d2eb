"""Risk of combs under any density: along one parameter, or on lines that sweep two."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statveil.problem.axis import Axis
from statveil.rounding import REL_TOL
from statveil.theory.bins import Bins
from statveil.theory.comb_layout import layout
from statveil.theory.risk.lines import Sweep, best_pieces, panels
from statveil.theory.risk.one_dimensional import comb_risk, interval_risk

__all__ = ["comb_axis_risk", "comb_sweep_risk"]

Array = NDArray[np.float64]

_MOST_VALUES = 2_000_000


def comb_axis_risk(
    axis: Axis, low: float, high: float, teeth: int, extent: float, window: float, attacker: float
) -> float:
    """P(hit) for the combs of one range: the attacker takes the best window of each residue class."""
    found = layout(high - low, teeth, extent, window)
    count, block = float(found.count), float(found.block)
    spacing, rest = float(found.spacing), float(found.rest)
    top = low + count * block if rest > 0 else high
    bins = Bins(low=low, high=top, origin=low, width=block)
    hit = comb_risk(axis, bins, spacing, attacker) if spacing > 0 else interval_risk(axis, bins, attacker)
    mass = axis.cdf(np.array([low, top, high]))
    total = hit * float(mass[1] - mass[0])
    if rest > 0 and mass[2] > mass[1]:
        last = Bins(low=top, high=high, origin=top, width=high - top)
        total += interval_risk(axis, last, attacker) * float(mass[2] - mass[1])
    return min(1.0, total / float(mass[2] - mass[0]))


def comb_sweep_risk(
    sweep: Sweep, teeth: int, extent: float, window: float, attacker: float, *, quick: bool = False
) -> float:
    """P(hit) on lines that sweep two parameters, rounded up by the difference to a coarser quadrature."""
    if quick:
        return min(1.0, _risk(sweep, teeth, extent, window, attacker, order=3, nodes=5, least=48))
    coarse = _risk(sweep, teeth, extent, window, attacker, order=4, nodes=8, least=96)
    for least, nodes, enough in ((192, 12, 2e-4), (384, 16, 1.0)):
        fine = _risk(sweep, teeth, extent, window, attacker, order=4, nodes=nodes, least=least)
        gap = abs(fine - coarse)
        if gap <= enough:
            break
        coarse = fine
    return min(1.0, fine + gap)


def _risk(
    sweep: Sweep, teeth: int, extent: float, window: float, attacker: float, *, order: int, nodes: int, least: int
) -> float:
    across, weights = panels(sweep.knots, order, least, 4 * least)
    enter, leave = sweep.chord(across)
    kept = leave - enter > 1e-12 * np.max(leave - enter)
    across, weights, enter, leave = across[kept], weights[kept], enter[kept], leave[kept]
    found = layout(leave - enter, teeth, extent, window)
    count = found.count.astype(np.int64)
    # every block of every line, then the rests
    line = np.repeat(np.arange(len(across)), count)
    first = np.repeat(np.cumsum(count) - count, count)
    start = enter[line] + (np.arange(len(line)) - first) * found.block[line]
    comb = found.spacing[line] > 0
    hit = [0.0]
    whole = [0.0]
    for kind, rows in (("comb", comb), ("interval", ~comb)):
        chunk = max(1, _MOST_VALUES // (2 * nodes * teeth if kind == "comb" else 33))
        index = np.flatnonzero(rows)
        for i in range(0, len(index), chunk):
            at = index[i : i + chunk]
            owner, begin, size = line[at], start[at], found.block[line[at]]
            if kind == "comb":
                caught, mass = _combs(sweep, across[owner], begin, size, found.spacing[owner], attacker, nodes)
            else:
                caught, mass = best_pieces(sweep, across[owner], begin, begin + size, attacker, 33)
            hit.append(math.fsum(weights[owner] * caught))
            whole.append(math.fsum(weights[owner] * mass))
    rest = np.flatnonzero(found.rest > 0)
    if len(rest):
        begin = leave[rest] - found.rest[rest]
        caught, mass = best_pieces(sweep, across[rest], begin, leave[rest], attacker, 33)
        hit.append(math.fsum(weights[rest] * caught))
        whole.append(math.fsum(weights[rest] * mass))
    return math.fsum(hit) / math.fsum(whole)


def _combs(
    sweep: Sweep, across: Array, start: Array, size: Array, spacing: Array, attacker: float, nodes: int
) -> tuple[Array, Array]:
    """What the best windows catch of each block, and its whole mass: integrals over the residue classes."""
    at, weight = np.polynomial.legendre.leggauss(nodes)
    short = np.floor(size / spacing * (1 + REL_TOL))
    longer = np.maximum(size - short * spacing, 0.0)
    held = np.floor(attacker / spacing + REL_TOL) + 1
    most = int(short.max()) + 1
    caught, mass = np.zeros(len(start)), np.zeros(len(start))
    for low, high, count in ((np.zeros(len(start)), longer, short + 1), (longer, spacing, short)):
        width = np.maximum(high - low, 0.0)
        residue = low[:, None] + width[:, None] * 0.5 * (1 + at)
        tooth = np.arange(most)
        x = start[:, None, None] + residue[:, :, None] + spacing[:, None, None] * tooth
        inside = tooth[None, None, :] < count[:, None, None]
        end = (start + size)[:, None, None]
        height = sweep.weight(np.broadcast_to(across[:, None, None], x.shape), np.minimum(x, end))
        height = np.where(inside, np.broadcast_to(height, x.shape), 0.0)
        total = np.concatenate([np.zeros((*x.shape[:2], 1)), np.cumsum(height, axis=2)], axis=2)
        stop = np.minimum(tooth[None, None, :] + held[:, None, None], most).astype(np.int64)
        best = (np.take_along_axis(total, np.broadcast_to(stop, x.shape), axis=2) - total[:, :, :-1]).max(axis=2)
        scale = 0.5 * width[:, None] * weight
        caught += (scale * best).sum(axis=1)
        mass += (scale * total[:, :, -1]).sum(axis=1)
    return caught, mass
