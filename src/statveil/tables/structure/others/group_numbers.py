"""What can be said of each group in one number: averages, spreads, places, shares above a limit, points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["Grouped", "Number", "usual_numbers"]

Codes = NDArray[np.int64]

_QUANTILES = (0.05, 0.1, 0.2, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95)
_TRIMMED = (0.05, 0.1, 0.2)
_PLAIN = (1.0, 2.0, 2.5, 5.0)  # steps that points are given for, times powers of ten


class Grouped:
    """The rows of a column in groups.

    Parameters
    ----------
    values : array
        The column, with a number in each row.
    code : array of int
        The group of each row, from 0; every group has a row.
    """

    def __init__(self, values: Array, code: Codes) -> None:
        self.size = np.bincount(code)
        order = np.lexsort((values, code))
        self.x, self.group = values[order], code[order]
        self.starts = np.concatenate(([0], np.cumsum(self.size)[:-1]))

    def mean_of(self, column: Array) -> Array:
        """The average of each group, of a column that stands in the order of ``x``."""
        return np.asarray(np.bincount(self.group, weights=column, minlength=len(self.size)) / self.size)

    def below(self, limits: Array) -> Array:
        """How many rows of each group are below or at each limit."""
        at = np.searchsorted(limits, self.x, side="left")  # the first limit that is not below the value
        table = np.bincount(self.group * (len(limits) + 1) + at, minlength=len(self.size) * (len(limits) + 1)).reshape(
            len(self.size), -1
        )
        return np.asarray(np.cumsum(table, axis=1)[:, :-1].T, dtype=np.float64)

    def above(self, limit: float) -> Array:
        """How many rows of each group are above a limit."""
        return np.asarray(np.bincount(self.group, weights=self.x > limit, minlength=len(self.size)))

    def quantile(self, share: float) -> Array:
        """Linear between neighbours."""
        at = self.starts + share * (self.size - 1)
        under = np.floor(at).astype(np.int64)
        over = np.minimum(under + 1, self.starts + self.size - 1)
        return np.asarray(self.x[under] + (at - under) * (self.x[over] - self.x[under]))

    def trimmed(self, share: float) -> Array:
        """The average without so many rows at either end; without one row for a share of 1."""
        size = self.size.astype(np.float64)
        cut = np.minimum(1.0, np.floor((size - 1) / 2)) if share == 1 else np.floor(share * size)
        inside = (self.place >= cut[self.group]) & (self.place < (self.size - cut)[self.group])
        total = np.bincount(self.group, weights=np.where(inside, self.x, 0.0))
        return np.asarray(total / np.maximum(np.bincount(self.group, weights=inside), 1))

    def points(self, step: float) -> Array:
        """The average number of full steps."""
        return self.mean_of(np.floor(self.x / step))

    def steps(self) -> list[float]:
        """Round steps of which the column's range holds a few."""
        width = float(np.ptp(self.x))
        tens = range(int(np.floor(np.log10(width))) - 2, int(np.ceil(np.log10(width))) + 1)
        return [s for ten in tens for s in (one * 10.0**ten for one in _PLAIN) if width / 40 <= s <= 2 * width]

    @cached_property
    def place(self) -> Codes:
        """How many rows of its group stand before each."""
        return np.asarray(np.arange(len(self.x)) - self.starts[self.group])

    @cached_property
    def mean(self) -> Array:
        return self.mean_of(self.x)

    @cached_property
    def off(self) -> Array:
        """Each row less the average of its group."""
        return np.asarray(self.x - self.mean[self.group])

    @cached_property
    def variance(self) -> Array:
        return self.mean_of(self.off**2)

    @cached_property
    def sample(self) -> Array:
        """The deviation with n - 1."""
        return np.asarray(np.sqrt(self.variance * self.size / np.maximum(self.size - 1, 1)))

    @cached_property
    def deviation(self) -> Array:
        return self.mean_of(np.abs(self.off))

    @cached_property
    def low(self) -> Array:
        return np.asarray(self.x[self.starts])

    @cached_property
    def high(self) -> Array:
        return np.asarray(self.x[self.starts + self.size - 1])

    @cached_property
    def gini(self) -> Array:
        """Half of the mean difference of two rows."""
        return np.asarray(self.mean_of((2 * self.place + 1 - self.size[self.group]) * self.x) / self.size)

    @cached_property
    def logs(self) -> Array:
        return np.asarray(np.log(self.x))

    @cached_property
    def centre(self) -> Array:
        return self.mean_of(self.logs)


