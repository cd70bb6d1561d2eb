"""Long work in a child process: it can be cancelled, its memory is given back, and the server outlives it."""

from __future__ import annotations

import contextlib
import json
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from statveil.spoken import harmless
from statveil.studio.child import python

__all__ = ["Job"]

_PATIENCE = 10.0  # seconds that a cancelled job gets to clean up
_UNEXPECTED = "the work ended unexpectedly; nothing was changed. Try again, or use the command line to see more."


class Job:
    """One child process with its progress.

    Parameters
    ----------
    kind : str
        ``inspect``, ``plan``, ``release`` or ``audit``.
    task : mapping
        What the child gets.
    ended : callable
        Called once with the job, from another thread, when it has ended; it may :meth:`settle` the job.
    """

    def __init__(self, kind: str, task: Mapping[str, Any], *, ended: Callable[[Job], None]) -> None:
        self.id, self.kind = secrets.token_hex(8), kind
        self.state, self.words = "running", "starting"
        self.outcome = "failed"
        """How it ended, before that is taken in."""
        self.message: str | None = None
        self.column: int | None = None
        self.field: str | None = None
        self.result: dict[str, Any] = {}
        self._ended, self._lock = ended, threading.Lock()
        self._share: float | None = None
        self._passes = 0
        self._since = time.monotonic()
        self._cancelled = False
        self._kept: dict[str, Any] | None = None
        """The result, where it stands although the child is still at work."""
        self._watcher = threading.Thread(target=self._work, args=(dict(task, kind=kind),), daemon=True)
        self._begin()
        self._watcher.start()

    def _begin(self) -> None:
        """Start the child, which waits for its task."""
        self._child = python("statveil.studio.work")

    def _work(self, task: Mapping[str, Any]) -> None:
        last, well = self._watch(task)
        with self._lock:
            result = last.get("result") if well and last.get("done") else self._kept
            if result is not None:  # also where it was cancelled too late
                self.outcome, self.result, self._share, self.words = "done", result, 1.0, "done"
            elif self._cancelled:
                self.outcome, self.message = "cancelled", "Cancelled; nothing was changed."
            else:
                self.outcome = "failed"
                self.message = harmless(str(last.get("failed") or _UNEXPECTED))
                self.column, self.field = last.get("column"), last.get("field")
        try:
            self._ended(self)
        finally:
            self.settle()

    def settle(self) -> None:
        """It has ended for everyone to see: what came of it has been taken in."""
        with self._lock:
            self.state = self.outcome

    def _watch(self, task: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """Give the child its task and listen to the end; the last that it said, and whether it ended well."""
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        with contextlib.suppress(OSError):
            child.stdin.write(json.dumps(task).encode() + b"\n")
            child.stdin.flush()  # and it stays open: the child ends when the server does
        last: dict[str, Any] = {}
        for line in child.stdout:
            with contextlib.suppress(ValueError):
                last = json.loads(line)
                if "stage" in last:
                    self._told(last)
                self._kept = last.get("kept", self._kept)
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        return last, child.returncode == 0

    def _told(self, said: Mapping[str, Any]) -> None:
        with self._lock:
            if said["stage"] != self.words or said.get("pass", 0) != self._passes:
                self._since = time.monotonic()
            self.words, self._passes = harmless(str(said["stage"])), said.get("pass", 0)
            self._share = said.get("share")

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self.state == "running"

    def cancel(self) -> None:
        """Tell it to end, which it does after cleaning up; one that does not is stopped."""
        with self._lock:
            if not self.running:
                return
            self._cancelled = True
        with contextlib.suppress(OSError):
            self._child.terminate()
        threading.Thread(target=self._stop, daemon=True).start()

    def _stop(self) -> None:
        try:
            self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended and that was taken note of."""
        self._watcher.join(seconds)

    def to_json(self) -> dict[str, Any]:
        """Its progress for the page."""
        with self._lock:
            share, spent = self._share, time.monotonic() - self._since
            left = None
            if self.running and share is not None and share > 0.02 and spent > 0.5:
                left = round(spent * (1 - share) / share, 1)
            return {
                "id": self.id,
                "kind": self.kind,
                "state": self.state,
                "done": share if self.running or self.state == "done" else None,
                "words": self.words,
                "seconds_left": left,
                "message": self.message,
                "field": self.field,
                "column": self.column,
            }
