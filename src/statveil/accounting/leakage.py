"""By how many bits releases raise the chance of a hit, whatever is believed; and what they say under a stated prior.

Every number is exact or an upper bound. Pi'_eps, the supremum over priors of log2(risk / risk without a release), is
log2 of the largest sum over releases of max P(release | point) over sets of points whose secrets lie more than 2 eps
apart (docs/leakage.md): the constraints "every window has mass at most 1" are intervals of a line, so the best prior
is even on such a set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from statveil.accounting.prior import hit_window, pair, support_polygon
from statveil.accounting.telling import Everything, Lines, OnLine, Rays, Shares
from statveil.mechanisms.cells import Cells
from statveil.numeric import Array
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Simplex
from statveil.problem.problem import Problem
from statveil.theory.bins import Cuts
from statveil.theory.information import entropy, log_length, piecewise_linear_entropy
from statveil.theory.risk.polygon import Polygon, band_lengths, chord
from statveil.theory.separated import in_order, in_two_chains, of_a_range, served

__all__ = ["Bits", "Open", "known_line", "maximal", "mutual_information", "prior_free", "secret_range"]

Open = OnLine | Lines | Rays | Shares | Everything

_MOST_STATES = 40_000
"""Pairs of places in two chains that are looked at; beyond, an upper bound is stated."""
_MOST_LINES = 2_000_000
"""Lines times bins that are looked at; beyond, an upper bound is stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bits:
    """An amount of information in bits, never below the truth: ``exact``, ``numerical`` or ``upper bound``."""

    value: float
    kind: str

    @classmethod
    def of(cls, count: float, kind: str) -> Bits:
        """The logarithm of a number of things told apart."""
        return cls(value=max(0.0, math.log2(count)), kind=kind)


def least_window(problem: Problem) -> float | None:
    """Length of the shortest hit in the range: a wider one would tell fewer secrets apart, and look like less."""
    if not problem.family.widened or problem.secret.of_table:
        return 2 * problem.family.narrow(problem.tolerance)
    (axis,) = problem.beliefs
    least = min(problem.within(axis.low), problem.within(axis.high))
    return 2 * least if axis.low * axis.high > 0 and least > 0 else None


def secret_range(problem: Problem) -> float:
    """Length of the range of the secret, on the scale on which a hit is two tolerances long."""
    if isinstance(problem.prior, Simplex):
        return 1.0
    if len(problem.box.free) == 2:
        names, polygon = support_polygon(problem)
        assert isinstance(problem.family, LocationScale)
        secret = polygon.corners @ np.array(pair(names, problem.family.coefficients(problem.secret)))
        return float(np.ptp(secret))
    axis = problem.box.axes[problem.box.free[0]]
    known = {name: other.low for name, other in problem.box.axes.items()}
    at = {name: np.full(4097, value) for name, value in known.items()}
    at[problem.box.free[0]] = np.linspace(axis.low, axis.high, 4097)
    return float(np.ptp(problem.position_of(at)))


def prior_free(problem: Problem, found: Open) -> Bits:
    """Pi'_eps: reading (a), whatever is believed of line and secret together."""
    window = least_window(problem)
    if window is None:
        return maximal(found)
    everything = Bits.of(of_a_range(secret_range(problem), window), "exact")
    if isinstance(found, OnLine) and not found.combs:
        ways = [_of_cells(found, cells, window) for cells in found.ways]
        best = max(ways, key=lambda bits: bits.value)
        loose = found.bound or problem.family.widened or found.line.curve.rough or len(ways) > 1
        best = Bits(value=best.value, kind="upper bound") if loose else best
        return min(best, everything, key=lambda bits: bits.value)
    if isinstance(found, Shares) and found.alone:
        return _of_shares(found, window)
    # a point for each residue or line: as if the value itself had been published
    told = isinstance(found, Everything) and not found.combs
    return Bits(value=everything.value, kind="upper bound" if told or problem.family.widened else "exact")


