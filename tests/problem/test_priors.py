"""Beliefs about one parameter: densities with mass 1, inverse pairs, and what was said is what is believed."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

import statveil as sv
from statveil.problem.axis import AXES, Axis, axis_from_json
from statveil.problem.domain import Param
from statveil.problem.priors.logged import Logged

PLAIN = Param(name="mu", typical=(0.0, 1.0), doc="any number")
POSITIVE = Param(name="sigma", low=0.0, typical=(1.0, 2.0), doc="above 0")
SHARE = Param(name="p", low=0.0, high=1.0, typical=(0.1, 0.9), doc="a share")

CONTINUOUS: dict[str, Axis] = {
    "flat": sv.Flat(-3.0, 7.0),
    "flat far out": sv.Flat(1e9, 1e9 + 10.0),
    "normal": sv.Density("normal", (1.0, 2.0), low=-3.0, high=7.0),
    "one tail of a normal": sv.Density("normal", (0.0, 1.0), low=3.0, high=5.0),
    "lower tail of a normal": sv.Density("normal", (0.0, 1.0), low=-9.0, high=-6.5),
    "lognormal": sv.Density("lognormal", (0.5, 0.0, 10.0), low=2.0, high=40.0),
    "exponential": sv.Density("exponential", (0.0, 5.0), low=0.0, high=20.0),
    "student": sv.Density("student", (3.0, 0.0, 1.0), low=-4.0, high=4.0),
    "beta": sv.Density("beta", (2.0, 3.0, 0.0, 200.0), low=0.0, high=200.0),
    "frozen": sv.Density(stats.gamma(3.0, scale=2.0), low=0.5, high=20.0),
    "table": sv.Tabulated([0.0, 1.0, 4.0, 5.0], [1.0, 3.0, 0.5, 2.0]),
    "table with a gap": sv.Tabulated([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 0.0, 0.0, 1.0]),
    "table that rises from zero": sv.Tabulated([0.0, 2.0], [0.0, 1.0]),
    "table that falls to zero": sv.Tabulated([0.0, 2.0], [1.0, 0.0]),
    "lipschitz": sv.Lipschitz(0.0, 10.0, 0.05, 0.02),
    "lipschitz without a floor": sv.Lipschitz(0.0, 10.0, 0.0, 0.1),
    "lipschitz that cannot reach its floor": sv.Lipschitz(0.0, 10.0, 0.01, 0.001),
    "lipschitz constant": sv.Lipschitz(0.0, 4.0, 0.25, 0.0),
    "elicited plain": sv.Elicited(50.0, 150.0, 0.9).fit(PLAIN),
    "elicited log": sv.Elicited(5.0, 20.0, 0.8).fit(POSITIVE),
    "elicited logit": sv.Elicited(0.2, 0.4, 0.9).fit(SHARE),
    "log": sv.LogUniform(0.5, 40.0),
    "slope": sv.LogSlope(0.5, 40.0, 1.7),
    "slope of 0": sv.LogSlope(0.5, 40.0, 0.0),
    "logarithm of a range": Logged(sv.Flat(20.0, 90.0), -1.0),
    "logarithm of a density": Logged(sv.Density("lognormal", (3.0, 0.5), low=5.0, high=90.0)),
    "logarithm of a slope": Logged(sv.LogSlope(0.5, 40.0, 0.6)),
}
EVERY = {**CONTINUOUS, "known": sv.Known(3.5)}

axes = pytest.mark.parametrize("axis", CONTINUOUS.values(), ids=CONTINUOUS.keys())


def bends(axis: Axis) -> list[float]:
    """Points where the density is not smooth, for the quadrature."""
    inner = axis.steepest.values if isinstance(axis, sv.Lipschitz) else getattr(axis, "values", ())
    return [x for x in inner if axis.low < x < axis.high]


def mass(axis: Axis, low: float, high: float) -> float:
    edges = [low, *(x for x in bends(axis) if low < x < high), high]
    middle = [0.5 * (a + b) for a, b in pairwise(edges)]
    cuts = sorted({*edges, *middle})
    parts = (quad(lambda x: float(axis.pdf(x)), a, b, epsabs=1e-11) for a, b in pairwise(cuts))
    return sum(part[0] for part in parts)


def test_every_kind_of_belief_is_tested_here():
    assert {axis.kind for axis in EVERY.values()} == set(AXES)


@axes
def test_the_density_has_mass_one_on_its_range(axis):
    assert mass(axis, axis.low, axis.high) == pytest.approx(1.0, abs=1e-7)


@axes
def test_the_density_is_zero_outside(axis):
    step = 1e-3 * axis.width
    assert axis.pdf([axis.low - step, axis.high + step]) == pytest.approx([0.0, 0.0], abs=0)
    assert axis.cdf([axis.low - step, axis.high + step]) == pytest.approx([0.0, 1.0], abs=1e-12)


@axes
@pytest.mark.parametrize("share", [0.1, 0.37, 0.5, 0.8])
def test_the_cdf_is_the_integral_of_the_density(axis, share):
    x = axis.low + share * axis.width
    assert float(axis.cdf(x)) == pytest.approx(mass(axis, axis.low, x), abs=1e-7)


@axes
def test_the_cdf_runs_from_zero_to_one_and_never_falls(axis):
    values = axis.cdf(np.linspace(axis.low, axis.high, 1001))
    assert values[0] == pytest.approx(0.0, abs=1e-12)
    assert values[-1] == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.diff(values) >= -1e-12)


@axes
def test_ppf_inverts_cdf_and_stays_in_the_range(axis):
    u = np.linspace(0.0, 1.0, 501)
    x = axis.ppf(u)
    assert np.all((x >= axis.low) & (x <= axis.high))
    assert np.all(np.diff(x) >= 0)
    assert axis.cdf(x) == pytest.approx(u, abs=1e-6)


@axes
def test_one_number_and_an_array_give_the_same(axis):
    x = axis.low + 0.3 * axis.width
    for function, at in ((axis.pdf, x), (axis.cdf, x), (axis.ppf, 0.3)):
        assert float(function(at)) == float(function([at])[0]) == float(function([[at]])[0, 0])


@pytest.mark.parametrize("axis", EVERY.values(), ids=EVERY.keys())
def test_json_round_trip(axis):
    text = json.dumps(axis.to_json(), allow_nan=False)
    again = axis_from_json(json.loads(text))
    assert json.dumps(again.to_json(), allow_nan=False) == text
    assert (again.low, again.high, again.exact, again.flat) == (axis.low, axis.high, axis.exact, axis.flat)
    u = np.linspace(0.0, 1.0, 41)
    assert np.array_equal(again.ppf(u), axis.ppf(u))


def test_a_known_value():
    axis = sv.Known(3)
    assert axis.known
    assert (axis.low, axis.high, axis.width) == (3.0, 3.0, 0.0)
    assert list(axis.ppf([0.0, 0.5, 1.0])) == [3.0, 3.0, 3.0]
    assert list(axis.cdf([2.9, 3.0, 3.1])) == [0.0, 1.0, 1.0]


def test_a_truncated_normal_agrees_with_scipy():
    axis = sv.Density("normal", (1.0, 2.0), low=-3.0, high=7.0)
    reference = stats.truncnorm(-2.0, 3.0, 1.0, 2.0)
    x = np.linspace(-3.0, 7.0, 101)
    assert axis.pdf(x) == pytest.approx(reference.pdf(x), rel=1e-9)
    assert axis.cdf(x) == pytest.approx(reference.cdf(x), abs=1e-12)


def test_a_far_upper_tail_is_as_exact_as_the_lower_one():
    up = sv.Density("normal", (0.0, 1.0), low=6.5, high=9.0)
    down = sv.Density("normal", (0.0, 1.0), low=-9.0, high=-6.5)
    x = np.linspace(6.5, 9.0, 26)
    assert up.pdf(x) == pytest.approx(down.pdf(-x), rel=1e-6)
    assert up.cdf(x) == pytest.approx(1 - down.cdf(-x), abs=1e-6)


@pytest.mark.parametrize(
    ("alias", "name"), [("normal", "norm"), ("lognormal", "lognorm"), ("exponential", "expon"), ("student", "t")]
)
def test_names_people_use(alias, name):
    args = (2.0, 3.0) if name in ("norm", "expon") else (2.0, 0.0, 3.0)
    one, two = (sv.Density(n, args, low=2.5, high=9.0) for n in (alias, name))
    assert one.to_json() == two.to_json()


@pytest.mark.parametrize(
    ("name", "args", "low", "high"),
    [
        ("vonmises", (2.0,), 0.0, 200.0),  # SciPy continues it periodically: the "cdf" runs far past 1
        ("gamma", (0.5, 33.3333, 10.0), 0.0, 100.0),  # infinite between the points of any grid
        ("beta", (0.5, 0.5, 33.3333, 10.0), 0.0, 100.0),
    ],
)
def test_a_density_is_refused_or_has_mass_one(name, args, low, high):
    try:
        axis = sv.Density(name, args, low=low, high=high)
    except sv.ProblemError:
        return
    assert float(axis._frozen.cdf(high) - axis._frozen.cdf(low)) <= 1 + 1e-9
    assert np.all(np.isfinite(axis.pdf([33.3333, 43.3333])))


# --- elicited -------------------------------------------------------------------------------------
@pytest.mark.parametrize("sure", [0.05, 0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize(
    ("a", "b", "param", "scale"),
    [
        (50.0, 150.0, PLAIN, "plain"),
        (-3.0, -1.0, PLAIN, "plain"),
        (5.0, 20.0, POSITIVE, "log"),
        (1e-3, 1e3, POSITIVE, "log"),
        (0.2, 0.4, SHARE, "logit"),
        (0.001, 0.01, SHARE, "logit"),
    ],
)
def test_the_stated_mass_lies_between_the_stated_ends(a, b, sure, param, scale):
    if scale != "plain" and sure < 0.5:
        pytest.skip("the range of so wide a belief overflows")
    axis = sv.Elicited(a, b, sure).fit(param)
    assert axis.scale == scale
    below, within = float(axis.cdf(a)), float(axis.cdf(b) - axis.cdf(a))
    assert within == pytest.approx(sure, abs=1e-9)
    assert below == pytest.approx((1 - sure) / 2, abs=1e-9)
    assert param.low < axis.low < a < b < axis.high < param.high


@settings(deadline=None)
@given(
    a=st.floats(-1e6, 1e6),
    width=st.floats(1e-3, 1e6),
    sure=st.floats(0.01, 0.999),
)
def test_elicited_on_the_plain_scale(a, width, sure):
    axis = sv.Elicited(a, a + width, sure).fit(PLAIN)
    assert float(axis.cdf(axis.b) - axis.cdf(axis.a)) == pytest.approx(sure, abs=1e-7)
    assert float(axis.ppf(0.5)) == pytest.approx(a + width / 2, abs=1e-6 * (abs(a) + width))


@settings(deadline=None)
@given(a=st.floats(1e-3, 1e3), ratio=st.floats(1.01, 100.0), sure=st.floats(0.3, 0.999))
def test_elicited_on_the_log_scale(a, ratio, sure):
    axis = sv.Elicited(a, a * ratio, sure).fit(POSITIVE)
    assert float(axis.cdf(axis.b) - axis.cdf(axis.a)) == pytest.approx(sure, abs=1e-7)
    assert float(axis.ppf(0.5)) == pytest.approx(a * math.sqrt(ratio), rel=1e-7)


@settings(deadline=None)
@given(a=st.floats(0.001, 0.98), share=st.floats(0.05, 0.95), sure=st.floats(0.7, 0.999))
def test_elicited_on_the_logit_scale(a, share, sure):
    axis = sv.Elicited(a, a + share * (0.99 - a), sure).fit(SHARE)
    assert float(axis.cdf(axis.b) - axis.cdf(axis.a)) == pytest.approx(sure, abs=1e-7)
    assert 0 < axis.low < axis.high < 1


# --- Lipschitz ------------------------------------------------------------------------------------
@st.composite
def lipschitz(draw):
    low, width = draw(st.floats(-1e3, 1e3)), draw(st.floats(1e-2, 1e3))
    high = low + width
    width = high - low
    floor = draw(st.floats(0.0, 0.999)) / width
    slope = draw(st.floats(1e-3, 50.0)) / width**2
    return sv.Lipschitz(low, high, floor, slope)


@settings(deadline=None)
@given(axis=lipschitz())
def test_the_steepest_density_obeys_its_constants_and_reaches_the_peak(axis):
    x = np.linspace(axis.low, axis.high, 2001)
    y = axis.steepest.pdf(x)
    assert y.min() >= axis.floor * (1 - 1e-9)
    assert np.abs(np.diff(y)).max() <= axis.slope * (x[1] - x[0]) * (1 + 1e-6) + 1e-9 * y.max()
    assert y.max() == pytest.approx(axis.peak, rel=1e-9)
    assert float(axis.steepest.pdf(axis.high)) == pytest.approx(axis.peak, rel=1e-9)
    assert mass(axis, axis.low, axis.high) == pytest.approx(1.0, abs=1e-7)


@settings(deadline=None)
@given(axis=lipschitz(), where=st.floats(0.0, 1.0), tilt=st.floats(-1.0, 1.0))
def test_no_density_of_the_class_is_higher_than_the_peak(axis, where, tilt):
    # a straight line with mass 1, tilted as far as the floor and the slope allow
    flat = 1 / axis.width
    rise = tilt * min(axis.slope, 2 * (flat - axis.floor) / axis.width)
    height = flat + rise * axis.width * (where - 0.5)
    assert height <= axis.peak * (1 + 1e-9)


def test_classes_of_beliefs_are_not_exact_and_all_others_are():
    assert {name for name, axis in EVERY.items() if not axis.exact} == {
        n for n in EVERY if n.startswith(("lipschitz", "slope", "logarithm of a slope"))
    }


# --- over many arguments --------------------------------------------------------------------------
@settings(deadline=None)
@given(low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6), u=st.floats(0.0, 1.0))
def test_flat(low, width, u):
    axis = sv.Flat(low, low + width)
    x = float(axis.ppf(u))
    assert axis.low <= x <= axis.high
    assert float(axis.cdf(x)) == pytest.approx(u, abs=1e-6)
    assert float(axis.pdf(x)) * axis.width == pytest.approx(1.0)


@settings(deadline=None)
@given(
    steps=st.lists(st.floats(0.01, 10.0), min_size=1, max_size=6),
    weights=st.lists(st.floats(0.0, 10.0), min_size=7, max_size=7),
    u=st.floats(0.0, 1.0),
)
def test_table(steps, weights, u):
    u = 0.0 if u < 1e-200 else u  # drawn numbers are never so small
    values = np.concatenate([[0.0], np.cumsum(steps)])
    heights = [w if w > 1e-3 else 0.0 for w in weights[: len(values)]]
    if max(heights) == 0:
        with pytest.raises(sv.ProblemError, match="not all zero"):
            sv.Tabulated(values, heights)
        return
    axis = sv.Tabulated(values, heights)
    assert mass(axis, axis.low, axis.high) == pytest.approx(1.0, abs=1e-7)
    x = float(axis.ppf(u))
    assert axis.low <= x <= axis.high
    assert float(axis.cdf(x)) == pytest.approx(u, abs=1e-7)


@settings(deadline=None)
@given(
    centre=st.floats(-50.0, 50.0),
    spread=st.floats(0.5, 100.0),
    low=st.floats(-60.0, 40.0),
    width=st.floats(1.0, 50.0),
    u=st.floats(0.0, 1.0),
)
def test_normal_densities_cut_anywhere(centre, spread, low, width, u):
    high = low + width
    nearest = min(max(centre, low), high)
    if abs(nearest - centre) > 5 * spread:
        return  # next to no mass there; refused or not, that is tested elsewhere
    axis = sv.Density("normal", (centre, spread), low=low, high=high)
    assert mass(axis, low, high) == pytest.approx(1.0, abs=1e-6)
    x = float(axis.ppf(u))
    assert low <= x <= high
    assert float(axis.cdf(x)) == pytest.approx(u, abs=1e-6)


def test_the_same_range_drawn_from_a_problem():
    problem = sv.Problem(
        family=sv.Gaussian(),
        prior=sv.Box(mu=sv.Elicited(50, 150, 0.9), sigma=sv.Tabulated([1, 2, 3], [0, 1, 0])),
        secret=sv.Mean(),
        tolerance=1,
    )
    drawn = problem.sample(20_000, np.random.default_rng(5))
    inside = np.mean((drawn["mu"] >= 50) & (drawn["mu"] <= 150))
    assert inside == pytest.approx(0.9, abs=0.01)
    assert np.mean(drawn["sigma"] <= 2) == pytest.approx(0.5, abs=0.015)


def test_a_lipschitz_class_with_a_relative_tolerance_is_refused():
    problem = {"secret": sv.Mean(), "prior": sv.Lipschitz(1, 2, 0.5, 1), "tolerance": sv.Relative(0.01)}
    with pytest.raises(sv.ProblemError, match=r"no bound for a relative tolerance; state LO:HI~slope\(L\)"):
        sv.plan(sv.Problem(**problem), max_risk=0.3)


def test_the_largest_floor_leaves_the_uniform_belief_alone():
    known = sv.Structure(minimum=0)
    stated = sv.Problem(secret=sv.Mean(), prior=sv.Lipschitz(1, 2, 1, 2), tolerance=0.01, known=known)
    flat = sv.Problem(secret=sv.Mean(), prior=(1, 2), tolerance=0.01, known=known)
    found, exact = (sv.plan(problem, bin=0.1).risk for problem in (stated, flat))
    assert found == pytest.approx(exact, rel=1e-9)
