"""What each method costs, as multiples of the dynamic programme in the same run, and what it gains."""

from __future__ import annotations

import time

import statveil as sv

BUDGET = 0.6
PROBLEM = sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.2, 0.8)), secret=sv.Mean(), tolerance=0.25)
WIDE = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100_000)), secret=sv.Mean(), tolerance=1.0)
BOX = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 200), sigma=(1, 51)), secret=sv.Quantile(0.6), tolerance=1.0)


def timed(
    problem: sv.Problem,
    method: str,
    *,
    grid: int | None = None,
    max_risk: float | None = None,
    max_distortion: float | None = None,
) -> tuple[float, sv.Plan]:
    start = time.perf_counter()
    plan = sv.plan(problem, method=method, grid=grid, max_risk=max_risk, max_distortion=max_distortion)
    return time.perf_counter() - start, plan


def main() -> None:
    timed(PROBLEM, "dynamic", grid=60, max_distortion=BUDGET)  # loads what is loaded once
    timed(PROBLEM, "optimal", grid=40, max_distortion=BUDGET)
    print(f"geometric mean, distortion {BUDGET:g}")
    print(f"{'cells':>6}  {'method':<13}{'seconds':>9}{'x dynamic':>11}{'risk':>9}")
    for cells in (120, 240, 400):
        base, _ = timed(PROBLEM, "dynamic", grid=cells, max_distortion=BUDGET)
        for method in ("dynamic", "greedy", "layered", "comb", "layered-comb", "optimal"):
            seconds, plan = timed(PROBLEM, method, grid=cells, max_distortion=BUDGET)
            print(f"{cells:>6}  {method:<13}{seconds:>9.2f}{seconds / base:>11.1f}{plan.risk:>9.4f}")
    print("\ncombs against equal bins, T = 0.2")
    for name, problem in (("location mean", WIDE), ("gaussian quantile", BOX)):
        one, two = timed(problem, "interval", max_risk=0.2), timed(problem, "comb", max_risk=0.2)
        ratio = two[1].distortion / one[1].distortion
        print(f"{name:<18} {two[0] / one[0]:>6.1f} x the time, {ratio:.3f} x the distortion")


if __name__ == "__main__":
    main()
