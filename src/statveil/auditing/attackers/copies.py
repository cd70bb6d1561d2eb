"""The column kept twice: its logarithm, a rounded copy, a start and an end."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["Copies"]


class Copies(Attacker):
    """Works the original out from an unchanged column, or from the difference or sum of two."""

    name: ClassVar[str] = "copies"
    doc: ClassVar[str] = "unchanged columns that hold the hidden one in another form (logarithm, rounded, end - start)"
    remedy: ClassVar[str] = (
        "Leave out the columns from which the hidden one can be computed, or compute them anew from the released one."
    )

    def applies(self, view: View) -> bool:
        return view.plan.mode != "category" and bool(view.knowledge.copies)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        points = []
        for copy in view.knowledge.copies:
            if all(name in view.others for name in copy.columns):
                original = copy.original(view.others)
                original = np.where(np.isfinite(view.column), original, np.nan)
                points.append(released_statistic(replace(view, column=original)))
        inside = [point for point in points if found.nearest(point, view.plan.problem.tolerance)]
        return Posterior.of(inside) if inside else found.posterior()
