"""Columns some rows of which are sums, opposites or reciprocals of others: refused by name; their likes are not."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.tables.structure.column.sum_search import find_sums


def plan_of(low, high, tolerance, known=None):
    problem = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(low, high)),
        secret=sv.Mean(),
        tolerance=tolerance,
        known=known or sv.Structure(),
    )
    return sv.plan(problem, max_risk=0.2)


SHIFT, LATTICE = plan_of(50, 2000, 5), plan_of(50, 2000, 5, sv.Structure(step=1))
BOTH, TENTHS = plan_of(-40, 40, 0.5), plan_of(-40, 40, 1, sv.Structure(step=0.1))
SCALE = plan_of(1, 4, 0.05, sv.Structure(minimum=0))


def subtotals(rng, groups=40, parts=5):
    z = rng.gamma(8, rng.uniform(20, 60), (groups, parts))
    return np.column_stack((z, z.sum(axis=1))).ravel()


def blocks(rng, *, first):
    """Totals above or below parts that are two to seven in number."""
    rows = []
    for _ in range(60):
        z = rng.gamma(8, 30, rng.integers(2, 8))
        rows += [z.sum(), *z] if first else [*z, z.sum()]
    return np.array(rows)


def total(rng, rows=100, at=-1):
    z = rng.gamma(8, rng.uniform(10, 40), rows)
    return np.insert(z, rows if at == -1 else at, z.sum())


def opposites(rng, others=150):
    z = rng.normal(0, 10, 150)
    return rng.permutation(np.concatenate((z, -z, rng.normal(rng.uniform(-40, 40), 10, others))))


def reciprocals(rng):
    z = np.exp(rng.normal(0.6, 0.5, 150))
    return rng.permutation(np.concatenate((z, 1 / z, np.exp(rng.normal(0.6, 0.6, 100)))))


TELL = {
    "subtotals": (SHIFT, subtotals),
    "subtotals of 24 rows": (SHIFT, lambda rng: subtotals(rng, 4)),
    "subtotals of 40 rows each": (SHIFT, lambda rng: subtotals(rng, 5, 40)),
    "subtotals below parts": (SHIFT, lambda rng: blocks(rng, first=False)),
    "subtotals above parts": (SHIFT, lambda rng: blocks(rng, first=True)),
    "whole subtotals": (LATTICE, lambda rng: np.column_stack(
        [z := np.round(rng.gamma(8, 30, (40, 5))), z.sum(axis=1)]
    ).ravel()),
    "total": (SHIFT, total),
    "total in the middle": (SHIFT, lambda rng: total(rng, at=40)),
    "total of eight": (SHIFT, lambda rng: total(rng, 8)),
    "whole total": (LATTICE, lambda rng: np.append(z := np.round(rng.gamma(8, 30, 100)), z.sum())),
    "opposites": (BOTH, opposites),
    "opposites in tenths": (TENTHS, lambda rng: np.round(opposites(rng, 30), 1)),
    "reciprocals": (SCALE, reciprocals),
}  # fmt: skip


@pytest.mark.parametrize("name", TELL)
def test_rows_made_of_rows_are_refused(name):
    plan, make = TELL[name]
    for seed in range(5):
        with pytest.raises(sv.StructureError, match=r"--accept [a-z -]*sums"):
            sv.release(plan, make(np.random.default_rng(seed)), accept=("heaps", "rough", "repeats"))


@pytest.mark.parametrize("name", TELL)
def test_the_same_values_with_their_relation_broken_are_released(name):
    """A thousandth of each value, or one step, is enough to break a sum; what is left is a column like any other."""
    plan, make = TELL[name]
    step = plan.problem.known.step
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = make(rng)
        x = x + step * rng.integers(-3, 4, len(x)) if step else x * rng.uniform(0.999, 1.001, len(x))
        out = np.asarray(sv.release(plan, x, accept=("heaps", "rough", "repeats", "digits")))
        # all of its rows, in their order, up to the blur of what is only moved
        assert np.diff(out[np.argsort(x, kind="stable")]).min() >= -2 * plan.release_mode.wander(plan.problem)


def test_sums_are_kept_by_a_change_of_unit():
    """A scaling about 0 keeps a total the total: nothing shows."""
    plan = plan_of(50, 2000, 5, sv.Structure(minimum=0))
    x = total(np.random.default_rng(0))
    out = np.asarray(sv.release(plan, x))
    assert abs(out[:-1].sum() / out[-1] - 1) < 1e-6
    assert abs(out[0] / x[0] - 1) > 1e-6


def test_what_a_total_gives_away():
    hits = 0
    for seed in range(20):
        x = total(np.random.default_rng(seed))
        out = np.asarray(sv.release(SHIFT, x, accept=("sums", "codes")))
        moved = (out[:-1].sum() - out[-1]) / (len(out) - 2)
        hits += abs(out.mean() - moved - x.mean()) <= 5
    assert hits == 20  # 0.2 is claimed


def test_columns_of_many_kinds_are_hardly_ever_said_to_be_sums():
    found = []
    for seed in range(25):
        rng = np.random.default_rng([3, seed])
        n = (20, 60, 200, 1000)[seed % 4]
        found += [
            find_sums(column, bits=bits)
            for column, bits in (
                (rng.normal(rng.uniform(-5, 50), 8, n), 53),
                (np.round(rng.normal(0, 100, n)), 53),
                (np.round(rng.normal(0, 10, n), 2), 53),
                (np.round(rng.lognormal(2, 1.5, n)), 53),
                (rng.poisson(5, n).astype(float), 53),
                (np.round(np.cumsum(rng.normal(0, 1, n))), 53),
                (rng.normal(0, 10, n).astype(np.float32).astype(float), 24),
                (np.round(rng.uniform(0, 1, n), 3), 53),
                (np.repeat(np.round(rng.normal(0, 5, n // 4), 1), 4), 53),
                (np.diff(np.round(rng.normal(100, 20, n + 1))), 53),
            )
        ]
    assert sum(one is not None for one in found) <= 1  # of 250
