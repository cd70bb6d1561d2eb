"""What an audit of one column ends with: one finding for each attacker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from statveil.spoken import Spoken

__all__ = ["PRIVATE", "Audit", "Finding"]

PRIVATE = "PRIVATE: computed from the original table. Do not publish."


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit(Spoken):
    """All findings, the most harmful first. Private."""

    words = "report.audit:describe_audit"

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

    @property
    def leaks(self) -> bool:
        """Whether an attacker beats the plan's risk."""
        return any(finding.verdict == "leaks" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """``"leaks"``, ``"holds"`` (up to :attr:`up_to`) or ``"undecided"``."""
        verdicts = {finding.verdict for finding in self.findings}
        return next(verdict for verdict in ("leaks", "undecided", "holds") if verdict in verdicts)

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
        }
