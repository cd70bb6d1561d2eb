"""Sizes of the groups that a column makes, from whole groups chosen by a hash of their value, in bounded memory."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["LEAST_MEAN", "GroupSizes", "steadier_than_chance"]

_MOST_GROUPS = 2**14
_FEWEST_GROUPS = 6
_STEADY, _BY_CHANCE = 0.8, 1e-6
"""How much less than by chance sizes vary, as a share, and how often that happens by itself."""
LEAST_MEAN = 1.2
"""Rows of a group on average, from which on its rows repeat something."""


class GroupSizes:
    """How many rows each value has, for all values, or for those whose hash is small where there are many.

    A group is in the sample with all of its rows, or not at all.
    """

    def __init__(self) -> None:
        self._limit = 2**64 - 1
        self._counts = pl.DataFrame(schema={"hash": pl.UInt64, "rows": pl.UInt32, "value": pl.Float64})

    def add(self, column: pl.Series, numbers: pl.Series | None) -> None:
        """More rows, with the numbers that they stand for where they do."""
        values = pl.Series([None] * len(column), dtype=pl.Float64) if numbers is None else numbers
        rows = pl.DataFrame({"hash": column.hash(seed=7), "value": values}).filter(column.is_not_null())
        rows = rows.filter(pl.col("hash") <= self._limit)
        fresh = rows.group_by("hash").agg(pl.len().cast(pl.UInt32).alias("rows"), pl.col("value").first())
        both = pl.concat([self._counts, fresh.select("hash", "rows", "value")])
        self._counts = both.group_by("hash").agg(pl.col("rows").sum(), pl.col("value").first())
        while len(self._counts) > 2 * _MOST_GROUPS:
            self._limit //= 2
            self._counts = self._counts.filter(pl.col("hash") <= self._limit)

    @property
    def whole(self) -> bool:
        """Whether these are all groups."""
        return self._limit == 2**64 - 1

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Rows of each group of the sample."""
        return self._counts["rows"].cast(pl.Float64).to_numpy()

    @property
    def by_value(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The numbers of the groups of the sample, rising, and their sizes."""
        known = self._counts.filter(pl.col("value").is_not_null()).sort("value")
        return known["value"].to_numpy(), known["rows"].cast(pl.Float64).to_numpy()

    @property
    def groups(self) -> float:
        """How many groups there are, about."""
        return len(self._counts) * (2**64 / (self._limit + 1))


def steadier_than_chance(sizes: NDArray[np.float64]) -> bool:
    """Whether groups are more alike in size than if every row had been put into one by chance.

    Chance of any weights gives sizes that vary at least as a Poisson number does, of which the groups without a row are
    not seen. Complete panels, pairs and households vary less, and what is missing of them shows.

    >>> import numpy as np
    >>> steadier_than_chance(np.full(40, 12.0)), steadier_than_chance(np.random.default_rng(0).poisson(12, 400) + 0.0)
    (True, False)
    """
    from scipy.special import gammainc  # it takes time to load

    if len(sizes) >= 3 and sizes.min() == sizes.max() >= 2:
        return True
    mean = float(sizes.mean()) if len(sizes) else 0.0
    if len(sizes) < _FEWEST_GROUPS or mean < LEAST_MEAN:
        return False
    low, high = 0.0, mean  # of the rate whose numbers above 0 have this mean
    for _ in range(60):
        rate = 0.5 * (low + high)
        low, high = (rate, high) if rate / -np.expm1(-rate) < mean else (low, rate)
    expected = mean * (1 + low - mean)
    ratio = float(sizes.var()) / expected
    # of sizes by chance the sum of squares is about chi-squared, with one degree of freedom less than groups
    chance = gammainc(0.5 * (len(sizes) - 1), 0.5 * len(sizes) * ratio)
    return ratio < _STEADY and float(chance) < _BY_CHANCE
