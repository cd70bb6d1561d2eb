"""The baseline: an attacker who never saw the release."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.audit.attacker import Attacker
from statveil.audit.posterior import Posterior
from statveil.audit.view import View

__all__ = ["PriorOnly"]


class PriorOnly(Attacker):
    """Guesses from the stated prior alone; what others gain over it comes from the release."""

    name: ClassVar[str] = "prior"
    doc: ClassVar[str] = "the stated prior alone, without the release"
    remedy: ClassVar[str] = "Nothing was learnt from the release: the prior itself is this narrow."

    def applies(self, view: View) -> bool:
        return True

    def attack(self, view: View) -> Posterior | None:
        problem = view.plan.problem
        drawn = problem.sample(200_000, np.random.default_rng(0))
        return Posterior.of(problem.secret_of(drawn))
