"""The baseline: an attacker who never saw the release."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.made_plan import Plan

__all__ = ["PriorOnly"]


_DRAWS = 4_000


class PriorOnly(Attacker):
    """Guesses from the stated prior alone; what others gain over it comes from the release."""

    name: ClassVar[str] = "prior"
    doc: ClassVar[str] = "the stated prior alone, without the release"
    remedy: ClassVar[str] = "Nothing was learnt from the release: the prior itself is this narrow."
    of_groups: ClassVar[bool] = True

    def __init__(self) -> None:
        self._last: tuple[Plan, Posterior | None] | None = None

    def applies(self, view: View) -> bool:
        return True

    def attack(self, view: View) -> Posterior | None:
        if self._last is None or self._last[0] is not view.plan:  # the same for every table of a plan
            problem = view.plan.problem
            drawn = problem.sample(_DRAWS, np.random.default_rng(0))
            self._last = view.plan, Posterior.of(problem.secret_of(drawn))
        return self._last[1]
