"""Closed distances against the numerical routines, and the numerical routines against known values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.families.binomial import Binomial
from statveil.problem.families.categorical import Categorical
from statveil.problem.families.exponential import Exponential
from statveil.problem.families.gaussian import Gaussian
from statveil.problem.families.geometric import Geometric
from statveil.problem.families.poisson import Poisson
from statveil.problem.families.shifted_exponential import ShiftedExponential
from statveil.problem.families.uniform import Uniform
from statveil.problem.family import Family
from statveil.theory.distances import distance, numerical_tv, numerical_w1, tv, w1

CONTINUOUS: list[Family] = [Gaussian(), Uniform(), Exponential(), ShiftedExponential()]
COUNTS: list[Family] = [Geometric(), Binomial(trials=9), Poisson()]


def member(family: Family, parts: list[float]) -> dict[str, float]:
    """A member with its parameters at these parts of their typical ranges."""
    return {
        p.name: p.typical[0] + part * (p.typical[1] - p.typical[0])
        for p, part in zip(family.params, parts, strict=False)
    }


parts = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=2)


@pytest.mark.parametrize("family", CONTINUOUS + COUNTS, ids=lambda f: f.name)
@settings(max_examples=15, deadline=None)
@given(one=parts, two=parts)
def test_closed_w1_is_the_area_between_the_cdfs(family: Family, one: list[float], two: list[float]) -> None:
    a, b = member(family, one), member(family, two)
    assert float(w1(family, a, b)) == pytest.approx(numerical_w1(family, a, b), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("family", COUNTS, ids=lambda f: f.name)
@settings(max_examples=60, deadline=None)
@given(one=parts, two=parts)
def test_closed_tv_is_half_the_sum_of_gaps(family: Family, one: list[float], two: list[float]) -> None:
    a, b = member(family, one), member(family, two)
    assert float(tv(family, a, b)) == pytest.approx(numerical_tv(family, a, b), rel=1e-10, abs=1e-14)


def test_w1_of_very_different_scales() -> None:
    a, b = {"mu": 0.0, "sigma": 1e-3}, {"mu": 0.3, "sigma": 2e3}
    assert numerical_w1(Gaussian(), a, b) == pytest.approx(float(w1(Gaussian(), a, b)), rel=1e-9)


def test_many_counts() -> None:
    a, b = {"rate": 1e5}, {"rate": 1.001e5}
    assert numerical_w1(Poisson(), a, b) == pytest.approx(100.0, rel=1e-9)
    assert numerical_tv(Poisson(), a, b) == pytest.approx(float(tv(Poisson(), a, b)), rel=1e-9)
    a, b = {"p": 1e-5}, {"p": 1.1e-5}  # more than one piece of counts
    assert numerical_w1(Geometric(), a, b) == pytest.approx(1e5 - 1e5 / 1.1, rel=1e-9)


def test_numerical_tv_of_continuous_families() -> None:
    shift = {"mu": 1.5, "sigma": 2.0}, {"mu": -0.5, "sigma": 2.0}
    assert numerical_tv(Gaussian(), *shift) == pytest.approx(math.erf(2 / 2 / 2 / math.sqrt(2)), abs=1e-12)
    # equal means, sigma 1 and 2: the densities cross twice, at |x| = sqrt(8 ln 2 / 3)
    x = math.sqrt(8 * math.log(2) / 3) / math.sqrt(2)
    both = {"mu": 0.0, "sigma": 1.0}, {"mu": 0.0, "sigma": 2.0}
    assert numerical_tv(Gaussian(), *both) == pytest.approx(math.erf(x) - math.erf(x / 2), abs=1e-12)
    inside = {"low": 0.0, "high": 1.0}, {"low": 0.3, "high": 0.6}
    assert numerical_tv(Uniform(), *inside) == pytest.approx(0.7, abs=1e-12)
    apart = {"low": 0.0, "high": 1.0}, {"low": 5.0, "high": 6.0}
    assert numerical_tv(Uniform(), *apart) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("family", CONTINUOUS + COUNTS, ids=lambda f: f.name)
def test_a_member_is_at_distance_zero_from_itself(family: Family) -> None:
    at = member(family, [0.3, 0.7])
    assert numerical_w1(family, at, at) == pytest.approx(0, abs=1e-15)
    assert numerical_tv(family, at, at) == pytest.approx(0, abs=1e-15)


def test_numerical_tv_of_categories() -> None:
    family = Categorical(labels=["x", "y", "z"])
    a, b = {"x": 0.2, "y": 0.5, "z": 0.3}, {"x": 0.6, "y": 0.1, "z": 0.3}
    assert numerical_tv(family, a, b) == pytest.approx(0.4, abs=1e-15)
    assert float(distance(family, a, b, "tv")) == pytest.approx(0.4, abs=1e-15)
    with pytest.raises(ProblemError, match=r"'w1' makes no sense for the family 'categorical'. Allowed: tv"):
        distance(family, a, b, "w1")
    with pytest.raises(ProblemError, match="neither numbers nor ordered"):
        w1(family, a, b)


def test_distance_takes_arrays_where_there_is_a_closed_form() -> None:
    rates = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(distance(Poisson(), {"rate": rates}, {"rate": 2.0}, "w1"), [1, 0, 2])
    found = distance(Poisson(), {"rate": rates}, {"rate": 2.0}, "tv")
    single = [numerical_tv(Poisson(), {"rate": float(r)}, {"rate": 2.0}) for r in rates]
    np.testing.assert_allclose(found, single, atol=1e-15)


def test_unknown_distance_is_refused() -> None:
    with pytest.raises(ProblemError, match=r"unknown distance 'w2'.*Allowed: w1, tv"):
        distance(Poisson(), {"rate": 1.0}, {"rate": 2.0}, "w2")
    with pytest.raises(ProblemError, match="'tv' makes no sense for the family 'gaussian'"):
        distance(Gaussian(), {"mu": 0.0, "sigma": 1.0}, {"mu": 1.0, "sigma": 1.0}, "tv")


class _NoFormula(Exponential):
    """An exponential that does not know its distance: the numerical routine must serve."""

    secrets: ClassVar[tuple[str, ...]] = ("mean",)

    def w1(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return None  # type: ignore[return-value]


def test_without_a_formula_the_numerical_routine_serves_numbers_only() -> None:
    assert float(w1(_NoFormula(), {"scale": 2.0}, {"scale": 5.0})) == pytest.approx(3.0, rel=1e-10)
    with pytest.raises(ProblemError, match="Got an array for 'scale'"):
        w1(_NoFormula(), {"scale": np.array([1.0, 2.0])}, {"scale": 5.0})
