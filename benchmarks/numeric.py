"""The dynamic programme against the printed algorithm, and how its time grows with the grid."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import statveil as sv
from statveil.design.partition.designer import Designer

sys.path.insert(0, str(Path(__file__).parent))
from printed_algorithm import printed_algorithm

PROBLEM = sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.1, 0.9)), secret=sv.Mean(), tolerance=0.1)


def seconds(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    print("geometric, p in [0.1, 0.9], mean, tolerance 0.1, 800 cells, released parameter on the grid")
    print(f"{'budget':>7}{'printed':>10}{'risk':>9}{'ours':>10}{'risk':>9}{'ratio':>9}")
    for budget in (0.3, 0.5, 1.0, 2.0):
        start = time.perf_counter()
        printed = printed_algorithm(0.1, 0.9, 800, budget, 0.1)
        slow = time.perf_counter() - start
        designer = Designer(problem=PROBLEM, cells=800, on_grid=True)
        edges = designer.dynamic(budget)
        assert edges is not None
        fast = seconds(lambda d=designer, b=budget: d.dynamic(b), 9)  # type: ignore[misc]
        ours = designer.total(edges)
        print(f"{budget:>7}{slow:>9.2f}s{printed:>9.4f}{1e3 * fast:>8.2f}ms{ours:>9.4f}{slow / fast:>8.0f}x")
    whole = seconds(lambda: sv.plan(PROBLEM, max_distortion=0.5, method="dynamic"), 9)
    print(f"a whole plan with 800 cells, windows and exact accounting included: {1e3 * whole:.1f} ms (target: 20 ms)")
    times = {}
    for cells in (10_000, 100_000):
        times[cells] = seconds(lambda n=cells: Designer(problem=PROBLEM, cells=n).dynamic(0.5), 3)  # type: ignore[misc]
        print(f"{cells:>7} cells: {times[cells]:.3f} s")
    exponent = math.log(times[100_000] / times[10_000]) / math.log(10)
    print(f"exponent of growth from 10,000 to 100,000 cells: {exponent:.2f} (target: at most 1.3)")


if __name__ == "__main__":
    main()
