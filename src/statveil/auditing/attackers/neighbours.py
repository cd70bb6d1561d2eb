"""Neighbouring rows: where the table is sorted or changes slowly, equal values stand side by side."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import inverted
from statveil.auditing.levels import by_levels, captured, varies
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["Neighbours"]

_WIDTHS = (4, 12, 40)  # rows that are averaged


class Neighbours(Attacker):
    """Averages neighbouring rows and looks at which levels the averages lie."""

    name: ClassVar[str] = "neighbours"
    doc: ClassVar[str] = "the order of the rows: neighbours that were equal, averaged"
    remedy: ClassVar[str] = (
        "Put the rows in random order before the release: what is drawn row by row hides nothing where neighbours "
        "have the same value."
    )

    def applies(self, view: View) -> bool:
        return view.mode.random and bool(np.isfinite(view.column).sum() >= 32)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        values = view.column[np.isfinite(view.column)]
        best, sure = None, -np.inf
        for width in _WIDTHS:
            codes = np.arange(len(values)) // width
            if codes[-1] < 8 or not varies(values, codes):
                continue
            weighed = (captured if view.mode.categories else by_levels)(view, found, codes)
            if weighed is not None and weighed[1] > sure:
                best, sure = weighed
        return best or found.posterior()
