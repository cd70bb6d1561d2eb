"""A statistic that drifts: against double integrals, closed forms and posteriors along simulated paths."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

import statveil as sv
from statveil.theory.drift import Drift, drift_density

pytestmark = pytest.mark.usefixtures("no_optimum")


def bins(width=10.0, prior=(0.0, 40.0), tolerance=1.0):
    return sv.plan(sv.Problem(secret=sv.Mean(), prior=prior, tolerance=tolerance), bin=width)


def best(mass, held):
    total = np.concatenate([[0.0], np.cumsum(mass)])
    return float((total[held:] - total[:-held]).max())


@pytest.mark.parametrize(("sigma", "trend"), [(0.5, 0.0), (2.0, 0.0), (0.7, 0.6)])
def test_two_months_against_a_double_integral(sigma, trend):
    found = sv.series(bins(), drift=f"normal(0,{sigma})", trend=trend, months=2).fixed
    step = 0.005
    x = np.arange(-30, 70, step) + step / 2
    prior = ((x > 0) & (x < 40)) / 40
    ends = [(-math.inf, 10), (10, 20), (20, 30), (30, math.inf)]
    held = round(2 / step)
    first = second = 0.0
    for low, high in ends:
        now = prior * ((x >= low) & (x < high))
        a, b = max(low, 0), min(high, 40)
        after = (norm.cdf((x - a - trend) / sigma) - norm.cdf((x - b - trend) / sigma)) / 40
        for left, right in ends:
            told = norm.cdf((right - x - trend) / sigma) - norm.cdf((left - x - trend) / sigma)
            first += best(now * told * step, held)
            second += best(after * ((x >= left) & (x < right)) * step, held)
    assert first - 1e-4 <= found.later[0] <= first + 0.012
    assert second - 1e-4 <= found.online[1] <= second + 0.012
    assert found.later[1] == pytest.approx(found.online[1], abs=1e-9)
    assert found.kind == "upper bound"


@pytest.mark.parametrize("sigma", [0.05, 0.3, 1.0])
def test_no_more_than_every_switch(sigma):
    """risk <= T + (k - 1) E|change| / s: the bins' inner edges are one fewer than the bins."""
    plan = bins()
    found = sv.series(plan, drift=f"laplace(0,{sigma})", months=4).fixed
    for k, (online, later) in enumerate(zip(found.online, found.later, strict=True), 1):
        assert online <= plan.risk + (k - 1) * sigma / 10 + 0.01
        assert later <= plan.risk + 3 * sigma / 10 + 0.01
    assert found.online[0] == plan.risk
    assert list(found.online) == sorted(found.online)


def test_a_known_trend_is_a_vernier():
    """(c + min(k d, s - c)) / s for the inner edges, s = 10, c = 2, d = 0.5; bins that move with it add nothing."""
    found = sv.series(bins(prior=(0.0, 1000.0)), trend=0.5, months=12)
    for k in range(12):
        inner = (2 + min(0.5 * k, 8)) / 10
        assert found.fixed.online[k] == pytest.approx(0.2 + 0.99 * (inner - 0.2), abs=1e-6)
    assert set(found.fixed.later) == {found.fixed.online[-1]}
    assert found.fixed.kind == "exact"
    assert found.moving.later == pytest.approx([0.2] * 12, abs=1e-9)


def along_paths(sigma, months, sticky, paths, seed, wide=40.0):
    """Posteriors by density on a grid of points, along paths and releases spelled out one by one."""
    rng = np.random.default_rng(seed)
    step = 0.05
    x = np.arange(-30, wide + 30, step) + step / 2
    kernel = norm.pdf(np.arange(-6 * sigma, 6 * sigma + step / 2, step), scale=sigma)
    kernel /= kernel.sum()
    held = round(2 / step)

    def release(theta, old):
        if not sticky or old is None:
            return 10 * np.clip(np.floor(theta / 10), 0, wide / 10 - 1) + 5
        away = np.abs(theta - old)
        moves = np.where(away > 5, np.ceil((away - 5) / 5 - 1e-12), 0)
        return np.clip(old + np.sign(theta - old) * 5 * moves, 5, wide - 5)  # the outermost have no outer edge

    online, later = np.zeros((paths, months)), np.zeros((paths, months))
    for i in range(paths):
        theta, old = rng.uniform(0, wide), None
        ahead, kept, values = ((x > 0) & (x < wide)).astype(float), [], []
        for t in range(months):
            if t:
                theta += rng.normal(0, sigma)
                ahead = np.convolve(ahead, kernel, mode="same")
            same = (release(x, old) == release(np.array(theta), old)).astype(float)
            ahead = ahead * same
            ahead /= ahead.sum()
            values.append(ahead)
            kept.append(same)
            old = float(release(np.array(theta), old))
            online[i, t] = best(ahead, held)
        back = np.ones(len(x))
        for t in range(months - 1, -1, -1):
            both = values[t] * back
            later[i, t] = best(both / both.sum(), held)
            back = np.convolve(back * kept[t], kernel, mode="same")
            back /= back.max()
    return online, later


