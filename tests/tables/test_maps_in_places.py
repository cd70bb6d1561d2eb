"""Maps of a column that lies in several places: what one machine makes of it, to the last bit, nothing read here."""

from __future__ import annotations

import numpy as np
import pytest

from statveil.tables import sampled_column as sampled_file
from statveil.tables.blocks import BLOCK, blocks_of, changed
from statveil.tables.change import measure_change
from statveil.tables.maps import smooth as smooth_file
from statveil.tables.maps import spread_ranks
from statveil.tables.maps.category import prepare_category
from statveil.tables.maps.jitter import prepare_jitter
from statveil.tables.maps.model import _chosen, model_column
from statveil.tables.maps.rank import prepare_rank
from statveil.tables.maps.smooth import prepare_smooth
from statveil.tables.maps.unit import prepare_unit
from statveil.tables.measure import measure
from statveil.tables.sampled_column import sampled_column
from statveil.tables.structure.reading import sampler
from tests.places import spread_out
from tests.plans import BY_MODE, column_for

SEED = 7
ROWS = 4 * BLOCK + 700


def numbers(mode):
    """A column of the mode, with gaps of several kinds."""
    rng = np.random.default_rng(3)
    values = column_for("rank" if mode == "category" else mode, rng, ROWS).astype(np.float64)
    values = np.minimum(values % 3, 2) if mode == "category" else values
    values[rng.random(ROWS) < 0.1] = np.nan
    values[BLOCK : 2 * BLOCK + 10] = np.nan
    return values


def by_model(blocks):
    problem = BY_MODE["model"].problem
    (seen,) = sampled_column(blocks)
    choice = _chosen(problem.family.model, np.sort(seen.sampler.values), 110.0)
    choice, column = model_column(problem, choice, 110.0, rows=seen.rows, like=blocks)
    return prepare_rank(blocks, quantile=column, seed=SEED)


MAPS = {
    "unit": lambda blocks: prepare_unit(blocks, mean=9.3, weights="urn", seed=SEED),
    "category": lambda blocks: prepare_category(blocks, shares=np.array([0.5, 0.2, 0.3]), seed=SEED),
    "jitter": lambda blocks: prepare_jitter(blocks, about=0.0, step=1.0, mean=110.7, atoms=(0.0,), seed=SEED),
    "smooth": lambda blocks: prepare_smooth(
        blocks, about=0.0, step=1.0, mean=110.7, atoms=(100.0,), seed=SEED, heaps=(5.0,)
    ),
    "model": by_model,
}


@pytest.mark.parametrize("mode", MAPS)
def test_a_map_is_made_in_several_places_as_in_one(tmp_path, monkeypatch, mode):
    monkeypatch.setattr(spread_ranks, "_RUN", 40_000)
    monkeypatch.setattr(spread_ranks, "_PIECE", 1)
    monkeypatch.setattr(smooth_file, "GROUP", 2)
    values = numbers(mode)
    here, there = blocks_of(values), spread_out(tmp_path, blocks_of(values))
    one, many = MAPS[mode](here), MAPS[mode](there)
    assert many.coefficients() == one.coefficients()
    for index, block in enumerate(here()):
        assert many.block(block, index).tobytes() == one.block(block, index).tobytes()
    assert measure_change(there, many) == measure_change(here, one)


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_the_sample_is_that_of_one_machine_however_few_rows_have_a_value(tmp_path, monkeypatch, share):
    few = 2**12
    monkeypatch.setattr(sampler, "KEEP", few)
    monkeypatch.setattr(sampler.Sampler.__init__, "__defaults__", (few,))
    rng = np.random.default_rng(3)
    values = rng.normal(0, 1, ROWS)
    values[rng.random(ROWS) < share] = np.nan
    there = spread_out(tmp_path, blocks_of(values))
    (one,), (many,) = sampled_column(blocks_of(values)), sampled_column(there)
    assert (many.rows, many.low, many.high) == (one.rows, one.low, one.high)
    assert np.array_equal(many.sampler.values, one.sampler.values)
    assert len(one.sampler.values) < 2 * few
    assert len(there.places.asked) == 4 * (1 + bool(share))
    assert sampled_file.as_it_is(values, 0) is values


def test_what_is_made_of_a_column_is_measured_where_it_lies(tmp_path):
    values = numbers("jitter")
    here, there = blocks_of(values), spread_out(tmp_path, blocks_of(values))
    for options in ({}, {"levels": (0.1, 0.9)}, {"counted": 206.0}):
        one, many = (measure(changed(column, lambda block, index: 2 * block), **options) for column in (here, there))
        assert many == one
