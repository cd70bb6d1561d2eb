"""The Spark session of the command line, and what is missing where none can be had."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from statveil.errors import TableError

__all__ = ["open_session"]

_JAVA = 17


def open_session() -> Any:
    """The session that is there, or a new one: on this machine, unless ``SPARK_MASTER`` says where."""
    if importlib.util.find_spec("pyspark") is None or importlib.util.find_spec("pyarrow") is None:
        raise TableError("--engine spark needs PySpark and PyArrow; install them: pip install 'statveil[spark]'.")
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") if home is None else shutil.which("java", path=str(Path(home) / "bin"))
    if java is None:
        where = "" if home is None else f" JAVA_HOME is {home}, which has none."
        raise TableError(
            f"Spark needs Java {_JAVA}, and there is no java to run.{where} Install it: "
            f"apt-get install openjdk-{_JAVA}-jre-headless."
        )
    from pyspark.sql import SparkSession

    from statveil.tables.spark.failures import spark_works

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.files.maxPartitionBytes": "32m",  # a partition passes the driver as a whole
        "spark.driver.memory": "2g",
        # a worker for each core of a machine: as many threads each would be their square
        "spark.executorEnv.POLARS_MAX_THREADS": os.environ.get("POLARS_MAX_THREADS", "2"),
    }
    builder = SparkSession.builder.appName("statveil").master(os.environ.get("SPARK_MASTER", "local[*]"))
    for name, value in settings.items():
        builder = builder.config(name, value)
    with spark_works("start"):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