@pytest.mark.parametrize(("sticky", "months", "wide"), [(False, 6, 40.0), (True, 12, 40.0), (True, 6, 10.0)])
def test_posteriors_along_simulated_paths(sticky, months, wide):
    found = sv.series(bins(prior=(0.0, wide)), drift="normal(0,0.5)", months=months, sticky=sticky).fixed
    online, later = along_paths(0.5, months, sticky, 250, 4, wide)
    for stated, seen in ((found.online, online), (found.later, later)):
        error = 3.5 * seen.std(axis=0) / math.sqrt(len(seen))
        assert np.all(np.array(stated) >= seen.mean(axis=0) - error - 1e-6)
        assert np.all(np.array(stated) <= seen.mean(axis=0) + error + 0.02)


@pytest.mark.slow
def test_a_year_of_a_random_walk():
    """The theory's numbers: bins of ten tolerances told once .2, in a year of sigma = .5 about .40."""
    plan = bins(prior=(0.0, 200.0))
    found = sv.series(plan, drift="normal(0,0.5)", max_risk=0.2)
    assert 0.38 <= max(found.fixed.later) <= 0.42
    assert found.held.distortion == pytest.approx(10, abs=1.2)
    assert max(sv.series(plan, drift="normal(0,0.5)", sticky=True).fixed.online) < max(found.fixed.online)


@pytest.mark.parametrize("sticky", [False, True])
def test_many_months_are_simulated(sticky):
    ask = {"drift": "normal(0,0.5)", "months": 14, "paths": 150, "seed": 1, "sticky": sticky}
    found = sv.series(bins(prior=(0.0, 20.0)), **ask).fixed
    assert found.kind == "simulated"
    online, later = along_paths(0.5, 14, sticky, 150, 8, wide=20.0)
    both = np.hypot(later.std(axis=0), later.std(axis=0)) / math.sqrt(150)
    assert np.all(np.abs(np.array(found.mean) - later.mean(axis=0)) <= 3.5 * both + 0.02)
    assert np.all(np.array(found.online) >= online.mean(axis=0) - 3.5 * online.std(axis=0) / math.sqrt(150))
    assert np.all(np.array(found.later) >= later.mean(axis=0) - 3.5 * later.std(axis=0) / math.sqrt(150))
    assert sv.series(bins(prior=(0.0, 20.0)), **ask).fixed == found


# docs/theory.md, drifting data: excess over one month in months 25 to 55 of 60, by other code, standard error .01
FIVE_YEARS = [(0.5, 10.0, 0.339, 0.247), (0.25, 10.0, 0.251, 0.188), (0.5, 20.0, 0.194, 0.121)]


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "width", "plain", "sticky"), FIVE_YEARS)
def test_five_years_of_a_random_walk(sigma, width, plain, sticky):
    """The theory's numbers, which are for bins without ends: on a wide range few paths come near one."""
    plan = bins(width, prior=(0.0, 100 * width))
    for truth, stuck in ((plain, False), (sticky, True)):
        found = sv.series(plan, drift=f"normal(0,{sigma})", months=60, sticky=stuck, paths=1500, seed=3)
        assert found.risk_kind == "simulated"
        mean = float(np.mean(found.fixed.mean[24:55]))
        # two standard errors of both, and what windows of whole cells say too much
        assert plan.risk + truth - 0.03 <= mean <= plan.risk + truth + 0.04
        assert mean < np.mean(found.fixed.later[24:55]) < mean + 0.1


@pytest.mark.parametrize(
    ("wide", "sigma", "months", "width"), [(20, 0.5, 8, 10), (45, 0.5, 6, 10), (40, 1.0, 5, 10), (30, 0.5, 5, 5)]
)
def test_sticky_releases_are_not_worse_on_a_short_range(wide, sigma, months, width):
    plain, sticky = (
        sv.series(bins(float(width), (0.0, float(wide))), drift=f"normal(0,{sigma})", months=months, sticky=stuck).fixed
        for stuck in (False, True)
    )
    assert plain.kind == sticky.kind == "upper bound"
    assert max(sticky.later) <= max(plain.later)
    assert max(sticky.online) < max(plain.online)


