"""All plans of a table at once, with the risk that they have together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from statveil.planning import Plan
from statveil.specification.specification import Specification

__all__ = ["FORMAT", "VERSION", "TablePlan", "plan_specification"]

FORMAT = "statveil-table-plan"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """One plan for each hidden column of a specification; made without data, it can be published.

    Attributes
    ----------
    specification : Specification
        What was asked.
    plans : mapping of str to Plan
        One plan for each hidden column, in the order of the specification.
    risk, risk_kind : float, str
        P(the best attacker guesses any of the hidden statistics), never below the truth, and how it was obtained.
    intersection : float
        P(the best attacker guesses all of them at once).
    """

    specification: Specification
    plans: Mapping[str, Plan]
    risk: float
    risk_kind: str
    intersection: float

    @property
    def distortions(self) -> dict[str, float]:
        """Distortion of each hidden column."""
        return {name: plan.distortion for name, plan in self.plans.items()}

    def to_json(self) -> dict[str, Any]:
        """The plans as one JSON object; :meth:`from_json` makes the same."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TablePlan:
        """The plans that :meth:`to_json` wrote, accounted anew."""
        raise NotImplementedError


def plan_specification(specification: Specification) -> TablePlan:
    """A plan for each hidden column, within each column's target and the joint budget."""
    raise NotImplementedError
