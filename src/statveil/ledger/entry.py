"""An entry of the ledger, and the chain of hashes that holds the entries together."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

from statveil import __version__
from statveil.errors import ProblemError

__all__ = ["COUNTS", "NOTHING", "STATES", "canonical", "checked_column", "checked_name", "head_after", "new_entry"]

NOTHING = "0" * 64
"""What the first entry follows."""

STATES: tuple[str, ...] = ("pending", "done", "abandoned")
"""Of a release: its entry stands and its output may have got its name; it has; it never did."""

COUNTS: tuple[str, ...] = STATES[:2]
"""A release counts unless it is known that it never happened."""

_LONGEST = 300  # characters of a name that someone chose


def canonical(value: dict[str, Any]) -> str:
    """The one text of an object: names sorted, no blanks, ASCII.

    >>> canonical({"b": 0.2, "a": None})
    '{"a":null,"b":0.2}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def head_after(head: str, content: str) -> str:
    """SHA-256 over the head before and the entry's text: whoever knows a head knows all entries up to it.

    >>> head_after(NOTHING, "{}") == hashlib.sha256(bytes(32) + b"{}").hexdigest()
    True
    """
    return hashlib.sha256(bytes.fromhex(head) + content.encode()).hexdigest()


def new_entry(number: int, kind: str, facts: dict[str, Any]) -> str:
    """The text of an entry made now."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return canonical({"number": number, "kind": kind, "at": at, "version": __version__, **facts})


def checked_name(name: Any, what: str) -> str:
    """A name under which releases are counted."""
    if not isinstance(name, str) or not name or len(name) > _LONGEST or name != name.strip():
        raise ProblemError(
            f"{what} must be a name of 1 to {_LONGEST} characters without blanks around it. Got {name!r}."
        )
    return _text(name, what)


def checked_column(name: Any) -> str:
    """The name of a column, which its table chose."""
    if not isinstance(name, str):
        raise ProblemError(f"the column must be a name. Got {name!r}.")
    return _text(name, "the column")


def _text(name: str, what: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ProblemError(f"{what} must be Unicode text; write it with other characters.") from None
    return name
