"""One Spark session for all tests of a process: it takes seconds to start."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tests.missing import missing

_SOCKET = "Exception ignored in. <socket"


_MANY = (
    "in_the_same_words",
    "leaves_nothing",
    "of_any_type",
    "of_any_kind",
    "past_the_driver",
    "where_they_lie",
    "spark_alone_writes",
)
"""Parts of names of tests that take seconds for each of many cases: two of each are run by `make test`."""
_USUAL = 2


@pytest.hookimpl(tryfirst=True)  # before those that are marked are left out
def pytest_collection_modifyitems(items):
    seen = Counter()
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        # Spark before 4.2 leaves it to the collector of garbage to close its own sockets
        item.add_marker(pytest.mark.filterwarnings(f"ignore:{_SOCKET}:pytest.PytestUnraisableExceptionWarning"))
        if item.get_closest_marker("slow") is None and "spark" in item.fixturenames:
            name = f"{item.path.name}::{item.originalname}"
            seen[name] += 1
            if seen[name] > _USUAL and any(part in name for part in _MANY):
                item.add_marker(pytest.mark.slow)


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
