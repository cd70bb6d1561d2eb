"""What the attackers found, in plain words, for the page. Private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statveil.auditing.audit import Audit
from statveil.auditing.table_audit import TableAudit
from statveil.words.audit import verdict_sentence
from statveil.words.sentence import Sentence

__all__ = ["findings"]


def findings(found: TableAudit, names: Sequence[str]) -> dict[str, Any]:
    """The verdict, and every attacker of every hidden column, columns by their places."""
    return {
        "verdict": found.verdict,
        "words": [str(_verdict(found.audits[0])), f"In every trial {found.assumed}."],
        "columns": [_column(one, names) for one in found.audits],
    }


def _column(one: Audit, names: Sequence[str]) -> dict[str, Any]:
    best = one.findings[0]
    words = [str(_verdict(one)), f"The best of {len(one.findings)} attackers in {one.trials:,} tries: {best.attacker}."]
    return {
        "index": list(names).index(str(one.column)),
        "secret": one.secret,
        "verdict": one.verdict,
        "words": words,
        "attackers": [
            {
                "attacker": each.attacker,
                "rate": each.rate,
                "low": each.low,
                "high": each.high,
                "baseline": each.baseline,
                "claimed": each.claimed,
                "verdict": each.verdict,
                "says": each.says,
            }
            for each in one.findings
        ],
    }


def _verdict(one: Audit) -> Sentence:
    best = one.findings[0]
    return verdict_sentence(one.verdict, rate=best.rate, up_to=one.up_to, claimed=best.claimed)
