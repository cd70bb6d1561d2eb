"""One random stream for a column: releases under several plans are nested, and tell no more than their parameters."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.auditing.recapture import drawn_apart, recaptured
from statveil.auditing.view import Earlier, Knowledge, View
from statveil.tables.blocks import blocks_of
from statveil.tables.maps.category import prepare_category
from statveil.tables.maps.jitter import prepare_jitter
from statveil.tables.maps.nested import first_placed, first_units, nodes_of
from statveil.tables.maps.smooth import prepare_smooth
from statveil.tables.maps.unit import prepare_unit
from statveil.tables.record import shuffled_by
from tests.tables.test_maps_random import UNLIKELY, compositions, fit, hypergeometric, multinomial, pieces, released

SEEDS = st.integers(0, 2**128 - 1)


def within(small, large):
    """The law of a uniform part of one total of a given set of units."""
    return hypergeometric(large, sum(small))[tuple(small)]


# --- units ------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(
    st.lists(st.integers(0, 30) | st.integers(0, 10**13), min_size=1, max_size=12),
    st.lists(st.floats(0, 60), min_size=2, max_size=4),
    st.sampled_from(["equal", "urn"]),
    SEEDS,
    st.integers(1, 5),
)
def test_units_of_several_plans_are_nested(column, means, weights, seed, size):
    blocks = pieces(column, size)
    tables = [
        released(prepare_unit(blocks, mean=mean, weights=weights, seed=seed), blocks)
        for mean in [*sorted(means), sum(column) / len(column), max(means)]
    ]
    ordered = sorted(tables, key=np.sum)
    for one, two in itertools.pairwise(ordered):
        assert (one <= two).all()
        assert np.abs(two - one).sum() == two.sum() - one.sum()
    np.testing.assert_array_equal(tables[-1], tables[-3])  # equal plans, equal tables
    assert tables[-2].tolist() == column


@pytest.mark.parametrize("listed", [1, 3, 100])
def test_the_first_units_of_an_order_follow_the_hypergeometric_law_together(listed):
    units, few, many = (4, 1, 3), 3, 6
    seen = Counter()
    for seed in range(2_000):
        draws = nodes_of(seed, 1, 0)
        one, two = (tuple(first_units(np.array(units), keep, draws, listed=listed).tolist()) for keep in (few, many))
        seen[one, two] += 1
    expected = {
        (one, two): chance * within(one, two)
        for two, chance in hypergeometric(units, many).items()
        for one in compositions(few, two)
    }
    assert fit(seen, expected) > UNLIKELY


@pytest.mark.parametrize("thrown", [1, 2, 50])
def test_throws_follow_the_multinomial_law_together(thrown):
    weights, few, many = np.array([1.0, 2.0, 0.5]), 3, 6  # of which parts are drawn as wholes: 1 + 3 + 12, or 2 + 6
    seen = Counter()
    for seed in range(2_000):
        draws = nodes_of(seed, 2, 0)
        one, two = (
            tuple(first_placed(weights, units, draws, thrown=thrown, listed=2).tolist()) for units in (few, many)
        )
        seen[one, two] += 1
    expected = {
        (one, tuple(np.add(one, rest).tolist())): 0.0
        for one in multinomial([1, 2, 0.5], few)
        for rest in multinomial([1, 2, 0.5], many - few)
    }
    for (one, chance), (rest, other) in itertools.product(
        multinomial([1, 2, 0.5], few).items(), multinomial([1, 2, 0.5], many - few).items()
    ):
        expected[one, tuple(np.add(one, rest).tolist())] += chance * other
    assert fit(seen, expected) > UNLIKELY


def test_a_quadrillion_units_are_nested_and_follow_the_law():
    units = np.array([3 * 10**14, 5 * 10**14, 2 * 10**14])
    total, share = int(units.sum()), 0.3
    apart = []
    for seed in range(300):
        draws = nodes_of(seed, 3, 0)
        fewer, more = (first_units(units, round(total * part), draws, listed=2**10) for part in (share, 0.7))
        assert int(fewer.sum()) == round(total * share)
        assert (fewer <= more).all()
        assert (more <= units).all()
        apart.append(fewer[0])
    spread = math.sqrt(total * share * 0.3 * 0.7 * (1 - share))  # of a hypergeometric count
    centred = (np.array(apart) - 0.3 * share * total) / spread
    assert abs(centred.mean()) < 4 / math.sqrt(300)
    assert abs(centred.var() - 1) < 4 * math.sqrt(2 / 300)


def rows_of(total, weights, rng):
    """Rows of the family given their total: throws (Poisson), or an urn (geometric)."""
    column = np.zeros(3)
    for _ in range(total):
        odds = np.ones(3) if weights == "equal" else column + 1
        column[rng.choice(3, p=odds / odds.sum())] += 1
    return column


@pytest.mark.parametrize("total", [1, 3, 6])
@pytest.mark.parametrize("weights", ["equal", "urn"])
def test_the_law_of_two_tables_does_not_depend_on_the_true_total(weights, total):
    """Both grown, one of each, both shrunk: one law, which holds the released totals alone."""
    few, many = 2, 5
    rng, seen = np.random.default_rng(total), Counter()
    for seed in range(1_200):
        column = rows_of(total, weights, rng)
        one, two = (
            released(prepare_unit(pieces(column, 2), mean=units / 3, weights=weights, seed=seed), pieces(column, 2))
            for units in (few, many)
        )
        seen[tuple(one.astype(int).tolist()), tuple(two.astype(int).tolist())] += 1
    if weights == "equal":
        last = multinomial([1, 1, 1], many)
    else:
        ways = compositions(many, [many] * 3)
        last = dict.fromkeys(ways, 1 / len(ways))  # a geometric column given its total: all are as likely
    expected = {(one, two): chance * within(one, two) for two, chance in last.items() for one in compositions(few, two)}
    assert fit(seen, expected) > UNLIKELY


# --- categories -------------------------------------------------------------------------------------


def on_line(counts, moved):
    """Shares after so many rows, a fraction too, have left the first category for all others alike."""
    shares = np.array(counts, dtype=np.float64)
    shares[1:] += moved / (len(counts) - 1)
    shares[0] -= moved
    return shares / shares.sum()


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=6),
    st.lists(st.floats(0, 1), min_size=2, max_size=4),
    SEEDS,
    st.integers(1, 30),
)
def test_categories_of_several_plans_differ_by_the_fewest_rows(counts, places, seed, size):
    counts[0] += 1
    rng = np.random.default_rng(seed % 2**32)
    column = rng.permutation(np.repeat(np.arange(len(counts)), counts)).astype(np.float64)
    blocks = pieces(column, size)
    least, most = -min(counts[1:]) * (len(counts) - 1), counts[0]
    tables = [
        released(prepare_category(blocks, shares=on_line(counts, least + (most - least) * place), seed=seed), blocks)
        for place in places
    ]
    for one, two in itertools.combinations([*tables, column], 2):
        numbers = [np.bincount(table.astype(int), minlength=len(counts)) for table in (one, two)]
        assert (one != two).sum() == np.abs(numbers[0] - numbers[1]).sum() // 2  # no fewer rows could differ
        changed = one != two
        assert ((one[changed] == 0) | (two[changed] == 0)).all()


@pytest.mark.parametrize("truth", [(6, 0, 0), (2, 2, 2), (0, 3, 3)])
def test_the_law_of_two_tables_does_not_depend_on_the_true_counts(truth):
    """Both by leaving the category, one of each, and both by coming back to it."""
    rng, seen = np.random.default_rng(sum(truth[:1])), Counter()
    for seed in range(1_200):
        column = rng.permutation(np.repeat(np.arange(3), truth)).astype(np.float64)
        tables = [
            released(prepare_category(pieces(column, 4), shares=np.array(after) / 6, seed=seed), pieces(column, 4))
            for after in ((4, 1, 1), (1, 3, 2))
        ]
        seen[tuple(tuple(table.astype(int).tolist()) for table in tables)] += 1
    first = set(itertools.permutations((0, 0, 0, 0, 1, 2)))
    expected = {}
    for one in first:
        for stays, third in itertools.permutations([k for k in range(6) if one[k] == 0], 2):
            two = [1 if label == 0 else label for label in one]
            two[stays], two[third] = 0, 2
            expected[one, tuple(two)] = 1 / (len(first) * 12)
    assert fit(seen, expected) > UNLIKELY


# --- capture and recapture: two streams tell, one does not -------------------------------------------

ROWS = 20_000


def poisson_plans():
    problem = sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(4, 16)), secret=sv.Mean(), tolerance=0.4)
    return [sv.plan(problem, max_risk=risk, method="dynamic", grid=60) for risk in (0.2, 0.3)]


def class_of(plans, value):
    """Where the receiver of these releases knows the parameter to lie, by the plans' own edges."""
    edges = np.unique(np.concatenate([plan.mechanism.edges for plan in plans]))
    place = np.searchsorted(edges, value, side="right")
    return edges[place - 1], edges[place]


