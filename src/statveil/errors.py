"""Everything statveil raises on purpose.

Each message says what was wrong, what was given, what is allowed and what to do next::

    StatveilError
    ├── ProblemError        the question itself is wrong (family, prior, secret, tolerance, structure)
    ├── TargetError         the question is fine, but no mechanism meets the target
    ├── BudgetError         the releases of a column together would tell more than its budget allows
    ├── FileError           a file or folder cannot be read or written (an OSError too)
    │   └── PlanFileError   a plan file is not ours, is damaged, or is newer than this version
    └── TableError          a table does not fit the plan
        ├── ColumnError     the column is missing, of the wrong kind, or outside the stated prior
        └── StructureError  the column has structure that was not declared, or lacks what was declared
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

__all__ = [
    "BudgetError",
    "ColumnError",
    "FileError",
    "PlanFileError",
    "ProblemError",
    "StatveilError",
    "StructureError",
    "TableError",
    "TargetError",
    "cannot",
    "shortened",
    "unknown_name",
]


LONGEST_MESSAGE = 3000
"""Characters of an error's message."""
LONGEST_WORD = 400
"""Characters without a blank; paths, which one may want to copy, are rarely longer."""
_COMPARED = 100
"""Characters of a name that are compared with others."""
_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


def shortened(message: str) -> str:
    """The message with what is too long to be read left out of its middle: names and numbers that others wrote.

    >>> print(shortened("Got " + "9" * 5000 + ".").replace("9" * 99, "9"))
    Got 99...[4,801 more]...9.
    """
    words = _WORD.sub(lambda found: _ends(found[0], LONGEST_WORD // 2), message)
    return words if len(words) <= LONGEST_MESSAGE else _ends(words, LONGEST_MESSAGE - 100)


def _ends(text: str, kept: int) -> str:
    """The first and the last characters of a text."""
    half = kept // 2
    return f"{text[:half]}...[{len(text) - 2 * half:,} more]...{text[-half:]}"


class StatveilError(ValueError):
    """Base of every error that statveil raises on purpose. No message is longer than someone can read."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


class ProblemError(StatveilError):
    """The family, prior, secret, tolerance or structure is wrong, or they do not fit together."""


class TargetError(StatveilError):
    """No mechanism of the asked kind meets the target; the message names what can be reached."""


class BudgetError(StatveilError):
    """A release would take the joint risk of a column past its budget; the message says by how much, and what fits."""


class FileError(StatveilError, OSError):
    """A file or folder cannot be read or written; also an ``OSError``, as for any other file."""


class PlanFileError(FileError):
    """A plan file is not a statveil plan, is damaged, or was made by a newer version."""


class TableError(StatveilError):
    """A table does not fit the plan."""


class ColumnError(TableError):
    """The column is missing, of the wrong kind, or outside the stated prior (the side is named, never the value)."""


class StructureError(TableError):
    """The column has structure that was not declared, or lacks structure that was declared."""


def cannot(doing: str, error: BaseException, advice: str = "") -> FileError:
    """What a system's error says, in a sentence; an error that already is one of ours stays as it is.

    >>> print(cannot("read a.csv", PermissionError(13, "Permission denied")))
    cannot read a.csv: Permission denied.
    """
    if isinstance(error, FileError):
        return error
    return FileError(f"cannot {doing}: {getattr(error, 'strerror', None) or error}.{advice and ' ' + advice}")


def unknown_name(what: str, given: str, allowed: Iterable[str]) -> str:
    """Sentence for a name that does not exist, with the nearest one that does.

    >>> unknown_name("family", "gausian", ["gaussian", "uniform"])
    "unknown family 'gausian'; did you mean 'gaussian'? Allowed: gaussian, uniform."
    """
    names = list(allowed)
    # comparing takes the product of the lengths, and nobody mistypes a name this long
    heads, head = {name[:_COMPARED]: name for name in names}, given[:_COMPARED]
    near = difflib.get_close_matches(head, heads, n=1, cutoff=0.5)
    hint = f"; did you mean {heads[near[0]]!r}?" if near else "."
    some = names if len(names) <= 20 else [heads[one] for one in difflib.get_close_matches(head, heads, n=8, cutoff=0)]
    shown = [shortened(name) for name in (some if some is names else [*some, "..."])]
    return f"unknown {what} {shortened(given)!r}{hint} Allowed: {', '.join(shown)}."
