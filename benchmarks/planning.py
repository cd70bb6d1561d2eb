"""How long a plan takes in process, as multiples of ``import numpy`` in the same run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import statveil as sv

ROUNDS = 15


def milliseconds(problem: sv.Problem, max_risk: float) -> float:
    sv.plan(problem, max_risk=max_risk)  # loads what is loaded once
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        sv.plan(problem, max_risk=max_risk)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def import_numpy() -> float:
    code = "import time; s = time.perf_counter(); import numpy; print(time.perf_counter() - s)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(5)
    ]
    return 1e3 * statistics.median(runs)


def main() -> None:
    box, triangle = sv.Box(mu=(0, 200), sigma=(1, 51)), sv.Box(low=(0, 200), high=(0, 200))
    cases = [
        (
            "location mean",
            sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 200)), secret=sv.Mean(), tolerance=1.0),
        ),
        ("gaussian std", sv.Problem(family=sv.Gaussian(), prior=box, secret=sv.Std(), tolerance=1.0)),
        ("gaussian quantile", sv.Problem(family=sv.Gaussian(), prior=box, secret=sv.Quantile(0.95), tolerance=1.0)),
        ("uniform std", sv.Problem(family=sv.Uniform(), prior=triangle, secret=sv.Std(), tolerance=1.0)),
        ("uniform quantile", sv.Problem(family=sv.Uniform(), prior=triangle, secret=sv.Quantile(0.9), tolerance=1.0)),
        ("categorical share", sv.Problem(family=sv.Categorical(categories=5), secret=sv.Fraction(0), tolerance=0.01)),
    ]
    unit = import_numpy()
    print(f"import numpy: {unit:.1f} ms")
    print(f"{'plan(max_risk=0.3)':<22}{'ms':>8}{'x import numpy':>16}")
    for name, problem in cases:
        took = milliseconds(problem, 0.3)
        print(f"{name:<22}{took:>8.2f}{took / unit:>16.3f}")
    print("target: an analytic plan under 20 ms")


if __name__ == "__main__":
    main()
