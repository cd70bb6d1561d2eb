"""What goes wrong in Spark, in a sentence of our own."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from statveil import errors
from statveil.errors import StatveilError, TableError

__all__ = ["quiet", "spark_works"]

_RAISED = re.compile(r"\w+(Error|Exception): .")
_OURS = re.compile(r"statveil\.errors\.(\w+): ([^\n]+)")


@contextmanager
def spark_works(what: str) -> Iterator[None]:
    """A refusal of ours that was raised on an executor as it was, and anything else as what could not be done."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        text = str(error)
        own = _OURS.search(text)
        kind = None if own is None else getattr(errors, own[1], None)
        if own is not None and isinstance(kind, type) and issubclass(kind, StatveilError):
            raise kind(own[2]) from None
        raise TableError(f"Spark could not {what}: {_reason(text)}") from None


def _reason(text: str) -> str:
    """The line that says why, and what to do about what is often met."""
    if "No module named 'statveil'" in text or "No module named 'polars'" in text:
        return "its workers lack statveil. Install it where they run, or set PYSPARK_PYTHON to a Python that has it."
    if "TaskResultLost" in text or "maxResultSize" in text or "OutOfMemoryError" in text:
        return "a partition is too large for memory. Divide the table into more of them, or raise spark.driver.memory."
    if any(word in text for word in ("ExecutorLostFailure", "SparkContext was shut down", "Connection refused")):
        return "an executor or Spark itself was lost. Nothing was published; run it again."
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    caused = [line for line in lines if line.startswith("Caused by: ")]
    raised = [line for line in lines if _RAISED.match(line)]  # the last line of what a Python worker raised
    said = [*lines[:1], *(line.removeprefix("Caused by: ") for line in caused), *raised]
    found = said[-1][:300] if said else "no reason was given"
    return found if found.endswith(".") else f"{found}."


@contextmanager
def quiet() -> Iterator[None]:
    """Without Spark's remarks on the version of pandas, which is not used here, and on hints of types."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        warnings.filterwarnings("ignore", message="It is preferred to specify type hints")
        yield