def candidates_of(one, two):
    """What the true mean would be if units were added both times, and if they were taken away both times."""
    common = float(np.cov(one, two)[0, 1])
    return common, float(one.mean() * two.mean() / common)


def guess_of(candidates, low, high, rng):
    """One of the candidates that the released parameters allow; else somewhere there."""
    allowed = [each for each in candidates if low <= each <= high]
    return rng.choice(allowed) if allowed else rng.uniform(low, high)


def unit_game(plans, *, runs, streams):
    """(share of runs with a candidate within the tolerance, share of guesses within it)."""
    rng, near, hits = np.random.default_rng(16), 0, 0
    for run in range(runs):
        column = rng.poisson(rng.uniform(4.1, 15.9), ROWS).astype(np.float64)
        truth, blocks = column.mean(), blocks_of(column)
        tables = []
        for number, plan in enumerate(plans):
            mean = float(plan.apply(rate=truth).secret)
            prepared = prepare_unit(blocks, mean=mean, weights="equal", seed=2 * run + number * (streams - 1))
            tables.append(released(prepared, blocks))
        candidates = candidates_of(*tables)
        near += min(abs(each - truth) for each in candidates) <= 0.4
        hits += abs(guess_of(candidates, *class_of(plans, truth), rng) - truth) <= 0.4
    return near / runs, hits / runs


