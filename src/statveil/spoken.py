"""Results speak: printed, or shown in a notebook, a result is the text that a person wants."""

from __future__ import annotations

import html
import importlib
import re
from collections.abc import Callable
from typing import Any, ClassVar

__all__ = ["Drawn", "Progress", "Spoken", "describe", "harmless", "telling"]

Progress = Callable[[str, int, int | None], None]
"""Called with what is being done, how much of it was just done (rows, tables), and how much there is, if known."""

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line end, marks that turn the direction of writing, lone surrogates."""


def harmless(text: str) -> str:
    r"""The text with control characters spelled out as in JSON: a name cannot clear the screen or rewrite a line.

    >>> print(harmless("a" + chr(27) + "[2Jb"))
    a\u001b[2Jb
    """
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Spoken:
    """A result with words of its own; ``repr`` stays the value."""

    __slots__ = ()
    words: ClassVar[str]
    """Where its words are: ``module:function``. By name, for the words lie above the values that they describe."""

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        """For notebooks."""
        return f"<pre>{html.escape(describe(self))}</pre>"


class Drawn(Spoken):
    """A result that has a picture and a table, too. Nothing of either is loaded before it is asked for."""

    __slots__ = ()
    picture: ClassVar[str]
    """What draws it: ``module:function``, which gives an Altair chart."""
    frame: ClassVar[str]
    """What lists its numbers: ``module:function``, which gives a Polars data frame."""

    def plot(self) -> Any:
        """The result as an Altair chart; ``.plot().save("chart.svg")`` writes it (also ``.png``)."""
        return _called(self.picture, self)

    def to_frame(self) -> Any:
        """The numbers of the result as a Polars data frame."""
        return _called(self.frame, self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """For notebooks: the text, and a page part with the picture above it."""
        bundle: dict[str, str] = _called("report.notebook:bundle", self)
        return bundle


def describe(result: Any) -> str:
    """A plan, limits, rate, frontier, release, audit, inspection, comparison or verification in plain words.

    The same text as ``print(result)`` and as the command line prints.
    """
    if not isinstance(result, Spoken):
        raise TypeError(f"nothing to say of {type(result).__name__}; give a result of statveil, such as a plan.")
    return harmless(str(_called(result.words, result)))


def _called(place: str, result: Any) -> Any:
    """What a function that is known by its place makes of a result."""
    module, _, function = place.partition(":")
    return getattr(importlib.import_module(f"statveil.{module}"), function)(result)


def telling(progress: Progress | None) -> Callable[[str], None]:
    """To tell of work that is not counted."""
    return (lambda text: None) if progress is None else (lambda text: progress(text, 0, None))
