"""What a single value tells: where the secret lies if a released number came from a known original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from statveil.auditing.inversion import Inversion
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.auditing.written import precision
from statveil.made_plan import Plan
from statveil.tables.blocks import Array

__all__ = ["Span", "agreed", "on_comb", "precision", "pulled_back", "slack_of", "span"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where the secret lies if the evidence is right."""

    low: float
    middle: float
    high: float


def slack_of(plan: Plan, column: Array) -> float:
    """How far a released number may be off: as it is written, and blurred.

    Whole steps are exact, however few decimals they have.
    """
    spacing = plan.problem.known.spacing if plan.release_mode.whole_steps else None
    written = precision(column) if spacing is None else min(precision(column), 1e-3 * spacing)
    return written + plan.release_mode.wander(plan.problem)


def pulled_back(found: Inversion, released: float | Array) -> Array:
    """The original of a released value under each candidate; a straight line in the secret for every mode."""
    assert found.factor is not None
    assert found.offset is not None
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return (released - found.offset) / found.factor


def span(found: Inversion, original: float, released: float, slack: float) -> Span | None:
    """The secrets for which ``original`` becomes ``released``; ``None`` where every candidate says the same.

    ``slack`` is how far the released value may be off. Between the nodes the answer is exact: the line is known.
    """
    if found.factor is None:
        return None
    values = pulled_back(found, released)
    usable = np.flatnonzero(np.isfinite(values) & (found.weights > 0))
    if not len(usable):
        return None
    first, last = usable[0], usable[-1]
    rise, run = float(values[last] - values[first]), float(found.secrets[last] - found.secrets[first])
    off = slack / float(np.abs(found.factor[usable]).min())
    if run == 0 or abs(rise) <= 2 * off:
        return None
    middle = float(found.secrets[first]) + (original - float(values[first])) * run / rise
    half = off * abs(run / rise)
    return Span(low=middle - half, middle=middle, high=middle + half)


def agreed(view: View, found: Inversion, spans: Sequence[Span]) -> Posterior | None:
    """The secret on which most spans agree, inside the bin; ``None`` where none of them fits the bin."""
    reach = 1e-6 * float(np.ptp(found.secrets))
    low, high = float(found.secrets.min()) - reach, float(found.secrets.max()) + reach
    inside = [one for one in spans if one.high >= low and one.low <= high]
    if not inside:
        return None
    lows, highs = np.array([one.low for one in inside]), np.array([one.high for one in inside])
    # a wrong piece of knowledge is outvoted; intervals overlap most at the lower end of one of them
    cover = (lows[:, None] <= lows) & (lows <= highs[:, None])
    best = cover[:, int(np.argmax(cover.sum(axis=0)))]
    start, stop = float(lows[best].max()), float(highs[best].min())
    middle = inside[0].middle if len(inside) == 1 else 0.5 * (start + stop)
    # the exact solution counts most: rounding errors are rarely as large as they can be
    points = np.clip([start, middle, stop], low + reach, high - reach)
    return Posterior.of(on_comb(view, found, points), [1.0, 2.0, 1.0])


def on_comb(view: View, found: Inversion, points: Array) -> Array:
    """The candidates themselves, or, where nothing lies between whole steps, the nearest ones up to rounding."""
    if not view.mode.whole_steps:
        return points
    nearest = found.secrets[np.abs(found.secrets[:, None] - points.ravel()).argmin(axis=0)].reshape(points.shape)
    # rounding stays visible, so that a window is never laid with its edge on the exact solution
    slack = slack_of(view.plan, view.column)
    return np.clip(points, nearest - slack, nearest + slack)
