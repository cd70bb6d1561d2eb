"""What an audit of one column ends with: one finding for each attacker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from statveil.spoken import Drawn
from statveil.tables.databases.address import is_address

__all__ = ["PRIVATE", "VERDICTS", "Audit", "Finding"]

PRIVATE = "PRIVATE: computed from the original table. Do not publish."
VERDICTS = ("leaks", "undecided", "holds")
"""What a finding can say, the worst first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one attacker achieved.

    Attributes
    ----------
    rate, low, high : float
        How often it hit on tables like this one, with an interval; the intervals of all attackers hold together
        with 99 %.
    baseline, claimed : float
        The same for an attacker who never saw the release, and the plan's risk.
    verdict : str
        ``"leaks"`` (the whole interval lies above the claimed risk), ``"holds"`` (it ends below one and a half times
        the claimed risk) or ``"undecided"``.
    share, interval : float, pair, or None
        On this very table: how sure the attacker is of its best guess, and where the secret can still lie for it.
    """

    attacker: str
    rate: float
    low: float
    high: float
    baseline: float
    claimed: float
    verdict: str
    says: str
    share: float | None
    interval: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        """The finding for scripts."""
        return {
            "attacker": self.attacker,
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "baseline": self.baseline,
            "claimed": self.claimed,
            "verdict": self.verdict,
            "says": self.says,
            "share": self.share,
            "interval": None if self.interval is None else list(self.interval),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """The finding that :meth:`to_json` wrote."""
        numbers = {name: float(data[name]) for name in ("rate", "low", "high", "baseline", "claimed")}
        if not all(0 <= value <= 1 for value in numbers.values()) or data["verdict"] not in VERDICTS:
            raise ValueError("no finding")
        ends = data["interval"]
        return cls(
            attacker=str(data["attacker"]),
            **numbers,
            verdict=data["verdict"],
            says=str(data["says"]),
            share=None if data["share"] is None else float(data["share"]),
            interval=None if ends is None else (float(ends[0]), float(ends[1])),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Drawn):
    """All findings, the most harmful first. Private."""

    words = "report.audit:describe_audit"
    picture = "report.audit_chart:audit_chart"
    frame = "report.frames:audit_frame"

    findings: tuple[Finding, ...]
    distances: dict[str, Any]
    assumed: str
    """What the attackers were taken to know."""
    not_applicable: tuple[str, ...]
    """Attackers that found nothing to work with: another mode, or no such knowledge."""
    trials: int
    """Tables that were attacked; fewer than allowed where the verdict came earlier."""
    rows: int
    """Rows of each such table."""
    column: str | None = None
    secret: str = ""
    tolerance: float = 0.0
    tolerance_kind: str = "absolute"
    original: str | None = None
    released: str | None = None
    """Names of the files that were compared, where they were files."""
    made_on: str = ""
    """The day of the audit, as 2026-01-31."""

    def of_tables(self, original: Any, released: Any) -> Audit:
        """The same audit with the names of the two tables, where they are files, and the day."""
        before, after = (
            None if is_address(table) or not isinstance(table, str | os.PathLike) else Path(table).name
            for table in (original, released)
        )
        return replace(self, original=before, released=after, made_on=date.today().isoformat())

    @property
    def leaks(self) -> bool:
        """Whether an attacker beats the plan's risk."""
        return any(finding.verdict == "leaks" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """``"leaks"``, ``"holds"`` (up to :attr:`up_to`) or ``"undecided"``."""
        verdicts = {finding.verdict for finding in self.findings}
        return next(verdict for verdict in VERDICTS if verdict in verdicts)

    @property
    def up_to(self) -> float:
        """No attacker of the audit hits more often than this, with 99 %."""
        return max(finding.high for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The audit for scripts."""
        return {
            "private": PRIVATE,
            "verdict": self.verdict,
            "up_to": self.up_to,
            "column": self.column,
            "secret": self.secret,
            "tolerance": self.tolerance,
            **({"tolerance_kind": self.tolerance_kind} if self.tolerance_kind != "absolute" else {}),
            "findings": [finding.to_json() for finding in self.findings],
            "distances": self.distances,
            "assumed": self.assumed,
            "not_applicable": list(self.not_applicable),
            "trials": self.trials,
            "rows": self.rows,
            "original": self.original,
            "released": self.released,
            "made_on": self.made_on,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Audit:
        """The audit that :meth:`to_json` wrote; what follows from its findings is worked out anew."""
        return cls(
            findings=tuple(Finding.from_json(one) for one in data["findings"]),
            distances=dict(data["distances"]),
            assumed=str(data["assumed"]),
            not_applicable=tuple(map(str, data["not_applicable"])),
            trials=int(data["trials"]),
            rows=int(data["rows"]),
            column=None if data["column"] is None else str(data["column"]),
            secret=str(data["secret"]),
            tolerance=float(data["tolerance"]),
            tolerance_kind=str(data.get("tolerance_kind", "absolute")),
            original=None if data.get("original") is None else str(data["original"]),
            released=None if data.get("released") is None else str(data["released"]),
            made_on=str(data.get("made_on", "")),
        )
