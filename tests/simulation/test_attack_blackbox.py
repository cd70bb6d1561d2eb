"""Attackers written from scratch against ``plan.apply`` alone: releases in, guesses out.

The attacker knows the problem and the plan (both are public), sees released parameters, groups similar releases,
learns the best window of each group on one half of the draws, and is scored on the other half.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import erf, ndtri

import statveil as sv
from tests.best_possible import none_known

pytestmark = pytest.mark.usefixtures("no_optimum")

DRAWS = 300_000


# --- distances and secrets, in closed forms of our own ------------------------------------------------
def w1(family, a, b):
    """Wasserstein-1 distance of two members: the integral of the difference of their quantile functions."""
    if family == "gaussian":
        shift, spread = np.abs(b["mu"] - a["mu"]), np.abs(b["sigma"] - a["sigma"])
        t = shift / np.maximum(spread, 1e-300)
        folded = spread * math.sqrt(2 / math.pi) * np.exp(-(np.minimum(t, 1e3) ** 2) / 2) + shift * erf(
            t / math.sqrt(2)
        )
        return np.where(spread > 0, folded, shift)
    if family == "shifted-exponential":
        shift, spread = b["shift"] - a["shift"], b["scale"] - a["scale"]
        t = np.abs(shift) / np.maximum(np.abs(spread), 1e-300)
        crossing = np.abs(spread) * (np.minimum(t, 1e6) - 1 + 2 * np.exp(-np.minimum(t, 700)))
        return np.where(shift * spread < 0, crossing, np.abs(shift + spread))
    if family == "exponential":
        return np.abs(b["scale"] - a["scale"])
    if family == "location":
        return np.abs(b["mean"] - a["mean"])
    if family == "uniform":
        x, y = b["low"] - a["low"], b["high"] - a["high"]
        both = np.abs(x) + np.abs(y)
        return np.where(x * y < 0, (x * x + y * y) / (2 * np.maximum(both, 1e-300)), both / 2)
    return 0.5 * sum(np.abs(b[name] - a[name]) for name in a)  # total variation of shares


def secret_value(family, secret, p):
    if family == "location":
        return p["mean"]
    if family == "categorical":
        return p["p0"]
    if family == "gaussian":
        loc, scale, z_mean, z_std, q = p["mu"], p["sigma"], 0.0, 1.0, ndtri
    elif family == "uniform":
        loc, scale, z_mean, z_std, q = p["low"], p["high"] - p["low"], 0.5, 1 / math.sqrt(12), lambda a: a
    else:
        loc, scale, z_mean, z_std, q = p.get("shift", 0.0), p["scale"], 1.0, 1.0, lambda a: -math.log1p(-a)
    if isinstance(secret, sv.Std):
        return z_std * scale
    return loc + scale * (z_mean if isinstance(secret, sv.Mean) else float(q(secret.alpha)))


def make(family, secret, eps, known=None, **axes):
    kinds = {
        "gaussian": sv.Gaussian,
        "shifted-exponential": sv.ShiftedExponential,
        "exponential": sv.Exponential,
        "uniform": sv.Uniform,
        "location": sv.Location,
    }
    prior = sv.Box(**axes)
    return sv.Problem(family=kinds[family](), prior=prior, secret=secret, tolerance=eps, known=known or sv.Structure())


def draw(problem, size, rng):
    """Uniform draws from the ranges that the case states; our own sampler."""
    if problem.family.name == "categorical":
        names = [param.name for param in problem.family.params]
        return dict(zip(names, rng.dirichlet(np.ones(len(names)), size).T, strict=True))
    ends = {name: (axis.low, axis.high) for name, axis in problem.prior.axes.items()}
    p = {name: rng.uniform(lo, hi, size) if hi > lo else np.full(size, lo) for name, (lo, hi) in ends.items()}
    if problem.family.name == "uniform":
        inside = p["low"] < p["high"]
        p = {name: value[inside] for name, value in p.items()}
    return p


# --- the attacker ------------------------------------------------------------------------------------
def cells(plan, released):
    """Number of the group of each release: its bin, and a cell of the coordinate that the release leaves intact."""
    json = plan.mechanism.to_json()
    if json["kind"] == "scaling":
        loc = released[json["loc"]] - json["about"]
        level = sum(c * (released[n] - (json["about"] if n == json["loc"] else 0.0)) for n, c in json["form"].items())
        intact = released[json["scale"]] / loc
    else:
        level = sum(c * released[n] for n, c in json["coordinate"].items())
        names = [n for n in released if np.ptp(released[n]) > 0]
        d = json["direction"]
        if plan.problem.family.name == "categorical":
            intact = released["p0"]
        elif len(names) == 2:
            intact = released[names[0]] * d.get(names[1], 0.0) - released[names[1]] * d.get(names[0], 0.0)
        else:
            intact = np.zeros(len(level))
    number = np.floor((level - json["origin"]) / json["width"] + 1e-9)
    fine = 60
    span = max(float(np.ptp(intact)), 1e-300)
    cell = np.minimum(np.floor((intact - intact.min()) / span * fine), fine - 1)
    return (number * fine + cell).astype(np.int64)


def best_start(values, eps):
    """Lower end of the closed window of length 2 eps that holds most of the sorted values."""
    upto = np.searchsorted(values, values + 2 * eps * (1 + 1e-9), side="right")
    return values[(upto - np.arange(len(values))).argmax()]


def attack(plan, problem, released, secret):
    """Success rate on the second half, and how many guesses that is."""
    anchor = (
        0.0 if problem.family.name == "categorical" else secret_value(problem.family.name, problem.secret, released)
    )
    offset, group = secret - anchor, cells(plan, released)
    half = len(offset) // 2
    order = np.lexsort((offset[:half], group[:half]))
    known, first = np.unique(group[:half][order], return_index=True)
    learnt = np.array([best_start(part, problem.tolerance) for part in np.split(offset[:half][order], first[1:])])
    at = np.minimum(np.searchsorted(known, group[half:]), len(known) - 1)
    seen = known[at] == group[half:]
    guess = learnt[at] + problem.tolerance
    hit = seen & (np.abs(guess - offset[half:]) <= problem.tolerance * (1 + 1e-9))
    return float(hit.mean()), len(hit)


# --- the cases ---------------------------------------------------------------------------------------
MU, SIGMA = (0.0, 200.0), (1.0, 51.0)
ABOVE = {"mu": (50.0, 200.0), "sigma": (5.0, 40.0)}
CASES = {
    "gaussian q95 planned": (make("gaussian", sv.Quantile(0.95), 2.0, mu=MU, sigma=SIGMA), {"max_risk": 0.2}),
    "gaussian q60 planned": (make("gaussian", sv.Quantile(0.6), 2.0, mu=MU, sigma=SIGMA), {"max_risk": 0.2}),
    "gaussian q95 paper": (make("gaussian", sv.Quantile(0.95), 2.0, mu=MU, sigma=SIGMA), {"bin": 7.0}),
    "gaussian q30 forced": (make("gaussian", sv.Quantile(0.3), 2.0, mu=MU, sigma=SIGMA), {"bin": 9.0, "slope": -2.0}),
    "gaussian q55 narrow": (make("gaussian", sv.Quantile(0.55), 0.2, mu=(0, 5), sigma=(1, 101)), {"max_risk": 0.3}),
    "gaussian mean": (make("gaussian", sv.Mean(), 2.0, mu=MU, sigma=SIGMA), {"max_risk": 0.3}),
    "gaussian std": (make("gaussian", sv.Std(), 1.0, mu=MU, sigma=SIGMA), {"max_risk": 0.3}),
    "gaussian budget": (make("gaussian", sv.Quantile(0.8), 2.0, mu=MU, sigma=SIGMA), {"max_distortion": 6.0}),
    "gaussian known sigma": (make("gaussian", sv.Quantile(0.8), 2.0, mu=MU, sigma=3.0), {"max_risk": 0.3}),
    "shifted q50 planned": (
        make("shifted-exponential", sv.Quantile(0.5), 1.0, scale=(1, 51), shift=(0, 200)),
        {"max_risk": 0.2},
    ),
    "shifted std planned": (
        make("shifted-exponential", sv.Std(), 1.0, scale=(1, 51), shift=(0, 200)),
        {"max_risk": 0.25},
    ),
    "shifted q90 paper": (
        make("shifted-exponential", sv.Quantile(0.9), 2.0, scale=(1, 51), shift=(-9, 20)),
        {"bin": 6.0},
    ),
    "shifted mean": (make("shifted-exponential", sv.Mean(), 1.0, scale=(1, 51), shift=(0, 200)), {"max_risk": 0.2}),
    "exponential q90": (make("exponential", sv.Quantile(0.9), 1.0, scale=(1, 31)), {"max_risk": 0.25}),
    "exponential mean": (make("exponential", sv.Mean(), 0.5, scale=(1, 31)), {"bin": 4.0}),
    "location": (make("location", sv.Mean(), 1.0, mean=(0, 100)), {"max_risk": 0.22}),
    "uniform std triangle": (make("uniform", sv.Std(), 0.1, low=(0, 10), high=(0, 10)), {"max_risk": 0.3}),
    "uniform q20 triangle": (make("uniform", sv.Quantile(0.2), 0.1, low=(0, 10), high=(0, 10)), {"max_risk": 0.3}),
    "uniform mean triangle": (make("uniform", sv.Mean(), 0.1, low=(0, 10), high=(0, 10)), {"max_risk": 0.3}),
    "uniform q80 paper": (make("uniform", sv.Quantile(0.8), 0.1, low=(0, 10), high=(0, 10)), {"bin": 1.7}),
    "uniform std cut": (make("uniform", sv.Std(), 0.1, low=(0, 10), high=(5, 20)), {"max_risk": 0.3}),
    "uniform q00 cut": (make("uniform", sv.Quantile(0.0), 0.1, low=(0, 10), high=(1, 9)), {"max_risk": 0.3}),
    "uniform mean cut": (make("uniform", sv.Mean(), 0.1, low=(0, 10), high=(3, 6)), {"max_risk": 0.3}),
    "uniform known low": (make("uniform", sv.Std(), 0.1, low=0.0, high=(2, 20)), {"max_risk": 0.3}),
    "lattice mean": (
        make("gaussian", sv.Mean(), 2.0, sv.Structure(step=1), mu=MU, sigma=SIGMA),
        {"max_risk": 0.3},
    ),
    "lattice location": (make("location", sv.Mean(), 0.3, sv.Structure(step=1), mean=(0, 100)), {"max_risk": 0.2}),
    "lattice bin": (make("location", sv.Mean(), 1.5, sv.Structure(step=1), mean=(0, 100)), {"bin": 7.4}),
    "lattice closed window": (make("location", sv.Mean(), 0.5, sv.Structure(step=1), mean=(0, 100)), {"bin": 20}),
    "lattice uniform": (
        make("uniform", sv.Mean(), 0.6, sv.Structure(step=0.5), low=(0, 40), high=(0, 40)),
        {"max_risk": 0.4},
    ),
    "scale q80": (make("gaussian", sv.Quantile(0.8), 2.0, sv.Structure(minimum=0), **ABOVE), {"max_risk": 0.3}),
    "scale mean": (make("gaussian", sv.Mean(), 2.0, sv.Structure(minimum=0), **ABOVE), {"bin": 13.0}),
    "scale std": (make("gaussian", sv.Std(), 0.5, sv.Structure(minimum=0), **ABOVE), {"max_risk": 0.3}),
    "scale budget": (make("gaussian", sv.Mean(), 2.0, sv.Structure(minimum=0), **ABOVE), {"max_distortion": 9.0}),
    "scale below a maximum": (
        make("gaussian", sv.Quantile(0.2), 2.0, sv.Structure(maximum=10), mu=(-200, -50), sigma=(5, 20)),
        {"max_risk": 0.3},
    ),
    "scale one parameter": (
        make("location", sv.Mean(), 1.0, sv.Structure(minimum=0), mean=(10, 90)),
        {"max_risk": 0.25},
    ),
}
for number, categories, eps, target in (
    (1, 2, 0.02, {"max_risk": 0.25}),
    (2, 4, 0.02, {"max_risk": 0.4}),
    (3, 10, 0.025, {"bin": 0.1}),
    (4, 5, 0.02, {"max_distortion": 0.07}),
):
    shares = sv.Problem(family=sv.Categorical(categories=categories), secret=sv.Fraction(0), tolerance=eps)
    CASES[f"categorical {number}"] = (shares, target)


@cache
def planned(name):
    problem, target = CASES[name]
    with none_known():
        return sv.plan(problem, **target)


def on_the_border(problem, rng, size=100_000):
    """Points on the border of the prior's box, where distances are largest."""
    p = draw(problem, size, rng)
    if problem.family.name == "categorical":
        return p
    count = len(next(iter(p.values())))
    ends = {name: (axis.low, axis.high) for name, axis in problem.prior.axes.items()}
    for name, (low, high) in ends.items():
        pick = rng.random(count)
        moved = np.where(pick < 0.25, low, np.where(pick < 0.5, high, p[name]))
        p[name] = moved
    if problem.family.name == "uniform":
        inside = p["low"] < p["high"]
        p = {name: value[inside] for name, value in p.items()}
    return p


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.heavy(1)
def test_attack_and_distortion(name):
    problem, _ = CASES[name]
    family = problem.family.name
    rng = np.random.default_rng(20240)
    plan = planned(name)
    params = draw(problem, DRAWS, rng)
    applied = plan.apply(**params)
    released = applied.released
    secret = secret_value(family, problem.secret, params)
    np.testing.assert_allclose(applied.secret, secret_value(family, problem.secret, released), rtol=1e-9, atol=1e-9)

    rate, trials = attack(plan, problem, released, secret)
    margin = 4.5 * math.sqrt(plan.risk * (1 - plan.risk) / trials) + 1e-9
    assert rate <= plan.risk + margin
    assert rate >= 0.85 * plan.risk  # the attacker is no straw man

    border = on_the_border(problem, rng)
    at_border = float(w1(family, border, plan.apply(**border).released).max())
    step = getattr(plan.mechanism, "step", None)
    if step is not None:  # bins are half-open: the upper end of the prior, of probability 0, may move one step more
        assert at_border <= plan.distortion + step * (1 + 1e-9)
        at_border = 0.0
    moved = max(float(w1(family, params, released).max()), at_border)
    assert moved <= plan.distortion * (1 + 1e-9)
    assert moved >= plan.distortion * (1 - 1e-3)


