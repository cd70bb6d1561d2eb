"""The seeded maps: exact totals, exact laws, the same rows in any order of the blocks."""

from __future__ import annotations

import itertools
import json
import math
import tempfile
from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from statveil.errors import ColumnError, FileError
from statveil.tables.blocks import BLOCK, blocks_of
from statveil.tables.maps import rank as rank_file
from statveil.tables.maps import rank_order, spread_ranks
from statveil.tables.maps.category import largest_remainder, prepare_category
from statveil.tables.maps.column_map import stream
from statveil.tables.maps.rank import prepare_rank
from statveil.tables.maps.sampling import spread, thinned
from statveil.tables.maps.unit import prepare_unit
from tests.places import spread_out

SEED = 0x5EED_0123_4567_89AB_CDEF_0011_2233_4455
SEEDS = st.integers(0, 2**128 - 1)
UNLIKELY = 1e-4  # seeds are fixed, so a right law passes always or never; none was tried twice


def pieces(values, size):
    """The column in blocks of any size: the laws do not depend on it, and small blocks show how blocks are combined."""
    values = np.asarray(values, dtype=np.float64)
    return lambda: (values[start : start + size] for start in range(0, len(values), size))


def released(prepared, blocks, backwards=False):
    parts = list(enumerate(blocks()))
    done = {index: prepared.block(values, index) for index, values in (reversed(parts) if backwards else parts)}
    return np.concatenate([done[index] for index, _ in parts]) if parts else np.empty(0)


def fit(observed, expected):
    """p-value of counts of outcomes under their exact probabilities; an outcome without probability is a failure."""
    assert set(observed) <= set(expected)
    assert math.isclose(math.fsum(expected.values()), 1, rel_tol=1e-9)
    total = sum(observed.values())
    ordered = sorted(expected, key=expected.get)
    cells, seen, mass = [], 0, 0.0
    for outcome in ordered:  # rare outcomes share a cell
        seen, mass = seen + observed.get(outcome, 0), mass + expected[outcome]
        if mass * total >= 8:
            cells.append((seen, mass * total))
            seen, mass = 0, 0.0
    if mass:
        cells[-1] = (cells[-1][0] + seen, cells[-1][1] + mass * total)
    assert len(cells) > 2
    counts, means = np.array(cells).T
    return stats.chisquare(counts, means * (counts.sum() / means.sum())).pvalue


def compositions(total, bounds):
    """Every way to write the total as a sum with 0 <= x_i <= bound_i."""
    if len(bounds) == 1:
        return [(total,)] if total <= bounds[0] else []
    return [
        (first, *rest) for first in range(min(total, bounds[0]) + 1) for rest in compositions(total - first, bounds[1:])
    ]


def hypergeometric(units, keep):
    ways = math.comb(sum(units), keep)
    return {kept: math.prod(map(math.comb, units, kept)) / ways for kept in compositions(keep, units)}


def multinomial(weights, units):
    odds = [weight / sum(weights) for weight in weights]
    return {
        x: math.factorial(units) * math.prod(p**k / math.factorial(k) for p, k in zip(odds, x, strict=True))
        for x in compositions(units, [units] * len(weights))
    }


def polya(counts, added):
    """Units come one at a time, to row i with odds count_i + 1 + what it already got."""
    law = {tuple(counts): 1.0}
    for _ in range(added):
        step = Counter()
        for state, chance in law.items():
            for row in range(len(counts)):
                grown = (*state[:row], state[row] + 1, *state[row + 1 :])
                step[grown] += chance * (state[row] + 1) / (sum(state) + len(state))
        law = step
    return {tuple(np.subtract(state, counts).tolist()): chance for state, chance in law.items()}


# Units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 10])
def test_units_kept_are_a_uniform_subset(size):
    column, keep = [3, 0, 2, 4], 5
    observed = Counter(
        tuple(
            released(
                prepare_unit(pieces(column, size), mean=keep / 4, weights="equal", seed=seed), pieces(column, size)
            )
            .astype(int)
            .tolist()
        )
        for seed in range(3_000)
    )
    assert fit(observed, hypergeometric(column, keep)) > UNLIKELY


