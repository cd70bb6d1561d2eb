"""verify_file(): does a released table agree with its card? Everything it looks at is public."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from statveil.contradictions import contradictions
from statveil.errors import FileError, StatveilError
from statveil.planning import Plan
from statveil.problem.secrets.quantile import Quantile
from statveil.tables.blocks import Array, Blocks
from statveil.tables.card import VERSION, card_path, make_card, plan_of, read_card
from statveil.tables.estimate import estimate, own_statistic, shares_of
from statveil.tables.files import TableFile, open_table
from statveil.tables.maps.build import model_values
from statveil.tables.measure import measure
from statveil.tables.preparing import column_labels, count_categories, valid_digits
from statveil.tables.release_file import hash_file
from statveil.tables.resolution import grain_of
from statveil.tables.rounding_digits import rounded
from statveil.tables.verification import Verifier, precision

__all__ = ["Check", "Verified", "verify_file"]

_MOST_SORTED = 2**22


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
    try:
        there = place.exists()
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {place}: {getattr(error, 'strerror', None) or error}.") from None
    if not there:
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
    checks.append(_card(card, plan))
    if not same:  # a damaged file can upset the engine, and the answer is known
        return Verified(checks=tuple(checks))
    try:
        checks += _content(open_table(place), plan, card)
    except StatveilError as error:
        checks.append(Check(name="column", ok=False, says=str(error)))
    return Verified(checks=tuple(checks))


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
        yield from _rows(card, int(counts.sum()))
        params = shares_of(tuple(param.name for param in plan.problem.family.params), counts)
        again = plan.nearest(params)
        gap = abs(float(again.secret) - float(plan.problem.secret_of(params)))
        yield _released(gap <= 1 / max(int(counts.sum()), 1))
        return
    verifier = Verifier(plan, bits=found.bits)
    secret = plan.problem.secret
    measured = measure(blocks, alpha=secret.alpha if isinstance(secret, Quantile) else None, watch=verifier.watch)
    try:
        verifier.check_declared(column)
        yield Check(name="structure", ok=True, says="The column has the declared structure.")
        yield from _rows(card, measured.rows)
    except StatveilError as error:
        yield Check(name="structure", ok=False, says=str(error))
        return
    statistic = own_statistic(plan.problem, measured, verifier.share)
    digits = card.get("rounded_to_digits")
    if valid_digits(digits) and not all(np.array_equal(b, rounded(b, digits), equal_nan=True) for b in blocks()):
        yield Check(name="rounding", ok=False, says=f"The column is not rounded to {digits} digits, as the card says.")
    if plan.mode == "rank":  # before anything that asks for the column's own statistic, which is only near the model's
        yield _released(_is_model(plan, blocks, measured.rows, statistic))
        return
    try:
        params = estimate(plan.problem, measured, statistic)
        again = plan.nearest(params)
    except StatveilError:
        yield _released(False)
        return
    size = max(abs(statistic), float(np.abs(again.secret)), plan.problem.tolerance)
    slack = 1e-5 * size if precision(verifier.sampler.values, found.bits, ()) == 24 else 1e-9 * size
    slack += grain_of(plan)
    if plan.mode in ("unit", "jitter", "smooth"):
        slack += 0.5 * (plan.problem.known.step or 1.0) / measured.rows
    if plan.mode in ("shift", "scale", "affine"):  # 32-bit originals were smeared over their cells
        slack += 2.0**-23 * max(abs(measured.minimum), abs(measured.maximum))
    if valid_digits(card.get("rounded_to_digits")):
        slack += 10.0 ** -card["rounded_to_digits"]
    yield _released(abs(float(again.secret) - statistic) <= slack)


def _rows(card: dict[str, Any], rows: int) -> Iterator[Check]:
    """A card says what its checks cannot see in so many rows, so it must be that many."""
    if card.get("rows") not in (None, rows):
        yield Check(
            name="rows", ok=False, says=f"The column has {rows} rows with a value, not as many as its card says."
        )


def _is_model(plan: Plan, blocks: Blocks, rows: int, statistic: float) -> bool:
    """Whether the column consists of the quantiles of a model that the plan releases."""
    choices = _releases(plan)
    if choices is None or rows > _MOST_SORTED:
        return True  # a continuum of releases, or too many rows to sort: not looked at
    values = np.sort(np.concatenate([block[np.isfinite(block)] for block in blocks()]))
    levels = (np.arange(rows) + 0.5) / rows
    nearest = sorted(choices, key=lambda params: abs(float(plan.problem.secret_of(params)) - statistic))
    slack = 1e-6 * max(float(np.abs(values).max()), plan.problem.tolerance)
    return any(bool(np.all(np.abs(values - model_values(plan, params)(levels)) <= slack)) for params in nearest[:200])


def _releases(plan: Plan) -> list[dict[str, float]] | None:
    """Every parameter that the plan can release; ``None`` where there is a continuum."""
    levels, box = plan.mechanism.levels, plan.problem.box
    if levels is None or len(box.free) != 1:
        return None
    known = {other: axis.low for other, axis in box.axes.items() if axis.known}
    return [{**known, box.free[0]: float(level)} for level in levels]


def _released(ok: bool) -> Check:
    return Check(
        name="statistic",
        ok=ok,
        says="The column's statistic is one that the plan releases."
        if ok
        else "The column's statistic is none that the plan releases: the column was changed, or it has another plan.",
    )
