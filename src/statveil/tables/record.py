"""The private record: what the holder needs to release the same column again, and nobody else may see.

There is one for a column of a table, whatever the plans: it lends its random stream to each of them, and lists them.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statveil.errors import FileError, cannot
from statveil.planning import Plan
from statveil.small_file import read_small
from statveil.tables.preparing import Prepared
from statveil.tables.source import Source

__all__ = ["Lent", "hash_column", "lent_by", "make_record", "plan_hash", "recorded"]

FORMAT = "statveil-record"
_OWN_HASH = "record_sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """What the record of earlier releases gives to the next one of the same column."""

    seed: int
    """Of the random stream that belongs to the column."""
    releases: tuple[dict[str, Any], ...]
    """Those that were made with it, the first one first."""


def plan_hash(plan: Plan) -> str:
    """Which plan a release belongs to."""
    return hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()


def make_record(
    plan: Plan, prepared: Prepared, *, column: Any, sha256: str, shuffled: bool = False, lent: Lent | None = None
) -> dict[str, Any]:
    """The record as a JSON object: of this release, with a list of all that were made with the same stream."""
    this = {"plan_sha256": plan_hash(plan), "mode": plan.mode, "released": prepared.facts["released"]}
    same_stream = lent is not None and lent.seed == prepared.seed
    earlier = [] if lent is None or not same_stream else [*lent.releases]
    known = any(release["plan_sha256"] == this["plan_sha256"] for release in earlier)
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
        "releases": earlier if known else [*earlier, this],
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
    ours = isinstance(record, dict) and record.get("format") == FORMAT
    if not ours or all(release["plan_sha256"] != plan_hash(plan) for release in _releases(record)):
        raise FileError("this is not the record of a release under this plan; name another one, or leave it out.")
    return _seed(record) if record.get("shuffled") else None


def recorded(path: Path, *, column: str, sha256: str, shuffled: bool = False) -> Lent | None:
    """What the record at ``path`` lends; ``None`` where there is no file yet."""
    try:
        if not path.exists():
            return None
    except OSError as error:
        raise cannot(f"read {path}", error) from None
    data = read_record(path)
    try:
        return lent_by(data, column=column, sha256=sha256, shuffled=shuffled)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def lent_by(record: Any, *, column: Any, sha256: str, shuffled: bool = False) -> Lent | None:
    """The stream of earlier releases of the same column of the same table, under this plan or another one.

    Two releases with two streams can be averaged, and rows that were drawn twice be counted (capture and recapture), so
    the seed of a column is drawn once. A shuffled release and one that is not can be matched row by row, which undoes
    the shuffling.
    """
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileError("this is not the record of a release; name another one.")
    if record.get("column") != (None if column is None else str(column)):
        raise FileError(
            "this is the record of another release, of another column; every column has a record of its own. Name "
            "that of this column, or a new file."
        )
    if record.get("input_sha256") != sha256:
        raise FileError(
            "this is the record of another release: the table is not the one that it was made for, or has changed "
            "since. Keep it for that table and name a new file for this one; what releases of both tell together is "
            "not accounted for."
        )
    if bool(record.get("shuffled", False)) != shuffled:
        raise FileError(
            "this is the record of a release with its rows in another order (shuffled, or not): both together would "
            "tell the order again. Release as before, or name another record."
        )
    return None if record.get("test_seed") else Lent(seed=_seed(record), releases=_releases(record))


def _releases(record: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The releases that a record lists; one from before there were such lists is of one release."""
    listed = record.get("releases", [{"plan_sha256": record.get("plan_sha256"), "released": record.get("released")}])
    if not isinstance(listed, list) or not all(isinstance(one, dict) and "plan_sha256" in one for one in listed):
        raise FileError("the record is damaged: its list of releases is none. Remove it if it is not needed.")
    return tuple(listed)


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


def hash_column(table: Source, column: Any) -> str:
    """Hash of a column in memory."""
    digest = hashlib.sha256()
    if table.type_of(column).numeric:
        for block in table.blocks(column):
            digest.update(block.tobytes())
    else:
        digest.update(repr(table.column(column).to_list()).encode())
    return digest.hexdigest()
