"""A column that moved along with the hidden one, read off unchanged columns: how far it moved is how far both did."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.attackers.copies import told_by_rows
from statveil.auditing.evidence import on_comb
from statveil.auditing.inversion import inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View

__all__ = ["Linked"]


class Linked(Attacker):
    """Compares a linked column with the copy of it that unchanged columns hold."""

    name: ClassVar[str] = "linked"
    doc: ClassVar[str] = "unchanged columns that tell a column which moved along with the hidden one"
    remedy: ClassVar[str] = "Leave out the columns that tell the linked one, or link or derive them as well."

    def applies(self, view: View) -> bool:
        return view.mode.line and any(one.factor is not None and one.ties for one in view.companions.values())

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None or found.factor is None:
            return None
        columns, points = {**view.others, **view.groups}, []
        for one in view.companions.values():
            if one.factor is None:
                continue
            for tie in one.ties:
                if tie.joint == "whole" or not all(name in columns for name in tie.columns):
                    continue
                read = tie.read(columns) / one.factor
                released = one.column / one.factor
                rows = np.flatnonzero(np.isfinite(read) & np.isfinite(released))
                # the map of the hidden column in its own unit moves this one too
                if len(rows) >= 3 and (told := told_by_rows(view, found, tie, read[rows], released[rows])) is not None:
                    points.append(told)
        near = [point for point in points if found.nearest(point, view.plan.problem.within(point))]
        return Posterior.of(on_comb(view, found, np.asarray(near))) if near else found.posterior()
