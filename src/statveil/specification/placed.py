"""An error that knows which part of a specification it is about, so that a file can name the line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from statveil.errors import ProblemError, StatveilError, TargetError, shortened
from statveil.specification.lines import Path

__all__ = ["PlacedError", "PlacedTargetError", "about", "at"]


class PlacedError(ProblemError):
    """A part of a specification is wrong; ``place`` is the way to it by keys."""

    def __init__(self, message: str, place: Path = ()) -> None:
        super().__init__(message)
        self.place = place


class PlacedTargetError(PlacedError, TargetError):
    """A target of a specification that no plan meets."""


@contextmanager
def at(*place: str | int) -> Iterator[None]:
    """What goes wrong inside is about this part."""
    try:
        yield
    except PlacedError as error:
        raise type(error)(str(error), (*place, *error.place)) from None
    except StatveilError as error:
        kind = PlacedTargetError if isinstance(error, TargetError) else PlacedError
        raise kind(str(error), place) from None


@contextmanager
def about(column: str) -> Iterator[None]:
    """What goes wrong inside is about this column, whose name it does not know."""
    with at("columns", column):
        try:
            yield
        except PlacedError:
            raise
        except TargetError as error:
            raise TargetError(f"the column {shortened(column)!r}: {error}") from None
        except StatveilError as error:
            raise ProblemError(f"the column {shortened(column)!r}: {error}") from None