def test_units_of_two_streams_are_recaptured_and_of_one_stream_are_not():
    runs = 100
    plans = poisson_plans()
    same = [plans[0], plans[0]]
    near, hits = unit_game(same, runs=runs, streams=2)
    assert near > 0.97  # the truth is one of two numbers
    assert hits > plans[0].risk + 4 * math.sqrt(0.25 / runs)
    # two plans with two streams: where one adds and the other takes away nothing is told, else the same
    assert unit_game(plans, runs=runs, streams=2)[0] > 0.65
    joint = sv.compose(plans)
    assert joint.risk < 0.5
    assert joint.risk_kind == "exact"
    rate = unit_game(plans, runs=runs, streams=1)[1]
    assert rate <= joint.risk + 3 * math.sqrt(joint.risk * (1 - joint.risk) / runs)


def category_game(plans, *, runs, streams):
    rng, near, hits = np.random.default_rng(17), 0, 0
    problem = plans[0].problem
    for run in range(runs):
        truth = rng.uniform()
        column = (rng.permutation(ROWS) >= round(truth * ROWS)).astype(np.float64)  # category 0 is the hidden one
        truth, blocks = float(np.mean(column == 0)), blocks_of(column)
        sets = []
        for number, plan in enumerate(plans):
            released_to = plan.apply({"a": truth, "b": 1 - truth}).released
            shares = np.array([float(released_to[name]) for name in ("a", "b")])
            prepared = prepare_category(blocks, shares=shares, seed=2 * run + number * (streams - 1))
            sets.append(released(prepared, blocks) == 0)
        one, two = sets
        taken = one.mean() * two.mean() / max(np.mean(one & two), 1e-9)
        given = 1 - (1 - one.mean()) * (1 - two.mean()) / max(np.mean(~one & ~two), 1e-9)
        edges = np.unique(np.concatenate([plan.mechanism.bins.edges() for plan in plans]))
        place = np.clip(np.searchsorted(edges, truth, side="right"), 1, len(edges) - 1)
        near += min(abs(taken - truth), abs(given - truth)) <= problem.tolerance
        hits += abs(guess_of((taken, given), edges[place - 1], edges[place], rng) - truth) <= problem.tolerance
    return near / runs, hits / runs


