"""Amounts on very many places that were multiplied by a number near 1: gaps that no single place shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv
from statveil.tables.structure.column.findings import find_structure
from statveil.tables.structure.column.lattice_search import find_lattice
from statveil.tables.structure.column.overtone_search import find_overtones


def shape(rng, kind, level, rows):
    return (
        rng.lognormal(np.log(level), 0.35, rows),
        rng.gamma(3, level / 3, rows),
        rng.normal(level, level / 4, rows),
        rng.uniform(0.2 * level, 1.8 * level, rows),
        rng.exponential(level, rows),
    )[kind]


def alarm(column):
    values, counts = np.unique(column, return_counts=True)
    lattice = find_lattice(values, len(column), 53)
    assert lattice is not None
    return find_overtones(lattice, counts.astype(np.float64))


@given(st.floats(0.0005, 0.14), st.booleans())
def test_what_a_factor_leaves_out_or_uses_twice(share, twice):
    """Where its places lie, on which the search rests: p times the share is nearest to a whole number and a half."""
    factor = 1 / (1 + share) if twice else 1 / (1 - share)
    reached = np.bincount(np.floor(np.arange(6_000) * factor + 0.5).astype(np.int64))[:5_000]
    uneven = np.flatnonzero(reached != 1)
    assert (reached[uneven] == (2 if twice else 0)).all()
    turn = np.remainder(uneven * share, 1.0)
    assert np.max(np.abs(turn - 0.5), initial=0.0) <= share / 2 + 1e-6


@pytest.mark.parametrize(
    ("factor", "rows"), [(1.0837, 5_000), (0.9251, 5_000), (1.0312, 10_000), (0.9712, 10_000), (1.0101, 40_000)]
)
@pytest.mark.parametrize("level", [5_000, 20_000])
def test_a_rate_near_one_is_seen_on_many_places(factor, rows, level):
    found = 0
    for kind in range(5):
        rng = np.random.default_rng(kind)
        found += alarm(np.floor(np.floor(shape(rng, kind, level, rows) + 0.5) * factor + 0.5))
    assert found >= 4, f"{found} of 5"


def test_smooth_shapes_are_left_alone():
    """0.005 is meant."""
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(1_000 + seed)
        rows, level = int(rng.choice([1_000, 3_000, 10_000])), float(rng.choice([3_000, 8_000, 20_000]))
        alarms += alarm(np.floor(shape(rng, seed % 5, level, rows) + 0.5))
    assert alarms <= 1


@pytest.mark.parametrize("period", [5, 25, 100, 1_000])
def test_favourite_multiples_are_favourites_and_no_rate(period):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        column = np.floor(shape(rng, seed, 30_000, 8_000) + 0.5)
        some = rng.random(len(column)) < 0.3
        column[some] = period * np.floor(column[some] / period + 0.5)
        names = {item.name for item in find_structure(column)}
        assert "heaps" in names
        assert "rough" not in names


def test_prices_at_a_rate_of_exchange_give_their_mean_away():
    """The attack: after the true move no row lies on a cent that the rate leaves out. Without a rate it must fail."""
    rate, rng = 1.083716, np.random.default_rng(11)
    known = sv.Structure(step=0.01)
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 150), tolerance=2.0, known=known), max_risk=0.2)
    assert plan.mode == "lattice"
    hits = {True: 0, False: 0}
    for _ in range(6):
        cents = np.floor(rng.normal(100 * rng.uniform(70, 125), 1_500, 20_000) + 0.5)
        for converted in (True, False):
            column = (np.floor(cents * rate + 0.5) if converted else cents) / 100
            if converted:
                with pytest.raises(sv.StructureError, match="places of the lattice"):
                    sv.release(plan, column)
            out = np.asarray(sv.release(plan, column, accept=["rough"] if converted else []))
            places, moves = np.rint(out * 100), np.arange(-1_100, 1_101)
            for rows, left in ((1_000, 200), (len(places), 1)):  # most moves are ruled out by few rows
                before = places[:rows, None] - moves[None, :]
                met = np.abs(np.floor(np.rint(before / rate) * rate + 0.5) - before) < 0.5
                moves = moves[np.argsort(-met.mean(axis=0), kind="stable")[:left]]
            guess = float(out.mean()) - moves[0] / 100
            hits[converted] += abs(guess - column.mean()) <= 2.0
    assert hits[True] == 6
    assert hits[False] <= 4, "without the rate there is nothing to find"