@pytest.mark.parametrize("name", list(CASES))
def test_releases_are_members_of_the_family(name):
    problem, _ = CASES[name]
    rng = np.random.default_rng(7)
    plan = planned(name)
    for params in (draw(problem, 100_000, rng), on_the_border(problem, rng)):
        released = plan.apply(**params).released
        assert all(np.all(np.isfinite(value)) for value in released.values())
        if "sigma" in released:
            assert released["sigma"].min() > 0
        if "scale" in released:
            assert released["scale"].min() > 0
        if "low" in released:
            assert np.all(released["low"] < released["high"])
        if problem.family.name == "categorical":
            shares = np.stack(list(released.values()))
            assert shares.min() >= 0
            assert shares.max() <= 1
            np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith("lattice")])
def test_every_point_of_a_fibre_has_the_same_release(name):
    """Walk from each release along its line (or ray) inside the bin and the prior: the release must not change."""
    problem, _ = CASES[name]
    rng = np.random.default_rng(11)
    plan = planned(name)
    json = plan.mechanism.to_json()
    params = draw(problem, 20_000, rng)
    released = plan.apply(**params).released
    if json["kind"] == "scaling":
        loc, about = json["loc"], json["about"]
        factor = rng.uniform(0.8, 1.25, len(params[loc]))
        other = {n: (about + factor * (v - about) if n == loc else factor * v) for n, v in params.items()}
        form = {n: (c, about if n == loc else 0.0) for n, c in json["form"].items()}
    else:
        move = rng.uniform(-json["width"], json["width"], len(next(iter(params.values()))))
        other = {n: v + json["direction"].get(n, 0.0) * move for n, v in params.items()}
        form = {n: (c, 0.0) for n, c in json["coordinate"].items()}

    def number(p):
        level = sum(c * (p[n] - start) for n, (c, start) in form.items())
        at = (level - json["origin"]) / json["width"]
        return np.floor(at), np.abs(at - np.round(at)) > 1e-6

    (here, clear), (there, clear_too) = number(params), number(other)
    keep = (here == there) & clear & clear_too
    if problem.family.name == "categorical":
        keep &= np.stack(list(other.values())).min(axis=0) >= 0
    else:
        for n, axis in problem.prior.axes.items():
            keep &= (other[n] >= axis.low) & (other[n] <= axis.high)
        if problem.family.name == "uniform":
            keep &= other["low"] < other["high"]
    assert keep.sum() > 1000
    again = plan.apply(**{n: v[keep] for n, v in other.items()}).released
    scale = max(float(np.max(np.abs(v))) for v in released.values())
    for n, value in again.items():
        np.testing.assert_allclose(value, released[n][keep], rtol=0, atol=2e-9 * max(1.0, scale))


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("lattice")])
def test_lattice_releases_move_by_whole_steps(name):
    problem, _ = CASES[name]
    rng = np.random.default_rng(13)
    plan = planned(name)
    assert plan.mode == "lattice"
    step = problem.known.step
    json = plan.mechanism.to_json()
    params = draw(problem, 50_000, rng)
    released = plan.apply(**params).released
    for n in json["direction"]:
        steps = (released[n] - params[n]) / step
        np.testing.assert_allclose(steps, np.round(steps), rtol=0, atol=1e-7)
    # a point a whole step away in the same bin has the same release
    (along,) = json["coordinate"]
    other = {n: v + (step if n in json["direction"] else 0.0) for n, v in params.items()}
    at, at_other = ((p[along] - json["origin"]) / json["width"] for p in (params, other))
    clear = (np.abs(at - np.round(at)) > 1e-6) & (np.abs(at_other - np.round(at_other)) > 1e-6)
    keep = (np.floor(at) == np.floor(at_other)) & clear
    for n, axis in problem.prior.axes.items():
        keep &= other[n] <= axis.high
    assert keep.sum() > 1000
    again = plan.apply(**{n: v[keep] for n, v in other.items()}).released
    for n, value in again.items():
        np.testing.assert_allclose(value, released[n][keep], rtol=0, atol=1e-9 * 200)


