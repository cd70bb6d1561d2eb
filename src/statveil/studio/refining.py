"""The finer trade-off, worked out in a process of its own that knows texts alone; asked for again it is at hand.

``python -m statveil.studio.refining`` is that process: questions and answers as JSON lines. Nothing here, nor anything
it loads, can read a table (a contract of the imports).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from statveil.studio.child import python
from statveil.studio.tradeoff import Texts, coarse, fine

__all__ = ["Refiner"]

_KEPT = 200  # answers
Asked = tuple[Texts, float]


class Refiner:
    """Answers at once with what is known; a better answer is worked out beside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._known: dict[Asked, dict[str, Any]] = {}
        self._wanted: Asked | None = None
        """The last one asked for: nobody waits for what the slider passed over."""
        self._new = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True)

    def answer(self, texts: Texts, max_risk: float) -> dict[str, Any]:
        """The finer trade-off where it is ready, the coarse one otherwise."""
        asked = (texts, max_risk)
        with self._lock:
            found = self._known.get(asked)
            if found is not None:
                return found
            self._wanted = asked
            if not self._thread.ident:
                self._thread.start()
            self._new.set()
        return coarse(texts, max_risk)

    def _work(self) -> None:
        """Give the child one question after the other, the last one first."""
        while not self._closed:
            self._new.wait()
            with self._lock:
                asked, self._wanted = self._wanted, None
                self._new.clear()
            if asked is not None and not self._closed and asked not in self._known:
                found = self._ask(asked)
                with self._lock:
                    if found is not None:
                        self._known[asked] = found
                    for old in list(self._known)[:-_KEPT]:
                        del self._known[old]

    def _ask(self, asked: Asked) -> dict[str, Any] | None:
        """The child's answer; nothing where it ended, and the coarse answer stands."""
        with contextlib.suppress(OSError, ValueError):
            if self._child is None or self._child.poll() is not None:
                self._child = python("statveil.studio.refining")
                if self._closed:
                    self._child.terminate()
            assert self._child.stdin is not None
            assert self._child.stdout is not None
            self._child.stdin.write(json.dumps(asked).encode() + b"\n")
            self._child.stdin.flush()
            found: dict[str, Any] | None = json.loads(self._child.stdout.readline())
            return found
        return None

    def warm(self) -> None:
        """Load what the first answers need, before someone waits for them."""
        for prior in ("1:100", "between(20,40,0.9)", "1:100~normal(30,10)"):
            for tolerance in ("5%", "1"):
                coarse(("mean", prior, tolerance, "", ""), 0.2)

    def close(self) -> None:
        """End the process."""
        self._closed = True
        self._new.set()
        child = self._child
        if child is not None:
            child.kill()
            child.wait()
        if self._thread.ident:
            self._thread.join(10)
        if child is not None:
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError, AttributeError):
                    pipe.close()  # type: ignore[union-attr]


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    with contextlib.suppress(OSError):
        os.nice(5)
    for line in sys.stdin:
        texts, max_risk = json.loads(line)
        try:
            found = fine(tuple(texts), max_risk)
        except Exception:  # then the coarse answer stands
            found = None
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _main()
