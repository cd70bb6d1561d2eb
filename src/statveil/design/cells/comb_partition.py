"""Partitions of one parameter into blocks, each a plain interval or a set of combs, by dynamic programming.

Inside a block of spacing s the cells that are the same modulo s share a release: the teeth of a comb. A window catches
no more than one of them, so the block costs the sum, over its s classes, of the largest tooth. An interval block is one
release and costs its best window. The least total over all cuts of the range is found edge by edge. Every cell has one
release. The mass of a cell counts as spread evenly over its values of the secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from statveil.design.cells.grid import Assignment, CellGrid, check_runs, rising
from statveil.errors import ProblemError
from statveil.numeric import Array, Index

__all__ = ["Block", "CombPartition", "comb_partition"]

Flags = NDArray[np.bool_]

_MOST_CELLS = 4_000
_SLACK = 1e-9
_NOISE = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The cells ``first``, ..., ``stop - 1``: combs of a spacing, or one interval (spacing 0)."""

    first: int
    stop: int
    spacing: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CombPartition:
    """The blocks from left to right, the assignment they make, and its risk with mass spread evenly inside cells."""

    blocks: tuple[Block, ...]
    assignment: Assignment
    risk: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Line:
    """The cells along a rising secret, in their order."""

    low: Array
    high: Array
    mass: Array
    window: float
    last: Index

    def __len__(self) -> int:
        return len(self.mass)


def comb_partition(grid: CellGrid) -> CombPartition:
    """The blocks of least total cost; spacings are tried up to twice the least one that keeps teeth apart.

    Parameters
    ----------
    grid : CellGrid
        The cells, of any widths; the secret must only rise or only fall.
    """
    check_runs(grid)
    up = rising(grid, "combs")
    n = len(grid)
    if n > _MOST_CELLS:
        raise ProblemError(f"comb partitions work on at most {_MOST_CELLS:,} cells. Got {n:,}; use fewer.")
    line = _Line(
        low=grid.low if up else -grid.high,
        high=grid.high if up else -grid.low,
        mass=grid.mass,
        window=grid.window,
        last=grid.last,
    )
    cost, spacing = _interval_costs(line), np.zeros((n, n), dtype=np.int32)
    for s in _spacings(line):
        _try_combs(line, s, cost, spacing)
    return _best(cost, spacing)


# --- costs: row i, column j is the block of the cells i, ..., j ----------------------------------------
def _interval_costs(line: _Line) -> Array:
    """Mass of the best window inside each block; infinite where the block is over the budget.

    As the mass is spread evenly inside cells, the best window starts at the low end of a cell or stops at a high end.
    """
    n, here = len(line), np.arange(len(line))
    below = np.concatenate([[0.0], np.cumsum(line.mass)])
    opening = below[:-1]
    # windows that stop with cell j, and are cut off where the block starts
    cost = below[1:] - np.maximum(_mass_below(line, below, line.high - line.window), opening[:, None])
    # windows that start with cell t belong to all blocks that start by t and hold the cell in which they stop
    inside = np.searchsorted(line.high, line.low + line.window, side="left")
    start = np.flatnonzero(inside < n)
    inside, whole = inside[start], np.zeros((n, n))
    # (an atom just where a window stops may belong to the next cell; windows that stop with that cell count it)
    reached = np.minimum(_mass_up_to(line, below, line.low[start] + line.window), below[inside + 1])
    whole[start, inside] = reached - opening[start]
    cost = np.maximum(cost, np.maximum.accumulate(whole[::-1], axis=0)[::-1])
    cost = np.maximum.accumulate(np.where(here >= here[:, None], cost, 0.0), axis=1)
    return np.where((here >= here[:, None]) & (here <= line.last[:, None]), cost, np.inf)


def _share(line: _Line, cell: Index, x: Array, atom: float) -> Array:
    width = (line.high - line.low)[cell]
    share: Array = np.divide(x - line.low[cell], width, out=np.full(len(x), atom), where=width > 0)
    return np.clip(share, 0.0, 1.0)


def _mass_below(line: _Line, below: Array, x: Array) -> Array:
    """Mass strictly below x: a window that starts at x holds an atom there."""
    cell = np.minimum(np.searchsorted(line.high, x, side="left"), len(line) - 1)
    found: Array = below[cell] + line.mass[cell] * _share(line, cell, x, 0.0)
    return found


def _mass_up_to(line: _Line, below: Array, x: Array) -> Array:
    """Mass up to x: a window that stops at x holds an atom there."""
    cell = np.searchsorted(line.low, x, side="right") - 1
    found: Array = below[cell] + line.mass[cell] * _share(line, cell, x, 1.0)
    return found


