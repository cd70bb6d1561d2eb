"""What several mechanisms tell together of one column: the risk of all their releases at once.

The receiver of several releases knows that the parameter lies in all of their classes, so the joint risk is that of
the common refinement (docs/theory.md, composition). Nothing here is below the truth: what has no exact account is an
upper bound, and where the releases together tell everything the risk is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from statveil.accounting.guarantee import Risk, risk
from statveil.accounting.pieces import Parts, Refinement, different, joined_cells, parts_of, refinement
from statveil.accounting.prior import hit_window, pair, support_polygon
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.mechanisms.scaling import Scaling
from statveil.mechanisms.tiles import Tiles
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.prior import Simplex
from statveil.problem.problem import Problem
from statveil.theory.bins import Cuts
from statveil.theory.one_parameter import line
from statveil.theory.risk.classes import best_in_classes
from statveil.theory.risk.one_dimensional import share_of, teeth
from statveil.theory.risk.pieces import best_in_bins
from statveil.theory.risk.polygon import polygon_risk

__all__ = [
    "Joint",
    "all_told",
    "joint_risk",
    "on_parallel_lines",
    "parallel",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """Risk of several releases, with the share of values for which one guess is certain to hit, where known."""

    risk: Risk
    why: str
    certain: float | None = None


def joint_risk(problem: Problem, mechanisms: Sequence[Mechanism]) -> Joint:
    """Risk of the problem's secret under the releases of all these mechanisms; equal ones count once."""
    unequal = different(mechanisms)
    if len(unequal) == 1:
        alone = risk(problem, unequal[0])
        return Joint(risk=alone, why="the same release again adds nothing", certain=_certain_alone(problem, unequal))
    if any(isinstance(each, Tiles) for each in unequal):
        from statveil.accounting.joint_tiles import with_tiles  # which imports this file

        return with_tiles(problem, unequal, joint_risk)
    if isinstance(problem.prior, Simplex):
        return _of_shares(problem, unequal)
    if not all(axis.exact for axis in problem.box.axes.values()):
        return _added(problem, unequal)
    if len(problem.box.free) == 1:
        return _on_a_line(problem, unequal)
    return _on_lines(problem, unequal)


def all_told(why: str, kind: str = "exact") -> Joint:
    """Everything is told, or nothing better is known."""
    return Joint(risk=Risk(value=1.0, kind=kind), why=why, certain=1.0 if kind == "exact" else None)


def _added(problem: Problem, mechanisms: Sequence[Mechanism]) -> Joint:
    """The sum, which holds for bins of neighbours whatever is believed: each piece is the first part of some bin."""
    if not all(isinstance(each, Interval | Partition) and each.step is None for each in mechanisms):
        return all_told("no bound is known for these releases together", "upper bound")
    total = math.fsum(risk(problem, mechanism).value for mechanism in mechanisms)
    return Joint(
        risk=Risk(value=min(1.0, total), kind="upper bound"), why="bins of neighbours add up to at most their sum"
    )


# --- one parameter --------------------------------------------------------------------------------


def _on_a_line(problem: Problem, mechanisms: Sequence[Mechanism]) -> Joint:
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    found = refinement(problem, mechanisms)
    if isinstance(found, str):
        return all_told(found, "upper bound")
    apart = found.apart
    if bool(np.isinf(apart).all()):
        return _given(axis, found.edges, _refined(problem, found))
    return _with_combs(problem, axis, found.edges, found.parts, apart)


def _given(axis: Axis, edges: Array, found: Joint) -> Joint:
    """Of what lies between the edges, where all of the releases can be: the others are known not to be there."""
    mass = float(axis.cdf(edges[-1]) - axis.cdf(edges[0]))
    if edges[0] == axis.low and edges[-1] == axis.high:
        return found
    if mass <= 1e-9:
        return all_told("hardly any value has all of these releases", "upper bound")
    value = Risk(value=min(1.0, found.risk.value / mass), kind=found.risk.kind)
    certain = None if found.certain is None else min(1.0, found.certain / mass)
    return Joint(risk=value, why=found.why, certain=certain)


