"""How long a plan takes in process, as multiples of ``import numpy`` in the same run.

``--against OTHER/src`` also times another tree, turn by turn with this one, and prints the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import statveil as sv

ROUNDS = 15
TURNS = 7


def cases() -> dict[str, Callable[[], sv.Problem]]:
    """Problems by name; made on demand, as an older tree may not know all of them."""
    box, triangle = sv.Box(mu=(0, 200), sigma=(1, 51)), sv.Box(low=(0, 200), high=(0, 200))
    return {
        "any shape mean": lambda: sv.Problem(prior=(0, 200), secret=sv.Mean(), tolerance=1.0),
        "location mean": lambda: sv.Problem(
            family=sv.Location(), prior=sv.Box(mean=(0, 200)), secret=sv.Mean(), tolerance=1.0
        ),
        "gaussian std": lambda: sv.Problem(family=sv.Gaussian(), prior=box, secret=sv.Std(), tolerance=1.0),
        "gaussian quantile": lambda: sv.Problem(
            family=sv.Gaussian(), prior=box, secret=sv.Quantile(0.95), tolerance=1.0
        ),
        "uniform std": lambda: sv.Problem(family=sv.Uniform(), prior=triangle, secret=sv.Std(), tolerance=1.0),
        "uniform quantile": lambda: sv.Problem(
            family=sv.Uniform(), prior=triangle, secret=sv.Quantile(0.9), tolerance=1.0
        ),
        "categorical share": lambda: sv.Problem(
            family=sv.Categorical(categories=5), secret=sv.Fraction(0), tolerance=0.01
        ),
    }


def milliseconds(problem: sv.Problem, max_risk: float) -> float:
    sv.plan(problem, max_risk=max_risk)  # loads what is loaded once
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        sv.plan(problem, max_risk=max_risk)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def times() -> dict[str, float]:
    found = {}
    for name, make in cases().items():
        try:
            problem = make()
        except (TypeError, sv.StatveilError):  # an older tree
            continue
        found[name] = milliseconds(problem, 0.3)
    return found


def elsewhere(source: Path) -> dict[str, float]:
    """The times of a tree, in a process of its own."""
    command = [sys.executable, str(Path(__file__)), "--times"]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": str(source)})
    found: dict[str, float] = json.loads(done.stdout)
    return found


def import_numpy() -> float:
    code = "import time; s = time.perf_counter(); import numpy; print(time.perf_counter() - s)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)
    ]
    return 1e3 * statistics.median(runs)


def against(other: Path) -> None:
    here = Path(sv.__file__).parents[1]
    turns = [(elsewhere(here), elsewhere(other)) for _ in range(TURNS)]
    print(f"{'plan(max_risk=0.3)':<22}{'ms':>8}{'other':>8}{'ratio':>8}   (medians of {TURNS} turns)")
    for name in turns[0][0]:
        own = statistics.median(mine[name] for mine, _ in turns)
        if name not in turns[0][1]:
            print(f"{name:<22}{own:>8.2f}{'-':>8}")
            continue
        old = statistics.median(theirs[name] for _, theirs in turns)
        ratio = statistics.median(mine[name] / theirs[name] for mine, theirs in turns)
        print(f"{name:<22}{own:>8.2f}{old:>8.2f}{ratio:>8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="the src folder of another tree")
    parser.add_argument("--times", action="store_true", help="the times alone, as JSON")
    given = parser.parse_args()
    if given.times:
        print(json.dumps(times()))
        return
    if given.against is not None:
        against(given.against.resolve())
        return
    unit = import_numpy()
    print(f"import numpy: {unit:.1f} ms")
    print(f"{'plan(max_risk=0.3)':<22}{'ms':>8}{'x import numpy':>16}")
    for name, took in times().items():
        print(f"{name:<22}{took:>8.2f}{took / unit:>16.3f}")
    print("targets: an analytic plan under 20 ms, one without a family under 50 ms")


if __name__ == "__main__":
    main()
