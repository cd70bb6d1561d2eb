"""Layered mechanisms: randomised intervals and combs that cost a prior's shape nothing.

The prior is written as a sum of boxes, one on each run of cells, and a cell picks a run in proportion to the boxes
above it. What is sent to a run is then no denser than its box, whatever the prior's shape (docs/theory.md, layered
mechanisms). The bounds hold for every density inside the cells that respects their masses and levels; they are read
off the finished assignment, so that no rounding in the search can make them too small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statveil.design.cells.covering import Layers, cover, cover_from_right, first_of, packing
from statveil.design.cells.grid import Assignment, CellGrid, branches, check_runs, rising
from statveil.errors import ProblemError
from statveil.numeric import Array, Index

__all__ = ["LayeredCombs", "LayeredIntervals", "interval_bound", "layered_combs", "layered_intervals"]


_EQUAL = 1e-6
"""Cells whose widths differ by less than this share are equally wide; the bound pays for the difference."""
_APART = 1e-9
_NOISE = 1e-14
_UNBOUNDED = 1e6
"""A density this much above its cell's average is left out of the boxes: it is that of a turning point."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayeredIntervals:
    """An assignment to runs of neighbouring cells, and what is certain about it."""

    assignment: Assignment
    bound: float
    """No attacker with the grid's window has a higher risk."""
    density: float
    """An attacker with a window of any length w has a risk of at most w times this."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayeredCombs:
    """An assignment to combs of cells, and what is certain about it."""

    assignment: Assignment
    bound: float
    """No attacker with the grid's window, or a shorter one, has a higher risk."""
    spacing: int
    """Cells from one tooth to the next."""
    limit: float
    """No cover of the residue classes has a lower total at this spacing."""


# --- intervals --------------------------------------------------------------------------------------
def layered_intervals(grid: CellGrid) -> LayeredIntervals:
    """Layered intervals of least density, so that the risk stays in proportion to the attacker's tolerance.

    Where the secret turns, runs are cut: two branches in one release would put their densities on top of each other, so
    a box over both counts as two and gains nothing over two runs.
    """
    check_runs(grid)
    last, level = _within_branches(grid), _level(grid)
    need = np.where(np.isfinite(level) & (level / _UNBOUNDED <= _even_level(grid)), level, 0.0)
    found = [cover(need, last), cover_from_right(need, last)]
    made = [layers.assignment(last) for layers in (*found, *(_full(layers, last) for layers in found))]
    bound, best = min((interval_bound(grid, assignment), i) for i, assignment in enumerate(made))
    assignment = made[best]
    return LayeredIntervals(
        assignment=assignment,
        bound=bound,
        density=float(np.sum(_largest(assignment, np.where(grid.mass > 0, level, 0.0)))),
    )


def interval_bound(grid: CellGrid, assignment: Assignment) -> float:
    """Largest risk of an attacker with the grid's window, for releases that each lie on one branch of the secret.

    A cell of level l and mass m is at worst l high on a length of m / l. Sorted from the highest down, the cells of
    a release give any window of length w at most the mass of the first w of that length.
    """
    level = _level(grid)
    order = np.lexsort((-level[assignment.cell] * assignment.probability, assignment.release))
    cell, release = assignment.cell[order], assignment.release[order]
    opens = np.flatnonzero(np.diff(release, prepend=-1))
    branch = np.searchsorted([first for first, _ in branches(grid)], cell, side="right")
    if np.any(np.maximum.reduceat(branch, opens) > np.minimum.reduceat(branch, opens)):
        raise ProblemError(
            "this bound is for releases on one side of every turning point of the secret. Got one on both sides; "
            "cut its run there."
        )
    length = np.divide(grid.mass, level, out=np.zeros(len(grid)), where=level > 0)[cell]
    reached = np.cumsum(length)
    start = reached - length
    start = start - np.repeat(start[opens], np.diff(opens, append=len(cell)))
    w = grid.window + (_overlap(grid) + _NOISE * float(reached[-1]))  # rounding errors count against us
    part = np.divide(np.clip(w - start, 0.0, length), length, out=np.ones(len(cell)), where=length > 0)
    return min(1.0, float(np.sum(grid.mass[cell] * assignment.probability[order] * part)))


def _largest(assignment: Assignment, value: Array) -> Array:
    """For each release the largest value of a cell times its share."""
    found = np.zeros(int(assignment.release.max()) + 1)
    np.maximum.at(found, assignment.release, value[assignment.cell] * assignment.probability)
    return found


