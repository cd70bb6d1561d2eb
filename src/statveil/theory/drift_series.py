"""From bins, a belief and a drift to the risk of every month, rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from statveil.numeric import Array
from statveil.theory.drift import Drift
from statveil.theory.drift_chain import Chain, memoryless, sticky
from statveil.theory.drift_paths import drawn_histories
from statveil.theory.drift_risk import Months, all_histories

__all__ = ["Line", "Monthly", "drifting", "predictable"]

_FOLLOWED = 12
"""Months of which all histories are looked at; along more of them paths are drawn."""
_NEGLECTED = 0.004
"""What the cells may neglect in all, if that does not need too many of them."""
_FINEST, _COARSEST = 160, 40
"""Cells to a window."""
_DROPPED = 0.01
"""Share of rare histories beyond which paths are drawn instead."""
_TOO_MUCH = 0.15
_ROOM = 10
"""Windows by which the end bins reach beyond the range; whoever drifts farther counts as hit."""
_CONFIDENCE = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Bins of the secret, and what is believed of its first value, on the scale on which a hit is a window long."""

    edges: Array
    below: Callable[[Array], Array]
    """The distribution function."""
    flat: bool
    densest: float
    """The largest density."""
    variation: float
    """Total variation of the density inside the range."""
    window: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Monthly:
    """Risk of each month: with the releases so far, and with all of them; and how it was obtained."""

    online: tuple[float, ...]
    later: tuple[float, ...]
    kind: str
    neglected: float = 0.0
    """What was added for cells and for histories that were not followed."""
    histories: int = 0
    mean: tuple[float, ...] = ()
    """Of drawn paths with all releases, without the interval around it; empty where nothing is drawn."""


def predictable(line: Line, trend: float, months: int, best: Callable[[Array], float]) -> Monthly:
    """A known change every month: all releases are of the first value, by bins that move the other way.

    ``best`` is the risk of bins with these edges: a vernier, (c + min(k d, s - c)) / s for k further months of d.
    """
    online = []
    low, high = line.edges[0], line.edges[-1]
    for count in range(1, months + 1):
        # the first and the last bin go on beyond the range
        moved = [line.edges[1:-1] - t * trend for t in range(count)]
        inner = np.concatenate(moved) if len(line.edges) > 2 else np.zeros(0)
        inner = inner[(inner > low) & (inner < high)]
        edges = np.unique(np.concatenate([[low, high], inner]))
        near = np.concatenate([[True], np.diff(edges) > 1e-9 * line.window])
        online.append(best(edges[near] if near[-1] else np.append(edges[near][:-1], high)))
    return Monthly(online=tuple(online), later=(online[-1],) * months, kind="exact")


def drifting(
    line: Line, drift: Drift, months: int, *, half: float | None, paths: int, rng: Generator, quick: bool = False
) -> Monthly:
    """All histories for a year or less, drawn ones for longer, and never more than no drift and every switch.

    ``quick`` takes larger cells: for comparing bins, never for a reported risk.
    """
    size = line.window / 20 if quick else _size(line, drift, months)
    cap = _simple(line, drift, months)
    if drift.neglected(size, months, 0.0) > _TOO_MUCH:  # a drift far below the tolerance: cells say nothing
        return Monthly(online=_least(cap, cap), later=_least(cap[-1:].repeat(months), cap[-1:]), kind="upper bound")
    if months <= _FOLLOWED:
        found = _followed(line, drift, months, half, size)
        if found.dropped <= _DROPPED:
            first = _uneven(line, size)
            added = np.array([drift.neglected(size, t, first) for t in range(1, months + 1)])
            return Monthly(
                online=_least(found.online + added, cap),
                later=_least(found.later + added[-1], np.full(months, cap[-1])),
                kind="upper bound",
                neglected=float(added[-1] + found.dropped),
                histories=found.histories,
            )
    return _simulated(line, drift, months, half, size, paths, rng, cap)


def _least(values: Array, cap: Array) -> tuple[float, ...]:
    return tuple(np.minimum(np.minimum(values, cap), 1.0).tolist())


def _size(line: Line, drift: Drift, months: int) -> float:
    """Length of a cell: what is neglected is to be small, and so is the cell by which a window grows."""
    wanted = math.sqrt(_NEGLECTED * 16 / max(1, months - 2)) / drift.variation
    return float(np.clip(wanted, line.window / _FINEST, line.window / _COARSEST))


