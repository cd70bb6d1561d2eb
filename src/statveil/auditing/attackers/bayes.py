"""The mechanism inverted: every original that leads to this release, weighted by the prior."""

from __future__ import annotations

from typing import ClassVar

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["Bayes"]


class Bayes(Attacker):
    """Guesses as well as anyone can who sees the released parameters alone."""

    name: ClassVar[str] = "bayes"
    doc: ClassVar[str] = "the mechanism inverted, weighted by the prior"
    remedy: ClassVar[str] = "Plan for a smaller risk."
    of_groups: ClassVar[bool] = True

    def applies(self, view: View) -> bool:
        return True

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        return None if found is None else found.posterior()
