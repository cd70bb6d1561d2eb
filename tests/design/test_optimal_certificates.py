"""What ``optimal`` proves, end to end: certificate <= dense linear programme <= stated risk, which no attacker beats.

The programme is written down from the plan's own words alone (range, tolerance, cells, distortion), for means that are
linear in the parameter: cells are equal, and parameters share a release if their means lie within twice the distortion.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import statveil as sv
from fuzz.checker import SLACK, true_risk


def least_risk(low, high, cells, window, distortion):
    """Least sum of what the best windows catch, over all probabilities of the releases of each cell."""
    width = (high - low) / cells
    size = min(cells, math.floor(2 * distortion / width * (1 + 1e-9)))
    pairs = [(first, cell) for first in range(cells - size + 1) for cell in range(first, first + size)]
    runs = cells - size + 1
    rows = []
    for first in range(runs):
        begin = width * np.arange(first, first + size)
        for start in np.unique(np.concatenate([begin, begin + width - window]).round(12)):
            held = np.minimum(begin + width, start + window) - np.maximum(begin, start)
            row = np.zeros(len(pairs) + runs)
            row[first * size : (first + 1) * size] = np.clip(held, 0.0, None) / (high - low)
            row[len(pairs) + first] = -1.0
            rows.append(row)
    equal = np.zeros((cells, len(pairs) + runs))
    for k, (_, cell) in enumerate(pairs):
        equal[cell, k] = 1.0
    cost = np.concatenate([np.zeros(len(pairs)), np.ones(runs)])
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=equal, b_eq=np.ones(cells))
    assert found.status == 0
    return float(found.fun)


POISSON, LOCATION = (sv.Poisson(), "rate", 2.0, 14.0), (sv.Location(), "mean", -3.0, 5.0)
PROBLEMS = [
    (POISSON, 0.5, {"max_distortion": 1.56}, 24),
    (POISSON, 0.61, {"max_distortion": 2.52}, 30),
    (POISSON, 0.61, {"max_risk": 0.4}, 20),
    (LOCATION, 0.17, {"max_distortion": 1.04}, 24),
]


@pytest.mark.parametrize(("asked", "tolerance", "target", "cells"), PROBLEMS)
def test_certificate_programme_plan_and_attacker_are_in_order(asked, tolerance, target, cells):
    family, parameter, low, high = asked
    prior = sv.Box(**{parameter: (low, high)})
    problem = sv.Problem(family=family, prior=prior, secret=sv.Mean(), tolerance=tolerance)
    plan = sv.plan(problem, method="optimal", grid=cells, **target)
    proof = plan.certificate
    assert proof is not None
    least = least_risk(low, high, proof.cells, 2 * tolerance, proof.distortion)
    assert least * (1 - 2e-2) <= proof.least_risk <= least + 1e-8
    # a mechanism on these cells with this distortion is one of those that the programme chooses from
    at = (np.array(getattr(plan.mechanism, "edges", [math.nan])) - low) / (high - low) * proof.cells
    on_grid = np.abs(at - np.round(at)).max() < 1e-6 and plan.distortion <= proof.distortion * (1 + 1e-9)
    assert on_grid or plan.risk < least
    assert not on_grid or plan.risk >= least - 1e-8
    truth = true_risk(plan.to_json())
    assert truth.risk - truth.error <= plan.risk + SLACK
