"""What reaches a terminal: no control characters of names, labels or paths, nothing that cannot be encoded."""

from __future__ import annotations

import click

from statveil.spoken import harmless

__all__ = ["IN_PLACE", "echo", "harmless"]

IN_PLACE: list[str] = []
"""What the running command has written for good: where its output then cannot be printed, the error says so."""


def echo(message: str, *, err: bool = False) -> None:
    """Print what may hold names that others chose."""
    click.echo(harmless(message), err=err)
