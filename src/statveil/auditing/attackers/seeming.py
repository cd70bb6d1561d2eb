"""Columns that were moved or worked out anew, by who takes them for unchanged ones."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from statveil.auditing.attacker import Attacker
from statveil.auditing.attackers.auxiliary import Auxiliary
from statveil.auditing.attackers.copies import Copies
from statveil.auditing.attackers.thresholds import Thresholds
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["Seeming"]


class Seeming(Attacker):
    """Reads the hidden column off columns that were hidden, linked or derived, as if they were as they had been."""

    name: ClassVar[str] = "seeming"
    doc: ClassVar[str] = "columns that were hidden, linked or derived too, taken for unchanged ones"
    remedy: ClassVar[str] = "Leave out the columns from which the hidden one can be computed."

    def applies(self, view: View) -> bool:
        seen = view.knowledge.seeming is not None and any(not one.fixed for one in view.companions.values())
        return seen and not view.mode.categories

    def attack(self, view: View) -> Posterior | None:
        known = view.knowledge.seeming
        assert known is not None
        columns = {name: one.column for name, one in view.companions.items() if not one.fixed}
        naive = replace(
            view,
            others={**view.others, **columns},
            companions={},
            knowledge=replace(view.knowledge, ties=known.ties, thresholds=known.thresholds, seeming=None),
        )
        ways = [one for one in (Copies(), Thresholds(), Auxiliary()) if one.applies(naive)]
        found = [guess for one in ways if (guess := one.attack(naive)) is not None]
        problem = view.plan.problem
        # the surest of them: one that found nothing knows no more than the bin
        return max(found, key=lambda one: one.on(problem).best(problem.tolerance)[1], default=None)
