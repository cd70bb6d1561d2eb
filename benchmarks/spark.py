"""Releasing Parquet files with Spark: time as a ratio to Spark's own copy of the same file, and the driver's memory.

Usage: python benchmarks/spark.py [--rows 5,20,50] [--turns 2] [--route files] [--mode shift], rows in millions. Spark
runs on this machine, with as many executor threads as there are cores. Each turn copies the file
(``spark.read.parquet(IN).write.parquet(OUT)``) and releases it, in one session that is warm for both: a turn before the
first is not counted. ``files`` is all that ``statveil release IN OUT --engine spark`` does once Spark has started:
measure, write, check and hash what was written, and put it in place; ``frame`` is ``sv.release`` of a DataFrame and
writing it, without these checks. ``shift`` moves all rows alike; ``model`` redraws them by their ranks. The ratios are
those within a turn. The memory is the peak of the driver's Python; that of Java is set, not measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from release import make_table

_CHILD = """
import json, resource, shutil, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
source, folder, turns, route, mode = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
import statveil as sv
from statveil.tables.release_file import release_file
from statveil.tables.spark.session import open_session
from statveil.tables.spark.spark_file import open_spark, read_spark
shape = {"shape": "catalogue", "known": sv.Structure(minimum=0)} if mode == "model" else {}
plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=1.0, **shape), max_risk=0.2)
assert plan.mode == mode
session = open_session()
found = []
for turn in range(turns + 1):  # the first turn warms up
    for name in ("copy", "out"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "out.card.json").unlink(missing_ok=True)
    began = time.perf_counter()
    session.read.parquet(source).write.parquet(f"file://{folder}/copy")
    copied = time.perf_counter()
    if route == "files":
        measured = []
        def progress(stage, rows, total):
            if stage == "reading":
                measured[:] = [time.perf_counter()]
        release_file(plan, source, folder / "out", column="latency", accept=["bounds"], opened=open_spark,
                     progress=progress)
        (measured,) = measured
    else:
        released = sv.release(plan, read_spark(source), column="latency", accept=["bounds"])
        measured = time.perf_counter()
        released.write.parquet(f"file://{folder}/out")
    found.append({"copy": copied - began, "measure": measured - copied, "write": time.perf_counter() - measured})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
parts = len(list((folder / "out").glob("*.parquet")))
print(json.dumps({"turns": found[1:] or found, "peak": peak, "parts": parts}))
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="5,20,50", help="millions of rows")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--route", choices=["files", "frame"], default="files")
    parser.add_argument("--mode", choices=["shift", "model"], default="shift")
    options = parser.parse_args()
    print("rows (million)  files  copy (s)  measure (s)  write (s)  ratio  all ratios  driver (GiB)")
    for millions in map(float, options.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "in.parquet"
            make_table(path, int(millions * 1e6))
            asked = [str(options.turns), options.route, options.mode]
            command = [sys.executable, "-c", _CHILD, str(path), folder, *asked]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            found = json.loads(done.stdout.splitlines()[-1])
        copy, measure, write = (
            statistics.median(turn[name] for turn in found["turns"]) for name in ("copy", "measure", "write")
        )
        ratios = [(turn["measure"] + turn["write"]) / turn["copy"] for turn in found["turns"]]
        every = " ".join(f"{one:.2f}" for one in ratios)
        print(
            f"{millions:14g}  {found['parts']:5d}  {copy:8.1f}  {measure:11.1f}  {write:9.1f}  "
            f"{statistics.median(ratios):5.2f}  {every:>10}  {found['peak']:12.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
