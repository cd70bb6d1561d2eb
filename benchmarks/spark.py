"""Releasing Parquet files with Spark: time as a ratio to Spark's own copy of the same file, and the driver's memory.

Usage: python benchmarks/spark.py [--rows 5,20,50] [--turns 1], rows in millions. Spark runs on this machine, with as
many executor threads as there are cores. Each turn copies the file and releases it, in one session that is warm; the
ratios are those within a turn. The memory is the peak of the driver's Python; that of Java is set, not measured.
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
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
source, target, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
import statveil as sv
from statveil.tables.spark.session import open_session
from statveil.tables.spark.spark_file import read_spark
plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(50, 300), tolerance=1.0), max_risk=0.2)
session = open_session()
session.range(10).count()
found = []
for turn in range(turns + 1):  # the first turn warms up
    frame = read_spark(source)
    began = time.perf_counter()
    frame.write.mode("overwrite").parquet(target)
    copied = time.perf_counter()
    released = sv.release(plan, frame, column="latency", accept=["bounds"])
    measured = time.perf_counter()
    released.write.mode("overwrite").parquet(target)
    found.append({"copy": copied - began, "measure": measured - copied, "write": time.perf_counter() - measured})
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"turns": found[1:] or found, "peak": peak, "partitions": frame.rdd.getNumPartitions()}))
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="5,20,50", help="millions of rows")
    parser.add_argument("--turns", type=int, default=1)
    options = parser.parse_args()
    print("rows (million)  partitions  copy (s)  measure (s)  write (s)  ratio  driver (GiB)")
    for millions in map(float, options.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "in.parquet"
            make_table(path, int(millions * 1e6))
            command = [sys.executable, "-c", _CHILD, str(path), str(Path(folder) / "out"), str(options.turns)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
        copy, measure, write = (
            statistics.median(turn[name] for turn in found["turns"]) for name in ("copy", "measure", "write")
        )
        ratio = statistics.median((turn["measure"] + turn["write"]) / turn["copy"] for turn in found["turns"])
        print(
            f"{millions:14g}  {found['partitions']:10d}  {copy:8.1f}  {measure:11.1f}  {write:9.1f}  {ratio:5.2f}  "
            f"{found['peak']:12.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