def test_the_bins_that_hold_a_target():
    plan = bins(prior=(0.0, 60.0))
    found = sv.series(plan, drift="normal(0,0.5)", months=3, max_risk=0.2)
    assert found.held.bin > 10
    wider = sv.plan(plan.problem, bin=found.held.bin)
    assert max(sv.series(wider, drift="normal(0,0.5)", months=3).fixed.later) <= 0.2 + 1e-9
    assert found.held.distortion == pytest.approx(wider.distortion)
    with pytest.raises(sv.TargetError, match="cannot be held"):
        sv.series(plan, drift="normal(0,0.5)", months=3, max_risk=0.01)


def test_relative_closeness_and_an_upside_down_scale():
    """Without a family and in per cent, the drift is one of the logarithm, whichever way its scale runs."""
    ask = {"secret": sv.Mean(), "tolerance": sv.Relative(0.05)}
    flat = sv.plan(sv.Problem(prior=(10, 100), **ask), max_risk=0.4, method="interval")
    assert flat.problem.family.sign < 0
    up, down = (sv.series(flat, drift="normal(0,0.02)", trend=t, months=3).fixed.later for t in (0.05, -0.05))
    assert up != down  # prices that rise drift away from the dense end
    drift = Drift(density=drift_density("expon", (0.0, 0.5)), turned=True, trend=0.1)
    plain = Drift(density=drift_density("expon", (0.0, 0.5)), trend=-0.1)
    cells = np.linspace(0.0, 1.0, 5)
    far = np.linspace(-3.0, 3.0, 13)
    assert drift.between(cells, far) == pytest.approx(plain.between(-cells[::-1], -far[::-1])[::-1, ::-1], abs=1e-9)


def test_chances_are_averages_over_a_cell():
    drift = Drift(density=drift_density("laplace", (0.1, 0.4)), trend=0.2)
    start, stop = np.linspace(0.0, 1.0, 4), np.linspace(-2.0, 3.0, 11)
    u = (np.arange(2000) + 0.5) / 2000
    cdf = drift.density.cdf
    for i in range(3):
        x = start[i] + u / 3
        truth = [np.mean(cdf(b - x - 0.2) - cdf(a - x - 0.2)) for a, b in pairwise(stop)]
        assert drift.between(start, stop)[i] == pytest.approx(truth, abs=1e-6)
    assert drift.variation == pytest.approx(2 * cdf(0.1) / 0.4, rel=1e-3)


# --- refusals and the command ---------------------------------------------------------------------
REFUSED = {
    "nothing drifts": {},
    "must look like": {"drift": "normal"},
    "does not accept": {"drift": "normal(1)"},
    "unknown density": {"drift": "norml(0,1)"},
    "whole number": {"drift": "normal(0,1)", "months": 0},
    "from 100": {"drift": "normal(0,1)", "paths": 5},
    "sticky": {"trend": 1.0, "sticky": True},
}


@pytest.mark.parametrize("says", REFUSED)
def test_bad_requests_are_refused(says):
    with pytest.raises(sv.ProblemError, match=says):
        sv.series(bins(), **REFUSED[says])


def test_plans_of_another_kind_are_refused():
    problem = sv.Problem(secret=sv.Mean(), prior=(0, 40), tolerance=1)
    gaussian = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 70), sigma=(5, 30)), secret=sv.Quantile(0.95), tolerance=1
    )
    for plan in (sv.plan(problem, max_risk=0.25, method="comb"), sv.plan(gaussian, max_risk=0.3)):
        with pytest.raises(sv.ProblemError, match="series is for bins"):
            sv.series(plan, drift="normal(0,1)", months=2)
    parts = sv.plan(problem, max_risk=0.25, method="dynamic", grid=40)
    assert max(sv.series(parts, drift="normal(0,0.5)", months=2).fixed.later) >= parts.risk
    with pytest.raises(sv.ProblemError, match="one width"):
        sv.series(parts, drift="normal(0,1)", months=2, sticky=True)


def test_the_command(cli, tmp_path):
    file = tmp_path / "plan.json"
    sv.save_plan(bins(), file)
    code, out, _ = cli("series", file, "--drift", "normal(0,0.5)", "--months", "3", "--json")
    told = json.loads(out)
    assert code == 0
    assert [month["month"] for month in told["months"]] == [1, 2, 3]
    assert told["risk"] == max(month["retrospective"] for month in told["months"])
    assert (told["risk_kind"], told["moving"], told["holds"]) == ("upper bound", None, None)
    code, out, _ = cli("series", file, "--trend", "0.5", "--months", "3")
    assert code == 0
    assert "Subtract what is predictable" in out
    code, out, err = cli("series", file, "--drift", "normal(0;1)")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
