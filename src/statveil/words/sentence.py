"""What a sentence about a release holds: a value with its unit, which way is better, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Sentence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One thing that can be said of a release, for people and for programs.

    Attributes
    ----------
    name : str
        What it is about, in one word: ``"risk"``, ``"change"``.
    says : str
        The sentence, with its numbers rounded against ourselves; for people who know no statistics.
    value, unit : float or None, str
        The number behind it, not rounded, and what it counts; ``None`` where there is none.
    better : str
        ``"lower"`` or ``"higher"``; empty where neither is better.
    means : str
        How to read it: what its words stand for. May be empty.
    kind : str
        How the number was obtained: ``"exact"``, ``"numerical"``, ``"upper bound"`` or ``"simulated"``; may be empty.
    """

    name: str
    says: str
    value: float | None = None
    unit: str = ""
    better: str = ""
    means: str = ""
    kind: str = ""

    def __str__(self) -> str:
        return self.says

    def to_json(self) -> dict[str, Any]:
        """The sentence for scripts and pages."""
        return {
            "name": self.name,
            "says": self.says,
            "value": self.value,
            "unit": self.unit,
            "better": self.better,
            "means": self.means,
            "kind": self.kind,
        }
