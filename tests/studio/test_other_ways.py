"""Curves of other methods in the trade-off: their risk against simulation, and why some are not drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from statveil.studio.deciding import problem_of
from statveil.studio.other_ways import NOISES, nine_in_ten, other_curves, other_words, random_move_risk, why_not_drawn
from statveil.studio.tradeoff import coarse

DRAW = {"normal": lambda rng, size: rng.normal(size=size), "laplace": lambda rng, size: rng.laplace(size=size)}


def posterior_hits(problem, noise, scale, *, draws=4000):
    """How often the best window hits, by drawing secrets and releases; the posterior of each on a fine grid."""
    rng = np.random.default_rng(3)
    axis, reach = problem.family.axis, problem.tolerance
    grid = np.linspace(axis.low, axis.high, 2001)
    middles = 0.5 * (grid[:-1] + grid[1:])
    mass = np.diff(axis.cdf(grid))
    secrets = np.asarray(axis.ppf(rng.random(draws)))
    releases = secrets + scale * DRAW[noise.name](rng, draws)
    law = {
        "normal": lambda z: np.exp(-z * z / 2),
        "laplace": lambda z: np.exp(-np.abs(z)),
    }[noise.name]
    width = round(2 * reach / (grid[1] - grid[0]))
    hits = 0
    for secret, release in zip(secrets, releases, strict=True):
        total = np.concatenate([[0], np.cumsum(mass * law((release - middles) / scale))])
        best = int(np.argmax(total[width:] - total[:-width]))
        hits += grid[best] <= secret <= grid[best + width]
    return hits / draws


@pytest.mark.parametrize("noise", NOISES, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "texts",
    [
        ("mean", "10:80", "2"),  # even
        ("mean", "10:80", "5%", "min=0"),  # denser at one end of the logarithms
        ("mean", "between(20,40,0.9)", "5%"),
    ],
)
@pytest.mark.parametrize("wide", [1.0, 4.0])
def test_the_risk_of_a_random_move_is_what_simulation_finds(noise, texts, wide):
    problem = problem_of(*texts)
    scale = wide * problem.tolerance
    said = random_move_risk(problem.family.axis, problem.tolerance, noise, scale)
    found = posterior_hits(problem, noise, scale)
    assert said == pytest.approx(found, abs=4 * math.sqrt(0.25 / 4000) + 0.01)


def test_the_numerical_risk_agrees_with_the_closed_form_where_there_is_one():
    """An even belief, once as such and once as a density that happens to be even."""
    even, dense = problem_of("mean", "10:80", "2"), problem_of("mean", "10:80~uniform(10,70)", "2")
    assert even.family.axis.flat
    assert not dense.family.axis.flat
    for noise in NOISES:
        for scale in (1.0, 5.0, 30.0):
            exact = random_move_risk(even.family.axis, 2.0, noise, scale)
            assert random_move_risk(dense.family.axis, 2.0, noise, scale) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("texts", [("mean", "10:80", "2"), ("mean", "10:80", "5%", "min=0")])
def test_the_drawn_change_is_that_of_nine_in_ten_releases(texts):
    problem = problem_of(*texts)
    rng = np.random.default_rng(5)
    log = problem.family.log
    for noise, curve in zip(NOISES, other_curves(problem), strict=True):
        for scale in (problem.tolerance, 4 * problem.tolerance):
            size = nine_in_ten(noise, scale)
            draws = scale * DRAW[noise.name](rng, 200_000)
            assert (np.abs(draws) <= size).mean() == pytest.approx(0.9, abs=0.004)
            if log:
                changes = np.abs(np.expm1(draws))
                at = random_move_risk(problem.family.axis, problem.tolerance, noise, scale)
                near = [change for risk, change in curve["points"] if abs(risk - at) < 0.03]
                assert any(0.7 < change / np.quantile(changes, 0.9) < 1.4 for change in near)
        risks = [risk for risk, _ in curve["points"]]
        changes = [change for _, change in sorted(curve["points"])]
        assert risks == sorted(risks)
        assert changes == sorted(changes, reverse=True)  # more noise, less risk


def test_no_other_method_is_drawn_where_none_can_be():
    """Below the risk of 0.9 nothing drawn lies under the limit; what is drawn of it is what nine of ten do."""
    found = coarse(("mean", "10:80", "2", "", ""), 0.3)
    limit = found["points"]["limit"]
    assert len(found["others"]) == 2
    for curve in found["others"]:
        for risk, change in curve["points"]:
            below = [bound for at, bound in limit if risk <= at < 0.9]  # the limit falls with the risk
            assert all(change >= bound for bound in below[:1])


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("mean", "10:80", "2", "min=0"), "bounds"),
        (("mean", "10:80", "5%", "min=0,max=200"), "bounds"),
        (("mean", "10:80", "2", "step=1"), "steps"),
        (("mean", "10:80", "5%", "min=0,step=0.01"), "steps"),  # which no factor keeps
        (("mean", "10:80~slope(0.1)", "5%"), "Many beliefs"),
        (("difference:sex=f-m", "10:80", "2"), "such a secret"),
        (("fraction:a", "", "0.02", "", "", "a,b"), "such a secret"),
        (("mean", "10:50", "1", "", "", "", "std", "5:20", "0.5"), "two"),
    ],
)
def test_what_is_not_drawn_says_why(texts, why):
    problem = problem_of(*texts)
    assert why in why_not_drawn(problem)
    assert other_curves(problem) == []
    assert "not drawn" in other_words(problem)[0].lower()


def test_a_shift_by_fine_steps_is_drawn():
    """Rounded to steps of a tenth of the closeness the noise hides nearly as well."""
    problem, stepped = problem_of("mean", "10:80", "2"), problem_of("mean", "10:80", "2", "step=0.2")
    assert other_curves(stepped) == other_curves(problem)
    rng = np.random.default_rng(9)
    secret, noise = rng.uniform(10, 80, 200_000), 0.2 * np.round(4 * rng.normal(size=200_000) / 0.2)
    hits = np.abs(np.clip(secret + noise, 12, 78) - secret) <= 2 + 1e-9
    said = random_move_risk(problem.family.axis, 2.0, NOISES[0], 4.0)
    assert hits.mean() == pytest.approx(said, rel=0.06)
