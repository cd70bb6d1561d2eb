"""Kinds of numbers that the original holds: which map puts most released rows back onto such numbers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.patterns import PATTERNS, fineness, members
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.auditing.written import FLOAT32
from statveil.tables.blocks import Array

__all__ = ["PatternAttacker"]

_TRIED = 3
_VOTES = 100_000  # pairs of a row and a number of the pattern that are looked at
_KEPT = 400  # candidates with most votes that are weighed
_CONCLUSIVE = 6.0  # log likelihood beyond what the best of all candidates reaches by chance
_WITHIN = 2.5  # widths of a blur within which nearly all rows lie
_ROWS, _LOOK = 1_000, 60  # rows that are put back for each candidate of a comb, and for a first look at all of them
_MOST_STEPS, _WEIGHED = 50_000, 200  # candidates of a comb that are looked at, and weighed


class PatternAttacker(Attacker):
    """Every row and every number that it may have been vote for one value of the secret; the truth gets most votes."""

    name: ClassVar[str] = "pattern"
    doc: ClassVar[str] = "the kind of numbers that such a column holds (logarithms, converted units, few digits)"
    remedy: ClassVar[str] = (
        "The column's numbers are of a kind that no shift or scaling keeps. Name a family, so that the column is "
        "redrawn by rank, or round the original before the release, much more coarsely than the tolerance."
    )

    def applies(self, view: View) -> bool:
        return view.mode.line and bool(view.knowledge.patterns)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None or found.factor is None:
            return None if found is None else found.posterior()
        values = view.column[np.isfinite(view.column)]
        # exact to the last bit, or, where a number has no more than 32 bits, within the cell over which it is spread;
        # and off by the blur
        fine = fineness(values)
        blurred = _WITHIN * view.mode.blur_width(view.plan.problem)
        slacks = sorted({fine + blurred, max(fine, 0.5 * FLOAT32 * float(np.abs(values).max(initial=0.0))) + blurred})
        for name in view.knowledge.patterns[:_TRIED]:  # the most telling one comes first
            for slack in slacks if not view.mode.whole_steps else (fine,):
                spacing = view.plan.problem.known.spacing if view.mode.whole_steps else None
                weighed = (
                    _votes(found, values, name, slack)
                    if spacing is None
                    else _on_comb(found, values, name, slack, spacing)
                )
                if weighed is not None and weighed[1] > _CONCLUSIVE and weighed[0] is not None:
                    return weighed[0]
        return found.posterior()


def _gain(hits: Array, rows: int, expected: Array | float) -> Array:
    """Log likelihood of so many rows on the pattern where chance puts ``expected`` of them there."""
    share = np.clip(hits / rows, 1e-12, 1 - 1e-12)
    chance = np.clip(np.asarray(expected) / rows, 1e-9, 1 - 1e-9)
    gain = rows * (share * np.log(share / chance) + (1 - share) * np.log((1 - share) / (1 - chance)))
    return np.where(share > chance, gain, 0.0)


def _on_comb(
    found: Inversion, values: Array, name: str, slack: float, spacing: float
) -> tuple[Posterior | None, float] | None:
    """Whole steps: put the rows back for each candidate and count."""
    few = values[:: max(1, len(values) // _ROWS)]
    assert found.offset is not None
    low = float(few.min() - found.offset.max()) - slack
    high = float(few.max() - found.offset.min()) + slack
    places = PATTERNS[name].places(low, high)
    if len(places) < 2:
        return None
    # A column moves by whole steps alone, and a rounded pattern fits at none but the right one: where the fibre has
    # more steps than nodes, the nodes lie between them.
    first, last = (int(np.rint(end / spacing)) for end in (found.offset.min(), found.offset.max()))
    if last - first > _MOST_STEPS:
        offsets = found.offset
    else:
        offsets = spacing * np.arange(first, last + 1, dtype=np.float64)
        look = few[:: max(1, len(few) // _LOOK)]
        offsets = offsets[np.argsort(-_counted(look, offsets, places, slack), kind="stable")]
        offsets = np.concatenate((offsets[:_WEIGHED], offsets[_WEIGHED :: max(1, len(offsets) // _WEIGHED)]))
    hits = _counted(few, offsets, places, slack)
    if len(hits) < 2:
        return None
    # what the other candidates reach is chance; a strong pattern may hold for several of them alike
    chance = float(np.median(hits)) if len(hits) > 2 else float(hits.min())
    gain = _gain(hits, len(few), max(chance, 0.5))
    top = float(gain.max())
    order = np.argsort(found.secrets)
    secrets = float(found.secrets[0] + found.offset[0]) - offsets
    weights = np.interp(secrets, found.secrets[order], found.weights[order])
    return Posterior.of(secrets, weights * np.exp(gain - top)), top - np.log(last - first + 2) + _CONCLUSIVE - 2.0


def _counted(values: Array, offsets: Array, places: Array, slack: float) -> Array:
    """How many rows lie on the pattern once they are put back, for each candidate."""
    found = np.empty(len(offsets))
    for start in range(0, len(offsets), 512):
        some = slice(start, start + 512)
        found[some] = members(values[None, :] - offsets[some, None], places, 0.02 * slack).sum(axis=1)
    return found


def _votes(found: Inversion, values: Array, name: str, slack: float) -> tuple[Posterior | None, float] | None:
    """Any shift or scaling: each row and each number propose a secret."""
    assert found.factor is not None
    assert found.offset is not None
    usable = np.flatnonzero((found.weights > 0) & np.isfinite(found.factor))
    if len(usable) < 2:
        return None
    first, last = usable[0], usable[-1]
    run = float(found.secrets[last] - found.secrets[first])
    start = (values - found.offset[first]) / found.factor[first]
    stop = (values - found.offset[last]) / found.factor[last]
    low, high = np.minimum(start, stop), np.maximum(start, stop)
    slack = slack / float(np.abs(found.factor[usable]).min())
    places = PATTERNS[name].places(float(low.min()) - slack, float(high.max()) + slack)
    if len(places) < 2 or run == 0:
        return None
    at = np.searchsorted(places, low - slack)
    count = np.searchsorted(places, high + slack, side="right") - at
    # only rows whose whole range is listed, and that the map moves by more than its own rounding
    fits = (count > 0) & (low >= places[0] - slack) & (high <= places[-1] + slack) & (high - low > 8 * slack)
    edge = (low < places[0]) | (high > places[-1])
    rows = np.flatnonzero(fits | ((count > 0) & edge & (high - low > 8 * slack)))
    if len(rows) < 3:
        return None
    rows = rows[np.argsort(count[rows], kind="stable")]
    rows = rows[np.cumsum(count[rows]) <= _VOTES]
    if len(rows) < 3:
        return None
    times = count[rows]
    which = np.repeat(rows, times)
    nth = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
    rise = stop[which] - start[which]
    part = (places[at[which] + nth] - start[which]) / rise
    secrets = float(found.secrets[first]) + part * run
    width = 2 * np.median(slack / np.abs(rise)) * abs(run) + 1e-14 * abs(float(found.secrets[first]))
    order = np.argsort(secrets)
    secrets = secrets[order]
    held = np.searchsorted(secrets, secrets + 2 * width, side="right") - np.arange(len(secrets))
    top = np.argsort(-held, kind="stable")[:_KEPT]
    chance = max(len(secrets) * 2 * width / abs(run), 1e-6 * len(rows))
    gain = _gain(np.minimum(held[top], len(rows)).astype(np.float64), len(rows), chance)
    strongest = float(gain.max())
    if float(held[top].max()) < 3:
        return None
    points = secrets[top] + width
    order = np.argsort(found.secrets)
    weights = np.interp(points, found.secrets[order], found.weights[order])
    return Posterior.of(points, np.exp(gain - strongest) * weights), strongest - float(np.log(len(secrets)))
