"""Functions of whole numbers, up to a factor and an addend that nobody says: y = m + s g(k).

No list of factors can be complete: logarithms have any base, scores were standardised, frequencies are in mel. But
three values that are close to each other come from whole numbers that are close, too: k, k + d and k + d + e with small
d and e. How unequal the two gaps are tells how g bends there, so where k is, and k must be whole to the last digits.
Then m and s are known, and all other values must come from whole numbers as well. So a few hundred guesses at d and e
are enough, and only the function itself must be on a list. Any power, of which a constant was taken away or not, needs
two such places, which tell its exponent as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.distinct import frozen

__all__ = ["find_function", "find_logarithm"]

Whole = NDArray[np.int64]

_FEWEST = 12
_PLACES = 4, 2
"""Triples of neighbours that are looked at: the narrowest of all, and of the lower half."""
_WIDER = (0.06, 0.1, 0.14, 0.18)
"""Further ones, by how many are narrower: where some values come from no whole number, these are in the narrowest."""
_DISTANCES = ((60, 20), (200, 10), (600, 6))
"""Up to so many rows, whole numbers up to so far apart are guessed at; beyond, those up to ``_NEAREST``."""
_NEAREST = 4
_NEAREST_OF_TWO = 8
"""The same where two triples are needed, whose guesses are as many as the product."""
_LARGEST = 65_536
"""Whole numbers up to this: finer cells are lost in the blur of what is only moved, as a rule."""
_POWERS_TO = 16_384
_BASES, _TRIED = 8_192.0, 6
"""Whole numbers that one value may be the logarithm of, and values of which four others must agree."""
_ROUNDING = 16.0
"""Distances between floats by which a value may be off what its whole number gives, several roundings together."""
_CLEAR = 0.1
"""Share of a cell beyond which a value's own error tells nothing."""
_SOME, _MOST_GUESSES = 12, 1024
_FEWEST_ON, _SHARE = 4, 0.3
"""Share of the values that must come from whole numbers."""
_LUCK = 1e-12
"""That chance does so well: for one of the about 40,000 guesses, less than the 1e-6 of a listed transform and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Branch:
    """A part of the table of one function on which its bend rises with the whole number."""

    says: str
    start: int
    """Where the function begins in the table of all."""
    end: int
    at: Array
    """Places in that table."""
    bend: Array
    """How the function bends there, g''/g'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Triples:
    """Guesses: three values and how far apart the whole numbers behind them are."""

    values: Array
    """Three columns: the values, or their opposites where these fall, in the order of their whole numbers."""
    sign: Array
    error: Array
    """How far each value may be off."""
    triple: Whole
    """Which of the triples it is, counted from the least value."""
    narrow: list[int]
    """Which of them are the narrowest."""
    first: Whole
    second: Whole
    """Distances of the whole numbers."""
    bend: Array
    """How a function through them bends, per whole number."""
    slope: Array
    """How fast it rises there."""
    middle: Array
    """Where, in whole numbers from the first."""


def find_function(values: Array, error: Array) -> str | None:
    """Name the function that made many of the distinct rising ``values`` out of whole numbers.

    Parameters
    ----------
    values : array
        Distinct values, rising.
    error : array
        How far each may be off by the way it is stored.

    Examples
    --------
    >>> draws = np.random.default_rng(1)
    >>> mel = np.unique(2595 * np.log10(1 + np.rint(draws.lognormal(7, 0.5, 200)) / 700))
    >>> find_function(mel, np.spacing(mel))
    'logarithms'
    >>> free = np.unique(draws.lognormal(7, 0.5, 200))
    >>> find_function(free, np.spacing(free)) is None
    True
    """
    if len(values) < _FEWEST:
        return None
    off = _ROUNDING * float(np.spacing(np.quantile(np.abs(values), 0.98)))
    error = np.maximum(error, off)
    with np.errstate(all="ignore"):
        if (guessed := _guesses(values, error)) and (found := _in_table(guessed, values, error, None)):
            return found
        if float(values[0]) > 0 or float(values[-1]) < 0:  # any power, times anything
            logs = np.log(np.abs(values))
            doubt = error / np.abs(values) + _ROUNDING * np.spacing(np.abs(logs))
            order = np.argsort(logs)
            logs, doubt = logs[order], doubt[order]
            if (more := _guesses(logs, doubt)) and _in_table(more, logs, doubt, "logarithms"):
                return "powers"
        if guessed and _any_power(guessed, values, error):
            return "powers less a constant"
    return None