@pytest.mark.parametrize("keep", [10, 12, 14])
def test_units_kept_by_binomials_first_are_a_uniform_subset_too(keep):
    units = np.array([6, 8, 10])
    observed = Counter(tuple(thinned(units, keep, stream(seed, 1, 0), listed=9).tolist()) for seed in range(6_000))
    assert min(keep, 24 - keep) > 9  # otherwise no binomial is drawn
    assert fit(observed, hypergeometric(units.tolist(), keep)) > UNLIKELY


@pytest.mark.parametrize("size", [1, 2, 10])
@pytest.mark.parametrize(("weights", "column"), [("equal", [3, 0, 1]), ("urn", [3, 0, 1]), ("urn", [0, 0, 0])])
def test_units_added_follow_the_multinomial_or_the_urn(size, weights, column):
    added = 4
    observed = Counter()
    for seed in range(3_000):
        prepared = prepare_unit(pieces(column, size), mean=(sum(column) + added) / 3, weights=weights, seed=seed)
        observed[tuple((released(prepared, pieces(column, size)) - column).astype(int).tolist())] += 1
    expected = multinomial([1, 1, 1], added) if weights == "equal" else polya(column, added)
    assert fit(observed, expected) > UNLIKELY
    wrong = polya([3, 0, 1], added) if weights == "equal" else multinomial([1, 1, 1], added)
    assert fit(observed, wrong) < 1e-10  # the sample is large enough to tell the two laws apart


def quadratic(draws, mean, covariance):
    """p-value of (x - mean)' covariance^-1 (x - mean) being chi-square distributed."""
    centred = np.array(draws, dtype=np.float64)[:, :-1] - mean[:-1]
    squares = np.einsum("ij,ij->i", centred @ np.linalg.inv(covariance[:-1, :-1]), centred)
    return stats.kstest(squares, stats.chi2(len(mean) - 1).cdf).pvalue


@pytest.mark.parametrize("share", [0.4, 1e-9, 1 - 1e-9])
def test_a_quadrillion_units_are_thinned_by_the_same_law(share):
    units = np.array([3 * 10**14, 5 * 10**14, 2 * 10**14])
    total = int(units.sum())
    keep = round(total * share)
    draws = [thinned(units, keep, stream(seed, 2, 0)) for seed in range(400)]
    assert all(int(kept.sum()) == keep and (kept >= 0).all() and (kept <= units).all() for kept in draws)
    part = units / total
    covariance = keep * ((total - keep) / (total - 1)) * (np.diag(part) - np.outer(part, part))
    assert quadratic(draws, keep * part, covariance) > UNLIKELY


def test_units_spread_over_very_unequal_weights_follow_the_multinomial():
    weights, units = np.array([1.0, 1e12, 2.0, 3.0]), 5 * 10**14
    draws = [spread(weights, units, stream(seed, 3, 0)) for seed in range(400)]
    assert all(int(given.sum()) == units for given in draws)
    part = weights / weights.sum()
    order = [0, 2, 3, 1]  # the heavy entry last, as it is the one left out of the form
    covariance = units * (np.diag(part) - np.outer(part, part))[np.ix_(order, order)]
    assert quadratic([given[order] for given in draws], units * part[order], covariance) > UNLIKELY


def cells(values, law):
    """Chi-square p-value of whole numbers under a frozen law, with one last open cell; the mean is known exactly."""
    edge = int(law.ppf(1 - 20 / len(values)))
    observed = np.bincount(np.minimum(values.astype(int), edge), minlength=edge + 1)
    expected = np.append(law.pmf(np.arange(edge)), law.sf(edge - 1)) * len(values)
    keep = expected > 5
    return stats.chisquare(
        np.append(observed[keep], observed[~keep].sum() + 1e-9), np.append(expected[keep], expected[~keep].sum() + 1e-9)
    ).pvalue


