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


FILES = """
import os, shutil, signal, sys, tempfile, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import numpy as np
import polars as pl
from pyspark.sql import SparkSession
import statveil as sv
from statveil.tables import looking_later
from statveil.tables.blocks import BLOCK
from statveil.tables.release_file import release_file
from statveil.tables.release_table import release_table
from statveil.tables.spark import spans, spark_parquet, workers
from statveil.tables.spark.spark_file import open_spark
from tests.plans import BY_MODE, column_for
from tests.spark.test_spark_panels import panel, planned

folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(3)
(folder / "log").mkdir()
session = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.executor.memory", "1g")
    .config("spark.eventLog.enabled", "true")
    .config("spark.eventLog.dir", (folder / "log").as_uri())
    .config("spark.eventLog.compress", "false")
    .getOrCreate()
)
session.sparkContext.setLogLevel("OFF")
looking_later.SHORT, spans._LEAST_BYTES = 50_000, 1
mark, real = str(folder / "mark"), workers.write_span


def lost(work, task):
    done = real(work, task)
    try:
        os.remove(mark)  # one attempt alone is lost, when all of its file is there
    except FileNotFoundError:
        return done
    daemon = os.getppid()
    os.kill(int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
    time.sleep(60)


spark_parquet.write_span = lost
rows = 3 * BLOCK + 3_000
table = pl.DataFrame({"x": column_for("shift", rng, rows), "w": rng.random(rows)})
table.write_parquet(folder / "in.parquet", row_group_size=10_000)
for mode in ("rank", "category"):  # what is ranked and counted by processes of their own
    drawn = pl.DataFrame({"x": column_for(mode, rng, rows), "w": rng.random(rows)})
    drawn.write_parquet(folder / "drawn.parquet", row_group_size=10_000)
    source, options = folder / "drawn.parquet", {"column": "x", "seed": 7, "overwrite": True}
    done = [
        release_file(BY_MODE[mode], source, folder / name, **options, **opened)
        for name, opened in (("drawn-one.parquet", {}), ("drawn", {"opened": open_spark}))
    ]
    written = pl.concat([pl.read_parquet(one) for one in sorted((folder / "drawn").iterdir())])
    one = pl.read_parquet(folder / "drawn-one.parquet")
    frame = sv.release(BY_MODE[mode], session.read.parquet(str(source)), column="x", seed=7)  # by way of files
    there = len(frame.inputFiles()) > 1 and all("/released/" in file for file in frame.inputFiles())
    same = written.equals(one), pl.from_arrow(frame.toArrow()).equals(one)
    print(mode, *same, there, done[0].record == done[1].record)
panel("unit", 2).write_parquet(folder / "drawn-groups.parquet", row_group_size=10_000)
done = [
    release_table(planned("unit"), folder / "drawn-groups.parquet", folder / name, seed=7, **opened)
    for name, opened in (("drawn-groups-one.parquet", {}), ("drawn-groups", {"opened": open_spark}))
]
written = pl.concat([pl.read_parquet(one) for one in sorted((folder / "drawn-groups").iterdir())])
same = written.equals(pl.read_parquet(folder / "drawn-groups-one.parquet"))
print("groups", same, done[0].record == done[1].record)
for one in [*folder.glob("drawn*")]:
    shutil.rmtree(one) if one.is_dir() else one.unlink()
Path(mark).touch()
found = release_file(BY_MODE["shift"], folder / "in.parquet", folder / "out", column="x", seed=7, opened=open_spark)
assert not os.path.exists(mark), "an executor was lost"
wanted = release_file(BY_MODE["shift"], folder / "in.parquet", folder / "one.parquet", column="x", seed=7)
written = pl.concat([pl.read_parquet(one) for one in sorted((folder / "out").iterdir())])
print(written.equals(pl.read_parquet(folder / "one.parquet")), found.record == wanted.record, flush=True)
print(sorted(one.name for one in folder.iterdir() if one.name not in ("log", "one.parquet", "one.parquet.card.json")))
session.stop()
log = "".join(one.read_text() for one in (folder / "log").rglob("*") if one.is_file())
private = [repr(value) for value in wanted.record["coefficients"].values() if isinstance(value, float) and value % 1]
print("SparkListenerTaskEnd" in log, bool(private), any(value in log for value in private), flush=True)
"""


def run(script):
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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    return done.stdout.splitlines(), done.stderr[-3_000:]


@pytest.mark.slow
def test_a_cluster_releases_the_same_rows_though_an_executor_is_lost():
    said, why = run(SCRIPT)
    assert said == ["unit True", "rank True", "category True"], why


@pytest.mark.slow
def test_files_are_written_whole_though_an_executor_is_lost_and_nothing_private_is_logged():
    said, why = run(FILES)
    drawn = ["rank True True True True", "category True True True True", "groups True True"]
    assert said == [*drawn, "True True", "['in.parquet', 'out', 'out.card.json']", "True True False"], why