def find_logarithm(values: Array, error: Array) -> str | None:
    """Name logarithms to any base of whole numbers, of which few digits are left: one number tells the base.

    >>> whole = np.unique(np.random.default_rng(1).integers(20, 400, 100))
    >>> find_logarithm(np.round(np.log(whole) / 1.2345, 6), np.full(len(whole), 5.1e-7))
    'logarithms'
    """
    positive = values > 0
    values, error = values[positive], error[positive]
    if len(values) < _FEWEST:
        return None
    logs = _logs()
    some = np.linspace(0, len(values) // 2, _TRIED).astype(np.int64)  # smaller numbers have more digits
    with np.errstate(all="ignore"):
        for anchor in some[[1, 3]].tolist():
            by, unsure = logs / values[anchor], error[anchor] / values[anchor]
            back = np.exp(np.outer(by, values[some]))
            within = back * np.outer(by, error[some] + unsure * values[some]) + 4 * np.spacing(back)
            on = (np.abs(back - np.rint(back)) <= within) & (within <= _CLEAR) & (some != anchor)
            for guess in np.flatnonzero(np.count_nonzero(on, axis=1) >= _FEWEST_ON).tolist():
                back = np.exp(by[guess] * values)
                within = back * by[guess] * (error + unsure * values) + 4 * np.spacing(back)
                if _beyond_chance(np.abs(back - np.rint(back)), within, 2):
                    return "logarithms"
    return None


@lru_cache(maxsize=1)
def _logs() -> Array:
    return frozen(np.log(np.arange(2.0, _BASES)))


# --- guesses -----------------------------------------------------------------------------------------
def _guesses(values: Array, error: Array) -> _Triples | None:
    """Narrow triples of neighbours, in either order, with whole numbers behind them at all small distances."""
    span = values[2:] - values[:-2]
    fine = np.minimum(values[1:-1] - values[:-2], values[2:] - values[1:-1]) > 1e4 * error[1:-1]
    span = np.where(fine, span, np.inf)
    half = len(span) // 2
    order = np.argsort(span)
    wider = order[[int(share * np.count_nonzero(fine)) for share in _WIDER]] if np.any(fine) else order[:0]
    narrow = order[: _PLACES[0]]
    low = np.argsort(span[:half])[: _PLACES[1]] if half else narrow[:0]
    chosen = np.unique(np.concatenate((narrow, low, wider)))
    chosen = chosen[np.isfinite(span[chosen])]
    if not len(chosen):
        return None
    rising = np.stack([values[chosen], values[chosen + 1], values[chosen + 2]], axis=1)
    both = np.concatenate((rising, -rising[:, ::-1]))
    first, second = _distances(_farthest(len(values)))
    number = len(first)
    y = np.repeat(both, number, axis=0)
    sign = np.repeat(np.where(np.arange(len(both)) < len(chosen), 1.0, -1.0), number)
    off = np.maximum(np.maximum(error[chosen], error[chosen + 1]), error[chosen + 2])
    off = np.repeat(np.tile(off, 2), number)
    triple = np.repeat(np.tile(np.arange(len(chosen)), 2), number)
    first, second = np.tile(first, len(both)), np.tile(second, len(both))
    slopes = (y[:, 1] - y[:, 0]) / first, (y[:, 2] - y[:, 1]) / second
    turn = (slopes[1] - slopes[0]) / (first + second)
    middle = (2 * first + second) / 3
    # a parabola through the three has its own second derivative where the function has it, but for terms of order 2
    slope = slopes[0] + turn * (2 * middle - first)
    return _Triples(
        values=y,
        sign=sign,
        error=off,
        triple=triple,
        narrow=np.flatnonzero(np.isin(chosen, np.concatenate((narrow, low)))).tolist(),
        first=first,
        second=second,
        bend=2 * turn / slope,
        slope=slope,
        middle=middle,
    )


def _farthest(rows: int) -> int:
    return next((far for most, far in _DISTANCES if rows <= most), _NEAREST)


@lru_cache(maxsize=8)
def _distances(farthest: int) -> tuple[Whole, Whole]:
    one, two = np.meshgrid(np.arange(1, farthest + 1), np.arange(1, farthest + 1), indexing="ij")
    return frozen(one.ravel()), frozen(two.ravel())


# --- functions of a table ----------------------------------------------------------------------------
def _functions() -> list[tuple[str, Array, tuple[int, ...]]]:
    """What each is called, its values at rising whole numbers, and where its bend turns round."""
    from scipy.special import ndtri

    most = np.arange(1.0, _LARGEST + 1)
    some = most[:_POWERS_TO]
    made: list[tuple[str, Array, tuple[int, ...]]] = [("logarithms", np.log(most), ())]
    for scale in (1, 5, 10, 100, 150, 1000):
        made.append(("inverse hyperbolic sines", np.arcsinh(some / scale), (scale,)))
    for scale in (10, 50, 100, 1000):
        made.append(("hyperbolic tangents", np.tanh(np.arange(0.0, 4 * scale) / scale), ()))
    made += [("powers or roots", some**power, ()) for power in (1 / 3, 1 / 2, 3 / 2, 2.0)]
    made.append(("reciprocals", -1 / some, ()))
    for parts in (100, 1000):
        share = np.arange(1.0, parts) / parts
        made += [
            ("log-odds of shares", np.log(share / (1 - share)), ()),
            ("probits of shares", ndtri(share), ()),
            ("angles of shares", np.arcsin(np.sqrt(share)), ()),
            ("logarithms of logarithms of shares", np.log(-np.log1p(-share)), ()),
        ]
    for parts in (90, 900):
        angle = np.radians(np.arange(0.0, parts) * (90 / parts))
        made += [("sines", np.sin(angle), ()), ("tangents", np.tan(angle), ())]
    return made


@lru_cache(maxsize=1)
def _table() -> tuple[Array, tuple[_Branch, ...]]:
    """All functions after each other, and the branches of each on which its bend rises or falls."""
    branches: list[_Branch] = []
    made = _functions()
    start = 0
    for says, g, turns in made:
        bend = 2 * np.diff(g, 2) / (g[2:] - g[:-2])
        for low, high in zip((0, *turns), (*turns, len(bend)), strict=True):
            if high - low < 8:
                continue
            part, at = bend[low:high], start + 1 + np.arange(low, high, dtype=np.float64)
            if part[-1] < part[0]:
                part, at = part[::-1], at[::-1]
            rising = np.maximum.accumulate(part)  # but for the rounding of differences
            branches.append(_Branch(says=says, start=start, end=start + len(g), at=at, bend=rising))
        start += len(g)
    return frozen(np.concatenate([g for _, g, _ in made])), tuple(branches)


def _in_table(triples: _Triples, values: Array, error: Array, alone: str | None) -> str | None:
    """The function of a table that fits a guess, and then most values; ``alone``: only those of this name."""
    g, branches = _table()
    at: list[Array] = []
    which: list[Whole] = []
    guess: list[Whole] = []
    for one_of, branch in enumerate(branches):
        if alone is not None and branch.says != alone:
            continue
        kept = np.flatnonzero((triples.bend >= branch.bend[0]) & (triples.bend <= branch.bend[-1]))
        if not len(kept):
            continue
        at.append(np.interp(triples.bend[kept], branch.bend, branch.at) - triples.middle[kept])
        which.append(np.full(len(kept), one_of))
        guess.append(kept)
    if not at:
        return None
    near = np.rint(np.concatenate(at)).astype(np.int64)
    number, kept = np.concatenate(which), np.concatenate(guess)
    ends = np.array([(branch.start, branch.end) for branch in branches])
    for by in (0, -1, 1):
        place = near + by
        last = place + triples.first[kept] + triples.second[kept]
        inside = np.flatnonzero((place >= ends[number, 0]) & (last < ends[number, 1]))
        zero, two = place[inside], last[inside]
        one = zero + triples.first[kept[inside]]
        y = triples.values[kept[inside]]
        wide, broad = g[two] - g[zero], y[:, 2] - y[:, 0]
        apart = (g[one] - g[zero]) / wide - (y[:, 1] - y[:, 0]) / broad
        doubt = 3 * triples.error[kept[inside]] / broad + 8e-16 * np.maximum(np.abs(g[zero]), np.abs(g[two])) / wide
        fits = np.flatnonzero(np.abs(apart) <= doubt)
        fits = fits[np.argsort(doubt[fits], kind="stable")[:_MOST_GUESSES]]
        for found in np.unique(number[inside[fits]]).tolist():
            some = fits[number[inside[fits]] == found]
            table = g[ends[found, 0] : ends[found, 1]]
            places = np.stack((zero[some], two[some]), axis=1) - ends[found, 0]
            if _all_on(table, places, y[some], triples.sign[kept[inside[some]]], doubt[some], values, error):
                return branches[int(found)].says
    return None


def _all_on(table: Array, places: Whole, y: Array, sign: Array, doubt: Array, values: Array, error: Array) -> bool:
    """Whether a guess at two places of a table puts most of the values on places of it."""
    few = np.linspace(0, len(values) - 1, min(_SOME, len(values))).astype(np.int64)
    start = table[places[:, 0]]
    slope = (y[:, 2] - y[:, 0]) / (table[places[:, 1]] - start)
    beyond = (sign[:, None] * values[few] - y[:, :1]) / slope[:, None]
    within = np.abs(beyond) * doubt[:, None] + 2 * error[few] / slope[:, None]
    away, unsure, nearest = _away(table, start[:, None] + beyond, within)
    for guess in _worth(away, unsure):
        if not _beyond_chance(away[guess], unsure[guess], 0):
            continue
        # the farthest value that fits tells the factor to more digits
        on = np.flatnonzero((away[guess] <= unsure[guess]) & (unsure[guess] <= _CLEAR))
        far = on[np.argmax(np.abs(beyond[guess, on]))]
        rise = float(table[nearest[guess, far]] - start[guess])
        if rise == 0:
            continue
        exact = (sign[guess] * values[few[far]] - y[guess, 0]) / rise
        x = (sign[guess] * values - y[guess, 0]) / exact
        doubts = 4 * error / abs(exact) * (1 + np.abs(x / rise))
        all_away, all_unsure, _ = _away(table, start[guess] + x, doubts)
        if _beyond_chance(all_away, all_unsure, 4):
            return True
    return False


def _away(table: Array, x: Array, within: Array) -> tuple[Array, Array, Whole]:
    """How far from the nearest number of a table, and the doubt, both in its cells there, and which number it is."""
    after = np.clip(np.searchsorted(table, x), 1, len(table) - 1)
    cell = table[after] - table[after - 1]
    nearest = np.where(x - table[after - 1] < table[after] - x, after - 1, after)
    unsure = (within + 4 * np.spacing(np.abs(x))) / cell
    return np.abs(x - table[nearest]) / cell, unsure, nearest


def _worth(away: Array, unsure: Array) -> list[int]:
    """Guesses that some of the values fit, at a quick look."""
    on = np.count_nonzero((away <= unsure) & (unsure <= _CLEAR), axis=1)
    return np.flatnonzero(on >= _FEWEST_ON).tolist()


def _beyond_chance(away: Array, unsure: Array, known: int) -> bool:
    """Whether so many values are on places that chance cannot explain it; ``known`` of them gave the guess."""
    from scipy.special import gammainc

    clear = np.isfinite(unsure) & (unsure <= _CLEAR)
    number = int(np.count_nonzero(clear & (away <= unsure))) - known
    if number < max(_FEWEST_ON, _SHARE * len(away) / 2, _SHARE * int(np.count_nonzero(clear))):
        return False
    expected = float(np.sum(2 * unsure[clear]))
    return float(gammainc(number, max(expected, 1e-300))) < _LUCK


# --- any power, less a constant ----------------------------------------------------------------------
def _far_apart(triples: _Triples) -> tuple[Whole, Whole]:
    """Each guess at one of the two lowest triples with each at one of the two highest, in the same order."""
    close = np.maximum(triples.first, triples.second) <= _NEAREST_OF_TWO
    i, j = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for low, high in product(triples.narrow[:2], triples.narrow[-2:]):
        for sign in (1.0, -1.0) if low < high else ():
            both = (np.flatnonzero(close & (triples.triple == which) & (triples.sign == sign)) for which in (low, high))
            one, two = np.meshgrid(*both, indexing="ij")
            i.append(one.ravel())
            j.append(two.ravel())
    return np.concatenate(i), np.concatenate(j)


def _any_power(triples: _Triples, values: Array, error: Array) -> bool:
    """Whether most values are m + s k^p of whole numbers k, for any m, s and p: two places where it bends tell p."""
    i, j = _far_apart(triples)
    less = np.log(triples.slope[j] / triples.slope[i]) / np.log(triples.bend[i] / triples.bend[j])  # p - 1
    at = [less / triples.bend[k] - triples.middle[k] for k in (i, j)]
    near = [np.rint(place) for place in at]
    good = np.isfinite(less) & (np.abs(less) > 0.02) & (less < 4) & (less > -4)
    for place, whole, k in zip(at, near, (i, j), strict=True):
        bent = ((triples.first + triples.second)[k] + 1) ** 2 / np.maximum(np.abs(whole), 1)
        good &= (whole >= 1) & (whole < _LARGEST) & (np.abs(place - whole) < 0.02 + bent)
    kept = np.flatnonzero(good)[:_MOST_GUESSES]
    if not len(kept):
        return False
    i, j, power = i[kept], j[kept], less[kept] + 1
    k0, k2 = near[0][kept], near[1][kept]
    k1 = k0 + (triples.first + triples.second)[i]
    y0, y1, y2 = triples.values[i, 0], triples.values[i, 2], triples.values[j, 0]
    sign = triples.sign[i]
    few = np.linspace(0, len(values) - 1, min(_SOME, len(values))).astype(np.int64)
    unsure = 3 * (triples.error[i] + triples.error[j]) / (y1 - y0)
    power, loose = _solved(k0, k1, k2, (y2 - y0) / (y1 - y0), power, unsure)
    back, within = _whole_behind(k0, k2, y0, y2, power, loose, sign[:, None] * values[few], error[few])
    away = np.abs(back - np.rint(back))
    for guess in _worth(away, within):
        if abs(power[guess] - 1) < 0.01 or not _beyond_chance(away[guess], within[guess], 0):
            continue
        on = np.flatnonzero((away[guess] <= within[guess]) & (within[guess] <= _CLEAR))
        far = on[np.argmax(np.abs(np.log(np.rint(back[guess, on]) / k0[guess])))]
        between = on[np.argmin(np.abs(np.log(np.rint(back[guess, on]) ** 2 / k0[guess] / np.rint(back[guess, far]))))]
        ends = np.rint(back[guess, [between, far]])
        if len({k0[guess], *ends.tolist()}) < 3:
            continue
        gap = sign[guess] * values[few[[between, far]]] - y0[guess]
        exact, loosely = _solved(
            k0[guess : guess + 1],
            ends[:1],
            ends[1:],
            np.array([gap[1] / gap[0]]),
            power[guess : guess + 1],
            3 * np.max(error[few[[between, far]]] + triples.error[i[guess]]) / np.abs(gap[:1]),
        )
        start = y0[guess : guess + 1]
        back_all, doubt = _whole_behind(
            k0[guess : guess + 1], ends[1:], start, start + gap[1], exact, loosely, sign[guess] * values[None, :], error
        )
        if _beyond_chance(np.abs(back_all - np.rint(back_all))[0], doubt[0], 6):
            return True
    return False


def _solved(k0: Array, k1: Array, k2: Array, ratio: Array, power: Array, unsure: Array) -> tuple[Array, Array]:
    """The power p with (k2^p - k0^p) / (k1^p - k0^p) at this ratio, by Newton's method, and how far it may be off."""
    a, b = np.log(k1 / k0), np.log(k2 / k0)
    slope = np.ones_like(power)
    for _ in range(6):
        up, down = np.expm1(power * b), np.expm1(power * a)
        slope = b * (up + 1) / up - a * (down + 1) / down
        power = power - (np.log(np.abs(up / down)) - np.log(np.abs(ratio))) / slope
    return power, (unsure + 4e-16 * np.abs(1 / np.expm1(power * a))) / np.abs(slope)


def _whole_behind(
    k0: Array, k2: Array, y0: Array, y2: Array, power: Array, loose: Array, y: Array, error: Array
) -> tuple[Array, Array]:
    """What values come back to, of guesses in rows, and how far that may be off."""

    def back(p: Array) -> tuple[Array, Array]:
        part = np.expm1(p * np.log(k2 / k0)) / (y2 - y0)
        inner = np.log1p((y - y0[:, None]) * part[:, None])
        return k0[:, None] * np.exp(inner / p[:, None]), part[:, None] * np.exp(-inner) / p[:, None]

    whole, rate = back(power)
    other, _ = back(power + loose)
    rounding = 8 * np.spacing(whole) * (1 + 1 / np.abs(power[:, None]))
    return whole, np.abs(other - whole) + np.abs(whole * rate) * 4 * error + rounding
