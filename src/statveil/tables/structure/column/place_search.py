"""Places of a lattice that a public rule reaches: rounded changes of units, ratios, body mass indices, logarithms.

Whoever knows that speeds in whole miles per hour were whole knots knows which numbers cannot occur, and how many ways
lead to each of the others. A column that is moved by whole steps keeps that pattern, so the move that fits the rule
best is the true one. The rule can be too fine, or the rows too few, for a wave or a roughness to show (rough_search.py)
while it is plain to somebody who has the rule. So usual rules are held against the column as such a person would.

The evidence of a rule is how far places with more ways than usual have more rows than the six places around them
predict (exact for shapes that are polynomials of degree 5 there, as in rough_search.py), in standard errors. So only
what changes from place to place counts, and the shape of the column, however steep, does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import Lattice
from statveil.tables.structure.column.rough_search import KERNEL

__all__ = ["find_public_rule"]

_LUCK = 0.005
"""Probability with which a smooth shape is taken for one that a rule made."""
_SKEWED = 0.3
"""Standard errors more, as sums of few rows are not normal."""
_MOST_PLACES, _MOST_OF_FUNCTIONS = 40_000, 1_000_000
_OWN = 0.9
"""Rows that lie where a function of round numbers can lie, at least: it made all of the column, or nothing."""
_MOST_OF_MORE = 4_096
"""Places up to which less usual functions are tried, of which there are many."""
_BASES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, math.e, 10**0.1, 10**0.05)
_POWERS = (0.2, 0.25, 0.3, 1 / 3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.9, 1.5, 2.0)
_IN_PARTS = (1.0, 0.1, 0.01, 0.5, 5.0, 10.0, 100.0, 1000.0)
"""What such functions are of whole numbers of."""
_FEWEST_ROWS = 16
_NARROW = 4.0
"""Standard deviation in steps below which a shape has kinks between neighbouring places."""
_SHIFTS = 40
"""A column with peaks of its own fits a rule as well some steps away, in either direction."""
_ALIKE = 0.15
"""Share of the moves that may fit the rule about as well: rules repeat themselves."""
_AROUND = 12
"""Places on either side over which the ways to a place are averaged."""
_REACH = len(KERNEL) // 2
_FEWEST_WINDOWS = 6
_MANY = 12
"""Ways that lead to each place on average, beyond which all places are reached alike."""
_UNITS = (
    # lengths and areas
    *(2.54, 0.3048, 30.48, 0.9144, 1.609344, 1.852, 0.09290304, 0.40468564, 2.58998811),
    # weights and volumes
    *(0.45359237, 28.349523125, 6.35029318, 3.785411784, 4.54609, 29.5735295625, 0.0283168466),
    # energies and pressures
    *(4.184, 1.05505585, 0.74569987, 0.73549875, 6.894757293, 0.133322387, 33.8638867, 1.01325),
    # speeds and temperatures
    *(1.150779448, 0.514444444, 0.868976242, 0.621371192, 0.277777778, 5 / 9, 1.8),
    # blood values
    *(1 / 18.0182, 18.0182, 0.02586, 38.67, 0.01129, 88.57, 88.42, 1 / 88.42, 59.48, 17.104, 0.357, 2.496),
    # hundredths of marks, guilders, francs and pounds at their rates of 1999
    *(0.01 / 1.95583, 0.01 / 2.20371, 0.01 / 6.55957, 0.01 / 0.787564),
    # thousands a year, parts of a year, a day and a week
    *(1000 / 12, 1000 / 52, 1000 / 2080, 1000 / 1950, 1 / 12, 1 / 24, 1 / 60, 1 / 7, 1 / 3, 1 / 365.25),
)
_PARTS = (1.0, 0.5, 0.1, 10.0)
"""Of a unit, in which was measured."""
_FROM_ELSEWHERE = (
    # long blood sugar in parts of a thousand and in per cent
    *((1.0929, -23.5), (1.093, -23.5), (0.0915, 2.15)),
    # degrees Celsius and Fahrenheit
    *((5 / 9, -160 / 9), (5 / 90, -160 / 9), (1.8, 32.0), (0.18, 32.0)),
)
"""Units that begin elsewhere: how large, and where."""
_TAXES = (1.16, 1.17, 1.18, 1.19, 1.21, 1.22, 1.23, 1.24, 1.25, 1.27)
_DISCOUNTS = (0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55)
"""What amounts are multiplied by, and rounded again; what is nearer to 1 is looked for by itself (skip_search.py)."""
_REDUCED = (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70)
"""Discounts in per cent, of which a table has several."""


def find_public_rule(lattice: Lattice, counts: Array) -> bool:
    """Whether the rows lie on the places that a usual rule reaches, more than a smooth shape would have them there."""
    from scipy.special import ndtri

    rows = float(np.sum(counts))
    low, high = int(lattice.index[0]), int(lattice.index[-1])
    if not lattice.anchored or rows < _FEWEST_ROWS or high - low > _MOST_OF_FUNCTIONS or high == low:
        return False
    centre = float(counts @ lattice.index) / rows
    if float(counts @ (lattice.index - centre) ** 2) / rows < _NARROW**2:
        return False
    margin = _SHIFTS + 2 * _AROUND
    first, size = low - margin, high - low + 1 + 2 * margin
    dense = np.zeros(size)
    dense[lattice.index - first] = counts
    kinds = [_functions]
    if high - low <= _MOST_OF_MORE:
        kinds.append(_more_functions)
    if high - low <= _MOST_PLACES:  # of these there are many, and each takes a pass over all places
        kinds += [_changes_of_unit, _ratios, _inverses, _logarithms, _body_mass, _other_zeros, _rates, _reductions]
    for kind in kinds:
        rules = list(kind(lattice.step, first, size))
        if kind is _functions:
            rules = [ways for ways in rules if float(dense[ways > 0].sum()) >= _OWN * rows]
        if not rules:
            continue
        needed = -float(ndtri(_LUCK / len(kinds) / len(rules))) + _SKEWED
        if any(_fits(ways, dense, margin, needed) for ways in rules):
            return True
    return False


def _fits(ways: Array, dense: Array, margin: int, needed: float) -> bool:
    """Whether rows follow a rule where they are, and hardly anywhere else."""
    width = 2 * _AROUND + 1
    around = np.convolve(ways, np.ones(width) / width, mode="same")
    more = np.divide(ways, around, out=np.ones_like(ways), where=around > 0) - 1.0
    inner = slice(margin + _REACH, len(dense) - margin - _REACH)  # places whose neighbours lie in the column

    def errors(by: int) -> float:
        pattern = np.zeros_like(dense)
        pattern[inner] = np.roll(more, by)[inner]
        spread = np.convolve(pattern, KERNEL, mode="same")
        noise = float(dense @ spread**2)
        return float(dense @ spread) / math.sqrt(noise) if noise > 0 else 0.0

    here = errors(0)
    if here < needed:
        return False
    moved = np.array([errors(by) for by in range(-_SHIFTS, _SHIFTS + 1) if by])
    return float(np.mean(moved > here - 1.0)) <= _ALIKE


def _counted(values: Array, weights: Array | None, step: float, first: int, size: int) -> Array:
    """How many ways lead to each place, half of those on the border between two to either."""
    steps = values / step
    total = np.zeros(size)
    for side in (-1e-9, 1e-9):
        place = np.floor(steps + 0.5 + side * np.maximum(1.0, np.abs(steps))).astype(np.int64) - first
        inside = (place >= 0) & (place < size)
        part = np.full(len(values), 0.5) if weights is None else 0.5 * weights
        total += np.bincount(place[inside], weights=part[inside], minlength=size)
    return total


def _uneven(ways: Array) -> bool:
    """Whether a rule has a pattern that a few hundred rows can show."""
    mean = float(np.mean(ways))
    return mean > 0 and float(np.std(ways)) > 0.05 * mean


def _changes_of_unit(step: float, first: int, size: int) -> Iterator[Array]:
    """Whole numbers of a unit, or of a usual part of it."""
    for unit in _UNITS:
        for part in _PARTS:
            apart = unit * part / step  # in steps
            turns = 1 / apart
            seen = abs(turns - round(turns))
            # fewer waves than that over the column are part of its shape
            if not 1 / _MANY < apart < _AROUND or seen * (size - 2 * (_SHIFTS + 2 * _AROUND)) < _FEWEST_WINDOWS:
                continue
            ends = np.array([first, first + size]) / apart
            numbers = np.arange(math.floor(ends[0]), math.ceil(ends[1]) + 1, dtype=np.float64)
            ways = _counted(numbers * apart, None, 1.0, first, size)
            if _uneven(ways):
                yield ways


def _other_zeros(step: float, first: int, size: int) -> Iterator[Array]:
    """Whole numbers of a unit that does not begin at 0."""
    for unit, start in _FROM_ELSEWHERE:
        if not 1 / _MANY < unit / step < _AROUND:
            continue
        ends = (np.array([first, first + size]) * step - start) / unit
        numbers = np.arange(math.floor(ends[0]), math.ceil(ends[1]) + 1, dtype=np.float64)
        yield from _places(start + unit * numbers, step, first, size)


def _rates(step: float, first: int, size: int) -> Iterator[Array]:
    """Amounts with a tax, or after a discount, in the steps of the amounts without."""
    for rate in (*_TAXES, *_DISCOUNTS):
        numbers = np.arange(math.floor(first / rate), math.ceil((first + size) / rate) + 1, dtype=np.float64)
        yield from _places(rate * numbers, 1.0, first, size)


def _reductions(step: float, first: int, size: int) -> Iterator[Array]:
    """Whole prices, some of them after a discount of so many per cent, in cents or in steps of five of them."""
    if not _wide(size) or step > 0.06 or first + size <= 0:
        return
    low, high = max(first, 1) * step, (first + size) * step
    parts = [
        np.arange(math.floor(low / left), math.ceil(high / left) + 1) * left
        for left in (1 - less / 100 for less in _REDUCED)
    ]
    yield from _places(np.concatenate(parts), step, first, size)


def _wide(size: int) -> bool:
    """Whether a column is wide enough for a pattern that is no wave to be told from its shape."""
    return size - 2 * (_SHIFTS + 2 * _AROUND) >= _FEWEST_WINDOWS * (2 * _AROUND + 1)


def _ratios(step: float, first: int, size: int) -> Iterator[Array]:
    """Ratios and percentages of whole numbers, prices per piece, prices per square metre."""
    if not _wide(size):
        return
    for unit, below, offset in (
        *((scale, most, 0.0) for scale in (1.0, 100.0) for most in (30, 60, 100, 200)),
        (1000.0, 150, 0.0),
        (1.0, 24, 0.01),
    ):
        numbers = range(max(2, below // 5), below + 1)
        if sum(numbers) * step / unit > _MANY:
            continue
        parts = []
        for number in numbers:
            ends = np.array([first, first + size]) * step * number / unit
            parts.append((np.arange(math.floor(ends[0]), math.ceil(ends[1]) + 1) - offset) * unit / number)
        ways = _counted(np.concatenate(parts), None, step, first, size)
        if _uneven(ways):
            yield ways


def _inverses(step: float, first: int, size: int) -> Iterator[Array]:
    """A public number over whole ones: speeds of times, litres per 100 km of miles per gallon."""
    if not _wide(size) or first + size <= 0:
        return
    low, high = max(first, 1) * step, (first + size) * step
    for above in (60.0, 100.0, 1000.0, 3600.0, 18_000.0, 36_000.0, 235.214583, 282.481):
        ends = above / high, above / low
        if not 8 < ends[1] - ends[0] < _MANY * size:
            continue
        ways = _counted(above / np.arange(max(1, math.floor(ends[0])), math.ceil(ends[1]) + 1), None, step, first, size)
        if _uneven(ways):
            yield ways


def _functions(step: float, first: int, size: int) -> Iterator[Array]:
    """Roots of whole numbers, log-odds of tenths of a per cent, litres per 100 km of tenths of miles per gallon."""
    if not _wide(size):
        return
    low, high = first * step, (first + size) * step
    if low > 0:
        for power in (2, 3):
            ends = math.ceil(low**power), math.floor(high**power)
            if 8 < ends[1] - ends[0] < _MANY * size:
                yield from _places(np.arange(ends[0], ends[1] + 1.0) ** (1 / power), step, first, size)
        for above in (2352.14583, 23521.4583, 2824.81, 28248.1):
            ends = math.ceil(above / high), math.floor(above / low)
            if 8 < ends[1] - ends[0] < _MANY * size:
                yield from _places(above / np.arange(ends[0], ends[1] + 1.0), step, first, size)
    for parts in (100, 1_000, 10_000):
        share = np.arange(1, parts) / parts
        yield from _places(np.log(share / (1 - share)), step, first, size)


def _places(values: Array, step: float, first: int, size: int) -> Iterator[Array]:
    """The ways to each place, if they make a pattern."""
    ways = _counted(values, None, step, first, size)
    if _uneven(ways):
        yield ways


def _logarithms(step: float, first: int, size: int) -> Iterator[Array]:
    """Logarithms of whole numbers, decibels among them."""
    if not _wide(size):
        return
    for unit in (1.0, 1 / math.log(2), 1 / math.log(10), 10 / math.log(10), 20 / math.log(10)):
        top = (first + size) * step / unit
        if not 0 < top < math.log(_MANY * size):
            continue
        ways = _counted(unit * np.log(np.arange(1.0, math.exp(top) + 1)), None, step, first, size)
        if _uneven(ways):
            yield ways


def _more_functions(step: float, first: int, size: int) -> Iterator[Array]:
    """Logarithms to any usual base, powers and inverse hyperbolic sines of round numbers."""
    if not _wide(size) or first + size <= 0:
        return
    low, high = max(first, 1) * step, (first + size) * step
    for part in _IN_PARTS:
        for base in _BASES:
            if high * math.log(base) < 700 and (part != 1.0 or base not in (2.0, 10.0, math.e)):
                yield from _of_round(part, base**low, base**high, step, first, size, partial(_logarithm, base=base))
        for power in _POWERS:
            if part != 1.0 or power not in (0.5, 1 / 3):
                ends = low ** (1 / power), high ** (1 / power)
                yield from _of_round(part, *ends, step, first, size, partial(_power, to=power))
        if high < 700:
            yield from _of_round(part, math.sinh(low), math.sinh(high), step, first, size, np.arcsinh)


def _logarithm(numbers: Array, *, base: float) -> Array:
    return np.log(numbers) / math.log(base)


def _power(numbers: Array, *, to: float) -> Array:
    raised: Array = numbers**to
    return raised


def _of_round(
    part: float, low: float, high: float, step: float, first: int, size: int, made: Callable[[Array], Array]
) -> Iterator[Array]:
    """The ways to each place by a rising function of multiples of ``part`` between two numbers."""
    ends = math.floor(low / part), math.ceil(high / part)
    if 8 < ends[1] - ends[0] < _MANY * size:
        yield from _places(made(part * np.arange(max(ends[0], 1), ends[1] + 1.0)), step, first, size)


def _body_mass(step: float, first: int, size: int) -> Iterator[Array]:
    """Whole kilograms over squares of whole centimetres, and pounds over inches, of people of usual sizes."""
    if not _wide(size):
        return
    for weight, height, unit in (
        ((75.0, 15.0), (171.0, 9.5), 1e4),
        ((165.0, 33.0), (67.0, 3.8), 703.07),
        ((165.0, 33.0), (67.0, 3.8), 703.0),
    ):
        heavy, tall = (np.arange(math.floor(m - 4 * s), math.ceil(m + 5 * s) + 1) for m, s in (weight, height))
        chance = np.outer(*(np.exp(-((x - m) ** 2) / (2 * s * s)) for x, (m, s) in ((heavy, weight), (tall, height))))
        values = unit * np.divide.outer(heavy.astype(np.float64), tall.astype(np.float64) ** 2)
        ways = _counted(values.ravel(), chance.ravel() * 1e4, step, first, size)
        if _uneven(ways):
            yield ways