@pytest.mark.parametrize("mean", [4.0, 6.5])
def test_poisson_rows_stay_poisson(mean):
    column = stream(SEED, 4, 0).poisson(5.0, 150_000).astype(np.float64)
    after = released(prepare_unit(blocks_of(column), mean=mean, weights="equal", seed=SEED), blocks_of(column))
    assert after.sum() == 150_000 * mean
    assert cells(after, stats.poisson(mean)) > UNLIKELY
    # Neighbours stay independent, across the border of the blocks as well.
    assert abs(np.corrcoef(after[1:], after[:-1])[0, 1]) < 4 / math.sqrt(150_000)


def test_geometric_rows_stay_geometric_by_the_urn_and_not_by_equal_weights():
    column = stream(SEED, 5, 0).geometric(1 / 6, 150_000) - 1.0
    law = stats.geom(1 / 9, loc=-1)
    urn = prepare_unit(blocks_of(column), mean=8.0, weights="urn", seed=SEED)
    assert cells(released(urn, blocks_of(column)), law) > UNLIKELY
    equal = prepare_unit(blocks_of(column), mean=8.0, weights="equal", seed=SEED)
    assert cells(released(equal, blocks_of(column)), law) < 1e-10
    fewer = prepare_unit(blocks_of(column), mean=3.0, weights="urn", seed=SEED)
    assert cells(released(fewer, blocks_of(column)), stats.geom(1 / 4, loc=-1)) > UNLIKELY


COUNTS = st.lists(
    st.one_of(st.integers(0, 20), st.integers(0, 10**13), st.sampled_from([math.nan, math.inf, -math.inf])), max_size=12
)


@given(COUNTS, st.floats(0, 40), st.sampled_from(["equal", "urn"]), SEEDS, st.integers(1, 5))
def test_units_total_exactly_and_stay_counts(column, mean, weights, seed, size):
    column = np.array(column, dtype=np.float64)
    known = np.isfinite(column)
    blocks = pieces(column, size)
    prepared = prepare_unit(blocks, mean=mean, weights=weights, seed=seed)
    after = released(prepared, blocks)
    rows, before = int(known.sum()), int(column[known].sum())
    target = math.floor(rows * mean + 0.5)
    assert after[known].sum() == target
    assert (after[known] == np.floor(after[known])).all()
    assert (after[known] >= 0).all()
    if target <= before:
        assert (after[known] <= column[known]).all()
    if target >= before:
        assert (after[known] >= column[known]).all()
    np.testing.assert_array_equal(after[~known], column[~known])
    np.testing.assert_array_equal(released(prepared, blocks, backwards=True), after)
    record = json.loads(json.dumps(prepared.coefficients()))
    assert (record["units"], record["target"], record["rows"]) == (before, target, rows)


