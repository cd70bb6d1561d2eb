"""A ledger in words: what stands in it, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterator

from statveil.ledger.keeper import Keeper
from statveil.ledger.verifying import LedgerCheck
from statveil.ledger.view import ColumnView, LedgerView
from statveil.rounding import shown_up

UNKNOWN = "not known, as the entry is not finished; 'statveil ledger verify' prints it"

__all__ = ["describe_check", "describe_keeper", "describe_ledger"]


def describe_keeper(found: Keeper) -> str:
    """The entries of a release, what stands of its columns, and the head."""
    risks = "; ".join(
        f"joint risk of the {each.secret} of {column!r} {shown_up(each.after)} ({each.risk_kind}), "
        + ("no budget is set" if each.budget is None else f"budget {each.budget:g}")
        for column, accounts in found.accounts.items()
        for each in accounts
    )
    numbers = ", ".join(map(str, found.entries))
    return f"{found.ledger.path}, entry {numbers}: {risks}\n  head    {found.head or UNKNOWN}"


def describe_ledger(found: LedgerView) -> str:
    """Every column with its joint risks and budgets; the head at the end."""
    lines = [f"{found.ledger}: {_count(found.entries, 'entry', 'entries')}."]
    for column in found.columns:
        lines += ["", *_column(column)]
    if not found.columns:
        lines += ["", "No release and no budget is entered."]
    lines += [
        "",
        "All receivers count together, whatever their audience. Assumed: the rows of a dataset name stay the same.",
        f"head {found.head}",
    ]
    return "\n".join(lines)


def _column(column: ColumnView) -> Iterator[str]:
    counting = column.states["done"] + column.states["pending"]
    said = [_count(counting, "release counts", "releases count"), _count(column.plans, "plan", "different plans")]
    said += [f"{column.states[state]} {state}" for state in ("pending", "abandoned") if column.states[state]]
    yield f"{column.dataset} / {column.column}: {', '.join(said)}"
    for secret in sorted({*column.risks, *(each["secret"] for each in column.budgets)}):
        found, budget = column.risks.get(secret), column.budget(secret)
        risk = (
            "nothing released that states it"
            if found is None
            else f"joint risk {shown_up(found.risk)} ({found.risk_kind}): {found.why}"
        )
        yield f"  {secret:<10} {'no budget' if budget is None else f'budget {budget:g}'}, {risk}"
    changed = [each for each in column.budgets if column.budgets[0] is not each]
    if changed:
        told = ", ".join(f"{each['secret']} {each['max_risk']:g} (entry {each['number']})" for each in column.budgets)
        yield f"  budgets    as they were set: {told}"
    if column.audiences:
        yield f"  audiences  {', '.join(column.audiences)}"
    if column.accepted:
        yield f"  accepted   {', '.join(column.accepted)}: leaks that the joint risk does not cover"
    for each in column.pending:
        yield (
            f"  pending    entry {each['number']} of {each['at']}, {each['target'] or 'no file'}: counts until "
            "'statveil ledger resolve' settles it"
        )


def describe_check(found: LedgerCheck) -> str:
    """The verdict, what it rests on, and the head."""
    lines = [f"NOT ok: {said}." for said in found.wrong]
    if found.ok and found.since is not None:
        later = found.entries - found.since
        lines.append(
            f"{found.ledger} is whole: {_count(found.entries, 'entry', 'entries')}, unchanged up to entry "
            f"{found.since}, whose head was given{f'; {later} came after' if later else ''}."
        )
    elif found.ok:
        lines.append(
            f"{found.ledger} is whole: {_count(found.entries, 'entry', 'entries')} in one chain. Whether it is the one "
            "that was written shows only against a head that was noted elsewhere: --head."
        )
    else:
        lines.append(f"{found.ledger} is NOT whole; keep it as it is, and restore it from a copy.")
    return "\n".join([*lines, f"head {found.head}"])


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
