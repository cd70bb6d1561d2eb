"""How well releases tell which of two beliefs is true: the distribution-inference advantage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.accounting.leakage import Open
from statveil.accounting.telling import OnLine
from statveil.mechanisms.cells import Cells
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.theory.prior_distance import prior_distance

__all__ = ["Advantage", "advantage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Advantage:
    """Total variation between the releases under two beliefs; whoever guesses which is true is right this often."""

    value: float
    kind: str

    @property
    def right(self) -> float:
        """P(right) of the best guess where both are equally likely."""
        return 0.5 * (1 + self.value)


def advantage(found: Open, one: Axis, two: Axis) -> Advantage:
    """Of telling the second belief from the first by the releases; no more than the values themselves would tell."""
    if isinstance(found, OnLine) and not found.combs:
        value = max(_apart(found, cells, one, two) for cells in found.ways)
        return Advantage(value=min(1.0, value), kind="upper bound" if found.bound or len(found.ways) > 1 else "exact")
    apart = prior_distance(one, two)
    return Advantage(value=1.0 if apart is None else apart.total_variation, kind="upper bound")


def _apart(found: OnLine, cells: Cells, one: Axis, two: Axis) -> float:
    cell, release, share = cells.entries
    difference = _masses(one, found.edges) - _masses(two, found.edges)
    told = np.zeros(len(cells.released))
    np.add.at(told, release, difference[cell] * share)
    return 0.5 * float(np.abs(told).sum())


def _masses(axis: Axis, edges: Array) -> Array:
    if axis.known:
        mass = np.zeros(len(edges) - 1)
        mass[int(np.clip(np.searchsorted(edges, axis.low, side="right") - 1, 0, len(mass) - 1))] = 1.0
        return mass
    return np.diff(np.asarray(axis.cdf(edges), dtype=np.float64))
