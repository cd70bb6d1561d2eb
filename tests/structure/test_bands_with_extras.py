"""A charge by bands of the hidden column, plus a number of extras of one price each."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from statveil.tables.structure.others.residue_search import bands_of_the_rest
from statveil.tables.structure.others.telling import find_copies

PRICES, EDGES = np.array([3.9, 4.9, 7.5, 11.9]), np.array([100, 120, 150])


def told(values, **others):
    columns = {name: pl.Series(other) for name, other in others.items()}
    return bool(find_copies(iter([(values, columns)])))


@pytest.mark.parametrize("rows", [100, 1000])
@pytest.mark.parametrize("extra", [2.5, 0.7, 30.0])
def test_a_charge_by_bands_with_extras_is_refused(rows, extra):
    rng = np.random.default_rng([1, rows])
    x = rng.gamma(16, 8, rows)
    charge = np.round(PRICES[np.searchsorted(EDGES, x)] + extra * rng.integers(0, 10, rows), 2)
    assert told(x, charge=charge)
    assert told(x, charge=[f"EUR {one:.2f}" for one in charge])
    assert not told(rng.gamma(16, 8, rows), charge=charge)


def test_charges_and_counts_without_bands_pass():
    found = 0
    for seed in range(100):
        rng = np.random.default_rng([2, seed])
        x = rng.normal(100, 14, 200)
        z = (x - 100) / 14
        for other in (
            rng.integers(18, 80, 200),
            rng.poisson(4 + np.exp(0.3 * z)),
            5 * np.round(50 + 20 * z + 10 * rng.normal(size=200)),
            np.round(rng.choice(PRICES, 200) + 2.5 * rng.integers(0, 10, 200), 2),
        ):
            found += bands_of_the_rest(x, other.astype(np.float64)) is not None
    assert found <= 1  # of 400
