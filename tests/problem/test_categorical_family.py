"""The categorical family: labels, numbers, shares and total variation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statveil.errors import ProblemError
from statveil.problem.families.categorical import Categorical
from statveil.problem.family import family_from_json
from statveil.problem.secrets.fraction import Fraction
from statveil.problem.secrets.mean import Mean


def test_default_labels_and_json() -> None:
    family = Categorical(categories=3)
    assert [p.name for p in family.params] == ["p0", "p1", "p2"]
    assert family.settings() == {"labels": ["p0", "p1", "p2"]}
    assert family_from_json(family.to_json()) == family == Categorical(labels=("p0", "p1", "p2"), categories=3)
    assert family != Categorical(labels=["p0", "p2", "p1"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Got neither"),
        ({"categories": 1}, "two or more categories. Got 1"),
        ({"categories": -2}, "two or more categories"),
        ({"categories": 2.0}, "whole number from 2 up"),
        ({"categories": True}, "whole number from 2 up"),
        ({"labels": []}, "two or more categories. Got 0"),
        ({"labels": ["a"]}, "two or more categories. Got 1"),
        ({"labels": ["a", "b", "a"]}, "'a' more than once"),
        ({"labels": ["a", ""]}, "not empty. Got ''"),
        ({"labels": ["a", " "]}, "not empty"),
        ({"labels": ["a", 3]}, "not empty. Got 3"),
        ({"labels": "ab"}, "list of names"),
        ({"labels": ["a", "b"], "categories": 3}, "disagree"),
    ],
)
def test_bad_categories_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Categorical(**given)


def test_a_label_wins_over_a_number() -> None:
    stars = Categorical(labels=["2", "1", "none"])
    assert stars.category_index("1") == 1
    assert stars.category_index("2") == 0  # as a number it would be "none"
    assert stars.category_index(1) == 1
    assert stars.category_index(2) == 0  # the label "2", however it is written
    assert stars.category_index(0) == 0  # no such label: the number
    assert stars.category_index("none") == 2


@pytest.mark.parametrize(
    ("category", "message"), [("nome", "did you mean 'none'"), (3, "from 0 to 2"), ("-1", "from 0")]
)
def test_unknown_categories_are_refused(category: int | str, message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Categorical(labels=["yes", "no", "none"]).category_index(category)
    with pytest.raises(ProblemError, match=message):
        Categorical(labels=["yes", "no", "none"]).check_secret(Fraction(category))


def test_the_fraction_is_the_share_of_its_label() -> None:
    family = Categorical(labels=["yes", "no"])
    shares = {"yes": np.array([0.2, 0.7]), "no": np.array([0.8, 0.3])}
    np.testing.assert_array_equal(Fraction("no").of(family, shares), [0.8, 0.3])
    np.testing.assert_array_equal(family.pmf([[0], [1], [2]], shares), [[0.2, 0.7], [0.8, 0.3], [0.0, 0.0]])


def test_what_needs_numbers_or_an_order_is_refused() -> None:
    family = Categorical(categories=2)
    at = {"p0": 0.5, "p1": 0.5}
    calls = {"mean": (at,), "std": (at,), "cdf": (0, at), "quantile": (0.5, at)}
    for name, arguments in calls.items():
        with pytest.raises(ProblemError, match="neither numbers nor ordered"):
            getattr(family, name)(*arguments)
    with pytest.raises(ProblemError, match="'mean' makes no sense for the family 'categorical'"):
        family.check_secret(Mean())
    assert family.w1(at, at) is None


def test_sample_follows_the_shares_and_checks_them() -> None:
    family = Categorical(labels=["a", "b", "c"])
    draws = family.sample({"a": 0.2, "b": 0.0, "c": 0.8}, 20_000, np.random.default_rng(1))
    assert draws.dtype == np.float64
    assert set(draws) == {0.0, 2.0}
    assert abs(np.mean(draws == 0) - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 20_000)
    for bad in ({"a": 0.5, "b": 0.5, "c": 0.5}, {"a": -0.5, "b": 0.5, "c": 1.0}):
        with pytest.raises(ProblemError, match="sum to 1"):
            family.sample(bad, 1, np.random.default_rng(1))


shares = st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4).map(lambda x: np.array(x) / sum(x))


@settings(max_examples=100, deadline=None)
@given(a=shares, b=shares)
def test_tv_is_the_largest_gap_over_sets_of_categories(a: np.ndarray, b: np.ndarray) -> None:
    family = Categorical(categories=4)
    one, two = ({f"p{i}": float(x[i]) for i in range(4)} for x in (a, b))
    sets = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(bool)
    assert float(family.tv(one, two)) == pytest.approx(max(abs((a - b)[s].sum()) for s in sets), abs=1e-14)


def test_tv_is_vectorised() -> None:
    family = Categorical(categories=2)
    first = np.array([0.1, 0.5, 1.0])
    np.testing.assert_allclose(
        family.tv({"p0": first, "p1": 1 - first}, {"p0": 0.5, "p1": 0.5}), [0.4, 0.0, 0.5], atol=1e-15
    )