def test_categories_of_two_streams_are_recaptured_and_of_one_stream_are_not():
    problem = sv.Problem(family=sv.Categorical(labels=("a", "b")), secret=sv.Fraction("a"), tolerance=0.02)
    plans, runs = [sv.plan(problem, bin=width) for width in (0.25, 0.2)], 100
    same = [plans[0], plans[0]]
    near, hits = category_game(same, runs=runs, streams=2)
    assert near > 0.97
    assert hits > plans[0].risk + 4 * math.sqrt(0.25 / runs)
    joint = sv.compose(plans)
    assert 0.3 < joint.risk < 0.33  # eight pieces of [0, 1], each with a window of 0.04
    rate = category_game(plans, runs=runs, streams=1)[1]
    assert rate <= joint.risk + 3 * math.sqrt(joint.risk * (1 - joint.risk) / runs)


def scattered(one, two, inner):
    """The true mean by how far the same rows lie apart in two tables: a cell of the original, scaled."""
    ratio = one.mean() / two.mean()
    low, high = np.quantile(one, inner)
    apart = (one - ratio * two)[(one > low) & (one < high)]
    scale = math.sqrt(6 * max(float(np.mean(apart**2)) - (1 + ratio**2) / 12, 1e-9))
    return one.mean() / scale


@pytest.mark.parametrize(("mode", "low", "high"), [("jitter", 40, 80), ("smooth", 20, 40)])
def test_redrawn_rows_of_two_streams_tell_the_cells_and_of_one_stream_do_not(mode, low, high):
    runs, inner = 12, (0.05, 0.95) if mode == "jitter" else (0.1, 0.7)
    prepare = prepare_jitter if mode == "jitter" else prepare_smooth
    rng, hits = np.random.default_rng(18), {1: 0, 2: 0}
    for run in range(runs):
        column = np.floor(rng.gamma(8.0, rng.uniform(low, high) / 8, ROWS))
        blocks = blocks_of(column)
        for streams in hits:
            tables = [
                prepare(blocks, about=0.0, step=1.0, mean=ratio * column.mean(), atoms=(), seed=2 * run + seed).block(
                    column, 0
                )
                for ratio, seed in ((1.1, 0), (0.9, streams - 1))
            ]
            hits[streams] += abs(scattered(*tables, inner) / column.mean() - 1) <= 0.12
    assert hits[2] >= 8
    assert hits[1] == 0
    # one table twice is one table
    again = [prepare(blocks, about=0.0, step=1.0, mean=50.0, atoms=(), seed=5).block(column, 0) for _ in range(2)]
    np.testing.assert_array_equal(*again)


