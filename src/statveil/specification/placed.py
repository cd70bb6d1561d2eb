"""An error that knows which part of a specification it is about, so that a file can name the line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from statveil.errors import ProblemError, StatveilError
from statveil.specification.lines import Path

__all__ = ["PlacedError", "at"]


class PlacedError(ProblemError):
    """A part of a specification is wrong; ``place`` is the way to it by keys."""

    def __init__(self, message: str, place: Path = ()) -> None:
        super().__init__(message)
        self.place = place


@contextmanager
def at(*place: str | int) -> Iterator[None]:
    """What goes wrong inside is about this part."""
    try:
        yield
    except PlacedError as error:
        raise PlacedError(str(error), (*place, *error.place)) from None
    except StatveilError as error:
        raise PlacedError(str(error), place) from None
