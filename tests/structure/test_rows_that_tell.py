"""Columns that hold some of the hidden values: in a few rows, a row further on, as averages or totals of groups."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv

PLAN = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(40_000, 60_000)), secret=sv.Mean(), tolerance=250), max_risk=0.1
)
COUNTS = sv.plan(
    sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(3, 8)), secret=sv.Mean(), tolerance=0.1), max_risk=0.2
)


def pay(rng, rows=800):
    drawn = rng.gamma(20, size=rows)
    return (drawn - drawn.mean()) / drawn.std() * 8000 + rng.uniform(42_000, 58_000)


def beside(name, x, rng):
    """Another column of this kind, and whether it tells."""
    team = rng.integers(0, 8, len(x))
    some = np.isin(np.arange(len(x)), rng.choice(len(x), 4, replace=False))
    means = np.bincount(team, weights=x) / np.bincount(team)
    match name:
        case "the row before":
            return np.concatenate(([np.nan], x[:-1]))
        case "two rows later":
            return np.concatenate((x[2:], [np.nan, np.nan]))
        case "equal in four rows":
            return np.where(some, x, x * rng.uniform(0.4, 1.0, len(x)))
        case "a twelfth in four rows":
            return np.where(some, x / 12, x * rng.uniform(0.05, 0.1, len(x)))
        case "averages of teams":
            return means[team]
        case "averages of teams, in cents":
            return np.round(means, 2)[team]
        case "totals of teams":
            return np.bincount(team, weights=x)[team]
        case "unrelated":
            return rng.normal(30_000, 5_000, len(x))
        case "related":
            return 0.6 * x + rng.normal(0, 8_000, len(x))
        case "budgets of teams":
            return rng.uniform(40_000, 60_000, 8)[team]
    raise AssertionError(name)


TELLS = (
    "the row before", "two rows later", "equal in four rows", "a twelfth in four rows", "averages of teams",
    "averages of teams, in cents", "totals of teams",
)  # fmt: skip


@pytest.mark.parametrize("name", TELLS)
def test_a_column_that_holds_values_is_refused(name):
    for seed in range(3):
        rng = np.random.default_rng([seed, *name.encode()])
        x = pay(rng)
        table = pl.DataFrame({"x": x, "other": beside(name, x, rng)})
        with pytest.raises(sv.StructureError, match="'other'"):
            sv.release(PLAN, table, column="x")


@pytest.mark.parametrize("name", ["unrelated", "related", "budgets of teams"])
def test_a_column_that_merely_goes_with_it_is_released(name):
    for seed in range(10):
        rng = np.random.default_rng([seed, *name.encode()])
        x = pay(rng)
        released = sv.release(PLAN, pl.DataFrame({"x": x, "other": beside(name, x, rng)}), column="x")
        # by one number, up to the blur, which is not 0
        assert np.ptp(released["x"].to_numpy() - x) < 2 * PLAN.release_mode.wander(PLAN.problem)
        assert abs(float(released["x"].mean()) - x.mean()) > 1e-3


def test_what_a_column_that_holds_values_gives_away():
    """The attack: the one difference that rows share is the shift, and the mean follows."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(20):
        x = pay(rng)
        other = beside("equal in four rows", x, rng)
        released = np.asarray(sv.release(PLAN, pl.DataFrame({"x": x, "o": other}), column="x", accept=("copies",))["x"])
        rest = np.sort(released - other)
        held = np.searchsorted(rest, rest + PLAN.release_mode.wander(PLAN.problem), side="right") - np.arange(len(rest))
        hits += abs(released.mean() - rest[np.argmax(held)] - x.mean()) <= 250
    assert hits == 20


@pytest.mark.parametrize("seed", range(3))
def test_counts_beside_their_shops_average_or_total_are_refused(seed):
    rng = np.random.default_rng(seed)
    x, shop = rng.poisson(5.5, 900), rng.integers(0, 12, 900)
    total = np.bincount(shop, weights=x)
    for other in (total[shop] / np.bincount(shop)[shop], total[shop]):
        with pytest.raises(sv.StructureError, match="'other'"):
            sv.release(COUNTS, pl.DataFrame({"x": x, "other": other}), column="x", accept=("groups", "order"))
    sv.release(COUNTS, pl.DataFrame({"x": x, "other": rng.integers(3, 9, 12)[shop]}), column="x", accept=("heaps",))