def _refined(problem: Problem, found: Refinement) -> Joint:
    """Classes of neighbours, or of chance: the joint mechanism is one of cells, and is accounted for as such.

    Two plans that draw do so with seeds of their own, or by the one chance of a common seed: the worse counts.
    """
    if found.plain:  # each joint release stands for one piece
        (name,) = problem.box.free
        cells, _ = joined_cells(name, found, shared=False)
        bins = Partition(parameter=name, edges=cells.edges, released=cells.released)  # as good as any: edges tell
        why, certain = "all edges together cut the range", _certain_cells(problem, cells)
        return Joint(risk=risk(problem, bins), why=why, certain=certain)
    ways = [_coupled(problem, found, shared) for shared in ((False, True) if found.drawn > 1 else (False,))]
    sure = [way.certain for way in ways if way.certain is not None]
    worst = max(ways, key=lambda joint: joint.risk.value)
    return replace(worst, certain=max(sure) if len(sure) == len(ways) else None)


def _coupled(problem: Problem, found: Refinement, shared: bool) -> Joint:
    (name,) = problem.box.free
    cells, known = joined_cells(name, found, shared)
    value = risk(problem, cells)
    if not known:
        value = Risk(value=value.value, kind="upper bound")
    return Joint(risk=value, why="all edges together cut the range", certain=_certain_cells(problem, cells))


def _certain_cells(problem: Problem, cells: Cells) -> float | None:
    """Mass of the classes that one window holds."""
    found = line(problem)
    if found.curve.rough:
        return None
    edges = np.array(cells.edges)
    mass = np.diff(np.asarray(found.axis.cdf(edges), dtype=np.float64))
    low, high = found.curve.images(edges)
    cell, release, share = cells.entries
    count = len(cells.released)
    least, most, held = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count)
    np.minimum.at(least, release, low[cell])
    np.maximum.at(most, release, high[cell])
    np.add.at(held, release, mass[cell] * share)
    return float(held[most - least <= found.window * (1 + 1e-12)].sum())


def _with_combs(problem: Problem, axis: Axis, edges: Array, parts: Sequence[Parts], apart: Array) -> Joint:
    """Points that share all releases are a common multiple of the spacings apart; each piece is accounted for alone."""
    if not isinstance(problem.family, LocationScale) or problem.secret.linear(problem.family) is None:
        return all_told("combs of a secret that bends are not accounted for together", "upper bound")
    (name,) = problem.box.free
    window = hit_window(problem, {name: 1.0}, problem.tolerance)
    start, size = edges[:-1], np.diff(edges)
    whole = np.isinf(apart)
    told = ~whole & (apart >= size)
    comb = ~whole & ~told
    mass = np.diff(np.asarray(axis.cdf(edges), dtype=np.float64))
    caught = [float(mass[told].sum())]
    if axis.flat:
        density = 1 / axis.width  # of the whole prior, as the mass is
        held = np.where(whole, window, [0.0 if math.isinf(each) else teeth(window, each) * each for each in apart])
        caught += (np.minimum(size, held)[whole | comb] * density).tolist()
    else:
        caught += best_in_bins(axis, start[whole], start[whole] + size[whole], window).tolist() if whole.any() else []
        if comb.any():
            caught.append(best_in_classes(axis, start[comb], size[comb], apart[comb], window))
    low, high = float(edges[0]), float(edges[-1])
    value = share_of(axis, low, high, math.fsum(caught), tails=0.0 if axis.flat else 2e-12)
    bound = not all(part.plain for part in parts)
    kind = "upper bound" if bound else "exact" if axis.flat else "numerical"
    alone = math.fsum(
        _sure(axis, float(at), float(length), float(step), window)
        for at, length, step in zip(start[comb], size[comb], apart[comb], strict=True)
    )
    alone += float(mass[whole & (size <= window)].sum())
    return Joint(
        risk=Risk(value=value, kind=kind),
        why="points that share all releases stand a common multiple of the spacings apart",
        certain=min(1.0, (float(mass[told].sum()) + alone) / float(axis.cdf(high) - axis.cdf(low))),
    )


def _sure(axis: Axis, start: float, size: float, spacing: float, window: float) -> float:
    """Mass of the classes of a comb whose teeth all lie in one window."""
    short, held = math.floor(size / spacing * (1 + 1e-12)), teeth(window, spacing)
    longer = max(0.0, size - short * spacing)
    if short + (longer > 1e-9 * spacing) <= held:
        return float(axis.cdf(start + size) - axis.cdf(start))
    if short > held:
        return 0.0
    tooth = start + spacing * np.arange(short)  # the residues that have no tooth more
    return float(np.sum(axis.cdf(tooth + spacing) - axis.cdf(tooth + longer)))


