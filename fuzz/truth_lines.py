"""Risk where lines of parameters share releases: an explicit attacker, integrated over lines.

A point is theta(u, t): u names the line, t the place on it; a mechanism moves along lines only, so a release tells u.
On a line the attacker knows the density of t and sees a bin (all of an interval) or a residue (teeth of equal spacing),
and takes the best window. Every number here is the hit rate of an attacker that is spelled out, so up to the quadrature
over u, whose error is reported, it cannot exceed the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Line", "Lines", "Pieces", "Truth", "risk_of_lines"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_X, _W = np.polynomial.legendre.leggauss(10)
_TO_POWERS = np.linalg.inv(np.vander(_X, increasing=True)).T
_INTEGRATED = np.zeros((len(_X), len(_X) + 1))
_INTEGRATED[np.arange(len(_X)), np.arange(1, len(_X) + 1)] = 1 / np.arange(1, len(_X) + 1)
_INTEGRATED[:, 0] = -_INTEGRATED @ (-1.0) ** np.arange(len(_X) + 1)  # 0 at the left end of a panel
_TO_MASSES = _TO_POWERS @ _INTEGRATED
_U, _V = np.polynomial.legendre.leggauss(7)
_RESIDUES = 17
_BY_CHANCE = 5e-3
"""Of a risk: what may be missed where most bends of the integrand are not cut at; 2.8e-3 was seen."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """A hit rate that some attacker has, and how far off the quadrature may be."""

    risk: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """What releases leave open: pieces of lines, by the row of their line; ``spacing`` 0 is an interval."""

    row: Ints
    start: Array
    stop: Array
    spacing: Array


@dataclass(frozen=True, kw_only=True)
class Lines:
    """A family of lines.

    Parameters
    ----------
    span : callable
        Ends of the lines u.
    density : callable
        Density of the prior at (u, t), in the measure du dt.
    knots : callable
        For each line, places (one row per line, any order) dense in mass, where the density may bend.
    cuts : array
        Places in u where the integrand may bend; the first and last are the ends. A single value: one line only.
    window : float
        Length of a hit along t.
    pieces : callable
        The pieces of the lines u with these ends.
    flat : bool
        Whether the density is constant along every line.
    unimodal : bool
        Whether it has one peak along every line.
    mass : float or None
        Total mass, where it is known.
    below : callable or None
        Mass of a line up to (u, t), from anywhere on it, where one belief's distribution function is that.
    caught : callable or None
        What the attacker catches of even lines of these lengths, where a formula says it.
    crooked : bool
        Whether the integrand over u may bend more often than ``cuts`` say, at equal distances.
    unseen : bool
        Whether it has so many bends that ``cuts`` leave most of them out: two levels of quadrature may then agree by
        chance, and the number is good for a part in a few hundred only.
    """

    span: Callable[[Array], tuple[Array, Array]]
    density: Callable[[Array, Array], Array]
    knots: Callable[[Array], Array]
    cuts: Array
    window: float
    pieces: Callable[[Array, Array, Array], Pieces]
    flat: bool
    unimodal: bool
    mass: float | None
    below: Callable[[Array, Array], Array] | None = None
    caught: Callable[[Array], Array] | None = None
    crooked: bool = False
    unseen: bool = False


class Line:
    """Integrals of the density along a batch of lines: between knots, polynomials through its values."""

    def __init__(self, lines: Lines, u: Array, low: Array, high: Array) -> None:
        self._lines, self.u, self.low = lines, u, low
        self.length = np.maximum(high - low, 1e-300)
        inner = np.clip(lines.knots(u), low[:, None], high[:, None])
        even = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 7)
        self.edges = np.sort(np.concatenate([inner, even], axis=1), axis=1)
        self._half = 0.5 * np.diff(self.edges, axis=1)
        middle = 0.5 * (self.edges[:, 1:] + self.edges[:, :-1])
        nodes = middle[:, :, None] + self._half[:, :, None] * _X
        values = lines.density(u[:, None, None], nodes)
        self._height = values @ _TO_POWERS
        self._mass = values @ _TO_MASSES
        parts = (values @ _W) * self._half
        if lines.below is not None:
            parts = np.diff(lines.below(u[:, None], self.edges), axis=1)
        self.below = np.concatenate([np.zeros((len(u), 1)), np.cumsum(parts, axis=1)], axis=1)
        self._keys = ((self.edges - low[:, None]) / self.length[:, None] + 2.0 * np.arange(len(u))[:, None]).ravel()

    @property
    def total(self) -> Array:
        """Mass of each line."""
        return self.below[:, -1]

    def _place(self, row: Ints, t: Array) -> tuple[Ints, Array]:
        """The panel of each place, and where in it, from -1 to 1."""
        share = np.clip((t - self.low[row]) / self.length[row], 0.0, 1.0)
        width = self.edges.shape[1]
        column = np.searchsorted(self._keys, share + 2.0 * row, side="right") - 1 - row * width
        column = np.clip(column, 0, width - 2)
        half = self._half[row, column]
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.where(half > 0, (t - self.edges[row, column]) / half - 1, -1.0)
        return column, np.clip(at, -1.0, 1.0)

    def f(self, row: Ints, t: Array) -> Array:
        """Density at places of these lines."""
        if self._lines.below is not None:
            return self._lines.density(self.u[row], t)
        column, at = self._place(row, t)
        return _horner(self._height[row, column], at)

    def mass_below(self, row: Ints, t: Array) -> Array:
        """Mass up to places of these lines."""
        if self._lines.below is not None:
            return self._lines.below(self.u[row], t) - self._lines.below(self.u[row], self.low[row])
        column, at = self._place(row, t)
        return self.below[row, column] + self._half[row, column] * _horner(self._mass[row, column], at)


def _horner(powers: Array, x: Array) -> Array:
    total = powers[..., -1]
    for k in range(powers.shape[-1] - 2, -1, -1):
        total = total * x + powers[..., k]
    return total


def risk_of_lines(lines: Lines, *, wanted: float = 5e-8, seconds: float = 3.0) -> Truth:
    """The risk, by adaptive quadrature over the lines; whatever error is left when the time is over is reported."""
    if len(lines.cuts) == 1:
        hit, mass = _rates(lines, lines.cuts)
        return Truth(risk=float(hit[0] / mass[0]), error=1e-12)
    end = time.process_time() + seconds
    a, b = lines.cuts[:-1], lines.cuts[1:]
    keep = b - a > 1e-13 * (lines.cuts[-1] - lines.cuts[0])
    a, b = a[keep], b[keep]
    coarse = _panels(lines, a, b)
    done, error = np.zeros(2), 0.0
    budget = wanted * max(float(coarse[:, 1].sum()), 1e-300)
    rng = np.random.default_rng(0)
    for _ in range(45):
        # combs not in the middle: hundreds of equal bends would look alike to both levels
        middle = a + (b - a) * (rng.uniform(0.38, 0.62, len(a)) if lines.crooked else 0.5)
        left, right = _panels(lines, a, middle), _panels(lines, middle, b)
        fine = left + right
        gap = np.abs(fine - coarse).max(axis=1)
        order = np.argsort(gap)
        good = np.zeros(len(gap), dtype=bool)
        good[order[np.cumsum(gap[order]) <= 0.5 * (budget - error)]] = True
        if time.process_time() > end:
            good[:] = True
        done += fine[good].sum(axis=0)
        error += float(gap[good].sum())
        if good.all():
            break
        a, b = np.concatenate([a[~good], middle[~good]]), np.concatenate([middle[~good], b[~good]])
        coarse = np.concatenate([left[~good], right[~good]])
    else:
        done += coarse.sum(axis=0)
    if lines.mass is None:
        risk, error = float(done[0] / done[1]), 2 * error / float(done[1])
    else:
        risk, error = float(done[0] / lines.mass), error + abs(float(done[1]) / lines.mass - 1)
    return Truth(risk=risk, error=error + (_BY_CHANCE * risk if lines.unseen else 0.0))


def _panels(lines: Lines, a: Array, b: Array) -> Array:
    """Integrals of hits and mass over the panels."""
    out = np.zeros((len(a), 2))
    half, middle = 0.5 * (b - a), 0.5 * (a + b)
    u = (middle[:, None] + half[:, None] * _U).ravel()
    batch = 20_000 if lines.flat else 700
    hits, masses = np.zeros(len(u)), np.zeros(len(u))
    for i in range(0, len(u), batch):
        hits[i : i + batch], masses[i : i + batch] = _rates(lines, u[i : i + batch])
    out[:, 0] = (hits.reshape(-1, len(_U)) @ _V) * half
    out[:, 1] = (masses.reshape(-1, len(_U)) @ _V) * half
    return out


def _rates(lines: Lines, u: Array) -> tuple[Array, Array]:
    """Hits and mass of each line."""
    low, high = lines.span(u)
    high = np.maximum(high, low)
    if lines.caught is not None:
        height = lines.density(u, 0.5 * (low + high))
        return lines.caught(high - low) * height, height * (high - low)
    pieces = lines.pieces(u, low, high)
    teeth = np.floor(lines.window / np.where(pieces.spacing > 0, pieces.spacing, np.inf) + 1e-12) + 1
    # with one peak, the best tooth of each residue lies in the best window of one spacing
    window = np.where(pieces.spacing > 0, teeth * pieces.spacing, lines.window)
    size = pieces.stop - pieces.start
    if lines.flat:
        height = lines.density(u, 0.5 * (low + high))
        hits = np.bincount(pieces.row, np.minimum(window, size) * height[pieces.row], minlength=len(u))
        return np.asarray(hits, dtype=np.float64), height * (high - low)
    line = Line(lines, u, low, high)
    value = line.mass_below(pieces.row, pieces.stop) - line.mass_below(pieces.row, pieces.start)
    wide = np.flatnonzero(size > window)
    if len(wide):
        value[wide] = _best_windows(line, pieces.row[wide], pieces.start[wide], pieces.stop[wide], window[wide])
        if not lines.unimodal:
            combs = wide[pieces.spacing[wide] > 0]
            if len(combs):
                value[combs] = np.maximum(value[combs], _best_teeth(line, pieces, combs, teeth))
    return np.asarray(np.bincount(pieces.row, value, minlength=len(u)), dtype=np.float64), line.total


def _best_windows(line: Line, row: Ints, start: Array, stop: Array, window: Array) -> Array:
    """Largest mass of a window inside each piece."""
    count = len(row)
    last = stop - window
    even = start[:, None] + (last - start)[:, None] * np.linspace(0, 1, 9)
    owner, place = np.repeat(np.arange(count), 9), even.ravel()
    # windows centred at every knot, in the piece that holds it
    first = np.searchsorted(row, np.arange(len(line.u)), side="left")
    after = np.searchsorted(row, np.arange(len(line.u)), side="right")
    keys = 2.0 * row + (start - line.low[row]) / line.length[row]
    order = np.argsort(keys, kind="stable")
    knots = line.edges.ravel()
    rows = np.repeat(np.arange(len(line.u)), line.edges.shape[1])
    held = after[rows] > first[rows]
    knots, rows = knots[held], rows[held]
    found = np.searchsorted(keys[order], 2.0 * rows + (knots - line.low[rows]) / line.length[rows], side="right") - 1
    found = order[np.clip(found, 0, count - 1)]
    good = (row[found] == rows) & (knots >= start[found]) & (knots <= stop[found])
    found, knots = found[good], knots[good]
    for part in (0.0, 0.5, 1.0):
        owner = np.concatenate([owner, found])
        place = np.concatenate([place, np.clip(knots - part * window[found], start[found], last[found])])
    order = np.lexsort((place, owner))
    owner, place = owner[order], place[order]
    r = row[owner]
    value = line.mass_below(r, place + window[owner]) - line.mass_below(r, place)
    begin = np.searchsorted(owner, np.arange(count), side="left")
    best = np.maximum.reduceat(value, begin)
    where = np.flatnonzero(value >= best[owner])
    _, only = np.unique(owner[where], return_index=True)
    at = where[only]
    left = np.where((at > 0) & (owner[np.maximum(at - 1, 0)] == np.arange(count)), place[np.maximum(at - 1, 0)], start)
    ahead = np.minimum(at + 1, len(place) - 1)
    right = np.where((at + 1 < len(place)) & (owner[ahead] == np.arange(count)), place[ahead], last)
    for _ in range(26):  # at the best place the density at both ends is the same
        middle = 0.5 * (left + right)
        rising = line.f(row, middle + window) > line.f(row, middle)
        left, right = np.where(rising, middle, left), np.where(rising, right, middle)
    middle = np.clip(0.5 * (left + right), start, last)
    polished = line.mass_below(row, middle + window) - line.mass_below(row, middle)
    return np.maximum(best, polished)


def _best_teeth(line: Line, pieces: Pieces, which: Ints, teeth: Array) -> Array:
    """For each comb, the best run of teeth of every residue: the residues cut into parts, one choice per part."""
    out = np.zeros(len(which))
    rows, start, stop = pieces.row[which], pieces.start[which], pieces.stop[which]
    spacing, run = pieces.spacing[which], teeth[which].astype(int)
    most = np.ceil((stop - start) / spacing - 1e-9).astype(int)
    shares = np.linspace(0.0, 1.0, _RESIDUES)
    for number in np.unique(most * 1000 + np.minimum(run, 999)):
        chosen = np.flatnonzero(most * 1000 + np.minimum(run, 999) == number)
        count, caught = int(most[chosen[0]]), int(run[chosen[0]])
        for i in range(0, len(chosen), max(1, 60_000 // (count * _RESIDUES))):
            some = chosen[i : i + max(1, 60_000 // (count * _RESIDUES))]
            out[some] = _teeth(line, rows[some], start[some], stop[some], spacing[some], count, caught, shares)
    return out


def _teeth(
    line: Line, row: Ints, start: Array, stop: Array, spacing: Array, count: int, caught: int, shares: Array
) -> Array:
    tooth = np.arange(count)
    place = start[:, None, None] + spacing[:, None, None] * (tooth[:, None] + shares)
    clipped = np.minimum(place, stop[:, None, None])
    rows = np.broadcast_to(row[:, None, None], place.shape)
    below = line.mass_below(rows.ravel(), clipped.ravel()).reshape(place.shape)
    mass = np.diff(below, axis=2)
    height = np.where(place <= stop[:, None, None], line.f(rows.ravel(), clipped.ravel()).reshape(place.shape), 0.0)
    mass, height = _runs(mass, caught), _runs(height, caught)
    best = mass.max(axis=1)
    # where the best tooth changes inside a part, the attacker changes where the two are equal
    first, then = height[:, :, :-1].argmax(axis=1), height[:, :, 1:].argmax(axis=1)
    comb, part = np.nonzero(first != then)
    if len(comb):
        one, two = first[comb, part], then[comb, part]
        a, b = np.zeros(len(comb)), np.ones(len(comb))
        width = spacing[comb] * (shares[1] - shares[0])

        def at(which: Ints, share: Array) -> tuple[Array, Array]:
            f, mass = np.zeros(len(comb)), np.zeros(len(comb))
            for k in range(min(caught, count)):
                t = start[comb] + spacing[comb] * (which + k) + spacing[comb] * shares[part] + share * width
                inside = t <= stop[comb]
                f += np.where(inside, line.f(row[comb], np.minimum(t, stop[comb])), 0.0)
                mass += line.mass_below(row[comb], np.minimum(t, stop[comb]))
            return f, mass

        for _ in range(24):
            middle = 0.5 * (a + b)
            higher = at(one, middle)[0] > at(two, middle)[0]
            a, b = np.where(higher, middle, a), np.where(higher, b, middle)
        change = 0.5 * (a + b)
        zero = np.zeros(len(comb))
        split = at(one, change)[1] - at(one, zero)[1] + at(two, zero + 1)[1] - at(two, change)[1]
        best[comb, part] = np.maximum(best[comb, part], split)
    return np.asarray(best.sum(axis=1))


def _runs(values: Array, caught: int) -> Array:
    """Sums over runs of consecutive teeth."""
    caught = min(caught, values.shape[1])
    total = np.concatenate([np.zeros((values.shape[0], 1, values.shape[2])), np.cumsum(values, axis=1)], axis=1)
    return np.asarray(total[:, caught:] - total[:, :-caught])