@pytest.mark.parametrize("rows", [BLOCK - 1, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("mean", [0.0, 2.0, 3.0, 4.0, 1e9])
def test_units_around_the_length_of_a_block(rows, mean):
    column = np.full(rows, 3.0)
    prepared = prepare_unit(blocks_of(column), mean=mean, weights="urn", seed=SEED)
    after = released(prepared, blocks_of(column))
    assert after.sum() == rows * mean
    if mean in (0.0, 3.0):
        assert (after == mean).all()
    else:
        assert len(np.unique(after)) > 2
        other = prepare_unit(blocks_of(column), mean=mean, weights="urn", seed=SEED + 2**64)  # the upper half counts
        assert (released(other, blocks_of(column)) != after).any()


def apart(changed):
    """Whether two halves are unrelated: blocks with the same content must not change alike."""
    return abs(np.corrcoef(changed[: len(changed) // 2], changed[len(changed) // 2 :])[0, 1]) < 4 / math.sqrt(
        len(changed) // 2
    )


@pytest.mark.parametrize(("mean", "weights"), [(2.0, "equal"), (2.9999, "equal"), (4.0, "equal"), (4.0, "urn")])
def test_equal_blocks_change_differently(mean, weights):
    column = np.full(2 * BLOCK, 3.0)
    prepared = prepare_unit(blocks_of(column), mean=mean, weights=weights, seed=SEED)
    assert apart(released(prepared, blocks_of(column)))
    codes = np.zeros(2 * BLOCK)
    moves = prepare_category(blocks_of(codes), shares=np.array([0.5, 0.25, 0.25]), seed=SEED)
    after = released(moves, blocks_of(codes))
    assert apart(after > 0)
    assert apart(after == 2)


def test_one_row_of_a_quadrillion_units():
    column = blocks_of(np.array([1e15]))
    assert released(prepare_unit(column, mean=4e14, weights="equal", seed=SEED), column).tolist() == [4e14]
    assert released(prepare_unit(column, mean=2e15, weights="urn", seed=SEED), column).tolist() == [2e15]


def test_units_refuse_what_they_cannot_do_and_name_no_value():
    column = blocks_of(np.array([7.0, 1234567.0]))
    for mean in (-1.0, math.nan, math.inf, 1e300):
        with pytest.raises(ColumnError, match="at least 0") as refused:
            prepare_unit(column, mean=mean, weights="equal", seed=SEED)
        assert "1234567" not in str(refused.value)
    with pytest.raises(ColumnError, match=r"2\*\*53"):
        prepare_unit(blocks_of(np.array([2.0**53])), mean=1.0, weights="equal", seed=SEED)
    with pytest.raises(ColumnError, match="did you mean 'equal'"):
        prepare_unit(column, mean=1.0, weights="equl", seed=SEED)
    with pytest.raises(ColumnError, match="changed") as refused:
        prepare_unit(column, mean=1.0, weights="equal", seed=SEED).block(np.array([7.0, 7654321.0]), 0)
    assert "7654321" not in str(refused.value)


# Ranks -----------------------------------------------------------------------------------------------------------


def quantile(levels):
    return -np.log1p(-levels)


def reference(column, size, seed):
    """The definition, in plain NumPy: sort by (value, key, row)."""
    keys = [
        stream(seed, rank_order._KEYS, index).integers(0, 2**64 - 1, size=len(part), dtype=np.uint64, endpoint=True)
        for index, part in enumerate(pieces(column, size)())
    ]
    known = np.flatnonzero(np.isfinite(column))
    after = np.array(column, dtype=np.float64)
    if len(known):
        order = known[np.lexsort((np.concatenate(keys)[known], column[known]))]
        after[order] = quantile((np.arange(len(order)) + 0.5) / len(order))
    return after


def in_files(blocks, run=16, **options):
    with mock.patch.object(rank_file, "_RUN", run):
        return prepare_rank(blocks, in_memory=0, **options)


NUMBERS = st.lists(
    st.one_of(
        st.sampled_from([0.0, -0.0, 1.0, 2.0, math.nan, math.inf, -math.inf]),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=60,
)


@settings(max_examples=60)
@given(NUMBERS, SEEDS, st.integers(1, 25))
def test_ranks_are_the_definition_in_memory_and_in_files(column, seed, size):
    column = np.array(column, dtype=np.float64)
    blocks = pieces(column, size)
    memory = prepare_rank(blocks, quantile=quantile, seed=seed)
    after = released(memory, blocks)
    np.testing.assert_allclose(after, reference(column, size, seed), rtol=1e-14)
    np.testing.assert_array_equal(released(memory, blocks, backwards=True), after)
    files = in_files(blocks, run=7, quantile=quantile, seed=seed)
    assert released(files, blocks).tobytes() == after.tobytes()
    known = np.isfinite(column)
    assert memory.coefficients() == {"rows": int(known.sum())}
    smaller = column[known][:, None] < column[known][None, :]
    assert (after[known][:, None] < after[known][None, :])[smaller].all()


@settings(max_examples=40)
@given(NUMBERS, SEEDS)
def test_ranks_do_not_change_under_an_increasing_transformation(column, seed):
    column = np.array(column, dtype=np.float64)
    known = np.isfinite(column)
    _, dense = np.unique(column[known], return_inverse=True)
    other = column.copy()
    other[known] = 1e-3 * dense**3.0 - 4.0
    same = prepare_rank(pieces(column, 9), quantile=quantile, seed=seed)
    moved = prepare_rank(pieces(other, 9), quantile=quantile, seed=seed)
    assert same.released.tobytes() == moved.released.tobytes()


@pytest.mark.parametrize("kind", ["continuous", "ties", "one value", "mostly one value"])
def test_long_columns_are_ranked_alike_in_memory_and_in_files(kind):
    draws = stream(SEED, 6, 0)
    rows = 2 * BLOCK + 12_345
    column = {
        "continuous": lambda: draws.standard_normal(rows),
        "ties": lambda: draws.integers(-5, 40, rows).astype(np.float64),
        "one value": lambda: np.full(rows, 3.0),
        "mostly one value": lambda: np.where(draws.random(rows) < 0.9, 3.0, draws.standard_normal(rows)),
    }[kind]()
    column[draws.random(rows) < 0.05] = math.nan
    blocks = blocks_of(column)
    memory = prepare_rank(blocks, quantile=quantile, seed=SEED)
    lengths = []
    ordered = rank_order.ordered

    def watched(values, keys):
        lengths.append(len(values))
        return ordered(values, keys)

    with mock.patch.object(rank_file, "ordered", watched):
        files = in_files(blocks, run=10_000, quantile=quantile, seed=SEED)
    assert sum(lengths) == len(memory.released)
    assert max(lengths) < 3 * 10_000  # ties do not make a run longer
    assert files.released.tobytes() == memory.released.tobytes()
    np.testing.assert_allclose(released(memory, blocks), reference(column, BLOCK, SEED), rtol=1e-14)


@pytest.mark.parametrize("kind", ["continuous", "ties", "one value", "mostly missing", "no value"])
def test_columns_that_lie_in_parts_are_ranked_there_alike(tmp_path, monkeypatch, kind):
    draws = stream(SEED, 6, 1)
    rows = 5 * BLOCK + 777
    column = {
        "continuous": lambda: draws.standard_normal(rows),
        "ties": lambda: draws.integers(-5, 40, rows).astype(np.float64),
        "one value": lambda: np.full(rows, 3.0),
        "mostly missing": lambda: np.where(draws.random(rows) < 0.9, math.nan, draws.integers(0, 9, rows)),
        "no value": lambda: np.full(rows, math.nan),
    }[kind]()
    column[draws.random(rows) < 0.05] = math.nan
    column[2 * BLOCK : 3 * BLOCK] = math.nan
    blocks = blocks_of(column)
    monkeypatch.setattr(spread_ranks, "_RUN", 30_000)
    monkeypatch.setattr(spread_ranks, "_PIECE", 1)
    there = prepare_rank(spread_out(tmp_path, blocks), quantile=quantile, seed=SEED)
    here = prepare_rank(blocks, quantile=quantile, seed=SEED)
    assert released(there, blocks, backwards=True).tobytes() == released(here, blocks).tobytes()
    assert there.coefficients() == here.coefficients()
    (own,) = tmp_path.iterdir()
    assert [path.name for path in own.iterdir()] == ["rows"], "what was needed on the way is gone"
    assert own.stat().st_mode & 0o777 == 0o700
    assert sum(path.stat().st_size for path in own.rglob("*") if path.is_file()) == 8 * np.isfinite(column).sum()
    there.forget()
    assert not [path for path in own.rglob("*") if path.is_file()]


def test_ranks_that_fail_in_their_places_leave_no_files(tmp_path, monkeypatch):
    blocks = blocks_of(stream(SEED, 7, 0).random(3 * BLOCK))
    with pytest.raises(ColumnError, match="not finite"):
        prepare_rank(
            spread_out(tmp_path, blocks), quantile=lambda levels: np.where(levels > 0.9, math.inf, levels), seed=SEED
        )
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(spread_ranks.shutil, "disk_usage", lambda folder: mock.Mock(free=3 * BLOCK * 28 - 1))
    with pytest.raises(FileError, match="write to a larger disk"):
        prepare_rank(spread_out(tmp_path, blocks), quantile=quantile, seed=SEED)
    assert not list(tmp_path.iterdir())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30), st.sampled_from([0, 3, 62]))
def test_rows_with_the_same_value_and_colliding_keys_stay_in_order(pairs, shift):
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    keys = np.array([key << shift for _, key in pairs], dtype=np.uint64)
    np.testing.assert_array_equal(rank_order.ordered(values, keys), np.lexsort((keys, values)))


@pytest.mark.parametrize(
    "kind", ["of one size", "of all sizes", "whole", "cents", "signed zeros", "of 32 bits", "half tied", "neighbours"]
)
def test_rows_are_sorted_by_one_number_each_as_by_their_values(kind):
    draws, rows = stream(SEED, 7, 0), 40_000
    values = {
        "of one size": lambda: 100 + draws.random(rows),
        "of all sizes": lambda: draws.standard_normal(rows) * 10.0 ** draws.integers(-300, 300, rows),
        "whole": lambda: draws.integers(-(10**6), 10**6, rows).astype(np.float64),
        "cents": lambda: np.round(draws.normal(0, 100, rows), 2),
        "signed zeros": lambda: draws.choice([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324], rows),
        "of 32 bits": lambda: draws.standard_normal(rows).astype(np.float32).astype(np.float64),
        "half tied": lambda: np.where(draws.random(rows) < 0.5, 1e300, draws.standard_normal(rows)),
        # equal but for bits that find no room beside the rows' numbers
        "neighbours": lambda: (
            np.float64(1.0).view(np.int64) + draws.integers(0, 64, rows) + (draws.integers(0, 2, rows) << 58)
        ).view(np.float64),
    }[kind]()
    np.testing.assert_array_equal(rank_order._by_value(values), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("kind", ["even", "skew", "tied", "at the ends", "subnormal", "one", "none"])
def test_the_runs_of_rows_are_those_that_a_search_finds(kind):
    draws = stream(SEED, 8, 0)
    cuts = {
        "even": lambda: np.linspace(-3, 3, 50),
        "skew": lambda: np.exp(np.linspace(-20, 20, 50)),
        "tied": lambda: np.repeat([0.0, 1.0, 1.5], [1, 20, 3]),
        "at the ends": lambda: np.array([-1.7e308, 0.0, 1.7e308]),
        "subnormal": lambda: np.array([0.0, 5e-324, 1e-323]),
        "one": lambda: np.array([2.0]),
        "none": lambda: np.empty(0),
    }[kind]()
    ends = [-1.7976931348623157e308, -5e-324, -0.0, 5e-324, 1.7976931348623157e308]
    values = np.concatenate([draws.normal(0, 2, 20_000), np.exp(draws.normal(0, 9, 20_000)), cuts])
    values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf), ends])
    keys = draws.integers(0, 2**64 - 1, len(values), dtype=np.uint64, endpoint=True)
    cut_keys = np.sort(draws.integers(0, 2**64 - 1, len(cuts), dtype=np.uint64, endpoint=True))
    rows = np.lexsort((np.concatenate([cut_keys, keys]), np.concatenate([cuts, values])))
    # rows that have both of a cut are behind it
    expected = np.cumsum(rows < len(cuts))[np.argsort(rows)][len(cuts) :]
    np.testing.assert_array_equal(rank_order.Cuts(cuts, cut_keys).runs_of(values, keys), expected)


def test_ties_are_in_uniformly_random_order():
    column = np.array([2.0, 1.0, 2.0, 2.0])
    observed = Counter()
    for seed in range(1_200):
        after = released(prepare_rank(pieces(column, 3), quantile=quantile, seed=seed), pieces(column, 3))
        observed[tuple(np.argsort(after).tolist())] += 1
    assert fit(observed, {(1, *order): 1 / 6 for order in itertools.permutations([0, 2, 3])}) > UNLIKELY


def test_finish_puts_the_quantiles_on_the_grid():
    column = np.array([5.0, 1.0, 3.0])
    prepared = prepare_rank(blocks_of(column), quantile=lambda p: 10 * p, finish=np.floor, seed=SEED)
    assert released(prepared, blocks_of(column)).tolist() == [8.0, 1.0, 5.0]


def test_files_never_have_a_name_and_go_with_the_map(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    blocks, seen = blocks_of(stream(SEED, 7, 0).random(500)), []

    def looking(levels):
        seen.append(list(tmp_path.iterdir()))
        return quantile(levels)

    made = []
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda *a, make=tempfile.TemporaryFile, **k: made.append(make(*a, **k)) or made[-1]
    )
    prepared = in_files(blocks, quantile=looking, seed=SEED)
    assert isinstance(prepared.released, np.memmap), "the column went by way of files"
    assert len(made) > 2
    assert all(file.closed for file in made)
    assert seen
    assert not any(seen), "a kill at any time leaves nothing"
    assert not list(tmp_path.iterdir())
    with pytest.raises(ColumnError, match="not finite"):
        in_files(blocks, quantile=lambda levels: np.where(levels > 0.9, math.inf, levels), seed=SEED)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(rank_file.shutil, "disk_usage", lambda folder: mock.Mock(free=500 * 17 - 1))
    with pytest.raises(FileError, match="TMPDIR"):
        in_files(blocks, quantile=quantile, seed=SEED)
    assert not list(tmp_path.iterdir())


def test_ranks_notice_a_column_that_changed():
    prepared = prepare_rank(blocks_of(np.array([1.0, math.nan])), quantile=quantile, seed=SEED)
    with pytest.raises(ColumnError, match="changed"):
        prepared.block(np.array([1.0, 2.0]), 0)


# Categories ------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 1_000), min_size=1, max_size=9).filter(any), st.integers(0, 2_000_000))
def test_largest_remainder_equals_exact_arithmetic(weights, rows):
    exact = [Fraction(weight * rows, sum(weights)) for weight in weights]
    expected = [math.floor(part) for part in exact]
    best = sorted(range(len(exact)), key=lambda i: (-(exact[i] - expected[i]), i))
    for index in best[: rows - sum(expected)]:
        expected[index] += 1
    shares = np.array(weights) / sum(weights)
    assert largest_remainder(shares, rows).tolist() == expected
    # The last share as what the others leave, and a sum that is 1 only within 1e-9 where rows do not resolve that.
    rest = np.append(shares[:-1], max(0.0, 1 - math.fsum(shares[:-1])))
    assert largest_remainder(rest, rows).tolist() == expected
    assert largest_remainder(shares * (1 + 9e-10), rows).tolist() == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40).filter(lambda x: sum(x) > 1e-3), st.integers(0, 10**10))
