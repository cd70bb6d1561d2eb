"""Risk and distortion of partitions and of cells: one parameter, any bins."""

from __future__ import annotations

import numpy as np

from statveil.accounting.guarantee import Risk, accounted_distortion, accounted_risk
from statveil.accounting.prior import kind_of
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.partition import Partition
from statveil.problem.problem import Problem
from statveil.theory.curve import Curve
from statveil.theory.one_parameter import line
from statveil.theory.risk.cells import assigned_risk
from statveil.theory.risk.partition import partition_risk

__all__: list[str] = []

_SEARCHED = 1e-10
"""Added to windows that were searched for: their largest mass is flat at its top, so what a search misses is less."""


def _stated(value: float, *, bound: bool, problem: Problem, secret: Curve) -> Risk:
    """Where the secret bends, its inverse is iterated and the best window searched for: numerical, not exact."""
    kind = "upper bound" if bound else kind_of(problem) if secret.straight else "numerical"
    return Risk(value=min(1.0, value * (1 + _SEARCHED)) if kind == "numerical" else value, kind=kind)


@accounted_risk.register
def _(mechanism: Partition, problem: Problem, eps: float, quick: bool) -> Risk:
    found = line(problem)
    value = partition_risk(found.curve, found.axis, np.array(mechanism.edges), 2 * eps, quick=quick)
    return _stated(value, bound=found.curve.rough, problem=problem, secret=found.curve)


@accounted_distortion.register
def _(mechanism: Partition, problem: Problem) -> float:
    edges, released = np.array(mechanism.edges), np.array(mechanism.released)
    return float(np.max(line(problem).ruler.distortion(edges[:-1], edges[1:], released)))


@accounted_risk.register
def _(mechanism: Cells, problem: Problem, eps: float, quick: bool) -> Risk:
    found = line(problem)
    edges = np.array(mechanism.edges)
    total = assigned_risk(found.curve, found.axis, edges, mechanism.entries, 2 * eps, quick=quick)
    bound = found.curve.rough or total.slack > 1e-9 * total.value
    return _stated(total.value, bound=bound, problem=problem, secret=found.curve)


@accounted_distortion.register
def _(mechanism: Cells, problem: Problem) -> float:
    edges, (cell, release, _) = np.array(mechanism.edges), mechanism.entries
    released = np.array(mechanism.released)[release]
    ruler = line(problem).ruler
    return float(np.max(np.maximum(ruler.distance(edges[cell], released), ruler.distance(released, edges[cell + 1]))))
