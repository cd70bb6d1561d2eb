"""Plans as files: JSON with a schema version, the same bytes after every round trip."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from statveil.errors import FileError, PlanFileError, StatveilError
from statveil.planning import Plan
from statveil.whole_file import write_whole

__all__ = ["FORMAT", "VERSION", "dump_plan", "load_plan", "parse_plan", "save_plan"]

FORMAT = "statveil-plan"
VERSION = 1


def dump_plan(plan: Plan) -> str:
    """The text of a plan file."""
    content = {"format": FORMAT, "version": VERSION, **plan.to_json()}
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def parse_plan(text: str, *, source: str = "the plan") -> Plan:
    """A plan from the text of a plan file."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: bad JSON, or a number of thousands of digits
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise PlanFileError(
            f"{source} is not valid JSON{where}: it is truncated or not a plan; make it anew with 'statveil plan'."
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise PlanFileError(
            f"{source} is not a statveil plan (no format {FORMAT!r}); give a file made by 'statveil plan'."
        )
    version = data.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise PlanFileError(
            f"{source} has no valid schema version. Got {version!r}; make it anew with 'statveil plan'."
        )
    if version > VERSION:
        raise PlanFileError(
            f"{source} has schema version {version}; this statveil reads up to {VERSION}. Upgrade statveil to use it."
        )
    try:
        return Plan.from_json(data)
    except StatveilError as error:
        raise PlanFileError(f"{source} is damaged: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        what = f"missing {error}" if isinstance(error, KeyError) else "a value of the wrong kind"
        raise PlanFileError(f"{source} is damaged ({what}); make it anew with 'statveil plan'.") from None


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise PlanFileError(f"{path} is not a statveil plan (not UTF-8 text).") from None
    except OSError as error:
        raise PlanFileError(f"cannot read {path}: {error.strerror or error}.") from None
    return parse_plan(text, source=str(path))


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan file, whole or not at all."""
    try:
        write_whole(path, dump_plan(plan).encode())
    except FileError as error:
        raise PlanFileError(str(error)) from None
