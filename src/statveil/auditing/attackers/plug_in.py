"""The paper's surrogate: the released statistic itself is the guess."""

from __future__ import annotations

from typing import ClassVar

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["PlugIn"]


class PlugIn(Attacker):
    """Takes the released statistic for the true one."""

    name: ClassVar[str] = "plug-in"
    doc: ClassVar[str] = "the released statistic, taken for the true one"
    remedy: ClassVar[str] = "Plan for a smaller risk: the bins are too narrow for this tolerance."
    of_groups: ClassVar[bool] = True

    def applies(self, view: View) -> bool:
        return True

    def attack(self, view: View) -> Posterior | None:
        return Posterior.of(released_statistic(view))
