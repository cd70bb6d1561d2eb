"""Whether a column ends sharply: rows are as dense just inside the end as further in, as where a law or a scale ends.

A tail thins out: the density goes to 0 at the end, at least in proportion to the distance from it. What cuts a column
off leaves a jump. The two are told apart by the rows next to the end, on several scales, and by whether the end lies at
a round number, which an accident seldom does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["End", "sharp_end", "sharp_ends"]

_FEWEST = 30
"""Rows below which no end is called sharp."""
_DIFFERENT = 0.8
"""Of the rows next to the end of a column without a step, how many must differ."""
_PLACES = 24
"""Steps that a part must cover to be looked at as if there were no steps; of fewer places the rows are counted."""
_MOST, _THIRD = 0.6, 1 / 3
"""The largest part of a column on few places that is looked at, and the rows of its first third after a jump."""
_APART = 0.6
"""Of a part, how far two neighbouring rows may lie apart: beyond the gap is another cluster."""
_PARTS = (0.25, 0.1, 0.04, 0.016)
"""Shares of the rows, next to the end, that are looked at."""
_LEAST = 8
"""Rows of the smallest part."""
_SPIKE = 0.6
"""The rows up to a distance from the end grow like a power of it; below this power they thin out inwards so fast that
nearer rows are looked at instead."""
_AGAINST = 0.2
"""What the rows nearer to the end may not speak against a jump by: a cluster is a tail when looked at closely."""
_SPIKE_LEFT = 0.3
"""Rows of the last third of a few places, as a share of those of the first, below which these are a cluster."""
_ASK = 50.0
"""How many times likelier the rows are with a jump than without, for the holder to be asked."""
_STEPPED, _CONTINUOUS = (200.0, 3.0, 3.0), (2_000.0, 10.0, 10.0)
"""What it takes for an end to be proposed: how many times likelier all of it is with a set end there, and of that the
jump alone and the round number alone. More without a step: real columns that end sharply by accident are not rare."""
_UNITS = (1.0, 2.0, 2.5, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """An end that looks cut off."""

    value: float
    """The round number at or just beyond the outermost row."""
    clear: bool
    """Whether it is proposed to declare it; the holder is only asked otherwise."""


def sharp_ends(values: Array, step: float | None = None) -> tuple[End | None, End | None]:
    """The lower and the upper end of a column, where it ends sharply; ``step`` is that of its lattice, if it has one.

    >>> rng = np.random.default_rng(0)
    >>> sharp_ends(np.floor(18 + rng.exponential(20, 400)), 1.0)
    (End(value=18.0, clear=True), None)
    >>> sharp_ends(rng.normal(100, 10, 400))
    (None, None)
    """
    finite = values[np.isfinite(values)]
    upper = sharp_end(-finite, step)
    turned = None if upper is None else End(value=-upper.value, clear=upper.clear)
    return sharp_end(finite, step), turned


def sharp_end(values: Array, step: float | None = None) -> End | None:
    """The lower end, where the column ends sharply there."""
    if len(values) < _FEWEST:
        return None
    inner = int(max(_PARTS) * len(values)) + 1
    ends = np.sort(np.partition(values, inner)[: inner + 1])
    low = float(ends[0])
    spread = float(np.std(values))
    if not spread > 0:
        return None
    if step is None:
        places = np.unique(ends)
        if len(places) < _DIFFERENT * len(ends):  # frequent values, which are named as such
            return None
        jump = _jump(places, len(values), 0.0)
    else:
        places = _spread_out(ends, step)
        jump = max(_jump(places, len(values), _PLACES * step), _steps_up(values, low, step))
    near = max(_LEAST, int(min(_PARTS) * len(values)))
    gap = float(places[near] - places[0]) / near
    value, roundness = _roundest(low, gap, step, spread)
    total, least, digits = _CONTINUOUS if step is None else _STEPPED
    whole = step is not None and gap <= 0.5 * step  # rows lie on the end itself, whatever its digits
    clear = jump * roundness >= total and jump >= least and (roundness >= digits or whole)
    if clear or jump >= _ASK:
        return End(value=value, clear=clear)
    return None


def _spread_out(ends: Array, step: float) -> Array:
    """The rows of each place of a lattice, spread evenly over one step."""
    _, starts, counts = np.unique(ends, return_index=True, return_counts=True)
    along = np.arange(len(ends)) - np.repeat(starts, counts) + 0.5
    spread: Array = ends + step * along / np.repeat(counts, counts)
    return spread


def _steps_up(values: Array, low: float, step: float) -> float:
    """How many times likelier the rows of the first places of a lattice are after a jump than in a tail.

    Of six places, or twice or four times as many, the first third has a third of the rows after a jump. Where the
    density grows from 0 on it has a ninth to a fifth: the more, the larger the part of the column (a gamma distribution
    of shape 2), and the fewer the places, as the first may begin anywhere.
    """
    index = np.rint((values[values < low + (_PLACES + 0.5) * step] - low) / step).astype(np.int64)
    counts = np.bincount(index, minlength=_PLACES)
    said = []
    for width in (1, 2, 4):
        first, rows = int(np.sum(counts[: 2 * width])), int(np.sum(counts[: 6 * width]))
        covered = rows / len(values)
        last = int(np.sum(counts[4 * width : 6 * width]))
        if rows < _LEAST or covered > _MOST or last < _SPIKE_LEFT * first:  # a cluster, and a gap above it
            continue
        tail = 0.125 + 0.19 * covered + 0.06 / width
        odds = first * math.log(_THIRD / tail) + (rows - first) * math.log((1 - _THIRD) / (1 - tail))
        said.append((width, math.exp(min(odds, 50.0))))
    kept = [odds for width, odds in said if all(one >= _AGAINST for near, one in said if 1 < near < width)]
    return sum(kept) / len(said) if said else 0.0


def _jump(places: Array, rows: int, least: float) -> float:
    """How many times likelier the rows next to the end are after a jump than after a density that grows from 0 on.

    Where the rows of a part lie, as shares u of the distance to its last one, is uniform after a jump. Under a density
    that grows in proportion, measured from the first row instead of the true end, -log(u) has about the mean below
    (simulated for a gamma distribution of shape 2). Softer ends are further from a jump. Parts narrower than ``least``
    say nothing.
    """
    said: list[float] = []
    for part in _PARTS:
        size = min(int(part * rows), len(places) - 1)
        if size < _LEAST:
            break
        if places[size] - places[0] < least:
            break
        shares = (places[1:size] - places[0]) / (places[size] - places[0])
        apart = float(np.max(np.diff(shares, prepend=0.0, append=1.0)))
        total = -float(np.sum(np.log(shares)))
        power = 1.62 - size**-0.4
        falls = (size - 1) / total < _SPIKE or apart > min(_APART, 2.5 * math.log(size) / size)
        said.append(0.0 if falls else math.exp(min((power - 1) * total - (size - 1) * math.log(power), 50.0)))
    kept = [one for at, one in enumerate(said) if all(nearer >= _AGAINST for nearer in said[at + 1 :] if nearer)]
    return sum(kept) / len(said) if said else 0.0


def _roundest(low: float, gap: float, step: float | None, spread: float) -> tuple[float, float]:
    """The number at or below the end that people would most likely set, and how much likelier the end is with it."""
    width = 0.0 if step is None else step
    gap = max(gap, 1e-12 * spread)
    inside = 1.0 if step is None else -math.expm1(-width / gap)
    best, most = low, 0.0
    power = math.ceil(math.log10(max(abs(low), spread))) + 1
    while 10.0**power > 0.5 * max(width, gap):
        for times in reversed(_UNITS):
            unit = float(f"{times}e{power}")
            value = float(f"{math.floor(low / unit * (1 + math.copysign(1e-12, low)) + 1e-12) * unit:.12g}")
            if value == 0:
                continue
            odds = min(unit, 3 * spread) / (gap if step is None else width) * inside
            odds *= math.exp(-min(max(low - value, 0.0) / gap, 700.0))
            if odds > most * 1.0001:
                best, most = value, odds
        power -= 1
    return best, most