def test_an_attacker_breaks_a_release_that_tells_the_secret():
    """Positive control: without the mechanism the same attacker is always right."""
    problem, target = CASES["gaussian q95 planned"]
    plan = sv.plan(problem, **target)
    params = draw(problem, 100_000, np.random.default_rng(1))
    secret = secret_value("gaussian", problem.secret, params)
    rate, _ = attack(plan, problem, params, secret)
    assert rate > 0.99


@pytest.mark.parametrize("offset", [1e6, 1e9, 1.7e12])
def test_columns_far_from_zero(offset):
    """Dates: neither the distance nor the attack may depend on where zero is."""
    problem = make("uniform", sv.Mean(), 0.2, low=(offset, offset + 20.0), high=(offset, offset + 20.0))
    plan = sv.plan(problem, bin=2.0)
    params = draw(problem, 200_000, np.random.default_rng(2))
    released = plan.apply(**params).released
    assert np.all(released["low"] < released["high"])
    slack = 4 * np.spacing(offset)
    assert float(w1("uniform", params, released).max()) <= plan.distortion * (1 + 1e-9) + slack
    near = sv.plan(make("uniform", sv.Mean(), 0.2, low=(0, 20), high=(0, 20)), bin=2.0)
    assert plan.risk == pytest.approx(near.risk, abs=1e-4)
    assert plan.distortion == pytest.approx(near.distortion, rel=1e-6)


def test_gaussian_far_from_zero():
    problem = make("gaussian", sv.Quantile(0.6), 0.01, mu=(1e9, 1e9 + 2.0), sigma=(0.5, 1.5))
    plan = sv.plan(problem, max_risk=0.3)
    params = draw(problem, 100_000, np.random.default_rng(3))
    released = plan.apply(**params).released
    moved = float(w1("gaussian", params, released).max())
    assert moved <= plan.distortion * (1 + 1e-6) + 4 * np.spacing(1e9)
