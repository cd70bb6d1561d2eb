"""Steps that change with the size of the values: declaring the finer step and the heaps does not hide where it does."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.tables.structure.column.findings import find_structure
from statveil.tables.verification import LEAKS, precision


def names(values):
    return {one.name for one in find_structure(values, bits=precision(values, 53, ()))}


def coarser(values, edge, fine, coarse):
    step = np.where(values < edge, fine, coarse)
    return np.round(np.round(values / step) * step, 6)


def plan_of(values):
    """Planned with the step and the heaps that ``inspect`` proposes."""
    found = {one.name: one.values for one in sv.inspect(values).columns[0].structure}
    spread = float(np.std(values))
    problem = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(values.mean() - 20 * spread, values.mean() + 20 * spread)),
        secret=sv.Mean(),
        tolerance=0.3 * spread,
        known=sv.Structure(step=found.get("step", (None,))[0], heaps=found.get("heaps", ())),
    )
    return sv.plan(problem, max_risk=0.2)


@pytest.mark.parametrize("rows", [60, 1000])
@pytest.mark.parametrize(("fine", "coarse"), [(1, 5), (1, 10), (0.1, 0.5), (5, 25)])
def test_a_step_that_changes_with_the_size_is_refused_though_declared(rows, fine, coarse):
    for seed in range(2):
        drawn = np.random.default_rng(seed).lognormal(4.5, 0.5, rows) * fine
        values = coarser(drawn, 100 * fine, fine, coarse)
        with pytest.raises(sv.StructureError, match=r"--accept .*(digits|rough)"):
            sv.release(plan_of(values), values)


def test_where_the_step_changes_tells_the_mean():
    hits = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        values = coarser(rng.lognormal(rng.uniform(4.3, 4.8), 0.5, 2000), 100, 1, 5)
        plan = plan_of(values)
        released = sv.release(plan, values, accept=tuple(LEAKS))
        uneven = released[np.abs(released / 5 - np.rint(released / 5)) > 1e-9]
        guess = released.mean() - (uneven.max() - 99)
        hits += abs(guess - values.mean()) <= plan.problem.tolerance
    assert hits >= 11  # 0.2 is stated


@pytest.mark.parametrize("rows", [60, 500, 5000])
def test_floats_of_16_bits(rows):
    for seed in range(6):
        drawn = np.random.default_rng(seed).lognormal(4.5, 0.7, rows)
        assert "digits" in names(drawn.astype(np.float16).astype(np.float64))


def test_logarithms_of_ratios_in_a_short_table():
    for back in (np.log, np.log2, np.log10):
        for seed in range(10):
            rng = np.random.default_rng(seed)
            assert "transform" in names(back(rng.integers(1, 80, 40) / rng.integers(1, 80, 40)))
            assert "transform" not in names(back(rng.lognormal(0, 1, 40)))


def test_one_step_everywhere_and_even_heaps_are_left_alone():
    found = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        rows = int(rng.choice([100, 400, 2000]))
        whole = np.round(rng.gamma(4, 40, rows))
        heaped = np.where(rng.random(rows) < 0.5, 5 * np.round(whole / 5), whole)
        found += "digits" in names(whole)
        found += "digits" in names(heaped)
    assert found <= 1  # of 100
