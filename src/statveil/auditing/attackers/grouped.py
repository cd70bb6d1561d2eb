"""Ids: the rows of one person, shop or day that had one value."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import inverted
from statveil.auditing.levels import by_levels, captured, varies
from statveil.auditing.posterior import Posterior
from statveil.auditing.sampling import in_groups
from statveil.auditing.view import View

__all__ = ["Grouped"]

_MOST = 12  # columns that are tried


class Grouped(Attacker):
    """Averages the rows of each group and looks at which levels the averages lie."""

    name: ClassVar[str] = "grouped"
    doc: ClassVar[str] = "columns that say which rows had the same value (ids, parts of texts, partners), averaged"
    remedy: ClassVar[str] = (
        "Leave out the column that groups the rows (an id, a name, a day), or release one row of each group: what is "
        "drawn row by row hides nothing where the rows of a group have the same value."
    )

    def applies(self, view: View) -> bool:
        return view.mode.random and bool(view.others or view.groups or view.together)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        finite = np.isfinite(view.column)
        values = view.column[finite]
        best, sure, tried = None, -np.inf, 0
        for column in (*view.together.values(), *view.groups.values(), *view.others.values()):
            if len(column) != len(view.column) or tried >= _MOST:
                continue
            numbers, codes = np.unique(np.nan_to_num(column[finite], nan=-1e300), return_inverse=True)
            if len(numbers) < 5 or not in_groups(codes) or not varies(values, codes):
                continue
            tried += 1
            weighed = (captured if view.mode.categories else by_levels)(view, found, codes)
            if weighed is not None and weighed[1] > sure:
                best, sure = weighed
        return best or found.posterior()
