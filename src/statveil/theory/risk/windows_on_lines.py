"""The best window of each piece of a line, under any density along it.

Nodes are laid where the mass is. Between neighbouring windows the mass caught is bounded by the tangents at
both: it cannot rise above where they meet, unless it bends the other way between two nodes. The piece between
nodes that could hold the most is looked at more closely, a few times.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array
from statveil.theory.risk.lines import Caught, Sweep

__all__ = ["best_windows"]


_MOST_VALUES = 1_500_000
_FINER = 8
_MOST_CELLS = 256
_CLOSE = 2e-6
"""Error of a piece, relative to its mass, at which it is not cut finer."""


def best_windows(
    sweep: Sweep, across: Array, start: Array, stop: Array, window: Array | float, *, cells: int, zooms: int
) -> Caught:
    """What the best window of each piece catches, rounded up, and the mass of the piece.

    ``cells`` cells per piece at first and, unless no window is to be zoomed in on, more where the error asks for it.
    """
    hit, mass, error = (np.zeros(len(start)) for _ in range(3))
    reach = np.broadcast_to(np.asarray(window, dtype=np.float64), start.shape)
    rows = np.arange(len(start))
    while len(rows):
        marks = 0 if sweep.turns is None else sweep.turns(across[:1]).shape[1]
        chunk = max(1, _MOST_VALUES // (8 * (cells + marks) + 8))
        for i in range(0, len(rows), chunk):
            part = rows[i : i + chunk]
            line = _Line(sweep, across[part], start[part], stop[part], cells)
            mass[part], error[part] = line.mass, line.error
            hit[part] = np.minimum(line.best(reach[part], zooms), line.mass) + line.error
        again = _coarse(error[rows], mass[rows]) if cells < _MOST_CELLS and zooms else np.zeros(len(rows), dtype=bool)
        rows, cells = rows[again], 4 * cells
    return Caught(hit=hit, mass=mass)


def _coarse(error: Array, mass: Array) -> NDArray[np.bool_]:
    """Where quadrature must be finer: the error of a piece matters beside its mass, and that beside the others'."""
    typical = float(mass.mean()) if len(mass) else 0.0
    return np.asarray(error > _CLOSE * np.maximum(mass, 0.01 * typical))


