"""The private record: what the holder needs to release the same column again, and nobody else may see."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from statveil.errors import FileError, cannot
from statveil.planning import Plan
from statveil.small_file import read_small
from statveil.specification.planned import TablePlan
from statveil.tables.preparing import Prepared
from statveil.tables.source import Source

__all__ = ["hash_column", "make_record", "plan_hash", "recorded", "seed_in", "table_record", "table_seed_in"]

FORMAT = "statveil-record"
TABLE_VERSION = 2
"""Of records of whole tables; those of one column have version 1."""
_OWN_HASH = "record_sha256"


def plan_hash(plan: Plan) -> str:
    """Which plan a record belongs to."""
    return hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()


def make_record(plan: Plan, prepared: Prepared, *, column: Any, sha256: str, shuffled: bool = False) -> dict[str, Any]:
    """The record as a JSON object."""
    facts = {
        "format": FORMAT,
        "version": 1,
        "says": "PRIVATE: holds the true statistic and the secret seed. Keep it; never share it.",
        "column": None if column is None else str(column),
        "plan_sha256": plan_hash(plan),
        "input_sha256": sha256,
        "seed": f"{prepared.seed:032x}",
        "test_seed": prepared.test_seed,
        "shuffled": shuffled,
        **prepared.facts,
    }
    return {**facts, _OWN_HASH: _own_hash(facts)}


def _own_hash(record: dict[str, Any]) -> str:
    """Hash of all that a record says: a seed that was mistyped or damaged would draw a second, other release."""
    facts = {key: value for key, value in record.items() if key != _OWN_HASH}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def read_record(path: Path) -> Any:
    """What is in the file of a record."""
    try:
        return json.loads(read_small(path))
    except OSError as error:
        raise cannot(f"read {path}", error) from None
    except (ValueError, RecursionError):
        raise FileError(f"{path} exists and is not a record; name another file for the record.") from None


def shuffled_by(record: Any, plan: Plan) -> int | None:
    """The seed by which a release put its rows in another order; ``None`` where they stayed in theirs."""
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("plan_sha256") != plan_hash(plan):
        raise FileError("this is not the record of a release under this plan; name another one, or leave it out.")
    return _seed(record) if record.get("shuffled") else None


def recorded(path: Path) -> Any:
    """The record at ``path``; ``None`` where there is no file yet."""
    try:
        if not path.exists():
            return None
    except OSError as error:
        raise cannot(f"read {path}", error) from None
    return read_record(path)


def seed_in(record: Any, plan: Plan, *, column: Any, sha256: str, shuffled: bool = False) -> int | None:
    """The seed of an earlier release of the same column under the same plan.

    Two releases with two seeds can be averaged, so the seed of a data set and plan is drawn once. A shuffled release
    and one that is not can be matched row by row, which undoes the shuffling.
    """
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileError("this is not the record of a release; name another one.")
    same = {"plan_sha256": plan_hash(plan), "input_sha256": sha256, "column": None if column is None else str(column)}
    if any(record.get(key) != value for key, value in same.items()):
        raise FileError("this is the record of another release (another plan, table or column); name another one.")
    if bool(record.get("shuffled", False)) != shuffled:
        raise FileError(
            "this is the record of a release with its rows in another order (shuffled, or not): both together would "
            "tell the order again. Release as before, or name another record."
        )
    return None if record.get("test_seed") else _seed(record)


def _seed(record: dict[str, Any]) -> int:
    text = record.get("seed")
    # records from before this hash have none
    if _OWN_HASH in record and record[_OWN_HASH] != _own_hash(record):
        raise FileError(
            "the record was changed after it was made, so its seed may be another one; name the record as it was, or "
            "another one."
        )
    if not isinstance(text, str) or not re.fullmatch(r"[0-9a-f]{1,32}", text):
        raise FileError("the record is damaged: it has no seed. Remove it if it is not needed.")
    return int(text, 16)


def table_record(
    plan: TablePlan, *, seed: int, test_seed: bool, sha256: str, columns: dict[str, Any]
) -> dict[str, Any]:
    """The record of a whole table as a JSON object; ``columns`` has what each hidden and linked one needs."""
    facts = {
        "format": FORMAT,
        "version": TABLE_VERSION,
        "says": "PRIVATE: holds the true statistics and the secret seeds. Keep it; never share it.",
        "plan_sha256": table_plan_hash(plan),
        "input_sha256": sha256,
        "seed": f"{seed:032x}",
        "test_seed": test_seed,
        "shuffled": plan.specification.shuffle,
        "columns": columns,
    }
    return {**facts, _OWN_HASH: _own_hash(facts)}


def table_plan_hash(plan: TablePlan) -> str:
    """Which plans a record of a whole table belongs to."""
    return hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()


def table_seed_in(record: Any, plan: TablePlan, *, sha256: str) -> int | None:
    """The seed of an earlier release of the same table under the same plans."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileError("this is not the record of a release; name another one.")
    same = {"version": TABLE_VERSION, "plan_sha256": table_plan_hash(plan), "input_sha256": sha256}
    if any(record.get(key) != value for key, value in same.items()):
        raise FileError("this is the record of another release (another plan, table or column); name another one.")
    return None if record.get("test_seed") else _seed(record)


def hash_column(table: Source, column: Any) -> str:
    """Hash of a column in memory."""
    digest = hashlib.sha256()
    if table.type_of(column).numeric:
        for block in table.blocks(column):
            digest.update(block.tobytes())
    else:
        digest.update(repr(table.column(column).to_list()).encode())
    return digest.hexdigest()
