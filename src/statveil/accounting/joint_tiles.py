"""What bins in two coordinates tell together with other releases of the same column.

Several of them cut each coordinate by all of their edges, and the two coordinates stay independent. Beside a release
that tells a line they cut it where it crosses an edge; every piece of a line is the first part of a bin of one of the
partitions, so the risks add up to at least the truth (docs/theory.md, composition).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from statveil.accounting.guarantee import Risk, risk
from statveil.accounting.joint import Joint, all_told, parallel
from statveil.accounting.tiles import along, sum_of_two
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.tiles import Tiles
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.theory.bins import Bins
from statveil.theory.unequal_bins import UnequalBins

__all__ = ["cells_in_all", "one_coordinate", "with_tiles"]

Together = Callable[[Problem, Sequence[Mechanism]], Joint]
Cut = Bins | UnequalBins


def with_tiles(problem: Problem, mechanisms: Sequence[Mechanism], together: Together) -> Joint:
    """The risk of one secret under these releases, of which at least one has bins in two coordinates."""
    family = problem.family
    tiles = [each for each in mechanisms if isinstance(each, Tiles)]
    lines = [each for each in mechanisms if isinstance(each, Interval)]
    fits = isinstance(family, LocationScale) and not problem.secret.rough and not problem.box.cut(family)
    if not fits or not all(set(each.axes) == set(problem.box.free) for each in tiles):
        return all_told("bins in two coordinates are accounted for with independent beliefs about both", "upper bound")
    if len(tiles) + len(lines) < len(mechanisms) or any(each.step is not None for each in lines):
        return all_told("combs and steps are not accounted for beside bins in two coordinates", "upper bound")
    if lines:
        return _on_lines(problem, tiles, lines, together)
    assert isinstance(family, LocationScale)
    slopes = {name: abs(slope) for name, slope in family.coefficients(problem.secret).items() if slope}
    bins = {name: [each.axes[name] for each in tiles] for name in slopes}
    if len(slopes) == 1:
        ((name, slope),) = slopes.items()
        return _one_by_one(problem, name, slope, bins[name], together)
    if all(problem.box.axes[name].flat for name in slopes):
        pieces = {name: _pieces([each.axes[name] for each in tiles]) for name in slopes}
        value = Risk(value=sum_of_two(pieces, slopes, problem.tolerance), kind="exact")
        return Joint(risk=value, why="all edges together cut both coordinates")
    # whatever the one is, the other must fall into a window of its own
    found = min(_one_by_one(problem, n, slope, bins[n], together).risk.value for n, slope in slopes.items())
    return Joint(risk=Risk(value=found, kind="upper bound"), why="all edges together cut both coordinates")


def _pieces(bins: Sequence[Cut]) -> list[tuple[float, int]]:
    edges = np.unique(np.concatenate([each.edges() for each in bins]))
    return [(float(length), 1) for length in np.diff(edges)]


def _one_by_one(problem: Problem, name: str, slope: float, bins: Sequence[Cut], together: Together) -> Joint:
    """A secret that moves with one coordinate: the bins of the other one say nothing of it."""
    return together(*along(problem, name, slope, bins))


def one_coordinate(problem: Problem, mechanisms: Sequence[Mechanism]) -> tuple[Problem, list[Mechanism]] | None:
    """The coordinate that the secret moves with, where all releases have bins in two and beliefs are independent.

    Under such beliefs what is told of the other coordinate says nothing of this one.
    """
    family = problem.family
    tiles = [each for each in mechanisms if isinstance(each, Tiles)]
    if not tiles or len(tiles) < len(mechanisms) or not isinstance(family, LocationScale) or problem.box.cut(family):
        return None
    slopes = {name: abs(slope) for name, slope in family.coefficients(problem.secret).items() if slope}
    if problem.secret.rough or len(slopes) != 1 or not all(set(each.axes) == set(problem.box.free) for each in tiles):
        return None
    ((name, slope),) = slopes.items()
    return along(problem, name, slope, [each.axes[name] for each in tiles])


def cells_in_all(mechanisms: Sequence[Mechanism]) -> int:
    """How many rectangles all edges together make."""
    tiles = [each for each in mechanisms if isinstance(each, Tiles)]
    return math.prod(len(_pieces([each.axes[name] for each in tiles])) for name in tiles[0].axes)


def _on_lines(problem: Problem, tiles: Sequence[Tiles], lines: Sequence[Interval], together: Together) -> Joint:
    direction = {name: change for name, change in lines[0].direction.items() if change}
    if any(not parallel(direction, each.moves) for each in lines[1:]):
        return all_told("two releases that keep different lines tell the parameters")
    assert isinstance(problem.family, LocationScale)
    rate = problem.family.rate(problem.secret, direction)
    if not rate:
        return all_told("one of the releases moves along lines on which the secret stays the same")
    if len(direction) == 1:
        (name,) = direction
        own = all({one for one, part in each.coordinate.items() if part} == {name} for each in lines)
        if own and all(each.coordinate[name] == 1.0 for each in lines):
            # the other coordinate is told, and says nothing of this one
            cuts = [*(each.bins for each in lines), *(each.axes[name] for each in tiles)]
            return _one_by_one(problem, name, rate / abs(direction[name]), cuts, together)
    parts: list[Interval] = list(lines)
    for each in tiles:
        for name, bins in each.axes.items():
            if direction.get(name):
                if not isinstance(bins, Bins):
                    return all_told("bins of different widths are not accounted for across such lines", "upper bound")
                along = {one: change / direction[name] for one, change in direction.items()}
                parts.append(Interval(along=name, coordinate={name: 1.0}, direction=along, bins=bins))
    total = math.fsum(risk(problem, part).value for part in parts)
    return Joint(
        risk=Risk(value=min(1.0, total), kind="upper bound"),
        why="bins that cut the same lines add up to at most their sum",
    )
