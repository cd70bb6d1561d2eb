"""How many guesses are sure to hit once the releases are seen: the least number, its mean, and how often it is one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statveil.accounting.leakage import Open
from statveil.accounting.prior import hit_window, pair, support_polygon
from statveil.accounting.telling import Everything, Lines, OnLine
from statveil.mechanisms.cells import Cells
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.problem import Problem
from statveil.theory.bins import Cuts
from statveil.theory.covering import guesses, guesses_for_union, weighted_guesses
from statveil.theory.risk.one_dimensional import teeth
from statveil.theory.risk.polygon import band_lengths, capped_integral

__all__ = ["Candidates", "candidates"]

_MOST_TEETH = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Guesses needed to be sure: the fewest of any value, the mean under the prior, and the share that needs one."""

    least: int
    mean: float
    certain: float


def candidates(problem: Problem, found: Open) -> Candidates | None:
    """Candidates under the stated prior; ``None`` where they are not worked out."""
    if isinstance(found, Everything):
        return None if found.combs else Candidates(least=1, mean=1.0, certain=1.0)
    if isinstance(found, OnLine):
        if found.line.curve.rough or not found.line.axis.exact:
            return None
        if found.combs:
            return _of_combs(problem, found)
        return min((_of_cells(found, cells) for cells in found.ways), key=lambda each: each.mean)
    if isinstance(found, Lines) and all(problem.box.axes[name].flat for name in problem.box.free):
        return _on_lines(problem, found)
    return None


def _summed(count: Array, mass: Array) -> Candidates:
    some, count = mass > 0, np.maximum(count, 1)
    total = float(mass.sum())
    if not some.any():  # less than 64-bit numbers resolve lies where all of the priors do
        return Candidates(least=1, mean=1.0, certain=1.0)
    return Candidates(
        least=int(count[some].min()),
        mean=float(np.sum(count * mass)) / total,
        certain=min(1.0, float(mass[some & (count == 1)].sum()) / total),
    )


def _of_cells(found: OnLine, cells: Cells) -> Candidates:
    low, high = found.image
    window = found.line.window
    mass = np.diff(np.asarray(found.line.axis.cdf(found.edges), dtype=np.float64))
    cell, release, share = cells.entries
    held = np.zeros(len(cells.released))
    np.add.at(held, release, mass[cell] * share)
    if len(cell) == len(cells.released) == len(mass):  # one piece for each release
        return _summed(guesses((high - low)[np.argsort(release)], window), held)
    order = np.argsort(release, kind="stable")
    order = order[share[order] > 0]
    cuts = np.flatnonzero(np.diff(release[order])) + 1
    count = np.ones(len(held))
    for group in np.split(order, cuts):
        count[release[group[0]]] = guesses_for_union(low[cell[group]], high[cell[group]], window)
    return _summed(count, held)


def _of_combs(problem: Problem, found: OnLine) -> Candidates | None:
    """Teeth, as many at a time as a window holds."""
    (name,) = problem.box.free
    window, axis = hit_window(problem, {name: 1.0}, problem.tolerance), found.line.axis
    start, size = found.edges[:-1], np.diff(found.edges)
    finite = np.isfinite(found.apart)
    if float((size[finite] / found.apart[finite]).sum()) > _MOST_TEETH:
        return None
    count, mass = [guesses(size[~finite], window)], [np.diff(np.asarray(axis.cdf(found.edges)))[~finite]]
    for at, length, spacing in zip(start[finite], size[finite], found.apart[finite], strict=True):
        for number, held in _classes(axis, float(at), float(length), float(spacing)):
            count.append(np.array([math.ceil(number / teeth(window, float(spacing)))], dtype=np.float64))
            mass.append(np.array([held]))
    return _summed(np.concatenate(count), np.concatenate(mass))


def _classes(axis: Axis, start: float, size: float, spacing: float) -> list[tuple[int, float]]:
    """Number of teeth and mass of the two kinds of classes of a comb: residues below the rest have one more."""
    short = math.floor(size / spacing * (1 + 1e-12))
    longer = max(0.0, size - short * spacing)
    if longer <= 1e-9 * spacing:
        return [(short, float(axis.cdf(start + size) - axis.cdf(start)))]
    tooth = start + spacing * np.arange(short + 1)
    more = float(np.sum(axis.cdf(np.minimum(tooth + longer, start + size)) - axis.cdf(tooth)))
    found = [(short + 1, more)]
    if short:
        found.append((short, float(np.sum(axis.cdf(tooth[:-1] + spacing) - axis.cdf(tooth[:-1] + longer)))))
    return found


def _on_lines(problem: Problem, found: Lines) -> Candidates | None:
    """Lengths of the pieces are linear across the lines between corners."""
    names, polygon = support_polygon(problem)
    window = hit_window(problem, found.direction, problem.tolerance)
    direction, coordinate = pair(names, found.direction), pair(names, found.coordinate)
    if not math.isfinite(window):
        return Candidates(least=1, mean=1.0, certain=1.0)
    mean, sure, least = 0.0, 0.0, math.inf
    for knots, length in band_lengths(polygon, direction, coordinate, Cuts(at=found.edges)):
        width, left, right = np.diff(knots, axis=1), length[:, :-1], length[:, 1:]
        mean += float(weighted_guesses(width, left, right, window).sum())
        sure += float(_shorter(width, left, right, window).sum())
        some = (width > 1e-12 * float(np.ptp(knots))) & (np.maximum(left, right) > 0)
        if some.any():
            least = min(least, float(guesses(np.minimum(left, right)[some], window).min()))
    return Candidates(least=int(least), mean=mean / polygon.area, certain=min(1.0, sure / polygon.area))


def _shorter(width: Array, left: Array, right: Array, window: float) -> Array:
    """Area of the pieces that are no longer than a window.

    Where the length is below it, min(window, length) is the length, and elsewhere the window.
    """
    low, high = np.minimum(left, right), np.maximum(left, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        under = np.where(high > low, np.clip((window - low) / (high - low), 0.0, 1.0), low <= window * (1 + 1e-9))
    return np.asarray(capped_integral(width, left, right, window) - (1 - under) * width * window)
