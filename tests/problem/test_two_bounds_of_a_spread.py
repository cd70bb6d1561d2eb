"""A spread between two known bounds: a prior must not believe what no column can have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import statveil as sv


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_no_column_between_two_bounds_spreads_further_than_half_of_their_distance(rows):
    assert np.std(rows) <= sv.Std.most_of_range * (1 + 1e-12)
    assert np.ptp(rows) <= sv.Iqr.most_of_range


def test_half_of_the_rows_at_either_bound_spread_so_far():
    assert np.std([0.0, 1.0] * 50) == sv.Std.most_of_range


@pytest.mark.parametrize(("secret", "most"), [(sv.Std(), 5.0), (sv.Iqr(), 10.0)])
def test_a_prior_that_reaches_further_is_refused(secret, most):
    known = sv.Structure(minimum=20, maximum=30)
    for shape in (None, "catalogue"):
        with pytest.raises(sv.ProblemError, match=f"between 0 and {most:g}"):
            sv.Problem(secret=secret, prior=(0.5, most), tolerance=0.1, known=known, shape=shape)
        sv.Problem(secret=secret, prior=(0.5, 0.99 * most), tolerance=0.1, known=known, shape=shape)