def known_line(problem: Problem, found: Open) -> Bits | None:
    """Reading (b): the line, or the residue, is known beforehand; ``None`` where a release tells of neither."""
    window = least_window(problem)
    if window is None:
        return None
    if isinstance(found, OnLine):
        if not found.combs:
            return None
        bits = _known_residue(found, window)
        return Bits(value=bits.value, kind="upper bound") if problem.family.widened else bits
    if isinstance(found, Shares):
        return None if found.alone else _of_shares(found, window)
    if isinstance(found, Lines):
        return _on_lines(problem, found)
    if isinstance(found, Rays):  # no ray has more of the secret than all of them
        edges = found.edges
        return Bits.of(max(1.0, float(in_order(edges[None, :-1], edges[None, 1:], window)[0])), "upper bound")
    return None


def _of_shares(found: Shares, window: float) -> Bits:
    """The longest line, on which all other shares are equal, has every share."""
    return Bits.of(max(1.0, float(in_order(found.edges[None, :-1], found.edges[None, 1:], window)[0])), "exact")


def maximal(found: Open) -> Bits:
    """Maximal leakage, log2 of the sum over releases of max P; infinite for a continuum of releases.

    It is the leakage at tolerance 0 too: finitely many points, one in each piece, have different secrets.
    """
    if isinstance(found, OnLine) and not found.combs:
        kind = "upper bound" if found.bound or found.line.curve.rough or len(found.ways) > 1 else "exact"
        return Bits.of(max(_total(cells) for cells in found.ways), kind)
    if isinstance(found, Shares) and found.alone:
        return Bits.of(len(found.edges) - 1, "exact")
    return Bits(value=math.inf, kind="upper bound" if isinstance(found, Everything) else "exact")


def _largest(cells: Cells, among: NDArray[np.bool_] | None = None) -> Array:
    """For each release its largest probability, over all cells or those that are marked."""
    cell, release, share = cells.entries
    top = np.zeros(len(cells.released))
    np.maximum.at(top, release, share if among is None else np.where(among[cell], share, 0.0))
    return top


def _total(cells: Cells) -> float:
    return math.fsum(_largest(cells))


def _of_cells(found: OnLine, cells: Cells, window: float) -> Bits:
    """Cells of one parameter: greedy for bins; two chains for bins of a secret that turns; else between two bounds."""
    merged, low, high = _merged(found, cells)
    everything = of_a_range(float(high.max() - low.min()), window)
    total = _total(merged)
    turns = found.line.curve.turns
    single = all(len(choice) == 1 for choice in merged.choices)
    apart = single and len({choice[0][0] for choice in merged.choices}) == len(merged.choices)
    if apart and len(turns) == 1:
        one, two = _two_chains(found, np.array(merged.edges), low, high)
        if (len(one) + 1) * (len(two) + 1) <= _MOST_STATES:
            return Bits.of(in_two_chains(one, two, window), "exact")
    if turns:
        order = np.argsort(high, kind="stable")
        got = _served_any(low[order], high[order], window)
        taken = np.zeros(len(low), dtype=bool)
        taken[order[got]] = True
        most = min(total, float(everything))
    else:
        order = np.argsort(low, kind="stable")
        taken = np.zeros(len(low), dtype=bool)
        taken[order] = served(low[order], high[order], window)
        most = min(total, float(everything), float(taken.sum()))
        if apart:
            return Bits.of(float(taken.sum()), "exact")
    least = math.fsum(_largest(merged, taken))
    # what a separated set attains and what none exceeds, where they agree
    return Bits.of(most, "exact" if least >= most * (1 - 1e-12) else "upper bound")


def _served_any(low: Array, high: Array, window: float) -> Array:
    """Some intervals, in the order of their ends, that get points of their own: a lower bound where they overlap."""
    free, got = -np.inf, []
    for i, (start, stop) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        at = max(start, free)
        if at < stop - 1e-9 * window:
            got.append(i)
            free = at + window
    return np.array(got, dtype=np.int64)


