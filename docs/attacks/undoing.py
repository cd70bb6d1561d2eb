"""How a release that was drawn row by row is undone by rows that had one value, or nearly."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import statveil as sv
from attacks.guessing import bin_ends, middle
from attacks.row_by_row import Drawn
from attacks.variants import Floats, Ints

__all__ = ["blocks_between", "guess_by_blocks", "guess_by_pairs", "guess_by_scatter", "guess_by_types"]


def name_of(plan: sv.Plan) -> str:
    """The parameter of a plan for numbers."""
    return {"rank": "scale", "unit": "rate"}.get(plan.mode, "value")


def guess_by_pairs(
    given: Drawn, released: Floats, left: Ints, right: Ints, share: float, following: float = 0.0
) -> float:
    """The statistic under which pairs of rows that may have had one value are best explained, after a jitter.

    Parameters
    ----------
    given : Drawn
        The plan and its prior.
    released : array
        The released column.
    left, right : array
        Numbers of the rows of each pair.
    share : float
        About the share of the pairs that had one value.
    following : float
        Of these, the share that had a value and the next one instead.
    """
    step = float(given.plan.problem.known.step or 1)
    mean = float(np.mean(released))
    low, high = bin_ends(given.plan, given.held, mean)
    units = np.round(released / step)
    offset = 0.5 if given.mode == "smooth" else 0.0
    small, large = np.minimum(units[left], units[right]), np.maximum(units[left], units[right])
    near = large - small <= np.ceil(high / low * 1.2) + 2
    small, large = small[near], large[near]
    if len(small) > 20_000:
        picked = np.random.default_rng(0).choice(len(small), 20_000, replace=False)
        small, large = small[picked], large[picked]
    count = 600
    candidates = np.linspace(low, high, count)
    likely = np.empty(count)
    for index, candidate in enumerate(candidates):
        factor = mean / candidate
        first = np.floor(small / factor) - 1
        half = offset * (1 - factor)  # where each value's own cell is centred on it
        both = np.zeros(len(small))
        before = np.zeros(len(small))
        for more in range(4):
            begin = (first + more) * factor + half
            of_small = np.clip(np.minimum(small + 1, begin + factor) - np.maximum(small, begin), 0, None) / factor
            of_large = np.clip(np.minimum(large + 1, begin + factor) - np.maximum(large, begin), 0, None) / factor
            both += of_large * ((1 - following) * of_small + following * before)
            before = of_small
        likely[index] = np.sum(np.log(share * both * factor + (1 - share) * 0.5 / (np.ceil(factor) + 2)))
    return middle(candidates, likely, given.held.tolerance)


def blocks_between(released: Floats, low: Floats, high: Floats, allowed: float) -> Ints:
    """Ends of the blocks of rows that were equal, among the sorted released rows.

    Parameters
    ----------
    released : array
        The released column.
    low, high : array
        Pairs of released values that were drawn from one block, so that nothing can end between them.
    allowed : float
        How near to its neighbourhood's least a place must be, of how far the usual place is from it.

    Returns
    -------
    array
        Ranks at which a block begins, 0 first and the number of rows last.
    """
    ordered = np.sort(released)
    count = len(ordered)
    first = np.searchsorted(ordered, low, side="right")
    last = np.searchsorted(ordered, high, side="left")
    apart = high > low
    crossed = np.zeros(count + 2)
    np.add.at(crossed, first[apart], 1.0)
    np.add.at(crossed, last[apart] + 1, -1.0)
    crossed = np.cumsum(crossed)[1:count]
    open_here = crossed <= 0
    if allowed > 0:
        reach = int(np.clip(count / 60, 8, 400))
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(crossed, reach, mode="edge"), 2 * reach + 1)
        floor = windows.min(axis=1)
        open_here = crossed <= floor + allowed * np.maximum(np.median(windows, axis=1) - floor, 0)
    places = np.flatnonzero(open_here) + 1
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    middles = [int(run[len(run) // 2]) for run in runs if len(run)]
    return np.unique(np.concatenate([[0], middles, [count]])).astype(np.int64)


def guess_by_blocks(given: Drawn, released: Floats, ends: Ints) -> float:
    """The mean of a column whose blocks of equal rows are known, by how the released values grow from block to block.

    Neighbouring blocks were one step apart where rows are dense, so their distance now says how far the column was
    stretched.
    """
    step = float(given.plan.problem.known.step or 1)
    mean = float(np.mean(released))
    low, high = bin_ends(given.plan, given.held, mean, name_of(given.plan))
    sizes = np.diff(ends)
    ordered = np.sort(released)
    centres = np.array([ordered[first:last].mean() for first, last in pairwise(ends)])
    below = (np.cumsum(sizes) - sizes / 2) / len(released)
    dense = (below > 0.03) & (below < 0.7) & (sizes >= 3)
    if dense.sum() < 4:
        return (low + high) / 2
    slope = float(np.polyfit(np.flatnonzero(dense), centres[dense], 1, w=np.sqrt(sizes[dense]))[0])
    return float(np.clip(mean * step / slope, low, high)) if slope > 0 else (low + high) / 2


def guess_by_scatter(given: Drawn, released: Floats, groups: list[Ints]) -> float:
    """The mean of counts of which units were kept or added at random, by how rows of one group differ."""
    mean = float(np.mean(released))
    low, high = bin_ends(given.plan, given.held, mean, "rate")
    scatter = float(np.average([np.var(released[g], ddof=1) for g in groups], weights=[len(g) - 1 for g in groups]))
    centres = np.array([released[g].mean() for g in groups])
    around = np.array([np.var(released[g], ddof=1) for g in groups])
    slope = np.cov(centres, around)[0, 1] / max(np.var(centres), 1e-9)
    kept = mean / max(1 - min(scatter / mean, 0.95), 0.05)
    added = mean - scatter
    relation = scatter / mean
    return float(np.clip(kept if slope > relation / 2 else added, low, high))


def guess_by_types(given: Drawn, labels: NDArray[Any], groups: Iterable[Ints], strange: float = 0.01) -> float:
    """The share of B where rows of a group had one label, as the fewest rows are relabelled and in one direction.

    Parameters
    ----------
    given : Drawn
        The plan.
    labels : array
        The released labels.
    groups : iterable of array
        Numbers of the rows of each group.
    strange : float
        About the share of rows that are not like their group.
    """
    names = given.labels
    share = float(np.mean(labels == "B"))
    candidates = np.linspace(0.0005, 0.9995, 2000)
    others = (1 - candidates) / (len(names) - 1)
    made = plan_share(given.plan, {name: candidates if name == "B" else others for name in names})
    far = np.abs(made - share)
    candidates = candidates[far <= far.min() + 1e-9]
    members = [group for group in groups if len(group) > 1]
    sizes = np.array([len(group) for group in members])
    counts = np.array([int(np.sum(labels[group] == "B")) for group in members])
    likely = np.empty(len(candidates))
    for index, candidate in enumerate(candidates):
        ours, theirs = (share / candidate, 0.0) if candidate > share else (1.0, (share - candidate) / (1 - candidate))
        ours, theirs = np.clip([ours, theirs], strange, 1 - strange)
        first = stats.binom.pmf(counts, sizes, ours)
        second = stats.binom.pmf(counts, sizes, theirs)
        likely[index] = np.sum(np.log(candidate * first + (1 - candidate) * second + 1e-12))
    return middle(candidates, likely, given.held.tolerance)


def plan_share(plan: sv.Plan, shares: dict[str, Floats]) -> Floats:
    """The share that a plan releases for shares of all labels."""
    return np.asarray(plan.apply(shares).secret, dtype=np.float64)
