"""One Spark session for all tests of a process: it takes seconds to start."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

from tests.missing import missing

_SOCKET = "Exception ignored in. <socket"


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            # Spark before 4.2 leaves it to the collector of garbage to close its own sockets
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{_SOCKET}:pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def spark():
    if importlib.util.find_spec("pyspark") is None:
        missing("needs pyspark (pip install 'statveil[spark]')")
    if shutil.which("java") is None:
        missing("needs Java 17 (Debian: apt-get install openjdk-17-jre-headless)")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Spark says about itself
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("OFF")
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()
