"""The child process of a job: one task on standard input, progress and the result as JSON lines on standard output.

``python -m statveil.studio.work``
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from statveil.errors import StatveilError
from statveil.spoken import Progress
from statveil.stopping import Stopped, stoppable

__all__ = ["outcome"]

_EVERY = 0.1  # seconds between two lines of progress


class _Teller:
    """Progress as lines; counts what is told as rows just done."""

    def __init__(self) -> None:
        self._stage, self._done, self._pass, self._last = "", 0, 0, 0.0

    def __call__(self, stage: str, rows: int, total: int | None) -> None:
        """Told of rows just done."""
        if stage != self._stage:
            self._stage, self._done, self._pass, self._last = stage, 0, 0, 0.0
        if total is not None and self._done >= total:  # the next pass over the same rows
            self._done, self._pass = 0, self._pass + 1
        self._done += rows
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            words = stage if not self._done else f"{stage}, {self._done:,}" + (f" of {total:,}" if total else "")
            share = min(1.0, self._done / total) if total else None
            say({"stage": words if share is None else stage, "share": share, "pass": self._pass})


def say(value: dict[str, Any]) -> None:
    """One line to the server."""
    print(json.dumps(value), flush=True)


def _end_with_the_server() -> None:
    """Standard input ends when the server does, however that ends."""

    def watch() -> None:
        sys.stdin.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def outcome(task: dict[str, Any], progress: Progress, kept: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """What came of the one task: its result, or a sentence with the column and field that it is about.

    ``kept`` is told the result as soon as nothing can take it back.
    """
    from statveil.studio.steps import AFTER, STEPS, located

    try:
        result = STEPS[task["kind"]](task, progress)
        if task["kind"] in AFTER:
            kept(result)
            try:
                AFTER[task["kind"]](task, progress)
            except (StatveilError, OSError) as error:
                result["words"].append(f"The comparison could not be made: {error}")
        return {"done": True, "result": result}
    except StatveilError as error:
        return {"failed": str(error), **located(error, task["names"])}
    except MemoryError:
        return {"failed": "there is not enough memory for this."}
    except OSError as error:
        return {"failed": f"cannot read or write a file: {error.strerror or error}."}
    except Exception as error:
        if os.environ.get("STATVEIL_TRACEBACK"):
            raise
        return {"failed": f"an unexpected error, {type(error).__name__}; nothing was changed. Please report it."}


def main() -> int:
    """Do the one task."""
    os.umask(0o077)  # what is made here is its owner's alone
    task = json.loads(sys.stdin.readline())
    _end_with_the_server()
    found = outcome(task, _Teller(), kept=lambda result: say({"kept": result}))
    say(found)
    return 0 if "done" in found else 2


if __name__ == "__main__":
    try:
        with stoppable():
            code = main()
    except Stopped as stopped:
        code = int(stopped.code or 1)
    sys.stdout.flush()
    os._exit(code)  # threads of a table engine may still be at work
