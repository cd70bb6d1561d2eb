"""Each of two groups by itself, attacked by whatever fits a column that moved as one line."""

from __future__ import annotations

from typing import ClassVar

from statveil.auditing.attacker import ATTACKERS, Attacker
from statveil.auditing.inversion import inverted
from statveil.auditing.one_group import one_group
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["EachGroup"]


class EachGroup(Attacker):
    """Asks all other attackers about each group or column, and what lies between columns; believes the surest one."""

    name: ClassVar[str] = "each-group"
    doc: ClassVar[str] = "one of the two groups or columns alone: its lattice, copies, flags, bounds and known records"
    remedy: ClassVar[str] = (
        "Leave out the columns that tell one of the groups, or mend what the group shows; a release without accepted "
        "leaks names it."
    )
    of_groups: ClassVar[bool] = True

    def applies(self, view: View) -> bool:
        return view.mode.apart

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        problem, best = view.plan.problem, found.posterior()
        sure = 0.0 if best is None else best.on(problem).best(problem.tolerance)[1]
        for place in range(3 if view.mode.of_columns else 2):
            alone = one_group(view, place)
            if alone is None:
                continue
            for kind in ATTACKERS.values():
                attacker = kind()
                if attacker.of_groups or not attacker.applies(alone.view):
                    continue
                told = alone.told(attacker.attack(alone.view))
                share = 0.0 if told is None else told.on(problem).best(problem.tolerance)[1]
                if share > sure:
                    best, sure = told, share
        return best
