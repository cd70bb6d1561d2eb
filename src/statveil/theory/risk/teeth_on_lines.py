"""The best window of each residue class of a block: what a comb leaves open on a line, under any density.

Classes are swept by their residue. Which teeth the best window holds is decided anew for every residue: between two
nodes it is the best choice of all plus what the choices that are best at the nodes gain on it, where they do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array
from statveil.rounding import REL_TOL
from statveil.theory.risk.lines import Caught, Sweep

__all__ = ["best_teeth"]


_MOST_VALUES = 2_000_000
_MOST_CELLS = 512
_CLOSE = 1e-6
"""Error of a block, relative to its mass, at which its residues are not cut finer."""


def best_teeth(
    sweep: Sweep, across: Array, start: Array, size: Array, spacing: Array, attacker: float, *, cells: int, finer: bool
) -> Caught:
    """What the best windows catch of each block, rounded up, and its mass.

    A block of ``size`` holds classes of floor(size / spacing) teeth and, for residues below the remainder, of one more.
    ``cells`` residue cells at first, an even number; with ``finer``, more where the error asks for it.
    """
    short = np.floor(size / spacing * (1 + REL_TOL))
    longer = np.maximum(size - short * spacing, 0.0)
    held = np.floor(attacker / spacing + REL_TOL) + 1
    hit, mass = np.zeros(len(start)), np.zeros(len(start))
    for low, high, count in ((np.zeros(len(start)), np.minimum(longer, spacing), short + 1), (longer, spacing, short)):
        rows = np.flatnonzero((high > low) & (count > 0))
        width = high - low
        n = cells
        while len(rows):
            most = int(count[rows].max())
            marks = 0 if sweep.turns is None else sweep.turns(across[:1]).shape[1]
            chunk = max(1, _MOST_VALUES // ((2 * n + 4 * marks + 1) * most))
            parts = [
                _classes(sweep, across[at], (start + low)[at], width[at], spacing[at], count[at], held[at], n)
                for at in (rows[i : i + chunk] for i in range(0, len(rows), chunk))
            ]
            found = [np.concatenate(part) for part in zip(*parts, strict=True)]
            caught, whole, error = found
            again = (error > _CLOSE * whole) if finer and 4 * n <= _MOST_CELLS else np.zeros(len(rows), dtype=bool)
            kept = ~again
            hit[rows[kept]] += np.minimum(caught + error, whole)[kept] if finer else caught[kept]
            mass[rows[kept]] += whole[kept]
            rows, n = rows[again], 4 * n
    return Caught(hit=hit, mass=mass)


def _classes(
    sweep: Sweep, across: Array, start: Array, width: Array, spacing: Array, count: Array, held: Array, cells: int
) -> tuple[Array, Array, Array]:
    """Caught, mass and error of classes with equally many teeth: residues from 0 to ``width``, from ``start`` on."""
    tooth = np.arange(int(count.max()))
    half = sweep.below is None  # quadrature needs the middles of the cells too
    residue = _residues(sweep, across, start, width, spacing, count, cells // 2)
    residue = _halved(_halved(residue)) if half else _halved(residue)
    x = start[:, None, None] + residue[:, :, None] + spacing[:, None, None] * tooth
    inside = tooth < count[:, None, None]
    line = np.broadcast_to(across[:, None, None], x.shape)
    height = np.where(inside, np.broadcast_to(sweep.weight(line, x), x.shape), 0.0)
    step = np.diff(residue[:, ::2] if half else residue, axis=1)[:, :, None]
    error = np.zeros(len(start))
    if sweep.below is not None:
        part = np.where(inside, np.diff(sweep.below(line, x), axis=1), 0.0)
    else:
        part = step * (height[:, :-1:2] + 4 * height[:, 1::2] + height[:, 2::2]) / 6
        height = height[:, ::2]
        wide = step[:, ::2] * (height[:, :-1:2] + 4 * height[:, 1::2] + height[:, 2::2]) / 3
        error = np.abs(wide - part[:, ::2] - part[:, 1::2]).sum(axis=(1, 2)) / 4
    windows, masses = _windows(height, held), _windows(part, held)
    caught = _best(windows, masses, step[:, :, 0])
    coarse = _best(windows[:, ::2], masses[:, ::2] + masses[:, 1::2], 2 * step[:, ::2, 0])
    return caught, part.sum(axis=(1, 2)), error + np.abs(caught - coarse)


def _residues(
    sweep: Sweep, across: Array, start: Array, width: Array, spacing: Array, count: Array, cells: int
) -> Array:
    """Ends of ``cells`` even cells of residues, and every residue of which a tooth meets a turn of the density."""
    even = width[:, None] * np.linspace(0.0, 1.0, cells + 1)
    if sweep.turns is None:
        return even
    from_start = sweep.turns(across) - start[:, None]
    residue = np.mod(from_start, spacing[:, None])
    inside = (from_start > 0) & (from_start < (count * spacing)[:, None]) & (residue < width[:, None])
    most = int(inside.sum(axis=1).max(initial=0))
    placed = np.sort(np.where(inside, residue, width[:, None]), axis=1)[:, :most]
    return np.sort(np.concatenate([even, placed], axis=1), axis=1)


def _halved(x: Array) -> Array:
    """Every row with the middles between neighbours."""
    found = np.empty((len(x), 2 * x.shape[1] - 1))
    found[:, ::2], found[:, 1::2] = x, 0.5 * (x[:, 1:] + x[:, :-1])
    return found


def _windows(values: Array, held: Array) -> Array:
    """Sums of as many neighbouring teeth as a window holds, from each tooth on."""
    count = values.shape[2]
    if np.all(held == 1):
        return values
    total = np.concatenate([np.zeros((*values.shape[:2], 1)), np.cumsum(values, axis=2)], axis=2)
    stop = np.minimum(np.arange(count) + held[:, None], count).astype(np.int64)
    ends = np.take_along_axis(total, np.broadcast_to(stop[:, None, :], values.shape), axis=2)
    return np.asarray(ends - total[:, :, :-1])


def _best(windows: Array, masses: Array, step: Array) -> Array:
    """Integral over the residues of the best window, from values at the nodes and masses between them."""
    chosen = masses.argmax(axis=2)[:, :, None]
    caught = np.take_along_axis(masses, chosen, 2)[:, :, 0]
    left, right = windows[:, :-1], windows[:, 1:]
    gain = np.zeros(caught.shape)
    base_left, base_right = np.take_along_axis(left, chosen, 2)[:, :, 0], np.take_along_axis(right, chosen, 2)[:, :, 0]
    other: list[NDArray[np.int64]] = []
    for here, there, base_here, base_there in (
        (left, right, base_left, base_right),
        (right, left, base_right, base_left),
    ):
        rival = here.argmax(axis=2)
        ahead = np.take_along_axis(here, rival[:, :, None], 2)[:, :, 0] - base_here
        later = np.take_along_axis(there, rival[:, :, None], 2)[:, :, 0] - base_there
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            part = np.where(later >= 0, 0.5 * (ahead + later), 0.5 * ahead * ahead / (ahead - later))
        part = np.where(ahead > 0, part, 0.0)
        # one rival that is best at both nodes counts once
        gain = np.where(other[0] == rival, np.maximum(gain, part), gain + part) if other else part
        other.append(rival)
    return np.asarray((caught + step * gain).sum(axis=1))