def _merged(found: OnLine, cells: Cells) -> tuple[Cells, Array, Array]:
    """Neighbouring cells with the same chances as one, and the lowest and highest secret of each."""
    edges = np.array(cells.edges)
    starts = [i for i, choice in enumerate(cells.choices) if i == 0 or choice != cells.choices[i - 1]]
    joined = Cells(
        parameter=cells.parameter,
        edges=tuple(edges[[*starts, len(edges) - 1]].tolist()),
        released=cells.released,
        choices=tuple(cells.choices[i] for i in starts),
    )
    low, high = found.line.curve.images(np.array(joined.edges))
    return joined, low, high


def _two_chains(found: OnLine, edges: Array, low: Array, high: Array) -> list[list[tuple[float, float]]]:
    """The bins on both sides of the turn, each side in the order of its secrets.

    The bin that holds the turn reaches from the nearer one of its ends to the extreme: it goes last on that side.
    """
    (turn,) = found.line.curve.turns
    chains: list[list[tuple[float, float]]] = [[], []]
    values = np.asarray(found.line.curve.value(np.array([edges[0], turn, edges[-1]])), dtype=np.float64)
    peak = values[1] >= max(values[0], values[2])
    sign = 1.0 if peak else -1.0  # below a dip secrets are turned over, so that both chains rise to the turn
    ends = sign * np.asarray(found.line.curve.value(edges), dtype=np.float64)
    for i, (start, stop) in enumerate(pairwise(edges)):
        job = (float(low[i]), float(high[i])) if peak else (float(-high[i]), float(-low[i]))
        side = 0 if stop <= turn else 1 if start >= turn else int(ends[i] > ends[i + 1])
        chains[side].append(job)
    return [sorted(chain) for chain in chains]


def _known_residue(found: OnLine, window: float) -> Bits:
    """Pieces of which a known residue has one point or more: at most those that intervals in their place would have."""
    low, high = found.image
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    most = float(in_order(low[None], high[None], window)[0])
    # first teeth of all pieces stand one window apart or not: then that many are reached
    reached = bool(np.all(np.diff(low) > window * (1 + 1e-9))) and most == len(low)
    whole = bool(np.isfinite(found.apart).all() and np.ptp(found.apart) <= 1e-9 * found.apart.max())
    return Bits.of(max(1.0, most), "exact" if reached and whole and not found.bound else "upper bound")


