"""The next release of a column with two secrets: the bins of both coordinates cut further.

Bins in two coordinates compose axis by axis (docs/theory.md, two secrets of one column), so that a release which cuts
the earlier bins of each axis says all that the earlier ones do, and its own risk is that of all of them together. On an
axis every earlier bin is cut from its lower end into bins of one length; which lengths go together is searched for.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from statveil.accounting import risk
from statveil.accounting.tiles import along
from statveil.design.coordinate import Coordinate
from statveil.design.target import MaxDistortion, MaxRisk, meets, unreachable
from statveil.design.tiles import corner_distortions, left_to_other
from statveil.errors import ProblemError, TargetError
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.tiles import Tiles
from statveil.numeric import Array, bisected
from statveil.problem.problem import Problem
from statveil.rounding import shown_up
from statveil.theory.bins import Bins
from statveil.theory.risk.pieces import best_in_bins
from statveil.theory.unequal_bins import UnequalBins

__all__ = ["refine_tiles"]

_MOST_PARTS = 100_000
_EVEN, _TABLE, _MOST_BREAKS = 300, 40, 1_000
"""Lengths that are tried where the risk has a closed form, where it has none, and at which a whole cut more fits in."""
_ROUNDS = 6
_HAIR = 1 + 2e-12
_SEARCHED = 1 + 1e-9
"""For windows that were searched for, so that the plan's own accounting does not find more."""


def refine_tiles(problem: Problem, goal: MaxRisk | MaxDistortion, earlier: Sequence[Mechanism]) -> Tiles:
    """Least distortion for a joint risk, or least joint risk for a distortion, among cuts of all earlier bins."""
    tiles = [each for each in earlier if isinstance(each, Tiles)]
    if len(tiles) < len(earlier) or not all(axis.exact for axis in problem.box.axes.values()):
        raise ProblemError(
            "the next release cuts the bins of the earlier ones further, which needs bins in both coordinates and "
            "densities of both secrets; release the same again, which adds nothing."
        )
    sides = tuple(_side(one, tiles) for one in problem.each)
    if isinstance(goal, MaxDistortion):
        lengths = _for_distortion(problem, sides, goal)
    elif goal.each:
        lengths = [side.least_with(most) for side, most in zip(sides, goal.each, strict=True)]
    else:
        lengths = _for_union(problem, sides, goal)
    return Tiles(axes={side.name: side.bins(length) for side, length in zip(sides, lengths, strict=True)})


@dataclass(frozen=True, kw_only=True)
class _Side(Coordinate):
    """One coordinate by itself: the edges that all earlier releases cut it at."""

    first: Bins | UnequalBins
    """Bins of an earlier release."""
    edges: Array
    _known: dict[float, float] = field(default_factory=dict, repr=False)

    @cached_property
    def lengths(self) -> Array:
        return np.diff(self.edges)

    @cached_property
    def longest(self) -> float:
        return float(self.lengths.max())

    @cached_property
    def told(self) -> float:
        """The risk of the earlier releases."""
        return float(self.risks(np.array([self.longest]))[0])

    def bins(self, length: float) -> Bins | UnequalBins:
        """Every earlier bin cut from its lower end; the bins of an earlier release where nothing is cut."""
        if length >= self.longest and np.array_equal(self.first.edges(), self.edges):
            return self.first
        parts: list[float] = [float(self.edges[0])]
        for low, high in itertools.pairwise(self.edges.tolist()):
            count = max(1, int(np.ceil((high - low) / length * (1 - 1e-12))))
            if len(parts) + count > _MOST_PARTS:
                raise TargetError(f"this would need more than {_MOST_PARTS:,} bins; ask for a larger distortion.")
            parts += [*(low + length * np.arange(1, count)).tolist(), high]
        return UnequalBins(ends=tuple(parts))

    def risks(self, lengths: Array) -> Array:
        """Risk of each length: where the belief is flat, m whole windows and what the rest of a bin holds."""
        if not self.axis.flat:
            return np.array([self._risk(float(length)) for length in lengths])
        size, many = np.unique(self.lengths, return_counts=True)
        cut = np.minimum(lengths[:, None], size)
        whole = np.floor(size / cut * (1 + 1e-12))
        rest = np.maximum(size - whole * cut, 0.0)
        caught = whole * np.minimum(self.window, cut) + np.minimum(self.window, rest)
        share: Array = (caught * many).sum(axis=1) / (self.axis.high - self.axis.low)
        return np.minimum(share, 1.0)

    def _risk(self, length: float) -> float:
        if length not in self._known:
            edges = self.bins(length).edges()
            caught = best_in_bins(self.axis, edges[:-1], edges[1:], self.window)
            self._known[length] = min(1.0, float(caught.sum()) * _SEARCHED)
        return self._known[length]

    @cached_property
    def tried(self) -> Array:
        """Lengths to begin with."""
        if self.window >= self.longest:
            return np.array([self.longest])
        found = [np.geomspace(self.window, self.longest, _EVEN if self.axis.flat else _TABLE)]
        for size in np.unique(self.lengths)[-8:].tolist() if self.axis.flat else ():
            found.append(size / np.arange(1, min(_MOST_BREAKS, size / self.window) + 1))
        return np.unique(np.concatenate(found))

    @cached_property
    def _table(self) -> Array:
        return self.risks(self.tried)

    def least(self, most: Array) -> Array:
        """The smallest length with at most each of these risks, of those tried where there is no closed form.

        Infinite where the earlier releases tell more.
        """
        known = self.told <= most * _HAIR
        if self.axis.flat:
            low, high = np.full(most.shape, min(self.window, self.longest)), np.full(most.shape, self.longest)
            _, found = bisected(lambda length: self.risks(length) <= most * _HAIR, low, high, steps=60)
        else:
            fits = self._table[None, :] <= most[:, None] * _HAIR
            found = np.where(fits.any(axis=1), self.tried[np.argmax(fits, axis=1)], self.longest)
        return np.where(known, found, np.inf)

    def least_with(self, most: float) -> float:
        """The smallest length with at most this risk, held against its accounting."""
        if not meets(self.told, most):
            raise _all_told(self.told, most)
        low, high = min(self.window, self.longest) / 2, float(self.least(np.array([most]))[0])
        if not np.isfinite(high):
            return self.longest
        if self.axis.flat:
            return high
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._risk(middle) <= most * _HAIR else (middle, high)
            if high - low <= 1e-7 * high:
                break
        return high