_Made = Callable[[Grouped, float], Array]

_PLAINS: dict[str, _Made] = {
    "mean": lambda g, at: g.mean,
    "deviation": lambda g, at: np.sqrt(g.variance),
    "sample deviation": lambda g, at: g.sample,
    "mean deviation": lambda g, at: g.deviation,
    "smallest": lambda g, at: g.low,
    "largest": lambda g, at: g.high,
    "range": lambda g, at: g.high - g.low,
    "quantile": lambda g, at: g.quantile(at),
    "trimmed mean": lambda g, at: g.trimmed(at),
    "mean difference": lambda g, at: g.gini,
    "quartiles apart": lambda g, at: g.quantile(0.75) - g.quantile(0.25),
    "tenths apart": lambda g, at: g.quantile(0.9) - g.quantile(0.1),
    "largest above the mean": lambda g, at: g.high - g.mean,
    "mean square": lambda g, at: g.mean_of(g.x**2),
    "skewness": lambda g, at: g.mean_of(g.off**3) / g.variance**1.5,
    "kurtosis": lambda g, at: g.mean_of(g.off**4) / g.variance**2,
    "points": lambda g, at: g.points(at),
}
_OF_POSITIVE: dict[str, _Made] = {
    "geometric mean": lambda g, at: np.exp(g.centre),
    "deviation of logarithms": lambda g, at: np.sqrt(np.maximum(g.mean_of(g.logs**2) - g.centre**2, 0.0)),
    "harmonic mean": lambda g, at: 1 / g.mean_of(1 / g.x),
    "largest by smallest": lambda g, at: g.high / g.low,
    "variation": lambda g, at: np.sqrt(g.variance) / g.mean,
    "sample variation": lambda g, at: g.sample / g.mean,
    "gini": lambda g, at: g.gini / g.mean,
    "mean deviation by mean": lambda g, at: g.deviation / g.mean,
    "quartiles apart by median": lambda g, at: (g.quantile(0.75) - g.quantile(0.25)) / g.quantile(0.5),
    "ninth tenth by first": lambda g, at: g.quantile(0.9) / g.quantile(0.1),
    "quartiles apart by sum": lambda g, at: (
        (g.quantile(0.75) - g.quantile(0.25)) / (g.quantile(0.75) + g.quantile(0.25))
    ),
    "fourth fifth by first": lambda g, at: g.quantile(0.8) / g.quantile(0.2),
}
_SIZED: dict[str, _Made] = {
    "total": lambda g, at: g.mean * g.size,
    "points in all": lambda g, at: g.points(at) * g.size,
    "squares in all": lambda g, at: g.variance * g.size,
    "standard error": lambda g, at: g.sample / np.sqrt(g.size),
    "rows above": lambda g, at: g.above(at),
}
_SHARES: dict[str, _Made] = {"share above": lambda g, at: g.above(at) / g.size}
_MADE = _PLAINS | _OF_POSITIVE | _SIZED | _SHARES


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number of a group by its name; ``at`` is the limit, the share of a quantile or the step of points."""

    name: str
    at: float = 0.0

    @property
    def sized(self) -> bool:
        """Whether it grows with the size of the group."""
        return self.name in _SIZED

    def of(self, groups: Grouped) -> Array:
        """The number of each group; 0 where it has none."""
        with np.errstate(all="ignore"):
            return np.nan_to_num(_MADE[self.name](groups, self.at), nan=0.0, posinf=0.0, neginf=0.0)


def usual_numbers(groups: Grouped) -> list[Number]:
    """All numbers that groups of such values can have, but for those of a limit."""
    places = {"quantile": _QUANTILES, "trimmed mean": (*_TRIMMED, 1.0)}
    steps = tuple(groups.steps())
    places |= {"points": steps, "points in all": steps}
    names = [
        *_PLAINS,
        *(_OF_POSITIVE if np.all(groups.x > 0) else ()),
        *(name for name in _SIZED if name != "rows above"),
    ]
    return [Number(name=name, at=at) for name in names for at in places.get(name, (0.0,))]
