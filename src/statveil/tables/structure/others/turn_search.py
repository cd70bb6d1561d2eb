"""Whether another column is a function of this one that turns: a score that is best in the middle, a squared distance.

Rows that are neighbours in the column are then neighbours in the other one, too. How much so is the share of the
variation of its ranks that they have in common (1 less von Neumann's ratio); 0.9 is what a rank correlation of 0.95
has, from which a rising or falling partner is refused.
"""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.others.links import TurnLink
from statveil.tables.structure.reading.distinct import at_least, known_in_both, mid_ranks

__all__ = ["find_turn", "follows"]

_LEAST_ROWS = 50
_DIFFERENT = 12
_FUNCTION = 0.9
_INVERSE = 0.995  # the column as a function of the other one, which is often no more than a slow series in time
_GLANCE = 1024
_KNOTS = 128
_SORTED = 0.99
_SLOW, _EXACT = 0.8, 0.998
_RISES = 0.95  # rank correlation from which a partner is looked at as one that rises or falls


def follows(values: Array, column: Array) -> float:
    """The share of the variation of the column's ranks that neighbours in ``values`` have in common."""
    order = np.lexsort((np.arange(len(values)) * 7919 % 65_521, values))  # rows of one value in no order
    ranks = mid_ranks(column)[order]
    spread = float(np.var(ranks))
    return 1 - 0.5 * float(np.mean(np.diff(ranks) ** 2)) / spread if spread else 0.0


def find_turn(values: Array, name: str, column: Array) -> TurnLink | None:
    """The function, if another column is one."""
    x, y = known_in_both(values, column)
    if len(x) < _LEAST_ROWS or not (at_least(x, _DIFFERENT) and at_least(y, _DIFFERENT)):
        return None
    look = slice(None, None, max(1, len(x) // _GLANCE))
    steps = np.diff(y)
    in_order = bool(max(np.mean(steps >= 0), np.mean(steps <= 0)) >= _SORTED)
    if in_order:  # a time or a number of the rows: a slow series is no function of its value
        return None
    if follows(x[look], y[look]) < _FUNCTION - 0.1 and follows(y[look], x[look]) < _INVERSE - 0.02:
        return None
    if follows(x, y) < _FUNCTION and follows(y, x) < _INVERSE:
        return None
    slow = follows(np.arange(len(x), dtype=np.float64), x) >= _SLOW
    if slow and follows(x, y) < _EXACT and follows(np.arange(len(y), dtype=np.float64), y) >= _SLOW:
        return None  # two slow series follow one another as both follow the time
    if abs(float(np.corrcoef(mid_ranks(x), mid_ranks(y))[0, 1])) >= _RISES:  # no turn, and maybe ranks alone
        return None
    return _fitted(name, x, y)


def _fitted(name: str, x: Array, y: Array) -> TurnLink:
    order = np.argsort(x, kind="stable")
    parts = np.array_split(order, min(_KNOTS, len(x) // 5))
    places, heights = (np.array([one[part].mean() for part in parts]) for one in (x, y))
    different = np.concatenate(([True], np.diff(places) > 0))
    return TurnLink(columns=(name,), places=places[different], heights=heights[different])