def _side(problem: Problem, tiles: Sequence[Tiles]) -> _Side:
    name = problem.secret.label
    bins = [each.axes[name] for each in tiles]
    line, _ = along(problem, name, 1.0, bins)
    return _Side(name=name, line=line, first=bins[0], edges=np.unique(np.concatenate([each.edges() for each in bins])))


def _all_told(told: float, most: float) -> TargetError:
    return TargetError(
        f"the earlier releases together already have a risk of {shown_up(told)}, so no further one can keep it at "
        f"{most:g}. Release one of them again, or ask for a larger joint risk."
    )


def _for_union(problem: Problem, sides: tuple[_Side, ...], goal: MaxRisk) -> list[float]:
    one, two = sides
    told = one.told + two.told - one.told * two.told
    if not meets(told, goal):
        raise _all_told(told, goal.value)

    def second(first: Array) -> Array:
        return two.least(left_to_other(goal.value, one.risks(first)))

    def score(first: Array) -> Array:
        other = second(first)
        fits = np.isfinite(other)
        found = corner_distortions(problem, (one.name, two.name), first, np.where(fits, other, two.longest))
        return np.where(fits, found, np.inf)

    # from the lengths of the first secret, and from those of the second
    beside = one.least(left_to_other(goal.value, two.risks(two.tried)))
    options = np.unique(np.concatenate([one.tried, beside[np.isfinite(beside)], [one.longest]]))
    scores = score(options)
    best = int(np.argmin(scores))
    length, top = float(options[best]), float(scores[best])
    low, high = float(options[max(best - 1, 0)]), float(options[min(best + 1, len(options) - 1)])
    for _ in range(_ROUNDS if one.axis.flat and two.axis.flat else 0):
        fan = np.linspace(low, high, 33)
        values = score(fan)
        at = int(np.argmin(values))
        if values[at] < top:
            length, top = float(fan[at]), float(values[at])
        low, high = float(fan[max(at - 1, 0)]), float(fan[min(at + 1, 32)])
    # what the one does not use is left to the other
    spare = float(left_to_other(goal.value, one.risks(np.array([length])))[0])
    other = two.least_with(max(spare, two.told))
    spare = float(left_to_other(goal.value, two.risks(np.array([other])))[0])
    again = one.least_with(max(spare, one.told))
    for first in (min(again, length), length, one.longest):
        made = Tiles(axes={one.name: one.bins(first), two.name: two.bins(other)})
        if meets(risk(problem, made).value, goal):
            return [first, other]
    if meets(told, goal):
        return [one.longest, two.longest]
    raise unreachable(goal.value, told, "for both secrets together with these priors")


def _for_distortion(problem: Problem, sides: tuple[_Side, ...], goal: MaxDistortion) -> list[float]:
    one, two = sides

    def distorted(first: Array, other: Array) -> Array:
        return corner_distortions(problem, (one.name, two.name), first, other)

    first = np.unique(np.append(one.tried, one.longest))
    low, _ = bisected(
        lambda other: distorted(first, other) > goal.value,
        np.zeros_like(first),
        np.full_like(first, two.longest),
        steps=60,
    )
    other = np.where(distorted(first, np.full_like(first, two.longest)) <= goal.value, two.longest, low)
    fits = other >= min(two.window, two.longest)
    if not fits.any():
        least = float(distorted(first[:1], np.array([min(two.window, two.longest)]))[0])
        raise TargetError(
            f"a distortion of {goal.value:g} would cut the bins of both secrets to less than a window, which hides "
            f"nothing; ask for more than {least:.6g}."
        )
    p, q = one.risks(first[fits]), two.risks(other[fits])
    best = int(np.argmin(p + q - p * q))
    return [float(first[fits][best]), float(other[fits][best])]
