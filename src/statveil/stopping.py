"""How a run ends that is told to: it cleans up first, whoever told it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import click

__all__ = ["Stopped", "stoppable"]


class Stopped(SystemExit):
    """Told to end by a signal or from the keyboard: everything on the way is cleaned up."""


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM (shutdown, a scheduler) and SIGHUP (a closed terminal) clean up as Ctrl-C does; exit code 128 + number.

    A signal that is ignored, as under nohup, stays so.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        for number in numbers:
            if before[number] == signal.SIG_DFL:
                signal.signal(number, stop)
        yield
    except Stopped:
        click.echo("statveil: stopped.", err=True)
        raise
    finally:
        for number in numbers:
            if before[number] == signal.SIG_DFL:
                signal.signal(number, signal.SIG_DFL)