def test_the_order_of_the_rows_tells_how_many_units_were_taken_away():
    """Why a release by rank beside one by units counts as told: their correlation falls with the share that is kept."""
    rng = np.random.default_rng(19)
    found = []
    for rate in (8.0, 16.0):
        column = rng.poisson(rate, ROWS).astype(np.float64)
        blocks = blocks_of(column)
        kept = released(prepare_unit(blocks, mean=6.0, weights="equal", seed=1), blocks)
        order = np.argsort(np.argsort(column + rng.uniform(size=ROWS)))
        found.append(np.corrcoef(kept, order)[0, 1])
    assert found[0] - found[1] > 20 / math.sqrt(ROWS)  # both tables have the mean 6
    problem = sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(4, 16)), secret=sv.Std(), tolerance=0.1)
    by_rank = sv.plan(problem, max_risk=0.3, method="dynamic", grid=60)
    assert by_rank.mode == "rank"
    composed = sv.compose([poisson_plans()[0], by_rank])
    assert composed.risk == 1
    assert "order that another release keeps" in composed.secrets[0].why


# --- the record ---------------------------------------------------------------------------------------


@pytest.fixture
def counts():
    return np.random.default_rng(3).poisson(7.3, 3_000)


def test_the_record_of_one_plan_lends_its_stream_to_another(counts):
    plans = poisson_plans()
    first = sv.release(plans[0], counts, details=True)
    second = sv.release(plans[1], counts, record=first.record, details=True)
    again = sv.release(plans[0], counts, record=second.record, details=True)
    np.testing.assert_array_equal(first.table, again.table)
    small, large = sorted((first.table, second.table), key=np.sum)
    assert (small <= large).all()
    assert small.sum() < large.sum()
    assert second.record["seed"] == first.record["seed"]
    assert [one["mode"] for one in again.record["releases"]] == ["unit", "unit"]
    assert again.record["releases"] == second.record["releases"]
    assert first.record["releases"] == second.record["releases"][:1]


def test_records_from_before_there_were_lists_are_read(counts):
    plans = poisson_plans()
    first = sv.release(plans[0], counts, details=True)
    old = {key: value for key, value in first.record.items() if key not in ("releases", "record_sha256")}
    second = sv.release(plans[1], counts, record=old, details=True)
    hashes = [one["plan_sha256"] for one in second.record["releases"]]
    assert hashes == [first.record["plan_sha256"], second.record["plan_sha256"]]


def test_records_that_do_not_fit_are_refused_with_what_to_do(counts):
    plan, other = poisson_plans()
    record = sv.release(plan, {"x": counts}["x"], details=True).record
    for table, options, changed, says in (
        (np.append(counts, 3), {}, {}, "name a new file for this one"),
        (counts, {"shuffle": True}, {}, "in another order"),
        (counts, {}, {"releases": "none"}, "changed after it was made"),
    ):
        with pytest.raises(sv.FileError, match=says):
            sv.release(other, table, record={**record, **changed}, **options)
    unhashed = {key: value for key, value in record.items() if key != "record_sha256"}
    with pytest.raises(sv.FileError, match="list of releases"):
        sv.release(other, counts, record={**unhashed, "releases": [3]})
    import polars as pl

    frame = pl.DataFrame({"x": counts, "y": counts[::-1]})
    named = sv.release(plan, frame, column="x", accept=["copies"], details=True).record
    with pytest.raises(sv.FileError, match="every column has a record of its own"):
        sv.release(other, frame, column="y", accept=["copies"], record=named)


def test_a_test_seed_lends_nothing(counts):
    plan, other = poisson_plans()
    record = sv.release(plan, counts, seed=7, details=True).record
    fresh = sv.release(other, counts, record=record, details=True).record
    assert fresh["seed"] != record["seed"]
    assert len(fresh["releases"]) == 1


