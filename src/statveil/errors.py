"""Everything statveil raises on purpose.

Each message says what was wrong, what was given, what is allowed and what to do next::

    StatveilError
    ├── ProblemError        the question itself is wrong (family, prior, secret, tolerance, structure)
    ├── TargetError         the question is fine, but no mechanism meets the target
    ├── FileError           a file or folder cannot be read or written
    │   └── PlanFileError   a plan file is not ours, is damaged, or is newer than this version
    └── TableError          a table does not fit the plan
        ├── ColumnError     the column is missing, of the wrong kind, or outside the stated prior
        └── StructureError  the column has structure that was not declared, or lacks what was declared
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ColumnError",
    "FileError",
    "PlanFileError",
    "ProblemError",
    "StatveilError",
    "StructureError",
    "TableError",
    "TargetError",
    "unknown_name",
]


class StatveilError(ValueError):
    """Base of every error that statveil raises on purpose."""


class ProblemError(StatveilError):
    """The family, prior, secret, tolerance or structure is wrong, or they do not fit together."""


class TargetError(StatveilError):
    """No mechanism of the asked kind meets the target; the message names what can be reached."""


class FileError(StatveilError):
    """A file or folder cannot be read or written."""


class PlanFileError(FileError):
    """A plan file is not a statveil plan, is damaged, or was made by a newer version."""


class TableError(StatveilError):
    """A table does not fit the plan."""


class ColumnError(TableError):
    """The column is missing, of the wrong kind, or outside the stated prior (the side is named, never the value)."""


class StructureError(TableError):
    """The column has structure that was not declared, or lacks structure that was declared."""


def unknown_name(what: str, given: str, allowed: Iterable[str]) -> str:
    """Sentence for a name that does not exist, with the nearest one that does.

    >>> unknown_name("family", "gausian", ["gaussian", "uniform"])
    "unknown family 'gausian'; did you mean 'gaussian'? Allowed: gaussian, uniform."
    """
    names = list(allowed)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    shown = names if len(names) <= 20 else [*difflib.get_close_matches(given, names, n=8, cutoff=0.0), "..."]
    return f"unknown {what} {given!r}{hint} Allowed: {', '.join(shown)}."
