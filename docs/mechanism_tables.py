"""Interval, comb, limit and the programme's optimum side by side, every risk confirmed by simulation.

Usage: python docs/mechanism_tables.py [--quick]. Writes docs/mechanism_tables.md (``make mechanism-tables``).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import statveil as sv

TARGETS = (0.1, 0.2, 0.5)
BESIDE = (0.11, 0.22, 0.55)
"""Beside 1/k: at 1/k exactly, any loss at a border costs a whole tooth."""


def gaussian(secret: Any, mu: float, sigma: float) -> sv.Problem:
    """Box of these widths, in tolerances."""
    prior = sv.Box(mu=(0, mu), sigma=(1, 1 + sigma))
    return sv.Problem(family=sv.Gaussian(), prior=prior, secret=secret, tolerance=1)


def shifted(secret: Any, shift: float, scale: float) -> sv.Problem:
    """The shifted exponential on such a box."""
    prior = sv.Box(scale=(1, 1 + scale), shift=(0, shift))
    return sv.Problem(family=sv.ShiftedExponential(), prior=prior, secret=secret, tolerance=1)


def uniform(secret: Any, width: float) -> sv.Problem:
    """The uniform family on a triangle."""
    prior = sv.Box(low=(0, width), high=(0, width))
    return sv.Problem(family=sv.Uniform(), prior=prior, secret=secret, tolerance=1)


def exponential(secret: Any, width: float) -> sv.Problem:
    """The exponential on a range."""
    return sv.Problem(family=sv.Exponential(), prior=sv.Box(scale=(1, 1 + width)), secret=secret, tolerance=1)


def quoted() -> Iterator[tuple[str, sv.Problem]]:
    """The rows of the theory."""
    yield "Gaussian, quantile 0.6, 200 x 50", gaussian(sv.Quantile(0.6), 200, 50)
    yield "Gaussian, quantile 0.95, 70 x 25", gaussian(sv.Quantile(0.95), 70, 25)
    yield "Gaussian, std, 200 x 50", gaussian(sv.Std(), 200, 50)
    yield "shifted exponential, quantile 0.5, 200 x 50", shifted(sv.Quantile(0.5), 200, 50)
    yield "uniform, std, 200", uniform(sv.Std(), 200)


def boxes() -> Iterator[tuple[str, sv.Problem]]:
    """Every continuous family, quantiles and std, on boxes of 200 and of 1,000 tolerances."""
    for width in (200.0, 1000.0):
        for secret in (sv.Quantile(0.6), sv.Quantile(0.95), sv.Std()):
            label = f"{secret.label}, {width:g}"
            yield f"exponential, {label}", exponential(secret, width)
            yield f"Gaussian, {label} x {width:g}", gaussian(secret, width, width)
            yield f"shifted exponential, {label} x {width:g}", shifted(secret, width, width)
            yield f"uniform, {label}", uniform(secret, width)


class Simulated:
    """Plays the best attacker and keeps count of how often the plan's risk lies in the interval."""

    def __init__(self, trials: int) -> None:
        self.trials = trials
        self.played = self.inside = 0

    def __call__(self, plan: sv.Plan) -> str:
        """The rate, marked where its interval does not hold the plan's risk."""
        rate = sv.simulate(plan, trials=self.trials, seed=self.played)
        self.played += 1
        # an upper bound may lie above the interval, never below it
        fine = rate.low <= plan.risk and (plan.risk <= rate.high or plan.risk_kind != "exact")
        self.inside += fine
        return f"{rate.rate:.4f}{'' if fine else ' (outside)'}"


def mean_table(simulated: Simulated) -> Iterator[str]:
    """The mean of a location family on 100,000 tolerances, T = 1/k."""
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100_000)), secret=sv.Mean(), tolerance=1)
    yield "| T | limit | interval / limit | comb / limit | comb: risk | simulated |"
    yield "|---|---|---|---|---|---|"
    for k in range(2, 51):
        interval = sv.plan(problem, max_risk=1 / k, method="interval")
        comb = sv.plan(problem, max_risk=1 / k, method="comb")
        yield (
            f"| 1/{k} | {comb.lower_bound:.6g} | {interval.efficiency:.3f} | {comb.efficiency:.4f} | {comb.risk:.6f} | "
            f"{simulated(comb)} |"
        )


def box_table(
    cases: Iterator[tuple[str, sv.Problem]], targets: tuple[float, ...], simulated: Simulated
) -> Iterator[str]:
    """Distortions in tolerances, with the simulated risks of both mechanisms."""
    yield "| problem | T | interval | comb | limit | comb / limit | interval, simulated | comb, simulated |"
    yield "|---|---|---|---|---|---|---|---|"
    for label, problem in cases:
        for goal in targets:
            one, two = (_plan(problem, goal, method) for method in ("interval", "comb"))
            limit = sv.limits(problem, max_risk=goal).lower_bound
            cells = [f"{plan.distortion:.4g}" if plan else "not reachable" for plan in (one, two)]
            ratio = f"{two.distortion / limit:.3f}" if two else ""
            played = [simulated(plan) if plan else "" for plan in (one, two)]
            row = (label, f"{goal:g}", *cells, f"{limit:.4g}", ratio, *played)
            yield f"| {' | '.join(row)} |"


