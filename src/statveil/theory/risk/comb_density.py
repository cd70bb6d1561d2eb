"""Risk of combs under any density: along one parameter, or on lines that sweep two."""

from __future__ import annotations

import math
from collections.abc import Callable

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
    sweep: Sweep,
    teeth: int,
    extent: float,
    window: float,
    attacker: float,
    *,
    inner: Callable[[Array], tuple[Array, Array]],
    mass: float | None = None,
    quick: bool = False,
) -> float:
    """P(hit) on lines that sweep two parameters, rounded up by the difference to a coarser quadrature.

    ``inner`` says where the belief's mass begins and ends on each line. ``mass`` is the whole of it, where known: what
    the nodes miss, as of a narrow peak, then counts as hit.
    """

    def found(*, order: int, nodes: int, pieces: int, least: int) -> float:
        hit, whole = _risk(
            sweep, teeth, extent, window, attacker, inner=inner, order=order, nodes=nodes, pieces=pieces, least=least
        )
        if mass is not None:
            return min(1.0, (hit + abs(mass - whole)) / mass)
        return min(1.0, hit / whole) if whole > 0 else 1.0

    if quick:
        return found(order=3, nodes=5, pieces=33, least=48)
    coarse = found(order=4, nodes=8, pieces=33, least=96)
    for least, nodes, pieces, enough in ((192, 12, 65, 2e-4), (384, 24, 257, 1.0)):
        fine = found(order=4, nodes=nodes, pieces=pieces, least=least)
        gap = abs(fine - coarse)
        if gap <= enough:
            break
        coarse = fine
    return min(1.0, fine + gap)


def _risk(
    sweep: Sweep,
    teeth: int,
    extent: float,
    window: float,
    attacker: float,
    *,
    inner: Callable[[Array], tuple[Array, Array]],
    order: int,
    nodes: int,
    pieces: int,
    least: int,
) -> tuple[float, float]:
    """What the best windows catch, and the whole mass, as the nodes see them."""
    across, weights = panels(sweep.knots, order, least, 4 * least)
    enter, leave = sweep.chord(across)
    kept = leave - enter > 1e-12 * np.max(leave - enter)
    across, weights, enter, leave = across[kept], weights[kept], enter[kept], leave[kept]
    first_mass, last_mass = inner(across)  # the layout is that of the whole line, the mass lies between these
    found = layout(leave - enter, teeth, extent, window)
    count = found.count.astype(np.int64)
    # every block of every line, then the rests
    line = np.repeat(np.arange(len(across)), count)
    first = np.repeat(np.cumsum(count) - count, count)
    start = enter[line] + (np.arange(len(line)) - first) * found.block[line]
    held = (start < last_mass[line]) & (start + found.block[line] > first_mass[line])
    comb = found.spacing[line] > 0
    hit = [0.0]
    whole = [0.0]
    for kind, rows in (("comb", comb), ("interval", ~comb)):
        chunk = max(1, _MOST_VALUES // (2 * nodes * teeth if kind == "comb" else pieces))
        index = np.flatnonzero(rows & held)
        for i in range(0, len(index), chunk):
            at = index[i : i + chunk]
            owner, begin, size = line[at], start[at], found.block[line[at]]
            if kind == "comb":
                caught, mass = _combs(sweep, across[owner], begin, size, found.spacing[owner], attacker, nodes)
            else:
                low, high = np.maximum(begin, first_mass[owner]), np.minimum(begin + size, last_mass[owner])
                caught, mass = best_pieces(sweep, across[owner], low, high, attacker, pieces)
            hit.append(math.fsum(weights[owner] * caught))
            whole.append(math.fsum(weights[owner] * mass))
    low, high = np.maximum(leave - found.rest, first_mass), np.minimum(leave, last_mass)
    rest = np.flatnonzero((found.rest > 0) & (high > low))
    if len(rest):
        caught, mass = best_pieces(sweep, across[rest], low[rest], high[rest], attacker, pieces)
        hit.append(math.fsum(weights[rest] * caught))
        whole.append(math.fsum(weights[rest] * mass))
    return math.fsum(hit), math.fsum(whole)


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
