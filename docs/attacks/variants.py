"""What the table of every class draws: rows, a shape, a prior with a statistic in it, a tolerance, a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import statveil as sv

__all__ = [
    "RISKS",
    "Belief",
    "Floats",
    "Ints",
    "NoTableError",
    "Table",
    "Variant",
    "belief",
    "inside",
    "log_uniform",
    "planned",
    "rows",
    "shape",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Table = pl.DataFrame | bytes
"""A table in memory, or the bytes of a CSV file."""
RISKS = (0.1, 0.2)


class NoTableError(Exception):
    """These draws make no table: no plan, or a statistic outside the prior."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One table with its plan, and somebody who knows how it was made.

    Attributes
    ----------
    family : str
        The kind of variant, by which results are grouped.
    plan : statveil.Plan
        Made before the table.
    table, twin : polars.DataFrame or bytes
        The table, and one like it that lacks the structure.
    truth, tolerance : float
        The hidden statistic, and how close to it a guess counts.
    attack : callable
        From the released table to a guess.
    """

    family: str
    plan: sv.Plan
    table: Table
    twin: Table
    truth: float
    tolerance: float
    attack: Callable[[Table], float]


def rows(rng: np.random.Generator) -> int:
    """A number of rows, equally likely on every scale from 300 to 10,000."""
    return round(10 ** rng.uniform(np.log10(300), 4))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is equally likely anywhere."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def shape(rng: np.random.Generator, count: int, *, spread: float, kind: int | None = None) -> Floats:
    """Positive numbers of mean about 1 and standard deviation about `spread`, of a random or a chosen shape."""
    kind = int(rng.integers(4)) if kind is None else kind
    if kind == 0:
        drawn = rng.gamma(spread**-2, spread**2, count)
    elif kind == 1:
        width = np.sqrt(np.log1p(spread**2))
        drawn = rng.lognormal(-(width**2) / 2, width, count)
    elif kind == 2:
        drawn = np.abs(1 + spread * rng.standard_t(6, count) / np.sqrt(1.5))
    else:
        side = rng.random(count) < rng.uniform(0.3, 0.7)
        drawn = np.abs(1 + spread * (np.where(side, -0.8, 0.8) + 0.6 * rng.standard_normal(count)))
    return np.asarray(drawn / drawn.mean(), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A prior with a statistic drawn from it, a tolerance and a risk."""

    low: float
    high: float
    truth: float
    tolerance: float | sv.Relative
    risk: float


def belief(
    rng: np.random.Generator, low: float, *, deviation: float, most: float = np.inf, shares: bool = True
) -> Belief:
    """A range of a factor of 3 to 9 from `low` on, and a statistic from anywhere in it.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the draws come from.
    low : float
        The lower end of the prior.
    deviation : float
        The standard deviation as a share of the mean, as outsiders might think of it.
    most : float
        The prior ends there at the latest.
    shares : bool
        Whether the tolerance may be a share of the statistic.
    """
    high = min(low * rng.uniform(3, 9), most)
    tolerance: float | sv.Relative = rng.uniform(0.01, 0.1) * deviation * (low + high) / 2
    if shares and rng.random() < 0.25:
        tolerance = sv.Relative(0.05)
    truth = float(rng.uniform(low, high))
    return Belief(low=low, high=high, truth=truth, tolerance=tolerance, risk=float(rng.choice(RISKS)))


def planned(held: Belief, known: sv.Structure, **more: Any) -> sv.Plan:
    """The plan that hides the mean."""
    try:
        problem = sv.Problem(
            secret=sv.Mean(), prior=(held.low, held.high), tolerance=held.tolerance, known=known, **more
        )
        return sv.plan(problem, max_risk=held.risk)
    except sv.StatveilError as error:
        raise NoTableError(str(error)) from error


def inside(held: Belief, values: Floats) -> tuple[float, float]:
    """The mean and the tolerance around it, if the mean lies inside the prior."""
    mean = float(np.mean(values))
    if not held.low < mean < held.high:
        raise NoTableError("outside the prior")
    return mean, held.tolerance.share * mean if isinstance(held.tolerance, sv.Relative) else held.tolerance
