"""How a joint risk is split over columns: the least distortion among plans that hold it together.

On wide ranges a column of tolerance eps has distortion eps / risk, and the split has a closed form (theory 17.3): bins
in proportion to the square root of the tolerance for the least sum. On the ranges that people state, bins must fit and
priors bend, so this is where the search begins: over plans of a few risks for each column, then of risks nearer to the
best ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from statveil.design.target import ROUNDED
from statveil.made_plan import Plan
from statveil.numeric import Array, Index
from statveil.rounding import shown_up
from statveil.specification.candidates import Candidates, Point
from statveil.specification.placed import PlacedError, PlacedTargetError, about
from statveil.specification.together import ColumnRisk, joint
from statveil.specification.treatments import Budget, Hide

__all__ = ["closed_form", "split"]

_POWER = {"total": 1.0, "euclidean": 2.0, "worst": math.inf}
_ROUNDS = 3
"""How often plans nearer to the best ones are looked at."""
_MOST_STATES = 1500
"""Combinations that are kept from one column to the next; more are thinned out evenly."""
_HALVINGS = 24


def closed_form(tolerances: Sequence[float], budget: float, minimise: str) -> list[float]:
    """Risks of columns with distortion tolerance / risk that add up to a budget, with the least distortion together.

    >>> [round(sum(eps / risk for eps, risk in zip((1, 8, 27), closed_form((1, 8, 27), 0.1, "total"))), 1)]
    [814.4]
    """
    power = _POWER[minimise]
    weights = [eps ** (1.0 if math.isinf(power) else power / (power + 1)) for eps in tolerances]
    return [budget * weight / math.fsum(weights) for weight in weights]


def split(columns: Mapping[str, Hide], fixed: Sequence[ColumnRisk], budget: Budget) -> dict[str, Plan]:
    """A plan for each of these columns such that all, with those that are fixed, hold the budget."""
    _check_units(columns)
    room = _room(fixed, budget)
    found: list[Candidates] = []
    for name, hide in columns.items():
        with about(name):
            found.append(Candidates(hide, room, lazily=budget.dependence == "independent"))
    for each, risk in zip(found, closed_form([each.rate for each in found], room, budget.minimise), strict=True):
        each.ask_near(replace(each.widest, asked=risk))
    for turn in range(_ROUNDS + 1):
        points = [each.frontier() for each in found]
        best = _search(points, fixed, budget) if all(points) else None
        if budget.dependence != "independent":
            best = _better(best, _exhaustive(points, fixed, budget), budget)
        if best is not None and turn < _ROUNDS:
            for each, point in zip(found, best, strict=True):
                each.ask_near(point)
    if budget.dependence == "comonotone":
        best = _better(best, _alike(found, fixed, budget), budget)
    if best is None:
        raise _too_small(list(columns), points, fixed, budget)
    return {name: each.planned(point) for name, each, point in zip(columns, found, best, strict=True)}


def _alike(found: Sequence[Candidates], fixed: Sequence[ColumnRisk], budget: Budget) -> list[Point] | None:
    """As many bins for each column as for the others: copies that are cut at the same places tell no more than one."""
    best: list[Point] | None = None
    low, high = 0, max(1, math.floor(max(1 / max(each.blind, 1e-9) for each in found)))
    while low < high:
        count = (low + high + 1) // 2
        points = [each.ask_bins(count) for each in found]
        known = [point for point in points if point is not None]
        if len(known) == len(points) and _holds(known, fixed, budget):
            low, best = count, known
        else:
            high = count - 1
    return best


def _exhaustive(points: Sequence[list[Point]], fixed: Sequence[ColumnRisk], budget: Budget) -> list[Point] | None:
    """The best of all combinations, where they are few enough to look at each."""
    if math.prod(len(each) for each in points) > _MOST_STATES:
        return None
    ways = sorted(
        itertools.product(*points), key=lambda way: _worth([each.distortion for each in way], budget.minimise)
    )
    return next((list(way) for way in ways if _holds(way, fixed, budget)), None)


def _better(one: list[Point] | None, two: list[Point] | None, budget: Budget) -> list[Point] | None:
    if one is None or two is None:
        return one or two
    return min(one, two, key=lambda points: _worth([each.distortion for each in points], budget.minimise))


def _worth(distortions: Sequence[float], minimise: str) -> float:
    power = _POWER[minimise]
    return max(distortions) if math.isinf(power) else math.fsum(each**power for each in distortions)


def _check_units(columns: Mapping[str, Hide]) -> None:
    """Distortions that are weighed against each other are all shares, or none is."""
    kinds = {name: hide.problems[0].measure.kind for name, hide in columns.items()}
    if len(set(kinds.values())) > 1:
        share = next(name for name, kind in kinds.items() if kind == "relative")
        other = next(name for name, kind in kinds.items() if kind != "relative")
        raise PlacedError(
            f"the distortion of {share!r} is a share and that of {other!r} is in its unit, so a budget cannot weigh "
            "them; state all tolerances as shares (5%) or none, or give one of them a max_risk.",
            ("budget",),
        )


def _room(fixed: Sequence[ColumnRisk], budget: Budget) -> float:
    """The most that a column may take where the others took nothing."""
    if not fixed:
        return budget.max_risk
    taken = joint(fixed, budget.dependence).union
    if taken >= budget.max_risk:
        raise PlacedTargetError(
            f"the columns with targets of their own have a joint risk of {shown_up(taken)}, and the budget is "
            f"{budget.max_risk:g}: nothing is left for the others. Ask for less of them, or raise the budget.",
            ("budget",),
        )
    return -math.expm1(math.log1p(-budget.max_risk) - math.log1p(-taken))


def _too_small(
    names: Sequence[str], points: Sequence[list[Point]], fixed: Sequence[ColumnRisk], budget: Budget
) -> PlacedTargetError:
    known = [each[0].column for each in points if each]
    lowest = [each for each in known if each is not None]
    found = ""
    if len(lowest) == len(points):
        found = f": the least that was found is {shown_up(joint([*fixed, *lowest], budget.dependence).union)}"
    return PlacedTargetError(
        f"a joint risk of {budget.max_risk:g} was not reached for {', '.join(map(repr, names))}{found}. Raise the "
        "budget, use smaller tolerances, state wider priors if outsiders know less, or hide fewer columns.",
        ("budget",),
    )


def _holds(chosen: Sequence[Point], fixed: Sequence[ColumnRisk], budget: Budget) -> bool:
    """Whether the plans hold the budget together."""
    columns = [each.column for each in chosen if each.column is not None]
    if len(columns) < len(chosen):  # independent columns, of some of which the risk alone is known so far
        union = -math.expm1(math.fsum([*(-each.cost for each in chosen), *(math.log1p(-each.union) for each in fixed)]))
        return union <= budget.max_risk * ROUNDED
    return joint([*fixed, *columns], budget.dependence).union <= budget.max_risk * ROUNDED


def _search(points: Sequence[list[Point]], fixed: Sequence[ColumnRisk], budget: Budget) -> list[Point] | None:
    """The combination of least distortion that holds the budget."""
    whole = -math.log1p(-budget.max_risk)
    taken = math.fsum(-math.log1p(-each.union) for each in fixed) if all(each.union < 1 for each in fixed) else whole
    most = whole - taken
    # the sum of logarithms and the joint risk may differ in the last digits
    for limit in (most * ROUNDED, most * (1 - 1e-10)):
        found = _least(points, limit, budget.minimise)
        if found is not None and _holds(found, fixed, budget):
            return found
    if budget.dependence == "independent":
        return None
    # risks of dependent columns do not add up: the largest part of the budget for which the joint risk still holds
    low, high, best = 0.0, most, None
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = _least(points, middle, budget.minimise)
        if found is not None and not _holds(found, fixed, budget):
            high = middle
        else:
            low, best = middle, found or best
    least = [each[0] for each in points]
    return best or (least if _holds(least, fixed, budget) else None)


def _least(points: Sequence[list[Point]], most: float, minimise: str) -> list[Point] | None:
    """The least distortion whose costs add up to at most this, column by column over undominated combinations."""
    power = _POWER[minimise]
    cost, value = np.zeros(1), np.zeros(1)
    ways: list[tuple[Index, Index]] = []
    # what the columns that are still to come take at least
    rest = np.cumsum([0.0, *(each[0].cost for each in reversed(points))])[::-1][1:]
    for column, later in zip(points, rest, strict=True):
        costs = np.array([each.cost for each in column])
        apart = np.array([each.distortion for each in column])
        worth = apart if math.isinf(power) else apart**power
        both = cost[:, None] + costs[None, :]
        total = np.maximum(value[:, None], worth) if math.isinf(power) else value[:, None] + worth
        before, chosen = np.nonzero(both + later <= most)
        if not len(before):
            return None
        cost, value = both[before, chosen], total[before, chosen]
        kept = _undominated(cost, value)
        cost, value = cost[kept], value[kept]
        ways.append((before[kept], chosen[kept]))
    place = int(np.lexsort((cost, value))[0])
    picked: list[int] = []
    for before, chosen in reversed(ways):
        picked.append(int(chosen[place]))
        place = int(before[place])
    found = [column[i] for column, i in zip(points, reversed(picked), strict=True)]
    if math.isinf(power):
        # below the worst distortion a lower risk costs nothing
        largest = max(each.distortion for each in found)
        found = [next(each for each in column if each.distortion <= largest) for column in points]
    return found


def _undominated(cost: Array, value: Array) -> Index:
    """Places of the combinations that no other one beats in both, thinned out where they are too many."""
    order = np.lexsort((value, cost))
    best = np.minimum.accumulate(value[order])
    first = np.concatenate([[True], best[1:] < best[:-1]])
    kept: Index = order[first]
    if len(kept) > _MOST_STATES:
        kept = kept[np.unique(np.linspace(0, len(kept) - 1, _MOST_STATES).round().astype(int))]
    return kept
