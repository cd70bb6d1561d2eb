"""The plans of a table as one file: JSON with a schema version, the same bytes after every round trip."""

from __future__ import annotations

import json
import os

from statveil.errors import FileError, PlanFileError, StatveilError, cannot
from statveil.plan_file import DAMAGE, Header, damage
from statveil.small_file import read_small
from statveil.specification.planned import FORMAT, VERSION, TablePlan
from statveil.whole_file import write_whole

__all__ = ["dump_table_plan", "load_table_plan", "parse_table_plan", "save_table_plan"]

_HEADER = Header(format=FORMAT, version=VERSION, what="table plan", command="statveil plan --spec")
_ANEW = f"make it anew with '{_HEADER.command}'"


def dump_table_plan(table: TablePlan) -> str:
    """The text of a file of plans."""
    return json.dumps(table.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def parse_table_plan(text: str, *, source: str = "the plans") -> TablePlan:
    """Plans from the text of their file; what someone changed is refused."""
    data = _HEADER.check(_HEADER.content(text, source), source)
    try:
        return TablePlan.from_json(data)
    except PlanFileError as error:
        raise PlanFileError(f"{source} is damaged or was changed: {error}") from None
    except StatveilError as error:
        raise PlanFileError(f"{source} is damaged or was changed: {str(error).rstrip('.')}; {_ANEW}.") from None
    except DAMAGE as error:
        raise PlanFileError(f"{source} is damaged ({damage(error)}); {_ANEW}.") from None


def load_table_plan(path: str | os.PathLike[str]) -> TablePlan:
    """Read a file of plans."""
    try:
        text = read_small(path)
    except UnicodeDecodeError:
        raise PlanFileError(f"{path} is not a statveil table plan (not UTF-8 text).") from None
    except OSError as error:
        raise PlanFileError(str(cannot(f"read {path}", error))) from None
    return parse_table_plan(text, source=str(path))


def save_table_plan(table: TablePlan, path: str | os.PathLike[str]) -> None:
    """Write a file of plans, whole or not at all."""
    try:
        write_whole(path, dump_table_plan(table).encode())
    except FileError as error:
        raise PlanFileError(str(error)) from None
