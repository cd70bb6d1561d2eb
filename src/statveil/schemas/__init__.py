"""JSON schemas of the files that statveil writes, one for each kind and version."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from statveil.errors import ProblemError, unknown_name

__all__ = ["SCHEMAS", "schema"]

SCHEMAS = {
    "plan": ("plan-1",),
    "table-plan": ("table-plan-1",),
    "specification": ("specification-1",),
    "card": ("card-3", "card-4"),
    "record": ("record-1", "record-2"),
}
"""Of each kind the versions that are written today: of one column, and of a whole table where these differ."""


def schema(name: str) -> dict[str, Any]:
    """The JSON schema of a kind of file, by kind (``"plan"``) or by kind and version (``"card-4"``).

    >>> schema("plan")["title"]
    'A statveil plan: how a column will be released. Public.'
    """
    known = {version for versions in SCHEMAS.values() for version in versions}
    file = SCHEMAS.get(name, (name,))[0]
    if file not in known:
        raise ProblemError(unknown_name("schema", name, [*SCHEMAS, *sorted(known)]))
    found: dict[str, Any] = json.loads((files(__package__) / f"{file}.json").read_text(encoding="utf-8"))
    return found
