"""Audits as files: the JSON that ``statveil audit`` writes. Private."""

from __future__ import annotations

import hashlib
import json
import os

from statveil.auditing.result import Audit
from statveil.auditing.table_audit import TableAudit
from statveil.errors import FileError
from statveil.plan_file import DAMAGE, damage
from statveil.small_file import read_small
from statveil.whole_file import write_whole

__all__ = ["load_audit", "release_mark", "save_audit"]

_ANEW = "write it with 'statveil audit ... -o audit.json'"


def save_audit(found: Audit | TableAudit, path: str | os.PathLike[str]) -> None:
    """Write an audit for its owner's eyes, whole or not at all."""
    text = json.dumps(found.to_json(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    write_whole(path, text.encode(), private=True)


def release_mark(found: Audit | TableAudit) -> str:
    """A hash of which release was attacked, and which secrets of which columns; an audit replaces one of the same."""
    audits = (found,) if isinstance(found, Audit) else found.audits
    facts = sorted([one.original or "", one.released or "", one.column or "", one.secret] for one in audits)
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def load_audit(path: str | os.PathLike[str]) -> Audit | TableAudit:
    """Read an audit, of one column or of a whole table."""
    try:
        data = json.loads(read_small(path))
    except FileNotFoundError:
        raise FileError(f"cannot read {os.fspath(path)}: No such file or directory.") from None
    except FileError:
        raise
    except (ValueError, RecursionError):
        raise FileError(f"{os.fspath(path)} is not an audit: it is no valid JSON; {_ANEW}.") from None
    if not isinstance(data, dict) or not ({"findings", "columns"} & {*data} and "private" in data):
        raise FileError(f"{os.fspath(path)} is not an audit; {_ANEW}.")
    try:
        found = Audit.from_json(data) if "findings" in data else TableAudit.from_json(data)
        if not (found.findings if isinstance(found, Audit) else all(one.findings for one in found.audits)):
            raise ValueError("no finding")
    except DAMAGE as error:
        raise FileError(f"{os.fspath(path)} is damaged ({damage(error)}); {_ANEW}.") from None
    return found
