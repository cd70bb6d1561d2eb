"""Best bins in two coordinates: how wide along each, for a risk of both together, one of each, or a distortion."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from statveil.accounting import distortion, risk
from statveil.design.coordinate import Coordinate
from statveil.design.interval.design import design_interval
from statveil.design.target import BinWidth, MaxDistortion, MaxRisk, Target, hides_nothing, meets, unreachable
from statveil.design.treatment import treatment
from statveil.errors import ProblemError
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.tiles import Tiles
from statveil.numeric import Array, bisected
from statveil.problem.families.location import Location
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secrets.mean import Mean
from statveil.theory.bins import Bins

__all__ = ["corner_distortions", "design_tiles", "left_to_other"]

_TABLE, _PLACES, _FINER = 24, 4, 16
"""Widths of bins that are tried where the risk has no closed form, and places where they begin; times as many widths
where bins laid from the dense end are the best, and quickly accounted for."""
_EVEN, _MOST_BREAKS = 4001, 20_000
"""Shares of the risk that are tried between the ends, and beside them those at which a bin more fits in."""
_ROUNDS = 6
_MOST_PARTS = 2000
_HAIR = 1 + 2e-12


def design_tiles(problem: Problem, goal: Target) -> Tiles:
    """Least distortion for a risk, or least risk of either secret for a distortion, with equal bins along each."""
    if not problem.also:
        raise ProblemError("the method 'tiles' is for two secrets of one column; state the second one, or use another.")
    sides = tuple(_side(one) for one in problem.each)
    if isinstance(goal, BinWidth):
        raise ProblemError("a bin width is for one secret; for two ask for a risk or a distortion.")
    if isinstance(goal, MaxRisk) and goal.each:
        if len(goal.each) != len(sides):
            raise ProblemError(f"give one risk for each of the {len(sides)} secrets. Got {len(goal.each)}.")
        return _tiles(sides, [side.for_risk(most) for side, most in zip(sides, goal.each, strict=True)])
    if isinstance(goal, MaxDistortion):
        return _for_distortion(problem, sides, goal)
    return _for_union(problem, sides, goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side(Coordinate):
    """One coordinate by itself: a line with a range, and a window that is a hit."""

    @property
    def length(self) -> float:
        return self.axis.high - self.axis.low

    @property
    def least(self) -> float:
        """The risk of one bin for everything."""
        whole = Bins(low=self.axis.low, high=self.axis.high, origin=self.axis.low, width=self.length)
        return self.risk(whole)

    def risk(self, bins: Bins) -> float:
        alone = Interval(along="mean", coordinate={"mean": 1.0}, direction={"mean": 1.0}, bins=bins)
        return risk(self.line, alone).value

    def for_risk(self, most: float) -> Bins:
        """The narrowest bins with at most this risk."""
        return self._found(MaxRisk(most))

    def within(self, width: float) -> Bins:
        """The bins of least risk that are at most so wide; of a line alone, W1 is half a bin."""
        return self._found(MaxDistortion(0.5 * width))

    def _found(self, goal: MaxRisk | MaxDistortion) -> Bins:
        return cast(Interval, design_interval(self.line, goal, treatment(self.line))).bins

    def table(self, most: float) -> tuple[Array, Array]:
        """Risks, rising, and the width of the narrowest bins for each; for a plain range many, in closed form."""
        if self.axis.flat:
            breaks = np.arange(1, min(_MOST_BREAKS, most * self.length / self.window) + 1) * self.window / self.length
            even = np.linspace(self.least, most, _EVEN)
            risks = np.unique(np.concatenate([even, breaks[breaks <= most]]))
            return risks, self.widths(risks)
        widths = np.geomspace(self.window, self.length, _FINER * _TABLE if self.axis.falling else _TABLE)
        if not self.axis.exact:  # whole bins only: a shorter last bin can only worsen the bound
            widths = self.length / np.unique(np.ceil(self.length / widths - 1e-9))
        risks = np.array([min(self.risk(bins) for bins in self._laid(float(width))) for width in widths])
        order = np.argsort(risks)
        return risks[order], np.minimum.accumulate(widths[order])

    def _laid(self, width: float) -> list[Bins]:
        """Bins of one width, started at a few places: where the belief is not flat, alignment matters."""
        shares = [0.0] if self.axis.falling or not self.axis.exact else np.arange(_PLACES) / _PLACES
        low, high = self.axis.low, self.axis.high
        return [Bins(low=low, high=high, origin=low - float(share) * width, width=width) for share in shares]

    def widths(self, risks: Array) -> Array:
        """Risk (n c + r) / R with n whole bins and a rest r < c, for the largest n that fits: s = c + R (1 - p) / n."""
        # a hair, which rounding a target makes, and no more: a search would find whatever is given away here
        count = np.maximum(np.floor(risks * self.length / self.window * _HAIR), 1)
        return np.minimum(self.window + self.length * np.maximum(1 - risks, 0.0) / count, self.length)


def _side(problem: Problem) -> _Side:
    name = problem.secret.label
    line = Problem(
        family=Location(),
        prior=Box(mean=problem.box.axes[name]),
        secret=Mean(),
        tolerance=problem.tolerance,
    )
    return _Side(name=name, line=line)


def _tiles(sides: tuple[_Side, ...], bins: list[Bins]) -> Tiles:
    return Tiles(axes={side.name: each for side, each in zip(sides, bins, strict=True)})


def _distortions(problem: Problem, sides: tuple[_Side, ...], first: Array, second: Array) -> Array:
    return corner_distortions(problem, (sides[0].name, sides[1].name), first, second)


def corner_distortions(problem: Problem, names: tuple[str, str], first: Array, second: Array) -> Array:
    """Distortion of bins of these widths along two parameters: that of the farther corner."""
    family = problem.family
    assert isinstance(family, LocationScale)
    corners = [family.length({names[0]: first / 2, names[1]: sign * second / 2}) for sign in (1.0, -1.0)]
    return np.maximum(*corners)


def left_to_other(total: float, share: Array) -> Array:
    """What one secret leaves to the other: 1 - (1 - p)(1 - q) = T."""
    return np.maximum(1 - (1 - total) / np.maximum(1 - share, 1e-300), 0.0)


def _for_union(problem: Problem, sides: tuple[_Side, ...], goal: MaxRisk) -> Tiles:
    one, two = sides
    least = one.least + two.least - one.least * two.least
    if not meets(least, goal, within=1.0):
        raise unreachable(goal.value, least, "for both secrets together with these priors")
    ends = [float(left_to_other(goal.value, np.array(side.least))) for side in (two, one)]
    tables = [side.table(max(most, side.least)) for side, most in zip(sides, ends, strict=True)]
    # from the shares of the first secret, and from those of the second
    options = [tables[0][0], left_to_other(goal.value, tables[1][0])]
    shares = np.unique(np.clip(np.concatenate(options), one.least, max(ends[0], one.least)))

    def score(share: Array) -> Array:
        other = np.maximum(left_to_other(goal.value, share), two.least)
        return _distortions(problem, sides, _narrowest(one, tables[0], share), _narrowest(two, tables[1], other))

    scores = score(shares)
    best = int(np.argmin(scores))
    share, low, high = (
        float(shares[best]),
        float(shares[max(best - 1, 0)]),
        float(shares[min(best + 1, len(shares) - 1)]),
    )
    if all(side.axis.flat for side in sides):
        for _ in range(_ROUNDS):
            fan = np.linspace(low, high, 33)
            values = score(fan)
            at = int(np.argmin(values))
            if values[at] < scores[best]:
                share, scores[best] = float(fan[at]), values[at]
            low, high = float(fan[max(at - 1, 0)]), float(fan[min(at + 1, 32)])
    # hold each against its own accounting: what the one does not use is left to the other
    first = one.for_risk(max(share, one.least) * _HAIR)
    second = two.for_risk(max(float(left_to_other(goal.value, np.array(one.risk(first)))), two.least) * _HAIR)
    again = one.for_risk(max(float(left_to_other(goal.value, np.array(two.risk(second)))), one.least) * _HAIR)
    made = [_tiles(sides, [bins, second]) for bins in (again, first)]
    met = [option for option in made if meets(risk(problem, option).value, goal)]
    if not met:
        raise unreachable(goal.value, risk(problem, made[1]).value, "for both secrets together with these priors")
    return min(met, key=lambda option: distortion(problem, option))


def _either(first: float, second: float) -> float:
    return first + second - first * second


def _narrowest(side: _Side, table: tuple[Array, Array], risks: Array) -> Array:
    if side.axis.flat:
        return side.widths(risks)
    # between the widths that were tried; only a proposal, which is held against the accounting
    return np.exp(np.interp(np.log(np.maximum(risks, 1e-12)), np.log(table[0]), np.log(table[1])))


def _for_distortion(problem: Problem, sides: tuple[_Side, ...], goal: MaxDistortion) -> Tiles:
    one, two = sides
    guess = float(_distortions(problem, sides, np.array(one.window), np.array(two.window)))
    if goal.value <= guess * (1 + 1e-9):
        raise hides_nothing(goal.value, guess)
    whole = float(_distortions(problem, sides, np.array(one.length), np.array(two.length)))
    if whole <= goal.value:
        return _tiles(sides, [one.within(one.length), two.within(two.length)])

    def widest(width: Array) -> Array:
        """How wide the bins of the second may be beside those of the first."""
        low, _ = bisected(
            lambda other: _distortions(problem, sides, width, other) > goal.value,
            np.zeros_like(width),
            np.full_like(width, two.length),
            steps=60,
        )
        full = _distortions(problem, sides, width, np.full_like(width, two.length)) <= goal.value
        return np.where(full, two.length, low)

    def rated(pairs: list[tuple[float, float]]) -> list[tuple[float, float, float]]:
        return [(_either(_at_most(one, a), _at_most(two, b)), a, b) for a, b in pairs]

    def beside(widths: Array) -> list[tuple[float, float]]:
        return [(float(a), float(b)) for a, b in zip(widths, widest(widths), strict=True) if b >= two.window]

    flat = one.axis.flat and two.axis.flat
    widths = np.geomspace(one.window, one.length, 401 if flat else _TABLE)
    if one.axis.flat:  # whole bins that divide the range are the best of their number
        many = np.arange(1, min(one.length / one.window, _MOST_PARTS) + 1)
        widths = np.unique(np.concatenate([widths, one.length / many]))
    rates = rated(beside(widths) + (_dividing(problem, sides, goal) if two.axis.flat else []))
    best = min(rates)
    for _ in range(_ROUNDS if flat else 1):  # closer around the best, where a bin less still fits in
        near = sorted(a for _, a, _ in rates)
        at = int(np.searchsorted(near, best[1]))
        low, high = near[max(at - 1, 0)], near[min(at + 1, len(near) - 1)]
        rates = rated(beside(np.linspace(low, high, 65 if flat else 5)))
        best = min([best, *rates])
    _, first, second = best
    narrow = [one.within(min(first, one.length)), two.within(min(second, two.length))]
    found = _tiles(sides, narrow)
    for _ in range(4):  # rounding errors only
        over = distortion(problem, found) / goal.value
        if over > 1:
            shrink = (1 - 1e-15) / over
            narrow = [replace(bins, width=bins.width * shrink) for bins in narrow]
            found = _tiles(sides, narrow)
    return found


def _dividing(problem: Problem, sides: tuple[_Side, ...], goal: MaxDistortion) -> list[tuple[float, float]]:
    """Bins of the second secret that divide its range, with the widest of the first beside them."""
    one, two = sides
    second = two.length / np.arange(1, min(two.length / two.window, _MOST_PARTS) + 1)
    low, _ = bisected(
        lambda first: _distortions(problem, sides, first, second) > goal.value,
        np.zeros_like(second),
        np.full_like(second, one.length),
        steps=60,
    )
    return [(float(a), float(b)) for a, b in zip(low, second, strict=True) if a >= one.window]


def _at_most(side: _Side, width: float) -> float:
    """The least risk with bins of at most this width."""
    if width <= side.window * (1 + 1e-9):
        return 1.0
    if not side.axis.flat:
        return side.risk(side.within(min(width, side.length)))
    count = math.floor(side.length / width * (1 + 1e-12))
    rest = max(side.length - count * width, 0.0)
    return min(1.0, (count * min(side.window, width) + min(side.window, rest)) / side.length)
