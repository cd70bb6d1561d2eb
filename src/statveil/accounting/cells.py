"""Risk and distortion of partitions and of cells: one parameter, any bins."""

from __future__ import annotations

import numpy as np

from statveil.accounting.guarantee import Risk, accounted_distortion, accounted_risk
from statveil.accounting.prior import kind_of
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.partition import Partition
from statveil.problem.problem import Problem
from statveil.theory.one_parameter import line
from statveil.theory.risk.cells import assigned_risk
from statveil.theory.risk.partition import partition_risk

__all__: list[str] = []


@accounted_risk.register
def _(mechanism: Partition, problem: Problem, eps: float, quick: bool) -> Risk:
    found = line(problem)
    value = partition_risk(found.curve, found.axis, np.array(mechanism.edges), 2 * eps, quick=quick)
    return Risk(value=value, kind="upper bound" if found.curve.rough else kind_of(problem))


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
    return Risk(value=total.value, kind="upper bound" if bound else kind_of(problem))


@accounted_distortion.register
def _(mechanism: Cells, problem: Problem) -> float:
    edges, (cell, release, _) = np.array(mechanism.edges), mechanism.entries
    released = np.array(mechanism.released)[release]
    ruler = line(problem).ruler
    return float(np.max(np.maximum(ruler.distance(edges[cell], released), ruler.distance(released, edges[cell + 1]))))