def test_largest_remainder_is_floor_or_ceiling(weights, rows):
    shares = np.array(weights) / math.fsum(weights)
    counts = largest_remainder(shares, rows)
    assert counts.sum() == rows
    assert (np.abs(counts - shares * rows) < 1 + 1e-13 * rows).all()
    assert (counts[shares == 0] == 0).all()


def test_largest_remainder_tells_near_from_equal():
    assert largest_remainder(np.array([0.49999, 0.50001]), 1).tolist() == [0, 1]
    assert largest_remainder(np.array([0.1, 0.2, 0.7]), 5).tolist() == [1, 1, 3]
    crowded = np.append(0.0, np.linspace(1, 2, 20_000))  # so many remainders that their neighbours blur
    counts = largest_remainder(crowded / crowded.sum(), 10**10 + 7)
    assert counts[0] == 0
    assert counts.sum() == 10**10 + 7


def test_shares_that_are_not_shares_are_refused():
    for shares in ([0.5, 0.4], [1.5, -0.5], [math.nan, 1.0], [0.0]):
        with pytest.raises(ColumnError, match="sum to 1"):
            largest_remainder(np.array(shares), 10)


@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.heavy(1)
def test_rows_that_move_and_their_labels_are_uniform(size):
    column = np.array([0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 1.0, 0.0])
    shares = np.array([3, 1, 2, 2]) / 8
    possible = []
    for zeros in itertools.combinations(np.flatnonzero(column == 0), 2):
        for one in np.flatnonzero(column == 1):
            for labels in set(itertools.permutations([2, 3, 3])):
                after = column.copy()
                after[[*zeros, one]] = labels
                possible.append(tuple(after.astype(int).tolist()))
    assert len(set(possible)) == 10 * 2 * 3
    observed = Counter(
        tuple(
            released(prepare_category(pieces(column, size), shares=shares, seed=seed), pieces(column, size))
            .astype(int)
            .tolist()
        )
        for seed in range(3_000)
    )
    assert fit(observed, dict.fromkeys(possible, 1 / 60)) > UNLIKELY


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, math.nan, math.inf]), max_size=40),
    st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any),
    SEEDS,
    st.integers(1, 12),
)
def test_categories_are_exact_and_the_fewest_rows_move(column, weights, seed, size):
    column = np.array(column, dtype=np.float64)
    known = np.isfinite(column)
    shares = np.array(weights) / sum(weights)
    blocks = pieces(column, size)
    prepared = prepare_category(blocks, shares=shares, seed=seed)
    after = released(prepared, blocks)
    had = np.bincount(column[known].astype(int), minlength=4)
    has = np.bincount(after[known].astype(int), minlength=4)
    np.testing.assert_array_equal(has, largest_remainder(shares, int(known.sum())))
    distance = int(np.abs(had - has).sum()) // 2  # total variation, in rows: no relabelling changes fewer
    assert int((after[known] != column[known]).sum()) == distance
    np.testing.assert_array_equal(after[~known], column[~known])
    np.testing.assert_array_equal(released(prepared, blocks, backwards=True), after)
    record = json.loads(json.dumps(prepared.coefficients()))
    assert record == {"before": had.tolist(), "after": has.tolist(), "moved": distance}


