"""y' = a y / (1 - y + a y) between two bounds: the map of a mean that keeps both of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from statveil.errors import ColumnError
from statveil.tables.blocks import Array, Blocks, Part, by_parts
from statveil.tables.maps.affine import Quiet
from statveil.tables.maps.blur import blurred
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap

__all__ = ["Odds", "moved_odds", "prepare", "solved"]

_PASSES = 60
_CLOSE = 2.0**-46
"""Of the distance of the bounds: how near the mean comes; rows are rounded more coarsely."""


def moved_odds(share: Array, ratio: float) -> Array:
    """Shares with their odds multiplied; 0 and 1 stay."""
    odds = ratio * share
    return np.asarray(odds / (1 - share + odds), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds(ColumnMap):
    """The map with its private coefficient; ``seed`` where values are blurred first."""

    low: float
    high: float
    ratio: float
    quiet: Quiet
    seed: int | None = None

    def block(self, values: Array, index: int) -> Array:
        start = values if self.seed is None else blurred(values, self.seed, held=(self.low, self.high))
        width = self.high - self.low
        with np.errstate(over="ignore", invalid="ignore"):
            share = np.clip((start - self.low) / width, 0.0, 1.0)
            moved = np.clip(self.quiet(self.low + width * moved_odds(share, self.ratio)), self.low, self.high)
        at_bound = (values <= self.low) | (values >= self.high)
        return np.where(np.isfinite(values) & ~at_bound, moved, values)

    def coefficients(self) -> dict[str, Any]:
        return {"odds": self.ratio, "low": self.low, "high": self.high, "blurred": self.seed is not None}


def solved(mean_of: Callable[[float], tuple[float, float]], target: float) -> float:
    """The logarithm of the ratio that gives shares this mean: Newton's method on the log-odds of the mean, guarded.

    ``mean_of`` gives, for a logarithm, the mean of the moved shares and of share (1 - share), its slope. On the scale
    of the log-odds the curve is nearly straight, so a few passes over the column are enough.
    """
    below, above, at = -math.inf, math.inf, 0.0
    for _ in range(_PASSES):
        mean, slope = mean_of(at)
        if abs(mean - target) <= _CLOSE:
            break
        below, above = (at, above) if mean < target else (below, at)
        step = _log_odds(target) - _log_odds(mean) if 0 < mean < 1 else math.copysign(1.0, target - mean)
        step *= mean * (1 - mean) / slope if slope > 1e-300 else 1.0
        guess = at + max(-8.0, min(8.0, step))
        if not below < guess < above:
            guess = 0.5 * (below + above) if math.isfinite(below + above) else at + math.copysign(4.0, step)
        if guess == at or abs(guess) > 600:
            break
        at = guess
    return at


def _log_odds(share: float) -> float:
    return math.log(share) - math.log1p(-share)


def _ratio(blocks: Blocks, low: float, high: float, target: float) -> float:
    """The ratio that moves the column's mean to the target."""

    def mean_of(log_ratio: float) -> tuple[float, float]:
        found = by_parts(blocks, partial(_added_up, low, high, math.exp(log_ratio)))
        rows = sum(rows for *_, rows in found)
        sums = math.fsum(one for sums, _, _ in found for one in sums)
        return sums / rows, math.fsum(one for _, slopes, _ in found for one in slopes) / rows

    wanted = (target - low) / (high - low)
    found = solved(mean_of, wanted)
    if abs(mean_of(found)[0] - wanted) > 64 * _CLOSE:
        raise ColumnError(
            "so many rows lie at the bounds that the column cannot be given the released mean; leave them out, or "
            "release the share of rows at a bound by itself."
        )
    return math.exp(found)


def _added_up(low: float, high: float, ratio: float, part: Part) -> tuple[list[float], list[float], int]:
    """Of a part of the column: sums of the moved shares and of their slopes, block by block, and its rows."""
    sums: list[float] = []
    slopes: list[float] = []
    rows = 0
    for _, block in part:
        share = np.clip((block[np.isfinite(block)] - low) / (high - low), 0.0, 1.0)
        moved = moved_odds(share, ratio)
        sums.append(float(moved.sum()))
        slopes.append(float((moved * (1 - moved)).sum()))
        rows += len(share)
    return sums, slopes, rows


def prepare(job: Job) -> Odds:
    """One ratio for all rows, found by a few passes over the column."""
    known, secret = job.plan.problem.known, job.plan.problem.secret
    assert known.minimum is not None
    assert known.maximum is not None
    low, high = known.minimum, known.maximum
    ratio = _ratio(job.blocks, low, high, job.ends[1] / (secret.times_mean or 1.0))
    quiet = Quiet.of(reach=max(abs(low), abs(high)), factor=1.0, stretched=True)
    return Odds(low=low, high=high, ratio=ratio, quiet=quiet, seed=job.smear_seed)
