"""A child process that runs a module of ours, with pipes to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["python"]


def python(module: str) -> subprocess.Popen[bytes]:
    """Start ``python -m module``; what it is asked and answers goes through its standard streams.

    ``STATVEIL_TRACEBACK=1`` shows what it prints of errors.
    """
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    # where this statveil lies, the child finds it too
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module],  # -P: nothing is loaded from the folder we are in
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None if os.environ.get("STATVEIL_TRACEBACK") else subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C in the terminal is for the server, which ends its children in order
    )