@pytest.mark.parametrize("rows", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
def test_categories_around_the_length_of_a_block(rows):
    column = stream(SEED, 8, 0).integers(0, 300, rows).astype(np.float64)
    shares = np.linspace(1, 3, 300) / 600
    prepared = prepare_category(blocks_of(column), shares=shares, seed=SEED)
    after = released(prepared, blocks_of(column))
    had, has = np.bincount(column.astype(int), minlength=300), np.bincount(after.astype(int), minlength=300)
    np.testing.assert_array_equal(has, largest_remainder(shares, rows))
    moved = after != column
    assert int(moved.sum()) == np.abs(had - has).sum() // 2 == prepared.coefficients()["moved"]
    # Spread evenly over the column, and the labels over the rows that move.
    share = moved.reshape(-1, rows // 3).mean(axis=1) if rows % 3 == 0 else np.array([moved.mean()])
    assert np.ptp(share) < 6 * math.sqrt(0.25 / (rows / 3))
    assert abs(np.corrcoef(column[moved], after[moved])[0, 1]) < 4 / math.sqrt(moved.sum())


def test_categories_refuse_rows_outside_the_plan_and_counts_that_changed():
    shares = np.array([0.5, 0.5])
    for row in (2.0, -1.0, 0.5, 1e300):
        with pytest.raises(ColumnError, match="none of the plan's categories"):
            prepare_category(blocks_of(np.array([0.0, row])), shares=shares, seed=SEED)
    column = np.array([0.0, 0.0, 1.0, 0.0])
    counted = prepare_category(blocks_of(column), shares=shares, seed=SEED, counts=np.array([3, 1]))
    assert counted.after.tolist() == [2, 2]
    with pytest.raises(ColumnError, match="changed"):
        prepare_category(blocks_of(column), shares=shares, seed=SEED, counts=np.array([2, 2]))
    with pytest.raises(ColumnError, match="changed"):
        counted.block(np.array([1.0, 1.0, 1.0, 1.0]), 0)