def _apart(line: _Line, spacing: int) -> Flags:
    """For each cell whether a window catches no more of it and the next tooth than the larger of the two.

    True if no closed window touches both. True as well, with even mass, if both their starts and their ends are a
    window apart: a window that takes a share of one tooth then leaves at least that share of the other.
    """
    low, high, width = line.low, line.high, line.high - line.low
    near, far = slice(None, -spacing), slice(spacing, None)
    touched = low[far] - high[near] <= line.window * (1 + _SLACK)
    narrower = np.minimum(width[near], width[far])
    short = line.window - np.minimum(low[far] - low[near], high[far] - high[near])
    return ~touched | ((narrower > 0) & (short <= _SLACK * narrower))


def _spacings(line: _Line) -> range:
    """From the least spacing that keeps two teeth apart anywhere to twice the least one that does everywhere."""
    n = len(line)
    longest = int(np.max(line.last - np.arange(n)))  # a larger spacing leaves one tooth to every comb
    least = everywhere = 0
    for s in range(1, min(longest, n - 1) + 1):
        apart = _apart(line, s)
        least = least or (s if np.any(apart) else 0)
        if np.all(apart):
            everywhere = s
            break
    return range(least, min(2 * everywhere if everywhere else longest, longest) + 1) if least else range(0)


def _comb_stops(line: _Line, spacing: int) -> Index:
    """For each first cell the end of the longest block of combs with this spacing (one past its last cell)."""
    n, here = len(line), np.arange(len(line))
    # teeth after a cell, up to the first pair that is not apart, and up to the end of the cell's run
    chain = np.zeros(n, dtype=np.int64)
    apart = _apart(line, spacing)
    for stop in range(n - spacing, 0, -spacing):
        at = slice(max(stop - spacing, 0), stop)
        chain[at] = np.where(apart[at], chain[at.start + spacing : stop + spacing] + 1, 0)
    fails = here + spacing * (np.minimum(chain, (line.last - here) // spacing) + 1)
    padded = np.concatenate([fails, np.full(spacing - 1, n + spacing)])
    found: Index = np.minimum(sliding_window_view(padded, spacing).min(axis=1), n)
    return found


def _try_combs(line: _Line, spacing: int, cost: Array, chosen: NDArray[np.int32]) -> None:
    """Lower the costs of the blocks for which combs of this spacing are better."""
    n = len(line)
    stop = _comb_stops(line, spacing)
    first = np.flatnonzero(
        stop > np.arange(n) + spacing
    )  # shorter blocks hold combs of one tooth: intervals are as good
    stop = stop[first]
    width = line.high - line.low
    tooth = line.mass * np.minimum(1.0, np.divide(line.window, width, out=np.ones(n), where=width > 0))
    padded = np.concatenate([tooth, np.zeros(2 * spacing)])
    rows = sliding_window_view(padded, spacing)
    largest = np.zeros((len(first), spacing))
    total = np.zeros(len(first))
    offset = 0
    while len(first):
        seen = np.maximum(largest, rows[first + offset])
        # a further tooth of a class costs what it exceeds the largest one so far
        running = total[:, None] + np.cumsum(seen - largest, axis=1)
        columns = first[:, None] + offset + np.arange(spacing)
        better = columns < stop[:, None]
        columns = np.minimum(columns, n - 1)
        better &= running < cost[first[:, None], columns] * (1 - _NOISE)
        row, column = np.nonzero(better)
        cost[first[row], columns[row, column]] = running[row, column]
        chosen[first[row], columns[row, column]] = spacing
        offset += spacing
        going = first + offset < stop
        first, stop, largest, total = first[going], stop[going], seen[going], running[going, -1]


# --- the programme over edges --------------------------------------------------------------------------
def _best(cost: Array, spacing: NDArray[np.int32]) -> CombPartition:
    n = len(cost)
    value, previous = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    value[0] = 0.0
    for i in range(n):
        total = value[i] + cost[i, i:]
        better = np.flatnonzero(total < value[i + 1 :] * (1 - _NOISE))  # among equals, the longer block
        value[i + 1 + better], previous[i + 1 + better] = total[better], i
    edges = [n]
    while edges[-1] > 0:
        edges.append(int(previous[edges[-1]]))
    edges.reverse()
    blocks, release, count = [], np.zeros(n, dtype=np.int64), 0
    for first, stop in pairwise(edges):
        s = int(spacing[first, stop - 1])
        blocks.append(Block(first=first, stop=stop, spacing=s))
        number = np.arange(stop - first) % s if s else np.zeros(stop - first, dtype=np.int64)
        release[first:stop] = count + number
        count += int(number.max()) + 1
    return CombPartition(
        blocks=tuple(blocks),
        assignment=Assignment(cell=np.arange(n), release=release, probability=np.ones(n)),
        risk=float(value[n]),
    )
