"""Executors in processes of their own, as on a cluster: what they need reaches them, and one may be lost."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.missing import missing

SCRIPT = """
import os, signal, sys, tempfile, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import numpy as np
import polars as pl
from pyspark.sql import SparkSession
import statveil as sv
from statveil.tables.blocks import BLOCK
from statveil.tables.spark import shipping
from tests.plans import BY_MODE, column_for

session = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.executor.memory", "1g")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
shipping._LONG = 1_000  # arrays of any length go by file
folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(3)
mark = str(folder / "mark")


def lost(batches):
    if os.path.exists(mark):
        os.remove(mark)
        daemon = os.getppid()
        os.kill(int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
    yield from batches


for mode in ("unit", "rank", "category"):
    table = pl.DataFrame({"x": column_for(mode, rng, BLOCK + 3_000), "w": rng.random(BLOCK + 3_000)})
    table.write_parquet(folder / f"{mode}.parquet", row_group_size=10_000)
    frame = session.read.parquet(str(folder / f"{mode}.parquet"))
    assert frame.rdd.getNumPartitions() >= 1
    frame = frame.mapInArrow(lost, frame.schema)
    released = sv.release(BY_MODE[mode], frame, column="x", seed=7)
    if mode == "unit":
        Path(mark).touch()
    released.write.parquet(str(folder / f"{mode}.out"))
    assert not os.path.exists(mark), "an executor was lost"
    found = pl.concat([pl.read_parquet(one) for one in sorted((folder / f"{mode}.out").glob("*.parquet"))])
    print(mode, found.equals(sv.release(BY_MODE[mode], table, column="x", seed=7)), flush=True)
session.stop()
"""


@pytest.mark.slow
def test_a_cluster_releases_the_same_rows_though_an_executor_is_lost():
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        missing("needs pyspark (pip install 'statveil[spark]')")
    if shutil.which("java") is None:
        missing("needs Java 17 (Debian: apt-get install openjdk-17-jre-headless)")
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(found.origin).parent),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "src")]),
    }
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.splitlines() == ["unit True", "rank True", "category True"], done.stderr[-3_000:]