@pytest.mark.parametrize("shuffle", [False, True])
def test_files_of_two_plans_with_one_record_are_nested(cli, tmp_path, counts, shuffle):
    source, record = tmp_path / "in.csv", tmp_path / "private.json"
    source.write_text("x\n" + "\n".join(map(str, counts.tolist())) + "\n")
    tables = []
    for number, plan in enumerate(poisson_plans()):
        sv.save_plan(plan, tmp_path / f"{number}.json")
        out = tmp_path / f"out{number}.csv"
        words = [tmp_path / f"{number}.json", source, out, "--column", "x", "--record", record]
        code, _, err = cli("release", *words, *(["--shuffle"] if shuffle else []))
        assert (code, err) == (0, "")
        tables.append(np.loadtxt(out, skiprows=1))
    small, large = sorted(tables, key=np.sum)
    assert (small <= large).all()
    kept = json.loads(record.read_text())
    assert len(kept["releases"]) == 2
    assert record.stat().st_mode & 0o777 == 0o600
    for plan in poisson_plans():  # an audit of either release is told its order
        assert shuffled_by(kept, plan) == (int(kept["seed"], 16) if shuffle else None)
    source.write_text("x\n" + "\n".join(map(str, counts[1:].tolist())) + "\n")
    words = [tmp_path / "0.json", source, tmp_path / "new.csv", "--column", "x", "--record", record]
    code, out, err = cli("release", *words, *(["--shuffle"] if shuffle else []))
    assert (code, out) == (2, "")
    assert "has changed since" in err
    assert json.loads(record.read_text()) == kept
    assert not (tmp_path / "new.csv").exists()


@pytest.mark.parametrize("kind", ["poisson", "category"])
@pytest.mark.heavy(1)
def test_the_audit_recaptures_what_two_records_have_drawn(kind):
    rng = np.random.default_rng(21)
    if kind == "category":
        problem = sv.Problem(family=sv.Categorical(labels=("a", "b")), secret=sv.Fraction("a"), tolerance=0.02)
        plan, column = sv.plan(problem, bin=0.4), rng.choice(["a", "b"], ROWS, p=[0.3, 0.7])
    else:
        problem = sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(4, 16)), secret=sv.Mean(), tolerance=0.4)
        plan, column = sv.plan(problem, max_risk=0.15, method="greedy", grid=60), rng.poisson(8, ROWS)
    first = sv.release(plan, column, details=True)
    findings = {}
    for streams, record in ((1, first.record), (2, None)):
        other = sv.release(plan, column, record=record)
        options = {"attackers": ["repeated"], "trials": 200, "seed": 1}
        found = sv.audit(plan, column, first.table, releases=[(plan, other)], **options)
        findings[streams] = next(each for each in found.findings if each.attacker == "repeated")
    assert findings[1].verdict != "leaks"
    assert findings[2].verdict == "leaks"
    assert findings[2].rate > 2 * findings[1].rate


@pytest.mark.parametrize("means", [(5.0, 4.0), (12.0, 15.0)])
def test_geometric_counts_are_recaptured_by_their_own_law(means):
    column = (np.random.default_rng(22).geometric(0.1, 200_000) - 1).astype(np.float64)
    blocks = blocks_of(column)
    problem = sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.05, 0.3)), secret=sv.Mean(), tolerance=0.3)
    plan = sv.plan(problem, max_risk=0.3, method="greedy", grid=60)
    for seeds in ((1, 2), (1, 1)):
        one, two = (
            released(prepare_unit(blocks, mean=mean, weights="urn", seed=seed), blocks)
            for mean, seed in zip(means, seeds, strict=True)
        )
        other = Earlier(plan=plan, column=two)
        view = View(plan=plan, column=one, knowledge=Knowledge(releases=(other,)))
        candidates = recaptured(view, other)
        assert drawn_apart(view) == (seeds == (1, 2))
        if seeds == (1, 1):
            assert candidates == []
        else:
            value, error = min(candidates, key=lambda each: abs(each[0] - column.mean()))
            assert abs(value - column.mean()) < 4 * error
            assert error < 1
