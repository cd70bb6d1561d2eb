"""Plans as files: JSON with a schema version, the same bytes after every round trip."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from statveil.errors import PlanFileError, StatveilError
from statveil.planning import Plan

__all__ = ["FORMAT", "VERSION", "dump_plan", "load_plan", "parse_plan", "save_plan", "write_whole"]

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
    write_whole(path, dump_plan(plan).encode())


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a public file, whole or not at all; links are followed, devices and pipes are written to."""
    if not os.fspath(path):
        raise PlanFileError("the name of the output file is empty; give a file name.")
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as device:
                device.write(content)
            return
        _replace(target, content)
    except OSError as error:
        raise PlanFileError(f"cannot write {path}: {error.strerror or error}.") from None


def _replace(target: Path, content: bytes) -> None:
    """Write under a temporary name, then rename; nothing is left behind whatever interrupts it."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # the permissions of any new file
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
