"""What every attacker starts from and ends with: the released column, the plan's bin, the best guess in it."""

from __future__ import annotations

import numpy as np
import polars as pl

import statveil as sv
from attacks.variants import Belief, Floats, Table

__all__ = ["bin_ends", "column_of", "middle", "thinned"]


def bin_ends(plan: sv.Plan, held: Belief, released: float, name: str = "value") -> tuple[float, float]:
    """The lowest and highest statistic that the plan releases as this one."""
    grid = np.linspace(held.low, held.high, 20_001)
    far = np.abs(np.asarray(plan.apply({name: grid}).secret, dtype=np.float64) - released)
    whole_steps = 0.6 * (plan.problem.known.step or 0) if plan.mode == "lattice" else 0.0
    near = grid[far <= far.min() * (1 + 1e-6) + 1e-9 * abs(released) + whole_steps]
    return float(near[0]), float(near[-1])


def middle(candidates: Floats, log_likelihood: Floats, tolerance: float | sv.Relative) -> float:
    """The guess whose window holds the largest share of what the candidates weigh."""
    order = np.argsort(candidates)
    places, likely = candidates[order], log_likelihood[order]
    weights = np.exp(likely - likely.max())
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    if isinstance(tolerance, sv.Relative):
        ends = places * (1 + tolerance.share) / (1 - tolerance.share)
    else:
        ends = places + 2 * tolerance
    last = np.searchsorted(places, ends, side="right")
    best = int(np.argmax(sums[last] - sums[:-1]))
    inside_window = slice(best, int(last[best]))
    return float(np.average(places[inside_window], weights=weights[inside_window]))


def column_of(table: Table, name: str = "x") -> Floats:
    """The hidden column as released."""
    assert isinstance(table, pl.DataFrame)
    return table[name].cast(pl.Float64).to_numpy()


def thinned(rng: np.random.Generator, values: Floats, most: int) -> Floats:
    """At most so many of the values, by chance."""
    return values if len(values) <= most else rng.choice(values, max(most, 1), replace=False)
