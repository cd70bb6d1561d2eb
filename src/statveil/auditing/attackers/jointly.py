"""Two hidden columns that hold the same: only secrets for which both releases fit are left."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.evidence import slack_of
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import Companion, View
from statveil.tables.blocks import Array
from statveil.tables.structure.others.ties import Tie

__all__ = ["Jointly"]

_COARSE, _FINE, _ROUNDS = 65, 17, 3
_JOINTS = ("", "-", "+", "/", "*", "clock")


class Jointly(Attacker):
    """Works the other hidden column out of every candidate, and looks whether its release is the one that is seen.

    Under two shifts what fits are the secrets in both bins; under a shift and a scaling hardly more than one.
    """

    name: ClassVar[str] = "jointly"
    doc: ClassVar[str] = "another hidden column that holds the same in another form, released by a map of its own"
    remedy: ClassVar[str] = "Let both move under one map (link), derive one from the other, or drop one."

    def applies(self, view: View) -> bool:
        return view.mode.line and any(one.plan is not None and one.ties for one in view.companions.values())

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None or found.factor is None or view.plan.mechanism.tiled:
            return None  # candidates all over a rectangle have no order to search in
        guesses = [
            guess
            for name, one in view.companions.items()
            for tie in (one.ties if one.plan is not None else ())
            if tie.joint in _JOINTS and (guess := _told(view, found, name, one, tie)) is not None
        ]
        problem = view.plan.problem
        surest = max(guesses, key=lambda one: one.on(problem).best(problem.tolerance)[1], default=None)
        return surest or found.posterior()


def _told(view: View, found: Inversion, name: str, other: Companion, tie: Tie) -> Posterior | None:
    """The candidates that fit both releases; ``None`` where they cannot be told apart."""
    misfit = _misfit(view, found, name, other, tie)
    if misfit is None:
        return None
    open_ = found.secrets[found.weights > 0]
    places = np.linspace(float(open_[0]), float(open_[-1]), _COARSE)
    off = misfit(places)
    assert other.plan is not None
    exact = slack_of(other.plan, other.column) + view.mode.wander(view.plan.problem)
    slack = 1e-6 + 2 * exact / max(float(np.nanstd(other.column)), 1e-300)
    if not np.isfinite(off).any():
        return None
    fits = off <= slack
    if np.count_nonzero(fits) < 2:
        for _ in range(_ROUNDS):  # a line through 0 at one place: nearer and nearer to it
            best = int(np.nanargmin(off))
            places = np.linspace(places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)], _FINE)
            off = misfit(places)
        fits = off <= max(2 * float(np.nanmin(off)), slack)
    weights = np.interp(places[fits], found.secrets, found.weights)
    return Posterior.of(places[fits], np.maximum(weights, 1e-300))


def _misfit(view: View, found: Inversion, name: str, other: Companion, tie: Tie) -> Callable[[Array], Array] | None:
    """How far the other release is from what each candidate makes of it, in its standard deviations."""
    assert other.plan is not None
    assert found.factor is not None
    assert found.offset is not None
    seen = inverted(View(plan=other.plan, column=other.column))
    columns = {**view.others, **view.groups, name: other.column}
    if other.plan.mechanism.tiled or seen is None or seen.factor is None or seen.offset is None:
        return None
    if not all(one in columns for one in tie.columns):
        return None
    plan, released = other.plan, other.column
    factors, offsets, nodes = seen.factor, seen.offset, seen.secrets
    mine, theirs, candidates = found.factor, found.offset, found.secrets
    reach = 1e-6 * float(np.ptp(nodes))
    start, size = tie.read(columns), float(np.nanstd(released)) or 1.0
    middle = view.column <= np.nanmedian(view.column)

    def at(secret: float) -> float:
        original = (view.column - np.interp(secret, candidates, theirs)) / np.interp(secret, candidates, mine)
        made = tie.moved(start, original, columns).get(name)
        if made is None:
            return np.inf
        level = released_statistic(View(plan=plan, column=made))
        if not nodes[0] - reach <= level <= nodes[-1] + reach:
            return np.inf
        back = (released - np.interp(level, nodes, offsets)) / np.interp(level, nodes, factors)
        # the averages of two halves: errors of a loose copy average out, a slope that is off does not
        halves = [(back - made)[half & np.isfinite(back - made)] for half in (middle, ~middle)]
        return max((abs(float(half.mean())) for half in halves if len(half)), default=np.inf) / size

    return lambda secrets: np.array([at(float(secret)) for secret in secrets])
