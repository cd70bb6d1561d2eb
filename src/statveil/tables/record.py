"""The private record: what the holder needs to release the same column again, and nobody else may see.

There is one for a column of a table, whatever the plans: it lends its random stream to each of them, and lists them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from statveil.errors import FileError, cannot
from statveil.made_plan import Plan
from statveil.plan_file import content_of
from statveil.small_file import read_small
from statveil.specification.planned import TablePlan
from statveil.tables.repeated import Notes, column_notes, table_entry, table_notes, well_formed
from statveil.tables.source import Source

__all__ = [
    "Lent",
    "hash_column",
    "lent_by",
    "make_record",
    "plan_hash",
    "recorded",
    "table_lent_by",
    "table_record",
    "table_seed",
]

FORMAT = "statveil-record"
TABLE_VERSION = 2
"""Of records of whole tables; those of one column have version 1."""
_OWN_HASH = "record_sha256"


class Drawn(Protocol):
    """What a record keeps of a release that is ready."""

    @property
    def seed(self) -> int:
        """The secret seed."""

    @property
    def test_seed(self) -> bool:
        """Whether anyone can guess it."""

    @property
    def facts(self) -> dict[str, Any]:
        """What was measured and released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lent:
    """What the record of earlier releases gives to the next one of the same column."""

    seed: int
    """Of the random stream that belongs to the column."""
    releases: tuple[dict[str, Any], ...]
    """Those that were made with it, the first one first."""
    notes: Notes = ()
    """What they tell together with the next one."""


def plan_hash(plan: Plan) -> str:
    """Which plan a release belongs to."""
    return hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()


def make_record(
    plan: Plan, prepared: Drawn, *, column: Any, sha256: str, shuffled: bool = False, lent: Lent | None = None
) -> dict[str, Any]:
    """The record as a JSON object: of this release, with a list of all that were made with the same stream."""
    this = {
        "plan_sha256": plan_hash(plan),
        "mode": plan.mode,
        "released": prepared.facts["released"],
        "plan": content_of(plan),
    }
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
        "releases": _listed(this, lent, prepared.seed),
        **prepared.facts,
    }
    return {**facts, _OWN_HASH: _own_hash(facts)}


def _listed(this: dict[str, Any], lent: Lent | None, seed: int) -> list[dict[str, Any]]:
    """All releases with the same stream, this one too; one that an earlier version listed without its plan gets it."""
    earlier = [] if lent is None or lent.seed != seed else [*lent.releases]
    own = [release["plan_sha256"] == this["plan_sha256"] for release in earlier]
    return [this if same else one for same, one in zip(own, earlier, strict=True)] + ([] if any(own) else [this])


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


def recorded(path: Path) -> Any:
    """The record at ``path``; ``None`` where there is no file yet."""
    try:
        if not path.exists():
            return None
    except OSError as error:
        raise cannot(f"read {path}", error) from None
    return read_record(path)


def lent_by(
    record: Any, plan: Plan, *, column: Any, sha256: str, accepted: Collection[str] = (), shuffled: bool = False
) -> Lent | None:
    """The stream of earlier releases of the same column of the same table, under this plan or another one.

    Two releases with two streams can be averaged, and rows that were drawn twice be counted (capture and recapture), so
    the seed of a column is drawn once. A shuffled release and one that is not can be matched row by row, which undoes
    the shuffling. What all plans tell together is said in the notes, and refused where it is everything and not
    accepted.
    """
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileError("this is not the record of a release; name another one.")
    if record.get("column") != (None if column is None else str(column)):
        raise FileError(
            "this is the record of another release, of another column; every column has a record of its own. Name "
            "that of this column, or a new file."
        )
    _check_same(record, sha256=sha256, shuffled=shuffled)
    if record.get("test_seed"):
        return None
    seed, releases = _seed(record), _releases(record)
    again = any(release["plan_sha256"] == plan_hash(plan) for release in releases)
    notes = () if again else column_notes(plan, releases, column=column, accepted=accepted)
    return Lent(seed=seed, releases=releases, notes=notes)


