"""Values that two groups had in common: how far apart they came out is how far the groups moved apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.one_group import one_group
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.modes.mode import SEVEN_DIGITS
from statveil.tables.blocks import Array

__all__ = ["SharedValues"]

_ROWS = 400
"""Rows of a group that are compared with rows of another."""
_FEWEST = 3
_CONCLUSIVE = 25.0
"""Of what is said of chance: pairs are neither spread evenly nor independent of each other."""


class SharedValues(Attacker):
    """Looks for the one distance, or ratio, at which many pairs of rows from two groups lie."""

    name: ClassVar[str] = "shared-values"
    doc: ClassVar[str] = "values that two groups or columns had in common, such as what did not change between periods"
    remedy: ClassVar[str] = "Leave out the rows whose values both groups have."
    of_groups: ClassVar[bool] = True

    def applies(self, view: View) -> bool:
        return view.mode.apart

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        best, sure = None, 0.0
        for candidates, slack in _candidates(view, found):
            said = _frequent(candidates, slack, found)
            if said is not None and said[1] > sure:
                best, sure = Posterior.of(said[0]), said[1]
        return best or found.posterior()


def _candidates(view: View, found: Inversion) -> Iterator[tuple[Array, float]]:
    """The secret, if the two rows of a pair were equal, for all pairs of rows from two parts of the table."""
    assert view.parts is not None
    log, released = view.mode.stretches, released_statistic(view)
    size = float(np.nanmax(np.abs(view.column), initial=0.0))
    off = 1e-9 * size + 2 * view.mode.wander(view.plan.problem)
    rest = ~(view.parts[0] | view.parts[1])
    one, two, other = (_some(view.column[rows], log=log) for rows in (*view.parts, rest))
    apart = np.subtract.outer(one, two).ravel()
    secrets = released * np.exp(-apart) if log else released - apart
    yield secrets, 2 * SEVEN_DIGITS * released if log else off
    for place, own in enumerate((one, two)):
        alone = one_group(view, place) if len(other) else None
        if alone is None or alone.view.inversion is None:
            continue
        moved = np.subtract.outer(own, other).ravel()
        level = float(np.nanmean(alone.view.column))
        means = level * np.exp(-moved) if log else level - moved
        inside = (means >= alone.means[0]) & (means <= alone.means[-1])
        rise = float(np.ptp(alone.secrets)) / float(np.ptp(alone.means))
        slack = 2 * SEVEN_DIGITS * level if log else off
        yield np.interp(means[inside], alone.means, alone.secrets), 2 * rise * slack


def _some(values: Array, *, log: bool) -> Array:
    known = np.unique(values[np.isfinite(values) & ((values > 0) | (not log))])
    known = known[:: max(1, len(known) // _ROWS)] if len(known) > 2 * _ROWS else known
    return np.log(known) if log else known


def _frequent(candidates: Array, slack: float, found: Inversion) -> tuple[float, float] | None:
    """The candidate with the most others beside it, and how surprising that is; ``None`` where it is chance."""
    low, high = float(found.secrets[0]), float(found.secrets[-1])
    near = np.sort(candidates[(candidates >= low) & (candidates <= high)])
    if len(near) < _FEWEST or not high > low or not slack > 0:
        return None
    held = np.searchsorted(near, near + slack, side="right") - np.arange(len(near))
    first = int(np.argmax(held))
    usual = len(near) * slack / (high - low)
    count = int(held[first])
    # about how unlikely so many are among as many places as there are pairs (a Poisson tail)
    surprise = count * math.log(max(count, 1) / max(usual, 1e-12)) - (count - usual) - math.log(len(near))
    if count < _FEWEST or surprise < _CONCLUSIVE:
        return None
    return float(np.median(near[first : first + count])), surprise
