"""Tables in memory, one file per library; none of the libraries is imported before its object is given."""

from __future__ import annotations

from typing import Any

from statveil.errors import ColumnError
from statveil.problem.autoload import load_folder
from statveil.tables.frames.frame import FRAMES, Frame

__all__ = ["Frame", "open_frame"]

load_folder(__name__, __path__)


def open_frame(native: Any) -> Frame:
    """The right view of a table in memory; classes that were registered later are asked first."""
    for kind in reversed(FRAMES):
        if kind.takes(native):
            return kind(native)
    raise ColumnError(
        f"cannot read an object of type {type(native).__module__}.{type(native).__qualname__}. Allowed: the path of a "
        f"table file, {', '.join(kind.what for kind in FRAMES)}."
    )