def _certain_alone(problem: Problem, mechanisms: Sequence[Mechanism]) -> float | None:
    """The same of one mechanism."""
    if isinstance(problem.prior, Simplex) or len(problem.box.free) != 1:
        return None
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    part = parts_of(mechanisms[0], problem)
    if part is None or not axis.exact:
        return None
    return _on_a_line(problem, mechanisms).certain


# --- shares and two parameters --------------------------------------------------------------------
def _of_shares(problem: Problem, mechanisms: Sequence[Mechanism]) -> Joint:
    """Bins of one category's share: a line keeps its lower end in every piece, where the best window begins."""
    name, _ = problem.share_direction
    if not all(isinstance(each, Interval) and set(each.coordinate) == {name} for each in mechanisms):
        return all_told("shares of different categories, or combs of them, are not accounted for", "upper bound")
    ends = [each.bins.edges() for each in mechanisms if isinstance(each, Interval)]
    edges = np.unique(np.concatenate(ends))
    start, stop = edges[:-1], edges[1:]
    window, power = 2 * problem.tolerance, len(problem.family.params) - 1
    caught = np.minimum(start + window, stop)
    value = math.fsum((1 - start) ** power - np.maximum(1 - caught, 0.0) ** power)
    return Joint(risk=Risk(value=min(1.0, value), kind="exact"), why="all edges together cut the share")


def _on_lines(problem: Problem, mechanisms: Sequence[Mechanism]) -> Joint:
    """Two parameters: each release tells its line exactly, and where on it."""
    if all(isinstance(each, Scaling) for each in mechanisms):
        return _on_rays(problem, [each for each in mechanisms if isinstance(each, Scaling)])
    bins = [each for each in mechanisms if isinstance(each, Interval)]
    moves = [each.moves for each in mechanisms]
    if len(bins) < len(mechanisms):
        if any(not parallel(moves[0], other) for other in moves[1:]):
            return all_told("two releases that keep different lines tell the parameters")
        return all_told("combs on lines are not accounted for together", "upper bound")
    if any(not parallel(moves[0], other) for other in moves[1:]):
        return all_told("two releases that keep different lines tell the parameters")
    if any(each.step is not None for each in bins):
        return all_told("whole steps on lines are not accounted for together", "upper bound")
    first = bins[0]
    axes = [problem.box.axes[name] for name in problem.box.free]
    if not on_parallel_lines(mechanisms) or not all(axis.flat for axis in axes):
        return _added(problem, mechanisms)
    names, polygon = support_polygon(problem)
    coordinate, direction = pair(names, first.coordinate), pair(names, first.direction)
    edges = Cuts(at=np.unique(np.concatenate([each.bins.edges() for each in bins])))
    window = hit_window(problem, first.direction, problem.tolerance)
    value = polygon_risk(polygon, direction, coordinate, edges, window)
    return Joint(risk=Risk(value=value, kind="exact"), why="all edges together cut the lines, which are parallel")


def on_parallel_lines(mechanisms: Sequence[Mechanism]) -> bool:
    """Whether all are bins of one coordinate on the same lines, so that all edges together cut these."""
    bins = [each for each in mechanisms if isinstance(each, Interval) and each.step is None]
    if len(bins) < len(mechanisms):
        return False
    first = bins[0]
    return all(parallel(first.direction, each.direction) and _equal(first.coordinate, each.coordinate) for each in bins)


def _on_rays(problem: Problem, mechanisms: Sequence[Scaling]) -> Joint:
    first = mechanisms[0]
    if any(each.about != first.about for each in mechanisms):
        return all_told("scalings about different points tell the parameters")
    # each ray is a line, and each piece of it the first part of some bin
    total = math.fsum(risk(problem, mechanism).value for mechanism in mechanisms)
    return Joint(
        risk=Risk(value=min(1.0, total), kind="upper bound"), why="bins of neighbours add up to at most their sum"
    )


def parallel(one: Form, two: Form) -> bool:
    """Whether two directions are the same up to length: to the last bits, for releases have 40 of them."""
    names = sorted({*one, *two})
    a, b = (np.array([form.get(name, 0.0) for name in names]) for form in (one, two))
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    return bool(min(np.abs(a - b).max(), np.abs(a + b).max()) <= 1e-13)


def _equal(one: Form, two: Form) -> bool:
    return {key: value for key, value in one.items() if value} == {key: value for key, value in two.items() if value}