def _plan(problem: sv.Problem, goal: float, method: str) -> sv.Plan | None:
    try:
        return sv.plan(problem, max_risk=goal, method=method)
    except sv.StatveilError:
        return None


def numeric() -> Iterator[tuple[str, sv.Problem, float]]:
    """Counts with uniform and other beliefs, each with a distortion."""
    yield "geometric mean, p in [.2, .8]", _counts(sv.Geometric(), sv.Box(p=(0.2, 0.8)), sv.Mean(), 0.25), 0.3
    beta = sv.Density("beta", (2, 2), low=0.2, high=0.8)
    yield "the same, beta(2, 2)", _counts(sv.Geometric(), sv.Box(p=beta), sv.Mean(), 0.25), 0.3
    for budget in (1.05, 2.05, 5.05):
        yield "Poisson mean, rate in [2, 26]", _counts(sv.Poisson(), sv.Box(rate=(2, 26)), sv.Mean(), 1.0), budget
    normal = sv.Density("norm", (14, 4), low=2, high=26)
    yield "the same, normal(14, 4)", _counts(sv.Poisson(), sv.Box(rate=normal), sv.Mean(), 1.0), 2.05
    yield "Poisson std, rate in [2, 26]", _counts(sv.Poisson(), sv.Box(rate=(2, 26)), sv.Std(), 0.15), 1.0
    binomial = _counts(sv.Binomial(trials=20), sv.Box(p=(0.05, 0.95)), sv.Std(), 0.1)
    yield "binomial std, n = 20, p in [.05, .95]", binomial, 1.0
    peaked = sv.Density("beta", (2, 5), low=0.05, high=0.95)
    yield "the same, beta(2, 5)", _counts(sv.Binomial(trials=20), sv.Box(p=peaked), sv.Std(), 0.1), 1.0


def _counts(family: Any, prior: sv.Box, secret: Any, tolerance: float) -> sv.Problem:
    return sv.Problem(family=family, prior=prior, secret=secret, tolerance=tolerance)


def numeric_table(cells: int, simulated: Simulated) -> Iterator[str]:
    """Risks at equal distortion: greedy, dynamic, layered, combs, the programme."""
    methods = ("greedy", "dynamic", "layered", "comb", "layered-comb", "optimal")
    yield "| problem | distortion | " + " | ".join(methods) + " | optimal, simulated | limit |"
    yield "|---|---|" + "---|" * (len(methods) + 2)
    for label, problem, budget in numeric():
        plans = {name: sv.plan(problem, max_distortion=budget, method=name, grid=cells) for name in methods}
        risks = " | ".join(f"{plan.risk:.4f}" for plan in plans.values())
        limit = sv.limits(problem, max_distortion=budget).lower_bound
        yield f"| {label} | {budget:g} | {risks} | {simulated(plans['optimal'])} | {limit:.4f} |"


def layered_table(simulated: Simulated) -> Iterator[str]:
    """A truncated normal belief: what its shape costs each mechanism."""
    prior = sv.Box(mean=sv.Density("norm", (40, 80 / 6), low=0, high=80))
    problem = sv.Problem(family=sv.Location(), prior=prior, secret=sv.Mean(), tolerance=1)
    yield "| method | distortion | over the limit | risk | simulated |"
    yield "|---|---|---|---|---|"
    for method in ("interval", "dynamic", "layered", "comb", "layered-comb"):
        plan = sv.plan(problem, max_risk=0.102, method=method)
        yield f"| {method} | {plan.distortion:.4g} | {plan.efficiency:.3f} | {plan.risk:.4f} | {simulated(plan)} |"


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer rows and trials")
    quick = parser.parse_args().quick
    simulated = Simulated(20_000 if quick else 100_000)
    parts = [
        "# Mechanisms side by side",
        "",
        "Made by `make mechanism-tables`. Distortions are in tolerances; the limit is Theorem 1's. Each simulated risk",
        f"is the rate of the best attacker in {simulated.trials:,} trials (`statveil simulate`); it is marked where",
        "its 99.9 % interval does not agree with the plan.",
        "",
        "## The mean of a location family, a plain range of 100,000 tolerances",
        "",
        *mean_table(simulated),
        "",
        "## Two parameters: the rows of the theory",
        "",
        *box_table(quoted(), TARGETS + BESIDE, simulated),
        "",
        "## Every continuous family, boxes of 200 and of 1,000 tolerances",
        "",
        *([] if quick else box_table(boxes(), TARGETS + BESIDE, simulated)),
        "",
        "## Counts: risks at equal distortion",
        "",
        *numeric_table(120 if quick else 240, simulated),
        "",
        "## A belief that is not uniform: truncated normal, 80 tolerances wide, sd 80/6, T = 0.102",
        "",
        *layered_table(simulated),
        "",
    ]
    parts.insert(6, f"{simulated.inside} of {simulated.played} simulated risks agree.\n")
    Path(__file__).with_suffix(".md").write_text("\n".join(parts), encoding="utf-8")
    print(f"{simulated.inside} of {simulated.played} simulated risks agree.")


if __name__ == "__main__":
    main()
