"""The plans of a table as one file: JSON with a schema version, the same bytes after every round trip."""

from __future__ import annotations

import json
import os
from typing import Any

from statveil.errors import FileError, PlanFileError, StatveilError, cannot
from statveil.plan_file import DAMAGE, damage
from statveil.small_file import read_small
from statveil.specification.planned import FORMAT, VERSION, TablePlan
from statveil.whole_file import write_whole

__all__ = ["dump_table_plan", "load_table_plan", "parse_table_plan", "save_table_plan"]

_ANEW = "make it anew with 'statveil plan --spec'"


def dump_table_plan(table: TablePlan) -> str:
    """The text of a file of plans."""
    return json.dumps(table.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def parse_table_plan(text: str, *, source: str = "the plans") -> TablePlan:
    """Plans from the text of their file; what someone changed is refused."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise PlanFileError(
            f"{source} is not valid JSON{where}: it is truncated or not a file of plans; {_ANEW}."
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise PlanFileError(
            f"{source} does not hold the plans of a table (no format {FORMAT!r}); give a file made by 'statveil plan "
            "--spec'."
        )
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise PlanFileError(f"{source} has no valid schema version. Got {version!r}; {_ANEW}.")
    if version > VERSION:
        raise PlanFileError(
            f"{source} has schema version {version}; this statveil reads up to {VERSION}. Upgrade statveil to use it."
        )
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
        raise PlanFileError(f"{path} does not hold the plans of a table (not UTF-8 text).") from None
    except OSError as error:
        raise PlanFileError(str(cannot(f"read {path}", error))) from None
    return parse_table_plan(text, source=str(path))


def save_table_plan(table: TablePlan, path: str | os.PathLike[str]) -> None:
    """Write a file of plans, whole or not at all."""
    try:
        write_whole(path, dump_table_plan(table).encode())
    except FileError as error:
        raise PlanFileError(str(error)) from None
