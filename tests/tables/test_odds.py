"""Columns between two known bounds: their odds are multiplied by one number."""

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.tables.maps.odds import moved_odds, solved

KNOWN = sv.Structure(minimum=0, maximum=100)


def plan_for(tolerance=1.0, known=KNOWN, secret=None, prior=(20, 80), **target):
    asked = sv.Problem(secret=secret or sv.Mean(), prior=prior, tolerance=tolerance, known=known)
    return sv.plan(asked, **(target or {"max_risk": 0.2}))


def humps(rng, rows=3_000):
    return np.where(rng.random(rows) < 0.5, rng.uniform(5, 30, rows), rng.uniform(55, 90, rows))


def beta(rng, rows=3_000, mean=0.4, size=7.0):
    return 100 * rng.beta(mean * size, (1 - mean) * size, rows)


@pytest.mark.parametrize("tolerance", [1.0, sv.Relative(0.02)], ids=["unit", "share"])
def test_the_mean_moves_and_the_bounds_stay(tolerance, tmp_path):
    column = humps(np.random.default_rng(0))
    column[:3] = np.nan
    plan = plan_for(tolerance)
    assert plan.mode == "odds"
    pd.DataFrame({"x": column}).to_parquet(tmp_path / "in.parquet")
    sv.release(plan, tmp_path / "in.parquet", output=tmp_path / "out.parquet", column="x")
    assert sv.verify_file(tmp_path / "out.parquet").ok
    after = pd.read_parquet(tmp_path / "out.parquet")["x"].to_numpy()
    own = float(np.nanmean(column))
    assert float(np.nanmean(after)) == pytest.approx(float(plan.apply(value=own).secret), rel=2.0**-23)
    assert np.nanmin(after) >= 0
    assert np.nanmax(after) <= 100
    finite = np.isfinite(column)
    # all rows move the same way, and the odds by one factor, up to the blur of 5 x 2^-23 of a value
    before, moved = column[finite] / 100, after[finite] / 100
    factors = moved / (1 - moved) * (1 - before) / before
    assert np.ptp(factors) <= 2 * 5 * 2.0**-23 / (1 - before.max()) * factors.mean()
    w1 = float(np.abs(after[finite] - column[finite]).mean())
    assert w1 == pytest.approx(abs(float(np.nanmean(after)) - own), rel=1e-6)
    stated = plan.to_json()["distortion_absolute"]
    assert w1 <= stated * (1 + 1e-9)


def test_two_tables_of_one_orbit_become_the_same():
    rng = np.random.default_rng(1)
    column, plan = humps(rng), plan_for()
    low, high = plan.mechanism.bins.span(1)
    found = []
    for wanted in (float(low) + 0.1, float(high) - 0.1):
        ratio = solved(partial(_means, column / 100), wanted / 100)
        found.append(np.asarray(sv.release(plan, 100 * moved_odds(column / 100, math.exp(ratio)), seed=1)))
    assert np.abs(found[0] - found[1]).max() <= 2e-4  # seven digits of numbers up to 100 are kept


def _means(share, at):
    moved = moved_odds(share, math.exp(at))
    return float(moved.mean()), float((moved * (1 - moved)).mean())


@given(st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=40), st.floats(0.01, 0.99))
def test_any_mean_is_reached(values, target):
    share = np.array(values)
    assert _means(share, solved(lambda at: _means(share, at), target))[0] == pytest.approx(target, abs=1e-9)


def test_rows_at_the_bounds_stay_there():
    rng = np.random.default_rng(2)
    column = np.concatenate([humps(rng, 800), np.zeros(150), np.full(50, 100.0)])
    plan = plan_for(known=sv.Structure(minimum=0, maximum=100, atoms=(0, 100)))
    after = np.asarray(sv.release(plan, column))
    assert np.array_equal(after == 0, column == 0)
    assert np.array_equal(after == 100, column == 100)
    full = np.where(rng.random(1_000) < 0.45, 0.0, 100.0)  # mean about 55: at 20 % or less nobody could put it
    full[:40] = rng.uniform(30, 60, 40)
    wide = plan_for(known=sv.Structure(minimum=0, maximum=100, atoms=(0, 100)), prior=(2, 98), max_risk=0.03)
    with pytest.raises(sv.ColumnError, match="so many rows lie at the bounds"):
        sv.release(wide, full, accept=["repeats", "step", "codes", "sums"])


def test_a_beta_column_is_refused_by_name_and_leaks_when_forced():
    """The positive control of the attacker: it knows the family that the map leaves."""
    rng = np.random.default_rng(3)
    table, plan = pd.DataFrame({"x": beta(rng, 4_000)}), plan_for(sv.Relative(0.04))
    with pytest.raises(sv.StructureError, match=r"follow a Beta distribution.*--accept shape"):
        sv.release(plan, table, column="x")
    released = sv.release(plan, table, column="x", accept=["shape"])
    found = sv.audit(plan, table, released, column="x", attackers=["bayes", "beta-shape"], trials=200, seed=1)
    assert {finding.attacker: finding.verdict for finding in found.findings}["beta-shape"] == "leaks"


def test_another_shape_tells_such_a_believer_nothing():
    table, plan = pd.DataFrame({"x": humps(np.random.default_rng(4))}), plan_for(sv.Relative(0.02))
    released = sv.release(plan, table, column="x")
    found = sv.audit(plan, table, released, column="x", attackers=["bayes", "beta-shape"], trials=200, seed=1)
    assert not found.leaks


def test_columns_that_are_no_beta_distribution_are_released():
    rng, plan = np.random.default_rng(5), plan_for()
    for _ in range(25):
        assert len(np.asarray(sv.release(plan, humps(rng, 500)))) == 500
        skewed = np.where(rng.random(500) < 0.8, rng.normal(25, 4, 500), rng.normal(85, 4, 500))
        assert len(np.asarray(sv.release(plan, skewed, accept=["bounds"]))) == 500


@pytest.mark.parametrize("secret", [sv.Quantile(0.9), sv.Std(), sv.TrimmedMean(0.1)])
def test_other_statistics_have_no_such_map_yet(secret):
    with pytest.raises(sv.ProblemError, match="no shift or scaling of the column hides its"):
        plan_for(secret=secret, prior=(20, 40))
