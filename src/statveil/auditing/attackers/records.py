"""Known true records: a row whose original value is known tells how far every row was moved."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.evidence import MOVED, agreed, slack_of, span
from statveil.auditing.inversion import inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["Records"]


class Records(Attacker):
    """Compares the released value of each known row with its true value."""

    name: ClassVar[str] = "records"
    doc: ClassVar[str] = "true values of single rows, compared with their released values"
    remedy: ClassVar[str] = (
        "One known row undoes any map that moves all rows alike. Leave out the rows whose values others know, "
        "or do not release the column row by row."
    )

    def applies(self, view: View) -> bool:
        return bool(view.knowledge.records) and view.plan.mode in MOVED

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        slack = slack_of(view.plan, view.column)
        rows = [
            (value, float(view.column[row]))
            for row, value in view.knowledge.records
            if 0 <= row < len(view.column) and np.isfinite(view.column[row]) and np.isfinite(value)
        ]
        spans = [span(found, value, released, slack) for value, released in rows]
        return agreed(view, found, [one for one in spans if one is not None]) or found.posterior()