def _check_same(record: dict[str, Any], *, sha256: str, shuffled: bool) -> None:
    """An error unless the record is of the same rows, in the same order."""
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


def _releases(record: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The releases that a record lists; one from before there were such lists is of one release."""
    listed = record.get("releases", [{"plan_sha256": record.get("plan_sha256"), "released": record.get("released")}])
    if not isinstance(listed, list) or not all(
        isinstance(one, dict) and "plan_sha256" in one and well_formed(one) for one in listed
    ):
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


def table_record(
    plan: TablePlan,
    *,
    seed: int,
    test_seed: bool,
    sha256: str,
    columns: dict[str, Any],
    kept: Collection[str] = (),
    lent: Lent | None = None,
) -> dict[str, Any]:
    """The record of a whole table as a JSON object; ``columns`` has what each hidden and linked one needs."""
    this = {"plan_sha256": table_plan_hash(plan), **table_entry(plan, kept)}
    facts = {
        "format": FORMAT,
        "version": TABLE_VERSION,
        "says": "PRIVATE: holds the true statistics and the secret seeds. Keep it; never share it.",
        "plan_sha256": table_plan_hash(plan),
        "input_sha256": sha256,
        "seed": f"{seed:032x}",
        "test_seed": test_seed,
        "shuffled": plan.specification.shuffle,
        "releases": _listed(this, lent, seed),
        "columns": columns,
    }
    return {**facts, _OWN_HASH: _own_hash(facts)}


def table_plan_hash(plan: TablePlan) -> str:
    """Which plans a record of a whole table belongs to."""
    return hashlib.sha256(json.dumps(plan.to_json(), sort_keys=True).encode()).hexdigest()


def table_lent_by(record: Any, plan: TablePlan, *, sha256: str, kept: Collection[str] = ()) -> Lent | None:
    """The stream of earlier releases of the same table, under these plans or others: each column has its own of it."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise FileError("this is not the record of a release; name another one.")
    if record.get("version") != TABLE_VERSION:
        raise FileError(
            "this is the record of another release, of one column alone; name that of the table, or a new file."
        )
    if record.get("test_seed"):
        _check_same(record, sha256=sha256, shuffled=plan.specification.shuffle)
        return None
    seed, releases = _seed(record), _releases(record)
    again = any(release["plan_sha256"] == table_plan_hash(plan) for release in releases)
    # first: of a table in memory the hidden columns alone are hashed, so that others are hidden looks like another one
    notes = () if again else table_notes(plan, releases, kept)
    _check_same(record, sha256=sha256, shuffled=plan.specification.shuffle)
    return Lent(seed=seed, releases=releases, notes=notes)


def table_seed(record: Any, plan: TablePlan) -> int:
    """The secret seed of a release of a whole table under these plans."""
    ours = isinstance(record, dict) and record.get("format") == FORMAT and record.get("version") == TABLE_VERSION
    if not ours or all(release["plan_sha256"] != table_plan_hash(plan) for release in _releases(record)):
        raise FileError(
            "this is not the record of a release under this specification; name another one, or leave it out."
        )
    return _seed(record)


def hash_column(table: Source, column: Any) -> str:
    """Hash of a column in memory, or where its rows lie."""
    there = table.hash_there(column)
    if there is not None:
        return there
    digest = hashlib.sha256()
    if table.type_of(column).numeric:
        for block in table.blocks(column):
            digest.update(block.tobytes())
    else:
        # the text of one list of all rows, of which a piece is in memory at a time
        digest.update(b"[")
        texts = (repr(piece.to_list())[1:-1] for piece in table.pieces(column) if len(piece))
        for number, text in enumerate(texts):
            digest.update(f"{', ' * (number > 0)}{text}".encode())
        digest.update(b"]")
    return digest.hexdigest()
