"""A plan in words: what is printed never claims more than the plan, and says what the numbers mean."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.report.plan import describe_plan

NUMBER = r"([-+0-9.e]+)"


def said(text, word):
    found = re.search(rf"^  {word} +{NUMBER} ", text, re.M)
    assert found, (word, text)
    return float(found[1])


def location(low, width, eps):
    return sv.Problem(family=sv.Location(), prior=sv.Box(mean=(low, low + width)), secret=sv.Mean(), tolerance=eps)


@settings(max_examples=60)
@given(st.floats(-1e5, 1e5), st.floats(1, 1e5), st.floats(0.001, 0.05), st.floats(3.01, 15))
def test_printed_numbers_are_on_the_safe_side(low, width, share, times):
    plan = sv.plan(location(low, width, share * width), max_distortion=times * share * width)
    text = describe_plan(plan)
    assert said(text, "risk") >= plan.risk
    assert said(text, "without") >= plan.risk_without_release
    assert said(text, "distortion") >= plan.distortion
    assert said(text, "moves") >= plan.largest_move
    assert said(text, "limit") <= plan.lower_bound
    profile = re.findall(rf"{NUMBER} within {NUMBER}", text)
    for risk, at in profile[-2:]:
        ((_, true),) = plan.risk_profile([float(at)])
        assert float(risk) >= true * (1 - 1e-9)


def test_the_number_that_was_printed_too_low():
    """11 bins on a range of 97, a hit 2 long in each: 22 / 97 = 0.22680412..., which was printed as 0.226804."""
    plan = sv.plan(location(0, 97, 1), bin=97 / 11)
    assert plan.risk == pytest.approx(22 / 97)
    assert "0.226805" in describe_plan(plan)
    assert "0.226804" not in describe_plan(plan)


def test_the_commands_print_on_the_safe_side(cli, tmp_path):
    plan = tmp_path / "plan.json"
    asked = ("--family", "location", "--prior", "mean=0:97", "--secret", "mean", "--tolerance", 1)
    cli("plan", *asked, "--bin", 97 / 11, "-o", plan)
    _, out, _ = cli("simulate", plan, "--trials", 10_000, "--seed", 3)
    assert "the plan says 0.22681." in out
    _, out, _ = cli("limits", *asked, "--max-distortion", 9)
    assert float(re.search(r"at least ([0-9.]+)\.", out)[1]) <= 1 / np.ceil(9 / 1)
    code, out, _ = cli("frontier", *asked, "--methods", "dynamic", "--grid", 97)
    _, points, _ = cli("frontier", *asked, "--methods", "dynamic", "--grid", 97, "--json")
    exact = {(p["distortion"], p["risk"]) for p in json.loads(points)["points"]}
    rows = [tuple(map(float, line.split()[1:3])) for line in out.splitlines()[1:]]
    assert code == 0
    assert rows
    for distortion, risk in rows:
        assert any(0 <= distortion - d <= 1e-4 * d and 0 <= risk - r <= 2e-3 for d, r in exact)


def moved(plan, draws=20_000):
    params = plan.problem.sample(draws, np.random.default_rng(4))
    done = plan.apply(params, secret_seed=7)
    return float(np.max(np.abs(done.secret - plan.problem.secret_of(params))))


GAUSSIAN = sv.Problem(
    family=sv.Gaussian(), prior=sv.Box(mu=(0, 200), sigma=(1, 51)), secret=sv.Quantile(0.95), tolerance=1
)
PLANS = {
    "mean": (location(0, 100, 1), {"max_risk": 0.2}, 0.98),
    "quantile": (GAUSSIAN, {"max_risk": 0.2}, 0.98),
    "comb": (GAUSSIAN, {"max_risk": 0.2, "method": "comb"}, 0.9),
    "paper": (GAUSSIAN, {"bin": 7, "slope": 0.0}, 0.98),
    "share": (
        sv.Problem(family=sv.Categorical(categories=3), secret=sv.Fraction(1), tolerance=0.01),
        {"max_risk": 0.3},
        0.95,
    ),
    "counts": (
        sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.1, 0.9)), secret=sv.Mean(), tolerance=0.1),
        {"max_risk": 0.3},
        0.9,
    ),
    "layered": (
        sv.Problem(
            family=sv.Location(),
            prior=sv.Box(mean=sv.Density("normal", (50, 20), low=0, high=100)),
            secret=sv.Mean(),
            tolerance=1,
        ),
        {"max_risk": 0.3, "method": "layered"},
        0.5,
    ),
    "bounded": (
        sv.Problem(
            family=sv.Gaussian(),
            prior=sv.Box(mu=(50, 200), sigma=(1, 11)),
            secret=sv.Mean(),
            tolerance=1,
            known=sv.Structure(minimum=0),
        ),
        {"max_risk": 0.3},
        0.5,
    ),
}


@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize("name", PLANS)
@pytest.mark.heavy(1)
def test_no_release_moves_the_secret_farther_than_said(name):
    asked, target, least = PLANS[name]
    plan = sv.plan(asked, **target)
    assert least * plan.largest_move <= moved(plan) <= plan.largest_move * (1 + 1e-9)
    assert "moves" in describe_plan(plan)


def test_per_cent_of_the_middle_of_the_prior():
    text = describe_plan(sv.plan(location(40_000, 100_000, 1_000), max_risk=0.2))
    assert "moves       5000   the mean of the release differs from the column's own by at most this, 5.56 % of" in text
    assert "(90000)" in text
    # no per cent of nothing
    assert "%" not in describe_plan(sv.plan(location(-50, 100, 1), max_risk=0.2)).split("moves")[1].split("\n")[0]


def test_what_a_guess_without_the_release_would_hit():
    plan = sv.plan(location(0, 80, 1), max_risk=0.2)
    line = next(line for line in describe_plan(plan).splitlines() if "without the release" in line)
    assert float(line.split()[1]) == pytest.approx(2 / 80)  # a window of two units of eighty


def test_whose_statistics_the_prior_is_about():
    text = describe_plan(sv.plan(GAUSSIAN, max_risk=0.2))
    assert "prior       on mu, sigma of this very column (of its own rows), not of a population" in text


@pytest.mark.parametrize("kind", ["exact", "upper bound"])
def test_a_risk_is_a_most(kind):
    prior = (0, 100) if kind == "exact" else sv.Lipschitz(0, 100, 0.005, 0.0001)
    asked = sv.Problem(family=sv.Location(), prior=sv.Box(mean=prior), secret=sv.Mean(), tolerance=1)
    text = describe_plan(sv.plan(asked, max_risk=0.4))
    assert f"at most this often ({kind})" in text
    assert "at best" not in text


@pytest.mark.parametrize(
    ("known", "tolerance", "noted"),
    [
        (sv.Structure(step=0.01), sv.Relative(0.05), True),
        (sv.Structure(step=0.01), 5.0, False),
        (sv.Structure(), sv.Relative(0.05), False),
        (sv.Structure(minimum=0), sv.Relative(0.05), False),
    ],
)
def test_per_cent_beside_a_step_are_said_to_count_as_those_of_the_largest_value(known, tolerance, noted):
    """A window of 5 % that ends at 250 begins at 250 (1 - .05) / (1 + .05): it is 2 x 11.905 long."""
    problem = sv.Problem(secret=sv.Quantile(0.95), prior=(60, 250), tolerance=tolerance, known=known)
    says = describe_plan(sv.plan(problem, max_risk=0.4))
    assert ("5 % counts as 11.91 in the column's unit" in says) == noted
    assert ("--tolerance 7.75 is 5 % of the middle" in says) == noted