def _even_level(grid: CellGrid) -> Array:
    """Density of each cell if its mass is spread evenly."""
    width = grid.high - grid.low
    atom = np.where(grid.mass > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):  # so narrow that it is an atom too
        return np.divide(grid.mass, width, out=atom, where=width > 0)


def _level(grid: CellGrid) -> Array:
    """Largest density of each cell, never below its average."""
    return np.maximum(grid.level, _even_level(grid))


def _overlap(grid: CellGrid) -> float:
    """By how much neighbours on a branch overlap in the secret: rounding errors, which a window gains."""
    between = np.minimum(grid.high[1:], grid.high[:-1]) - np.maximum(grid.low[1:], grid.low[:-1])
    for first, _ in branches(grid)[1:]:
        between[first - 1] = 0.0
    return float(np.sum(np.maximum(between, 0.0)))


def _within_branches(grid: CellGrid) -> Index:
    last = grid.last.copy()
    for first, stop in branches(grid):
        last[first:stop] = np.minimum(last[first:stop], stop - 1)
    return last


def _full(layers: Layers, last: Index) -> Layers:
    """Every run made as long as the budget allows: no share rises, so no box gets higher."""
    start = first_of(last)[layers.stop]
    return replace(layers, start=start, stop=last[start])


# --- combs ------------------------------------------------------------------------------------------
def layered_combs(grid: CellGrid) -> LayeredCombs:
    """Layered combs of least risk, on cells that are equally wide in the secret.

    The cells of one residue class modulo the spacing are the teeth of combs, and the masses of the teeth are covered
    class by class. Different classes never share a release. Two ways to count a tooth are tried at every spacing:

    * its mass, if no closed window touches two teeth of a class;
    * its level times its width, which already holds if the teeth's starts are a window apart: whatever a window
      leaves of one tooth is at least as long as what it takes of the next, so it covers one tooth's length in all.

    The secret must only rise or only fall. Spacings up to twice the least possible one are tried.
    """
    check_runs(grid)
    rising(grid, "combs")
    n, window = len(grid), grid.window
    width = grid.high - grid.low
    widest, narrowest = float(width.max()), float(width.min())
    if narrowest <= 0 or widest - narrowest > _EQUAL * widest:
        raise ProblemError(
            f"layered combs need cells that are equally wide in the secret. Got widths from {narrowest:g} to "
            f"{widest:g}; cut the parameter where the secret takes equally spaced values."
        )
    least = next(s for s in range(1, n + 1) if s == n or _short(grid, s) <= _EQUAL * narrowest)
    options = range(least, min(2 * least + 2, n) + 1)
    level = _level(grid)
    touched = np.minimum(grid.mass, window * level)
    best: tuple[float, int, Layers, Array] | None = None
    for s in options:
        apart = s == n or _gap(grid, s) > window * (1 + _APART)
        covered = min(window, widest * (1 + _short(grid, s) / narrowest))
        for tooth in (touched, level * covered) if apart else (level * covered,):
            if not np.all(np.isfinite(tooth)):
                continue
            layers = cover(tooth, grid.last, s)
            if best is None or layers.total < best[0] * (1 - 1e-12):
                best = (layers.total, s, layers, tooth)
    if best is None:
        raise ProblemError(
            f"a comb of spacing {options[0]} needs a finite density in every cell. Got an infinite level; use a "
            "spacing of two cells more, or finer cells."
        )
    _, s, layers, tooth = best
    assignment = layers.assignment(grid.last)
    return LayeredCombs(
        assignment=assignment,
        bound=min(1.0, float(np.sum(_largest(assignment, tooth)))),
        spacing=s,
        limit=min(1.0, packing(tooth, grid.last, s)),
    )


def _gap(grid: CellGrid, spacing: int) -> float:
    """Least distance between two neighbouring teeth of a class."""
    low, high = grid.low, grid.high
    return float(np.min(np.maximum(low[spacing:] - high[:-spacing], low[:-spacing] - high[spacing:])))


def _short(grid: CellGrid, spacing: int) -> float:
    """By how much the starts (or ends) of neighbouring teeth of a class are less than a window apart."""
    if spacing >= len(grid):
        return 0.0
    starts = np.abs(grid.low[spacing:] - grid.low[:-spacing])
    ends = np.abs(grid.high[spacing:] - grid.high[:-spacing])
    return float(max(0.0, grid.window - min(starts.min(), ends.min())))
