"""The column kept twice: its logarithm, a rounded or loose copy, a start and an end, an average beside its count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.evidence import on_comb
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.problem.location_scale import LocationScale
from statveil.tables.blocks import Array
from statveil.tables.structure.others.ties import Tie

__all__ = ["Copies", "told_by_rows"]

_FAR = 8.0  # median deviations beyond which a row is left out: a running total jumps where rows are missing
_ROWS, _PLACES = 400, 4000  # of the search for the map that makes products whole


class Copies(Attacker):
    """Works the original out from unchanged columns, alone or together."""

    name: ClassVar[str] = "copies"
    doc: ClassVar[str] = "unchanged columns that hold the hidden one in another form (logarithm, rounded, end - start)"
    remedy: ClassVar[str] = (
        "Leave out the columns from which the hidden one can be computed, or compute them anew from the released one."
    )

    def applies(self, view: View) -> bool:
        return not view.mode.categories and bool(view.knowledge.ties)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        columns = {**view.others, **view.groups}
        points = [
            _told(view, found, tie, columns)
            for tie in view.knowledge.ties
            if all(name in columns for name in tie.columns)
        ]
        problem = view.plan.problem
        near = [point for point in points if point is not None and found.nearest(point, problem.within(point))]
        return Posterior.of(on_comb(view, found, np.asarray(near))) if near else found.posterior()


def _told(view: View, found: Inversion, tie: Tie, columns: Mapping[str, Array]) -> float | None:
    """The secret that a tie tells."""
    straight = view.mode.line and found.factor is not None
    if tie.joint == "whole":
        return _whole(view, found, columns[tie.columns[0]]) if straight else None
    read = tie.read(columns)
    rows = np.flatnonzero(np.isfinite(view.column) & np.isfinite(read))
    if len(rows) < 3:
        return None
    if straight:
        return told_by_rows(view, found, tie, read[rows], view.column[rows])
    whole = tie.part == (0.0, 1.0) and not tie.scattered
    original = np.full(len(read), np.nan)
    original[rows] = read[rows] if not tie.joint.startswith("grows") else _without_strays(read[rows])
    return released_statistic(replace(view, column=original)) if whole else None


def _line(found: Inversion, released: Array) -> tuple[Array, Array, float, float] | None:
    """Each row's original is a straight line in the secret: its ends, and the secrets there."""
    assert found.factor is not None
    usable = np.flatnonzero((found.weights > 0) & np.isfinite(found.factor))
    if len(usable) < 2:
        return None
    first, last = int(usable[0]), int(usable[-1])
    assert found.offset is not None
    ends = [(released - found.offset[i]) / found.factor[i] for i in (first, last)]
    return ends[0], ends[1], float(found.secrets[first]), float(found.secrets[last])


def told_by_rows(view: View, found: Inversion, tie: Tie, read: Array, released: Array) -> float | None:
    """The secret under which the released rows come from those that were read."""
    line = _line(found, released)
    if line is None:
        return None
    start, stop, low, high = line
    rise, wanted = stop - start, read - start
    if tie.scattered:  # each row votes, and the rows that are copies agree
        with np.errstate(all="ignore"):
            votes = np.sort((wanted / rise)[np.isfinite(wanted / rise)])
        if len(votes) < 3:
            return None
        width = 0.25 * view.plan.problem.within(low) / max(abs(high - low), 1e-300)
        held = np.searchsorted(votes, votes + width, side="right") - np.arange(len(votes))
        best = int(np.argmax(held))
        return low + float(np.median(votes[best : best + int(held[best])])) * (high - low)
    # Errors make the regression on the released rows too flat, but not one whose instrument was read.
    family = view.plan.problem.family
    still = isinstance(family, LocationScale) and not view.plan.problem.secret.moves(family)
    spread = still and not view.mode.pinned
    instrument = read - read.mean() if spread else np.ones(len(read))
    kept = np.ones(len(read), dtype=np.bool_)
    if tie.joint.startswith("grows"):
        with np.errstate(all="ignore"):
            off = wanted - float(np.nanmedian(wanted / rise)) * rise
        kept = np.abs(off) <= _FAR * np.median(np.abs(off)) + 1e-9 * float(np.abs(released).max())
    across = float(np.sum((instrument * rise)[kept]))
    return low + float(np.sum((instrument * wanted)[kept])) / across * (high - low) if across else None


def _without_strays(read: Array) -> Array:
    off = np.abs(read - np.median(read))
    return np.where(off <= 4 * _FAR * np.median(off), read, np.nan)


def _whole(view: View, found: Inversion, count: Array) -> float | None:
    """The secret under which the original times the count is whole."""
    rows = np.flatnonzero(np.isfinite(view.column) & np.isfinite(count) & (count >= 2))
    rows = rows[np.argsort(count[rows], kind="stable")][:_ROWS]
    line = _line(found, view.column[rows])
    if line is None or len(rows) < 3:
        return None
    start, stop, low, high = line
    places = np.linspace(0, 1, _PLACES)
    score = np.zeros(_PLACES)
    for one, two, number in zip(start, stop, count[rows], strict=True):
        score += np.cos(2 * np.pi * number * (one + places * (two - one)))
    return low + float(places[int(np.argmax(score))]) * (high - low)