def _simple(line: Line, drift: Drift, months: int) -> Array:
    """Hits without a switch, and every switch: no value of any month is denser than the densest first one.

    Nothing changes at the ends of the range, and a sticky release changes first where a bin ends, or later.
    """
    lengths = np.diff(line.edges)
    still = line.densest * float(np.minimum(lengths, line.window).sum() + 2 * line.window)
    still -= line.densest * float(min(lengths[0], line.window) + min(lengths[-1], line.window))
    if len(lengths) == 1:
        still = line.densest * line.window
    switch = line.densest * (len(lengths) - 1) * drift.mean_size
    return np.array([still + t * switch for t in range(months)]) + months * drift.cut


def _uneven(line: Line, size: float) -> float:
    """How far a first value is from even in its cell: the density's variation, and cells that an end cuts."""
    cut = 2 * line.densest * size**2  # of four at most: those of the ends of the range, or of two shorter bins
    return (0.0 if line.flat else line.variation * size**2 / 8) + cut


def _chains(line: Line, drift: Drift, months: int, half: float | None, size: float) -> list[Chain]:
    """One chain for each bin of the first month."""
    spread = max(abs(drift.ends[0]), abs(drift.ends[1]))
    room = min(
        months * spread, 8 * math.sqrt(months) * drift.mean_size + months * abs(drift.trend), _ROOM * line.window
    )
    found = []
    for i, (low, high) in enumerate(zip(line.edges[:-1], line.edges[1:], strict=True)):
        if half is None:
            chain = memoryless(line.edges, i, drift=drift, window=line.window, size=size, room=room)
        else:
            ends = float(line.edges[0]), float(line.edges[-1])
            centre = 0.5 * (low + high)
            chain = sticky(centre - half, half, ends, drift=drift, window=line.window, size=size, room=room)
        at = np.clip(chain.edges(chain.first), low, high)
        found.append(chain.starting(np.maximum(np.diff(np.asarray(line.below(at), dtype=np.float64)), 0.0)))
    return found


def _followed(line: Line, drift: Drift, months: int, half: float | None, size: float) -> Months:
    parts: list[tuple[Chain, Months]] = []
    online, later, dropped, histories = np.zeros(months), np.zeros(months), 0.0, 0
    for chain in _chains(line, drift, months, half, size):
        whole = float(chain.start.sum())
        if whole <= 1e-12:
            dropped += whole
            continue
        like = next((found for other, found in parts if chain.alike(other, found.kept)), None)
        if like is None:
            like = all_histories(chain, months)
            parts.append((chain, like))
        online, later = online + whole * like.online, later + whole * like.later
        dropped, histories = dropped + whole * like.dropped, histories + like.histories
        if dropped > _DROPPED:
            break
    return Months(online=online, later=later, dropped=dropped, histories=histories)


def _simulated(
    line: Line, drift: Drift, months: int, half: float | None, size: float, paths: int, rng: Generator, cap: Array
) -> Monthly:
    """The mean along drawn paths, at the upper end of an interval that holds for any law on 0 to 1."""
    chains = [chain for chain in _chains(line, drift, months, half, size) if chain.start.sum() > 0]
    drawn = drawn_histories(chains, months, paths, rng)
    first = _uneven(line, size)
    added = np.array([drift.neglected(size, t, first) for t in range(1, months + 1)])
    online, later = _upper(drawn.online, months), _upper(drawn.later, months)
    return Monthly(
        online=_least(online + added, cap),
        later=_least(later + added[-1], np.full(months, cap[-1])),
        kind="simulated",
        neglected=float(added[-1]),
        histories=paths,
        mean=tuple(drawn.later.mean(axis=1).tolist()),
    )


def _upper(values: Array, months: int) -> Array:
    """Empirical Bernstein bound (Maurer and Pontil), for all months and both kinds at once."""
    count = values.shape[1]
    tail = math.log(2 * 2 * months / (1 - _CONFIDENCE))
    spread = values.var(axis=1, ddof=1)
    found: Array = values.mean(axis=1) + np.sqrt(2 * spread * tail / count) + 7 * tail / (3 * (count - 1))
    return found
