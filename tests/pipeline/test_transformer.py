"""The transformer: the release of `sv.release`, decided once, in a pipeline."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import statveil as sv
from statveil.modes import MODES
from statveil.tables.verification import LEAKS
from tests.blurring import most_off
from tests.plans import BY_MODE, column_for

SEED = 11
PLAN = BY_MODE["shift"]
WIDE = sv.plan(sv.Problem(secret=sv.Mean(), prior=sv.Flat(-1e6, 1e6), tolerance=1), max_risk=0.5)
TWO = sv.plan_specification(
    sv.Specification.from_toml(
        """
        [budget]
        max_risk = 0.3
        [columns.pay]
        hide = "mean"
        prior = "20:220"
        tolerance = 1
        [columns.bonus]
        hide = "mean"
        prior = "20:220"
        tolerance = 1
        [columns.both]
        derive = "pay + bonus"
        [columns.id]
        drop = true
        """
    )
)


@parametrize_with_checks([sv.ReleaseTransformer(WIDE, column=0, accept=tuple(LEAKS))])
def test_what_scikit_learn_asks_of_estimators(estimator, check):
    check(estimator)


@pytest.mark.parametrize("mode", BY_MODE)
def test_equals_a_release_in_every_mode(mode):
    plan, values = BY_MODE[mode], column_for(mode, np.random.default_rng(5), 3000)
    table = pl.DataFrame({"x": values, "other": np.random.default_rng(6).normal(size=len(values))})
    step = sv.ReleaseTransformer(plan, column="x", seed=SEED)
    done = sv.release(plan, table, column="x", seed=SEED, details=True)
    assert step.fit_transform(table).equals(done.table)
    assert step.card_ == done.card
    assert step.private_record()["coefficients"] == done.record["coefficients"]


@pytest.mark.parametrize("mode", [name for name in BY_MODE if not MODES[name].random])
def test_batches_move_as_the_fitted_rows_do(mode):
    """Deciding anew for a batch would put its own statistic on a released value; moved along, it keeps its distance."""
    plan, values = BY_MODE[mode], column_for(mode, np.random.default_rng(5), 3000)
    table = pl.DataFrame({"x": values})
    step = sv.ReleaseTransformer(plan, column="x", seed=SEED).fit(table)
    whole = step.transform(table)["x"].to_numpy()
    low = np.argsort(values, kind="stable")[:200]
    batch = step.transform(table[low])["x"].to_numpy()
    # a stretched column is smeared over the last of its seven digits, by a draw that rows have by their place
    np.testing.assert_allclose(batch, whole[low], rtol=1e-6)


@pytest.mark.parametrize("mode", [name for name in BY_MODE if MODES[name].random])
def test_random_modes_take_the_fitted_table_alone(mode):
    plan, values = BY_MODE[mode], column_for(mode, np.random.default_rng(5), 3000)
    table = pl.DataFrame({"x": values})
    step = sv.ReleaseTransformer(plan, column="x", seed=SEED).fit(table)
    with pytest.raises(sv.StatveilError, match=f"the mode {mode} draws rows by chance"):
        step.transform(table[:2000])


def rows(number=500, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"pay": rng.normal(90, 12, number), "bonus": rng.normal(60, 9, number), "id": range(number)})


def test_a_specification():
    table = rows()
    step = sv.ReleaseTransformer(TWO, seed=SEED)
    released = step.fit_transform(table)
    assert released.equals(sv.release(TWO, table, seed=SEED))
    assert list(step.get_feature_names_out()) == released.columns == ["pay", "bonus", "both"]
    later = pickle.loads(pickle.dumps(step)).transform(rows(seed=1))
    moved = rows(seed=1)["pay"] - later["pay"]
    off = most_off(TWO.plans["pay"])
    assert moved.max() - moved.min() <= 2 * off
    # the blur of 500 rows has a mean of a twentieth of its width, which is a fifth of the most
    assert abs(moved.mean() - (table["pay"] - released["pay"]).mean()) < off / 5
    assert (later["both"] - later["pay"] - later["bonus"]).abs().max() < 1e-9


def test_fitted_again_with_the_same_rows_it_draws_the_same_and_a_clone_draws_its_own():
    """Rows that are blurred twice can be averaged."""
    for plan, column in ((PLAN, "pay"), (TWO, None)):
        table = rows()
        step = sv.ReleaseTransformer(plan, column=column)
        first, record = step.fit_transform(table), step.private_record()
        assert step.fit_transform(table).equals(first)
        assert step.private_record() == record
        assert not clone(step).fit_transform(table).equals(first)
        step.fit(rows(seed=1))
        assert step.private_record()["seed"] != record["seed"], "other rows have a stream of their own"
        # and its record is that of a release
        named = {} if column is None else {"column": column}
        assert sv.release(plan, table, record=record, **named).equals(first)


def test_a_seed_for_tests_is_not_kept():
    step = sv.ReleaseTransformer(PLAN, column="pay", seed=SEED)
    first = step.fit_transform(rows())
    assert not step.set_params(seed=None).fit_transform(rows()).equals(first)
    assert not step.private_record()["test_seed"]
    assert step.set_params(seed=SEED).fit_transform(rows()).equals(first)


def test_in_a_pipeline_with_a_model():
    """A shift moves the intercept alone, so the model behind the release has the same slope, up to the blur."""
    table = rows().to_pandas()[["pay", "bonus"]]
    target = 3 * table["pay"] + np.random.default_rng(2).normal(size=len(table))
    step = sv.ReleaseTransformer(PLAN, column="pay", seed=SEED)
    piped = make_pipeline(step, StandardScaler(), LinearRegression()).fit(table, target)
    plain = make_pipeline(StandardScaler(), LinearRegression()).fit(table, target)
    # a row that is blurred by e is predicted 3 e higher
    off = 3 * most_off(PLAN)
    np.testing.assert_allclose(piped.predict(table), plain.predict(table), rtol=0, atol=1.1 * off)
    # the coefficient is 3 standard deviations, of which a blur of 500 rows changes little
    np.testing.assert_allclose(piped[-1].coef_, plain[-1].coef_, rtol=0, atol=off / 10)


def test_beside_others_and_as_pandas():
    table = rows().to_pandas()[["pay", "bonus"]]
    step = sv.ReleaseTransformer(PLAN, column="pay", seed=SEED)
    both = ColumnTransformer([("pay", step, ["pay"]), ("bonus", "passthrough", ["bonus"])]).set_output(
        transform="pandas"
    )
    made = both.fit_transform(table)
    assert list(made.columns) == ["pay__pay", "bonus__bonus"]
    released = sv.release(PLAN, table[["pay"]], column="pay", seed=SEED)
    pd.testing.assert_series_equal(made["pay__pay"], released["pay"], check_names=False)


def test_a_clone_has_the_plan_and_nothing_of_the_data():
    step = sv.ReleaseTransformer(PLAN, column="pay", seed=SEED).fit(rows())
    copy = clone(step)
    assert copy.get_params() == step.get_params()
    assert not hasattr(copy, "card_")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        copy.transform(rows())


def test_what_is_shown_has_no_private_number():
    step = sv.ReleaseTransformer(PLAN, column="pay").fit(rows())
    shown = repr(step) + step._repr_html_()
    private = step.private_record()
    told = (private["seed"], private["estimates"]["secret"], private["coefficients"]["b"])
    assert not [number for number in told if str(number)[:8] in shown]


def test_rows_that_are_not_what_was_declared():
    plan = BY_MODE["scale"]
    values = column_for("scale", np.random.default_rng(5), 3000)
    step = sv.ReleaseTransformer(plan, column="x").fit(pl.DataFrame({"x": values}))
    with pytest.raises(sv.StatveilError, match="values below the minimum that the plan rests on"):
        step.transform(pl.DataFrame({"x": [1.5, -2.5]}))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (sv.ReleaseTransformer(), "the plan must be a Plan"),
        (sv.ReleaseTransformer("plan.json", column="pay"), "the plan must be a Plan"),
        (sv.ReleaseTransformer(PLAN), "say which column"),
        (sv.ReleaseTransformer(PLAN, column="salary"), "unknown column 'salary'"),
        (sv.ReleaseTransformer(PLAN, column=7), "columns 0 to 2. Got column 7"),
        (sv.ReleaseTransformer(PLAN, column="id"), "outside the stated prior"),
        (sv.ReleaseTransformer(TWO, column="pay"), "leave out column and accept"),
    ],
)
def test_what_cannot_be_fitted(step, message):
    with pytest.raises(sv.StatveilError, match=message):
        step.fit(rows())


def test_other_columns_than_fitted():
    step = sv.ReleaseTransformer(PLAN, column="pay").fit(rows())
    with pytest.raises(ValueError, match="X has 2 features, but ReleaseTransformer is expecting 3"):
        step.transform(rows().drop("id"))
    with pytest.raises(ValueError, match="feature names should match"):
        step.transform(rows().select("bonus", "pay", "id"))


def test_without_scikit_learn():
    code = "import sys; sys.modules['sklearn'] = None; import statveil; statveil.ReleaseTransformer"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'statveil[sklearn]'" in done.stderr