class _Line:
    """The mass along pieces of lines, one piece per row."""

    def __init__(self, sweep: Sweep, across: Array, start: Array, stop: Array, cells: int) -> None:
        self.sweep, self.across, self.start, self.stop = sweep, across[:, None], start[:, None], stop[:, None]
        self.x = self._nodes(2 * cells)
        self.error = np.zeros(len(start))
        if sweep.below is not None:
            self.origin = sweep.below(self.across, self.start)
            self.mass = (sweep.below(self.across, self.stop) - self.origin)[:, 0]
            return
        # Simpson's rule on every cell and on its two halves: the difference is the error
        step = np.diff(self.x, axis=1)
        f = self.density(self.x)
        inner = self.density(self.x[:, :-1] + 0.5 * step)
        self.left, self.inner, self.right = f[:, :-1], inner, f[:, 1:]
        self.step = step
        part = step * (self.left + 4 * inner + self.right) / 6
        whole = (step[:, ::2] + step[:, 1::2]) * (f[:, :-1:2] + 4 * f[:, 1::2] + f[:, 2::2]) / 6
        self.error = np.abs(whole - part[:, ::2] - part[:, 1::2]).sum(axis=1) / 4
        self.total = np.concatenate([np.zeros((len(start), 1)), np.cumsum(part, axis=1)], axis=1)
        self.mass = self.total[:, -1]

    def density(self, x: Array) -> Array:
        return np.broadcast_to(self.sweep.weight(np.broadcast_to(self.across, x.shape), x), x.shape)

    def _nodes(self, count: int) -> Array:
        """Nodes with about equal changes of place and of mass between; every second lies amid its neighbours."""
        level = np.linspace(0.0, 1.0, count // 2 + 1)
        x = self.start + (self.stop - self.start) * level
        for _ in range(3 if self.sweep.spread is not None else 0):
            assert self.sweep.spread is not None
            seen = self.sweep.spread(np.broadcast_to(self.across, x.shape), x)
            rise = np.maximum(np.diff(seen, axis=1), 0.0)
            size = rise.sum(axis=1, keepdims=True)
            place = np.diff(x, axis=1) / (self.stop - self.start)
            mixed = 0.5 * place + 0.5 * np.where(size > 0, rise / np.where(size > 0, size, 1.0), place)
            below = np.concatenate([np.zeros((len(x), 1)), np.cumsum(mixed, axis=1)], axis=1)
            x = _rowwise(below / below[:, -1:], x, level)
        x = self._with_turns(x)
        middle = 0.5 * (x[:, 1:] + x[:, :-1])
        nodes = np.empty((len(x), 2 * x.shape[1] - 1))
        nodes[:, ::2], nodes[:, 1::2] = x, middle
        return nodes

    def _with_turns(self, x: Array) -> Array:
        """The nodes and, between them, every place where the density of the line bends."""
        if self.sweep.turns is None:
            return x
        turns = self.sweep.turns(self.across[:, 0])
        inside = (turns > self.start) & (turns < self.stop)
        most = int(inside.sum(axis=1).max(initial=0))
        if not most:
            return x
        placed = np.sort(np.where(inside, turns, self.stop), axis=1)[:, :most]
        return np.sort(np.concatenate([x, placed], axis=1), axis=1)

    def below(self, x: Array) -> Array:
        """Mass from the start of the piece."""
        if self.sweep.below is not None:
            return self.sweep.below(np.broadcast_to(self.across, x.shape), x) - self.origin
        j = _cell(self.x, x)
        at = np.take_along_axis(self.x, j, 1)
        step, f, g, h = (np.take_along_axis(part, j, 1) for part in (self.step, self.left, self.inner, self.right))
        u = np.clip((x - at) / np.where(step > 0, step, 1.0), 0.0, 1.0)
        # the parabola through the ends and the middle of the cell, integrated
        inside = u * (f + u * (0.5 * (4 * g - 3 * f - h) + u * (2 * f - 4 * g + 2 * h) / 3))
        return np.take_along_axis(self.total, j, 1) + step * inside

    def best(self, window: Array, zooms: int) -> Array:
        """Mass of the best window."""
        reach = window[:, None]
        room = np.maximum(self.stop - self.start - reach, 0.0)
        last = self.start + room
        starts = np.clip(np.concatenate([self.x, self.x - reach], axis=1), self.start, last)
        starts.sort(axis=1)
        bound = self._bounds(starts, reach)
        low, high = starts[:, :-1].copy(), starts[:, 1:].copy()
        rows = np.arange(len(starts))
        floor = np.zeros(len(starts))
        for _ in range(zooms):
            top = bound.argmax(axis=1)
            a, b = low[rows, top, None], high[rows, top, None]
            finer = a + (b - a) * np.linspace(0.0, 1.0, _FINER + 1)
            found = self._bounds(finer, reach)
            best = found.argmax(axis=1)
            bound[rows, top] = found[rows, best]
            low[rows, top], high[rows, top] = finer[rows, best], finer[rows, best + 1]
            found[rows, best] = 0.0
            floor = np.maximum(floor, found.max(axis=1))
        top_value = np.maximum(floor, bound.max(axis=1))
        return np.where(window >= (self.stop - self.start)[:, 0], self.mass, np.minimum(top_value, self.mass))

    def _bounds(self, starts: Array, reach: Array) -> Array:
        """At most this much is caught by windows that start between neighbours."""
        ends = np.minimum(starts + reach, self.stop)
        caught = self.below(ends) - self.below(starts)
        slope = self.density(ends) - self.density(starts)
        a, b, up, down = caught[:, :-1], caught[:, 1:], slope[:, :-1], slope[:, 1:]
        gap = np.diff(starts, axis=1)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            meet = np.clip((b - a - down * gap) / (up - down), 0.0, gap)
        peak = np.where((up > 0) & (down < 0), a + up * np.nan_to_num(meet), 0.0)
        return np.maximum(peak, np.maximum(a, b))


def _cell(nodes: Array, x: Array) -> NDArray[np.int64]:
    """Index of the cell of each value, row by row."""
    low, size = nodes[:, :1], nodes[:, -1:] - nodes[:, :1]
    size = np.where(size > 0, size, 1.0)
    row = 2.0 * np.arange(len(nodes))[:, None]
    keys = ((nodes - low) / size + row).ravel()
    at = np.searchsorted(keys, (np.clip((x - low) / size, 0.0, 1.0) + row).ravel(), side="right").reshape(x.shape) - 1
    first = np.arange(len(nodes))[:, None] * nodes.shape[1]
    return np.asarray(np.clip(at - first, 0, nodes.shape[1] - 2), dtype=np.int64)


def _rowwise(xp: Array, fp: Array, at: Array) -> Array:
    """Linear interpolation of each row at the same places."""
    x = np.broadcast_to(at, (len(xp), len(at)))
    j = _cell(xp, x)
    left, right = np.take_along_axis(xp, j, 1), np.take_along_axis(xp, j + 1, 1)
    share = np.clip((x - left) / np.where(right > left, right - left, 1.0), 0.0, 1.0)
    found = np.take_along_axis(fp, j, 1) * (1 - share) + np.take_along_axis(fp, j + 1, 1) * share
    found[:, 0], found[:, -1] = fp[:, 0], fp[:, -1]
    return np.asarray(np.maximum.accumulate(found, axis=1))
