"""verify_file(): does a released table agree with its card? Everything it looks at is public."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from statveil.errors import FileError, StatveilError
from statveil.planning import Plan
from statveil.problem.secrets.quantile import Quantile
from statveil.tables.blocks import Array
from statveil.tables.card import card_path, plan_of, read_card
from statveil.tables.estimate import estimate, shares_of
from statveil.tables.files import TableFile, open_table
from statveil.tables.measure import measure
from statveil.tables.preparing import column_labels, count_categories, own_statistic
from statveil.tables.release_file import hash_file
from statveil.tables.verification import Verifier, precision

__all__ = ["Check", "Verified", "verify_file"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """All checks of a table against its card."""

    checks: tuple[Check, ...]

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


def verify_file(path: str | os.PathLike[str]) -> Verified:
    """Compare a released table with its card: the hash, the declared structure, and that the plan can release it."""
    place = Path(path)
    if not place.exists():
        raise FileError(f"cannot read {place}: No such file or directory.")
    card = read_card(place)
    plan = plan_of(card, card_path(place).name)
    same = hash_file(place) == card.get("sha256")
    checks = [
        Check(
            name="hash",
            ok=same,
            says="The file is the one that the card was made for."
            if same
            else "The file was changed after its card was made, or the card belongs to another file.",
        )
    ]
    try:
        table = open_table(place)
        checks += _content(table, plan, card)
    except StatveilError as error:
        checks.append(Check(name="column", ok=False, says=str(error)))
    return Verified(checks=tuple(checks))


def _content(table: TableFile, plan: Plan, card: dict[str, Any]) -> Iterator[Check]:
    column = str(card.get("column"))
    table.position(column)
    found = table.type_of(column)
    labels = column_labels(plan, column, found)

    def blocks() -> Iterator[Array]:
        return table.blocks(column, labels=labels)

    if labels is not None:
        counts = count_categories(blocks, len(labels))
        yield Check(name="structure", ok=True, says="Every category is one that the plan lists.")
        params = shares_of(tuple(param.name for param in plan.problem.family.params), counts)
        again = plan.apply(**params)
        gap = abs(float(again.secret) - float(plan.problem.secret_of(params)))
        yield _released(gap <= 1 / max(int(counts.sum()), 1))
        return
    verifier = Verifier(plan, bits=found.bits)
    secret = plan.problem.secret
    measured = measure(blocks, alpha=secret.alpha if isinstance(secret, Quantile) else None, watch=verifier.watch)
    try:
        verifier.check_declared(column)
        yield Check(name="structure", ok=True, says="The column has the declared structure.")
    except StatveilError as error:
        yield Check(name="structure", ok=False, says=str(error))
        return
    if plan.mode == "rank":
        return  # the model's quantiles: their own statistic is near the released one, not equal to it
    statistic = own_statistic(plan, measured, verifier.share)
    try:
        params = estimate(plan.problem, measured, statistic)
        again = plan.apply(**params)
    except StatveilError:
        yield _released(False)
        return
    size = max(abs(statistic), float(np.abs(again.secret)), plan.problem.tolerance)
    slack = 1e-5 * size if precision(verifier.sampler.values, found.bits, ()) == 24 else 1e-9 * size
    if plan.mode == "unit":
        slack += 0.5 / measured.rows
    if card.get("rounded_to_digits") is not None:
        slack += 10.0 ** -int(card["rounded_to_digits"])
    yield _released(abs(float(again.secret) - statistic) <= slack)


def _released(ok: bool) -> Check:
    return Check(
        name="statistic",
        ok=ok,
        says="The column's statistic is one that the plan releases."
        if ok
        else "The column's statistic is none that the plan releases: the column was changed, or it has another plan.",
    )
