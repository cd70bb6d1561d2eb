"""verify(): does a released table agree with its card? Everything it looks at is public."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from statveil.contradictions import contradictions
from statveil.errors import FileError, StatveilError, TableError, cannot
from statveil.made_plan import Plan
from statveil.specification.planned import TablePlan
from statveil.spoken import Spoken
from statveil.tables.card import VERSION, as_worded, card_path, check_card, make_card, plan_of, read_card
from statveil.tables.databases.address import is_address
from statveil.tables.hashing import hash_file
from statveil.tables.preparing import valid_digits
from statveil.tables.publishing import interrupted
from statveil.tables.source import Source, open_source
from statveil.tables.table_card import is_table_card, table_plan_of
from statveil.tables.verify_content import Check, content_checks
from statveil.tables.verify_table import table_card_check, table_checks

__all__ = ["Check", "Verified", "stated_on", "verify", "verify_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified(Spoken):
    """All checks of a table against its card."""

    words = "report.verification:describe_verification"

    checks: tuple[Check, ...]
    table: str = "The table"
    """Its path, as it was given."""

    @property
    def ok(self) -> bool:
        """Whether everything agrees."""
        return all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """The checks for scripts."""
        return {
            "ok": self.ok,
            "checks": [{"check": check.name, "ok": check.ok, "says": check.says} for check in self.checks],
        }


def verify(table: Any, card: dict[str, Any] | None = None) -> Verified:
    """Compare a released table with its card: the declared structure, and that the plan can release it.

    Parameters
    ----------
    table : object or path
        The released table: a file, or anything that :func:`release` gives.
    card : dict, optional
        Its card; of a file, the one beside it by default. A file must also have the hash that its card states.
    """
    if is_address(table):
        return _in_database(table, card)
    if isinstance(table, str | os.PathLike):
        return _of_file(Path(table), card, str(table))
    if card is None:
        raise TableError("a table in memory has no card beside it; give the card of its release: card=...")
    stated = _Stated.on(check_card(card, "the card"), "the card")
    return Verified(checks=(stated.check(), *_content(table, stated)))


def verify_file(path: str | os.PathLike[str]) -> Verified:
    """Compare a released file with the card beside it; :func:`verify` for files."""
    return verify(path)


def _in_database(address: str, card: dict[str, Any] | None) -> Verified:
    """A table of a database, and the card beside it, in one snapshot."""
    from statveil.tables.databases.address import Address
    from statveil.tables.databases.database_table import snapshot, spooled
    from statveil.tables.databases.releasing import read_card_in

    place = Address.parse(address)
    with snapshot(place) as (database, reading):
        table = spooled(database, reading)
        found = read_card_in(reading) if card is None else check_card(card, "the card")
    if found is None:
        raise FileError(f"{place} has no card; expected the table {place.card.table} beside it, made by a release.")
    stated = _Stated.on(found, str(place.card) if card is None else "the card")
    same = table.hashed_in_any_order() == found.get("sha256")
    says = (
        "The table has the rows that the card was made for."
        if same
        else "The table was changed after its card was made, or the card belongs to another table."
    )
    checks = (Check(name="hash", ok=same, says=says), stated.check(), *_content_of(table, stated))
    return Verified(checks=checks, table=str(place))


def _of_file(place: Path, card: dict[str, Any] | None, name: str) -> Verified:
    try:
        there = place.exists()
    except (OSError, ValueError) as error:
        raise cannot(f"read {place}", error) from None
    if not there:
        stopped = f" {_STOPPED}" if place.name and interrupted(place) else ""
        raise FileError(f"cannot read {place}: No such file or directory.{stopped}")
    beside = card_path(place).name if card is None else "the card"
    card = read_card(place) if card is None else check_card(card, beside)
    stated = _Stated.on(card, beside)
    same = hash_file(place) == card.get("sha256")
    checks = [
        Check(
            name="hash",
            ok=same,
            says="The file is the one that the card was made for."
            if same
            else "The file was changed after its card was made, or the card belongs to another file."
            + (f" {_STOPPED}" if interrupted(place) else ""),
        )
    ]
    checks.append(stated.check())
    if same:  # a damaged file can upset the engine, and the answer is known
        checks += _content(place, stated)
    return Verified(checks=tuple(checks), table=name)


def stated_on(card: dict[str, Any], source: str) -> tuple[Plan | TablePlan, Check]:
    """The plan on a card, or the plans, and whether the card says what they imply."""
    stated = _Stated.on(card, source)
    return stated.plan, stated.check()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stated:
    """A card with its plan, or that of a whole table with its plans."""

    card: dict[str, Any]
    plan: Plan | TablePlan

    @classmethod
    def on(cls, card: dict[str, Any], source: str) -> _Stated:
        return cls(card=card, plan=table_plan_of(card, source) if is_table_card(card) else plan_of(card, source))

    def check(self) -> Check:
        """The card against its own plan."""
        return _card(self.card, self.plan) if isinstance(self.plan, Plan) else table_card_check(self.card, self.plan)

    def checks(self, table: Source) -> Iterator[Check]:
        """The table against the card."""
        own = content_checks if isinstance(self.plan, Plan) else table_checks
        return own(table, self.plan, self.card)  # type: ignore[arg-type]


def _content(table: Any, stated: _Stated) -> Iterator[Check]:
    try:
        yield from _content_of(open_source(table), stated)
    except StatveilError as error:
        yield Check(name="column", ok=False, says=str(error))


def _content_of(table: Source, stated: _Stated) -> Iterator[Check]:
    try:
        yield from stated.checks(table)
    except StatveilError as error:
        yield Check(name="column", ok=False, says=str(error))


_STOPPED = "A release to this name was stopped half way; a new run of 'statveil release' to it puts the old pair back."

_FACTS = ("column", "mode", "declared", "rounded_to_digits", "test_seed", "plan")
"""What a card of any version holds besides words."""


def _card(card: dict[str, Any], plan: Plan) -> Check:
    """Whether the card says what its own plan implies."""
    wrong = contradictions(plan)
    earlier = card["version"] < VERSION
    if earlier:  # it spoke in other words, so its facts alone are compared
        card = {"shuffled": False, "rows": None, **card}
    try:
        again = make_card(
            plan,
            column=card["column"],
            accepted=tuple(leak["name"] for leak in card["accepted_leaks"]),
            round_digits=card["rounded_to_digits"],
            test_seed=card["test_seed"],
            shuffled=card["shuffled"],
            rows=card["rows"],
            sha256=card["sha256"],
        )
        again = as_worded(again, card)
        digits = card["rounded_to_digits"]
        numbers = {key: again["guarantee"][key] for key in ("secret", "risk", "risk_kind", "tolerance", "distortion")}
        kept = _FACTS if earlier else tuple(key for key in again if key != "versions")
        same = (
            all(card.get(key) == again[key] for key in kept)
            and all(card["guarantee"].get(key) == value for key, value in numbers.items())
            and (digits is None or valid_digits(digits))
        )
        if not earlier:
            wrong += _added(card, again)
    except (KeyError, TypeError, AttributeError, ValueError):
        same = False
    if not same:
        wrong.append("what it says of the release is not what its plan implies")
    says = f"The card was changed: {'; '.join(wrong)}." if wrong else "The card says what its plan implies."
    if earlier and not wrong:
        says = "The card's facts are its plan's; its words, of an earlier version, were not compared."
    return Check(name="card", ok=not wrong, says=says)


def _added(card: dict[str, Any], again: dict[str, Any]) -> list[str]:
    """What someone added to a card: readers would take it for ours."""
    added = sorted({*card} - {*again}) + sorted(
        f"versions.{name}" for name in {*card["versions"]} - {*again["versions"]}
    )
    return [f"it says more than a card does ({', '.join(map(repr, added[:5]))})"] if added else []
