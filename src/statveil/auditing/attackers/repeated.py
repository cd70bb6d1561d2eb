"""Other releases of the same column: what one plan leaves open, another may close."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.evidence import Span, agreed, pulled_back, slack_of
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.recapture import recaptured
from statveil.auditing.view import Earlier, View
from statveil.problem.column_numbers import InMemory
from statveil.problem.location_scale import LocationScale
from statveil.problem.problem import Problem
from statveil.tables.blocks import Array

__all__ = ["Repeated"]

_NODES = 2001
_DOUBT = 1e-9


class Repeated(Attacker):
    """Keeps the originals that every release leaves open, and compares the releases row by row.

    Rows that two streams have drawn it counts in both tables (:mod:`statveil.auditing.recapture`).
    """

    name: ClassVar[str] = "repeated"
    doc: ClassVar[str] = "other releases of the same column under other plans"
    remedy: ClassVar[str] = (
        "Release a column under one plan only, always with the same record, so that it is the same table; what "
        "several plans tell together 'statveil compose' says."
    )

    def applies(self, view: View) -> bool:
        return bool(view.knowledge.releases)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        order = np.argsort(found.secrets)
        secrets, weights = found.secrets[order], found.weights[order]
        low, high, exact, comb = secrets[0], secrets[-1], [], secrets if view.mode.whole_steps else None
        close = reach = 1e-6 * (high - low)
        for release in view.knowledge.releases:
            other = inverted(View(plan=release.plan, column=release.column))
            if other is None or (open_still := _carried(view, found, release, other)) is None:
                continue
            low, high = max(low, open_still.min()), min(high, open_still.max())
            reach = max(reach, slack_of(view.plan, view.column) + slack_of(release.plan, release.column))
            exact += _solved(view, found, release, other)
            if release.plan.release_mode.whole_steps:  # only whole steps from that release, too
                places = open_still if comb is None else comb
                comb = places[np.abs(places - open_still[:, None]).min(axis=0) <= close]
        if exact and (sharp := agreed(view, found, exact)) is not None:
            return sharp
        if low > high + reach:  # no original fits all releases: one of them is of another column
            return found.posterior()
        points = np.linspace(min(low, high), max(low, high), _NODES)
        if comb is not None:
            points = comb[(comb >= low - reach) & (comb <= high + reach)]
        seen = np.interp(points, secrets, weights) * _recapture(view, points)
        return Posterior.of(points, seen) or found.posterior()


def _recapture(view: View, points: Array) -> Array:
    """How well each candidate fits the number of rows that two tables share; the same for all where that says nothing.

    A candidate for each way the rows may have been drawn, so that other candidates keep a little.
    """
    fits, grain = np.ones(len(points)), 2 * np.ptp(points) / max(len(points) - 1, 1)
    for release in view.knowledge.releases:
        found = recaptured(view, release)
        if found and grain:
            wide = [(value, max(error, grain)) for value, error in found]
            off = [np.minimum(np.abs(points - value) / error, 1e3) for value, error in wide]
            fits *= _DOUBT + sum(np.exp(-0.5 * far**2) / error for far, (_, error) in zip(off, wide, strict=True))
    return fits


def _through(problem: Problem, found: Inversion, column: Array) -> Array | None:
    """The secret of a problem for the original column under each candidate: the candidate's map undone."""
    family, secret = problem.family, problem.secret
    if found.factor is None or found.offset is None or not isinstance(family, LocationScale):
        return None
    if secret.per_shift is None and secret.linear(family) is None:  # the rows do not give it
        return None
    own = secret.of_column(InMemory(column[np.isfinite(column)]), family)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return (own - secret.shift_rate(family) * found.offset) / found.factor


def _carried(view: View, found: Inversion, release: Earlier, other: Inversion) -> Array | None:
    """What the other release leaves open, as values of the secret of this plan; ``None`` where it cannot be said."""
    mine, theirs = view.plan.problem, release.plan.problem
    if mine.secret.to_json() == theirs.secret.to_json():
        return other.secrets
    if (back := _through(mine, other, release.column)) is not None:
        return back[np.isfinite(back)]
    if (ahead := _through(theirs, found, view.column)) is None or not np.isfinite(ahead).all():
        return None
    if np.ptp(ahead) <= 1e-9 * np.abs(ahead).max():  # the map keeps that statistic
        return None
    # a straight line, read backwards
    slope = (found.secrets[-1] - found.secrets[0]) / (ahead[-1] - ahead[0])
    return np.asarray(found.secrets[0] + slope * (other.secrets - ahead[0]))


def _solved(view: View, found: Inversion, release: Earlier, other: Inversion) -> list[Span]:
    """The secrets for which both releases give back the same original rows: two straight lines that cross.

    A shift and a scaling of one column, or two scalings about different points, leave one solution. Two shifts tell
    their difference alone, and every candidate solves the equation.
    """
    theirs = _through(release.plan.problem, found, view.column)
    if theirs is None or other.factor is None or len(view.column) != len(release.column):
        return []
    both = np.isfinite(view.column) & np.isfinite(release.column)
    if both.sum() < 3 or not np.ptp(other.secrets) or not np.ptp(found.secrets):
        return []
    mine, earlier = view.column[both], release.column[both]
    slack = slack_of(view.plan, mine) + slack_of(release.plan, earlier)
    slope, start = np.polyfit(earlier - earlier.mean(), mine, 1) if np.ptp(earlier) else (0.0, 0.0)
    if not slope or np.abs(start + slope * (earlier - earlier.mean()) - mine).max() > 4 * slack * (1 + slope):
        return []  # not the same rows in the same order
    ends, spans = np.array([0, -1]), []
    for at in (earlier.min(), earlier.max()):
        one = pulled_back(found, start + slope * (at - earlier.mean()))[ends]
        line = pulled_back(other, float(at))[ends]
        rate = (line[1] - line[0]) / (other.secrets[-1] - other.secrets[0])
        gap = one - (line[0] + rate * (theirs[ends] - other.secrets[0]))
        if abs(gap[1] - gap[0]) > 8 * slack:
            run = (found.secrets[-1] - found.secrets[0]) / (gap[1] - gap[0])
            middle, half = float(found.secrets[0] - gap[0] * run), float(2 * slack * abs(run))
            spans.append(Span(low=middle - half, middle=middle, high=middle + half))
    return spans
