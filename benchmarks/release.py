"""Releasing Parquet files of up to 50 million rows: time as a ratio to copying through the same engine, peak memory.

Usage: python benchmarks/release.py [--rows 5,15,50] [--turns 3] [--only scale,model], rows in millions. Each turn
copies the file and releases it in every way; the ratios are those within a turn, their median over turns: of seconds on
the clock, and of seconds that all threads together computed, which other work on the machine changes little. Hashing
the output is part of a release. As in the command, the products of NumPy use one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# One process a measurement, so that the peak of one is not the peak of the next.
_CHILD = """
import json, resource, sys, time
what, source, target = sys.argv[1:4]
if what != "copy":
    import statveil as sv
    from statveil.tables import release_file as module
    from statveil.tables.inspection import inspect
    secret = {"std": sv.Std(), "quantile": sv.Quantile(0.95)}.get(what, sv.Mean())
    asked = {"family": sv.Gaussian(), "prior": sv.Box(mu=(0, 300), sigma=(5, 200)), "tolerance": 1.0}
    if what in ("shift", "scale", "model"):  # without a family
        asked = {"prior": (50, 300), "tolerance": 1.0 if what == "shift" else sv.Relative(0.05)}
        asked |= {} if what == "shift" else {"known": sv.Structure(minimum=0)}
        asked |= {"shape": "catalogue"} if what == "model" else {}
    plan = sv.plan(sv.Problem(secret=secret, **asked), max_risk=0.2)
import polars as pl
began, computed = time.perf_counter(), time.process_time()
if what == "copy":
    pl.scan_parquet(source).sink_parquet(target)
elif what == "inspect":
    inspect(source, column="latency")
else:
    import warnings
    warnings.simplefilter("ignore")
    module.release_file(plan, source, target, column="latency", accept=["bounds"])
seconds = time.perf_counter() - began
computed = time.process_time() - computed
print(json.dumps({"seconds": seconds, "computed": computed,
                  "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""


def make_table(path: Path, rows: int) -> None:
    """A trace of requests: five columns, a million rows a row group."""
    import numpy as np
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = {"id": pl.Int64, "latency": pl.Float64, "region": pl.String, "bytes": pl.Int64, "cpu": pl.Float64}

    def source(*_: object) -> Iterator[pl.DataFrame]:
        rng, regions = np.random.default_rng(0), np.array(["us-east", "eu-west", "ap-south"])
        for start in range(0, rows, 500_000):
            size = min(500_000, rows - start)
            yield pl.DataFrame(
                {
                    "id": np.arange(start, start + size),
                    "latency": rng.gamma(2.0, 50.0, size),
                    "region": regions[rng.integers(0, 3, size)],
                    "bytes": rng.integers(0, 10**6, size),
                    "cpu": rng.random(size),
                },
                schema=schema,
            )

    register_io_source(source, schema=schema).sink_parquet(path, row_group_size=1_000_000)


def run(what: str, source: Path, target: Path) -> dict[str, float]:
    """One measurement in a process of its own."""
    target.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, what, str(source), str(target)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    target.with_name(f"{target.name}.card.json").unlink(missing_ok=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="5,15,50", help="millions of rows, separated by commas")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", help="ways to release, separated by commas")
    options = parser.parse_args()
    sizes = [int(float(part) * 1e6) for part in options.rows.split(",")]
    every = ("copy", "shift", "scale", "mean", "std", "quantile", "model", "inspect")
    kinds = every if options.only is None else ("copy", *options.only.split(","))
    results: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    print(f"{'rows':>12} {'what':<10} {'seconds':>8} {'x copy':>7} {'computed x':>11} {'peak GiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            source, target = Path(folder) / "in.parquet", Path(folder) / "out.parquet"
            make_table(source, rows)
            turns = [{kind: run(kind, source, target) for kind in kinds} for _ in range(options.turns)]
            for kind in kinds:
                found = {name: statistics.median(turn[kind][name] for turn in turns) for name in turns[0][kind]}
                found["peak"] = max(turn[kind]["peak"] for turn in turns)
                results[kind].append(found)
                ratio, computed = (
                    statistics.median(turn[kind][name] / turn["copy"][name] for turn in turns)
                    for name in ("seconds", "computed")
                )
                print(
                    f"{rows:>12,} {kind:<10} {found['seconds']:>8.2f} {ratio:>7.2f} {computed:>11.2f} "
                    f"{found['peak']:>9.2f}",
                    flush=True,
                )
    if len(sizes) > 1:
        for kind in kinds:
            first, last = results[kind][0], results[kind][-1]
            growth = math.log(sizes[-1] / sizes[0])
            print(
                f"growth exponent of {kind:<9} time {math.log(last['seconds'] / first['seconds']) / growth:.2f}, "
                f"memory {math.log(last['peak'] / first['peak']) / growth:.2f}"
            )


if __name__ == "__main__":
    main()