def _on_lines(problem: Problem, found: Lines) -> Bits:
    """The line on which most bins can be told apart.

    The number on a line falls with its start and rises with its end. Where n of them just fit, the end that they need
    is linear in the start between places a whole number of windows below an edge, and both ends are linear across the
    lines between corners: so lines that start in such a place, or through a corner, are all that must be looked at.
    """
    names, polygon = support_polygon(problem)
    window = hit_window(problem, found.direction, problem.tolerance)
    if not math.isfinite(window):
        return Bits.of(1.0, "exact")
    x = polygon.corners @ np.array(pair(names, found.coordinate))
    across = pair(names, found.direction)
    y = polygon.corners @ np.array([across[1], -across[0]])
    longest = _longest(polygon, x, y)
    chain = of_a_range(longest, window)
    low, high = found.edges[:-1], found.edges[1:]
    places = np.unique(np.concatenate([found.edges - m * window for m in range(chain + 1)]))
    places = places[(places >= x.min()) & (places <= x.max())]
    if len(places) * len(x) * len(low) > _MOST_LINES:
        touched = (
            len(low)
            if longest >= float(found.edges[-1] - found.edges[0])
            else (
                int(np.max(np.searchsorted(found.edges, found.edges + longest, side="right") - np.arange(len(low) + 1)))
                + 1
            )
        )
        return Bits.of(max(1, min(chain, touched, len(low))), "upper bound")
    x_next, y_next = np.roll(x, -1), np.roll(y, -1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = (places[:, None] - x) / (x_next - x)
    meets = (share >= 0) & (share <= 1)
    knots = np.concatenate([y, (y + share * (y_next - y))[meets]])
    hair = 1e-9 * float(np.ptp(y))  # on both sides of each, for the number jumps there
    lines = np.unique(np.clip(np.concatenate([knots, knots - hair, knots + hair]), y.min() + hair, y.max() - hair))
    start, stop = chord(x, y, x_next, y_next, lines)
    begin, end = np.maximum(low, start[:, None]), np.minimum(high, stop[:, None])
    count = in_order(begin, np.maximum(end, begin), window)
    return Bits.of(max(1.0, float(count.max())), "exact")


def _longest(polygon: Polygon, x: Array, y: Array) -> float:
    start, stop = chord(x, y, np.roll(x, -1), np.roll(y, -1), y)
    return float(np.max(stop - start))


def mutual_information(problem: Problem, found: Open) -> Bits | None:
    """I(secret; releases) under the stated prior; ``None`` where it is not worked out."""
    if isinstance(found, OnLine):
        if found.combs:  # given the release the secret is one of finitely many values
            return Bits(value=math.inf, kind="exact")
        if not found.line.axis.exact:
            return None
        return max((_of_masses(found, cells) for cells in found.ways), key=lambda bits: bits.value)
    if isinstance(found, Everything):
        return Bits(value=math.inf, kind="exact" if found.combs else "upper bound")
    axes = [] if isinstance(problem.prior, Simplex) else [problem.box.axes[name] for name in problem.box.free]
    if not isinstance(found, Lines) or not all(axis.flat for axis in axes):
        return None
    return _on_flat_lines(problem, found)


def _of_masses(found: OnLine, cells: Cells) -> Bits:
    """H(Y) - H(Y | cell); where the secret turns it says less of the secret than of the parameter."""
    cell, release, share = cells.entries
    mass = np.diff(np.asarray(found.line.axis.cdf(found.edges), dtype=np.float64))
    mass = mass / mass.sum()
    held = np.zeros(len(cells.released))
    np.add.at(held, release, mass[cell] * share)
    given = float(-np.sum(np.where(share > 0, mass[cell] * share * np.log2(np.where(share > 0, share, 1.0)), 0.0)))
    exact = found.line.curve.monotone and not found.line.curve.rough and not found.bound and len(found.ways) == 1
    return Bits(value=max(0.0, entropy(held) - given), kind="exact" if exact else "upper bound")


def _on_flat_lines(problem: Problem, found: Lines) -> Bits:
    """h(secret) - E log2(length of the piece that a release leaves open, in the secret)."""
    names, polygon = support_polygon(problem)
    assert isinstance(problem.family, LocationScale)
    first, second = pair(names, problem.family.coefficients(problem.secret))
    secret, across = polygon.corners @ np.array([first, second]), polygon.corners @ np.array([second, -first])
    values = np.unique(secret)
    values = values[np.concatenate([[True], np.diff(values) > 1e-12 * float(np.ptp(values))])]
    low, high = chord(across, secret, np.roll(across, -1), np.roll(secret, -1), values)
    whole = piecewise_linear_entropy(values, np.maximum(high - low, 0.0))
    rate = problem.family.rate(problem.secret, found.direction)
    if not rate:
        return Bits(value=math.inf, kind="exact")
    direction, coordinate = pair(names, found.direction), pair(names, found.coordinate)
    left = math.fsum(
        float(log_length(np.diff(knots, axis=1), length[:, :-1], length[:, 1:]).sum())
        for knots, length in band_lengths(polygon, direction, coordinate, Cuts(at=found.edges))
    )
    return Bits(value=max(0.0, whole - left / polygon.area - math.log2(rate)), kind="exact")
