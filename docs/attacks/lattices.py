"""Which values a public rule can make of round numbers, and where a released column falls best on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import statveil as sv
from attacks.guessing import bin_ends, middle, thinned
from attacks.variants import Belief, Floats

__all__ = ["Lattice", "lattice_guess"]

WORK = 5_000_000
"""Most rows times candidates that an attack looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """The values that a public rule can make, in ascending order, and by how many originals each is reached.

    Attributes
    ----------
    places, weights : array
        The values, and how many round numbers become each.
    step : float
        The step of the column's own digits, or 0 if it has all of them.
    share : float
        The share of the rows that follow the rule.
    """

    places: Floats
    weights: Floats
    step: float
    share: float

    @classmethod
    def of(cls, made: Floats, decimals: int | None, share: float) -> Lattice:
        """The lattice of what a rule makes of all round numbers."""
        finite = made[np.isfinite(made)]
        written = finite if decimals is None else np.round(finite, decimals)
        places, counts = np.unique(written, return_counts=True)
        return cls(
            places=places,
            weights=counts.astype(np.float64),
            step=0.0 if decimals is None else 10.0**-decimals,
            share=share,
        )

    def nearest(self, values: Floats) -> tuple[Floats, Floats]:
        """How far values lie from the nearest place, and the distance of the places around it."""
        after = np.clip(np.searchsorted(self.places, values), 2, len(self.places) - 2)
        before = after - 1
        closer = np.where(values - self.places[before] < self.places[after] - values, before, after)
        return np.abs(values - self.places[closer]), (self.places[after + 1] - self.places[before - 1]) / 3

    def cells(self) -> tuple[int, Floats]:
        """The first cell of the digits' own lattice, and the weight of each cell over that of the cells around it."""
        index = np.round(self.places / self.step).astype(np.int64)
        first = int(index[0])
        counts = np.bincount(index - first, weights=self.weights, minlength=int(index[-1]) - first + 1)
        width = int(max(8 * len(counts) / max(len(index), 1), 15)) | 1
        return first, np.minimum(counts / np.maximum(smoothed(counts.astype(np.float64), width), 1e-3), 20.0)


def smoothed(counts: Floats, width: int) -> Floats:
    """Counts of cells, smoothed along the cells by a running mean of running means."""
    result = counts
    for _ in range(2):
        sums = np.concatenate([[0.0], np.cumsum(np.pad(result, width // 2, mode="reflect"))])
        result = (sums[width:] - sums[:-width]) / width
    return np.asarray(result)


def surplus(units: Floats) -> tuple[Floats, Floats]:
    """The cells that released rows lie in, and by how much each has more of them than those around it foretell.

    Where rows lie in far more cells than there are rows, every row is given as it is, with a surplus of 1.
    """
    first = units.min()
    if units.max() - first > 8 * len(units) or units.max() - first < 16:
        return units, np.ones(len(units))
    counts = np.bincount((units - first).astype(np.int64)).astype(np.float64)
    return first + np.arange(len(counts)), counts - smoothed(counts, 15)


def lattice_guess(rng: np.random.Generator, plan: sv.Plan, held: Belief, rule: Lattice, released: Floats) -> float:
    """The statistic under which the rows, moved back, fall best on what the rule can make.

    Parameters
    ----------
    rng : numpy.random.Generator
        Which rows are looked at where all are too many.
    plan, held : statveil.Plan, Belief
        The plan and its prior.
    rule : Lattice
        What the rule can make.
    released : array
        The released column.
    """
    mean = float(np.mean(released))
    low, high = bin_ends(plan, held, mean)
    share = min(rule.share, 0.97)
    if plan.mode in ("jitter", "smooth"):
        first, cells = rule.cells()
        sums = np.concatenate([[0.0], np.cumsum(cells)])
        at = first + np.arange(len(sums), dtype=np.float64)
        finest = len(rule.places) / max(len(cells), 1)
        fringe = max(1 / max(finest, 1e-9), 2.0) * rule.step
        count = int(np.clip(8 * (high - low) / mean * np.quantile(released, 0.95) / fringe, 200, 4000))
        candidates = np.linspace(low, high, count)
        units, more = surplus(np.round(thinned(rng, released, WORK // count) / rule.step))
        likely = np.empty(count)
        for index, candidate in enumerate(candidates):
            factor = mean / candidate
            rate = np.interp((units + 1) / factor, at, sums) - np.interp(units / factor, at, sums)
            likely[index] = np.sum(more * np.log(np.maximum(share * rate * factor, 0) + 1 - share))
        return middle(candidates, likely, held.tolerance)
    if plan.mode == "lattice":
        first, cells = rule.cells()
        steps = np.arange(np.ceil((mean - high) / rule.step), np.floor((mean - low) / rule.step) + 1)
        if len(steps) > 20_000:  # so fine that no whole step matters; the nearest ones stand for all
            steps = np.unique(np.round(np.linspace(steps[0], steps[-1], 20_000)))
        units, more = surplus(np.round(thinned(rng, released, WORK // len(steps)) / rule.step))
        likely = np.empty(len(steps))
        for index, step in enumerate(steps):
            cell = (units - step - first).astype(np.int64)
            there = (cell >= 0) & (cell < len(cells))
            rate = np.where(there, cells[np.clip(cell, 0, len(cells) - 1)], 0.0)
            likely[index] = np.sum(more * np.log(share * rate + 1 - share))
        return middle(mean - steps * rule.step, likely, held.tolerance)
    sample = thinned(rng, released, 400)
    if plan.mode == "shift":
        tolerance = held.tolerance.share * mean if isinstance(held.tolerance, sv.Relative) else held.tolerance
        blur = 1.2 * tolerance / 1024

        def likely_shifts(means: Floats, some: Floats) -> Floats:
            off, gap = rule.nearest(some[None, :] - (mean - means)[:, None])
            near = np.exp(-0.5 * (off / blur) ** 2) / (blur * np.sqrt(2 * np.pi)) * gap
            return np.asarray(np.log(share * near + 1 - share).sum(axis=1))

        count = int(np.clip((high - low) / blur, 1000, 60_000))
        return middle(*scanned(likely_shifts, np.linspace(low, high, count), sample), held.tolerance)
    _, gap = rule.nearest(np.quantile(sample, [0.1, 0.5, 0.9]) * (low + high) / 2 / mean)
    fine = float(np.min(np.maximum(0.05 * gap / np.quantile(sample, 0.9), 3e-7)))

    def likely_factors(means: Floats, some: Floats) -> Floats:
        moved = some[None, :] * (means / mean)[:, None]
        off, gap = rule.nearest(moved)
        width = np.maximum(0.05 * gap, 3e-7 * moved)
        near = np.exp(-0.5 * (off / width) ** 2) / (width * np.sqrt(2 * np.pi)) * gap
        return np.asarray(np.log(share * near + 1 - share).sum(axis=1))

    count = int(np.clip((high - low) / high / fine, 1000, 150_000))
    return middle(*scanned(likely_factors, np.linspace(low, high, count), sample), held.tolerance)


def scanned(likely: Callable[[Floats, Floats], Floats], candidates: Floats, sample: Floats) -> tuple[Floats, Floats]:
    """The best candidates by few rows, and their likelihoods by more of them."""
    few = sample[: int(np.clip(4_000_000 // len(candidates), 25, 60))]
    first = np.concatenate(
        [likely(c, few) for c in np.array_split(candidates, len(candidates) * len(few) // 500_000 + 1)]
    )
    kept = np.sort(np.argsort(first)[-2000:])
    return candidates[kept], np.concatenate([likely(c, sample) for c in np.array_split(candidates[kept], 4)])
