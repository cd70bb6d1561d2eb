"""Flags and labels that were kept: where they change, the original passes a number that everyone knows."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.believed import originals
from statveil.auditing.evidence import span
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.relations import Threshold
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["Thresholds"]


class Thresholds(Attacker):
    """Compares where a label changes in the release with the number at which it is known to change."""

    name: ClassVar[str] = "thresholds"
    doc: ClassVar[str] = "a flag or label that changes where the hidden column passes a known number"
    remedy: ClassVar[str] = "Leave out the flag or label, or work it out anew from the released column."

    def applies(self, view: View) -> bool:
        return not view.mode.categories and bool(view.knowledge.thresholds)

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        gain = np.zeros(len(found.secrets))
        for rule in view.knowledge.thresholds:
            labels = view.groups.get(rule.column, view.others.get(rule.column))
            if labels is not None:
                gain = gain + self._gain(view, found, labels, rule)
        return found.posterior(np.exp(gain - gain.max())) or found.posterior()

    def _gain(self, view: View, found: Inversion, labels: Array, rule: Threshold) -> Array:
        """Log likelihood of each candidate."""
        finite = np.isfinite(view.column)
        # labels of other thresholds of the same column lie further down or up
        middle = [
            float(np.median(view.column[finite & (labels == side)]))
            for side in (rule.lower, rule.upper)
            if np.any(finite & (labels == side))
        ]
        if len(middle) < 2:
            return np.zeros(len(found.secrets))
        lower, upper = (view.column[finite & (labels == side)] for side in (rule.lower, rule.upper))
        if view.mode.line:
            low, high = _border(lower, upper)
            spans = [span(found, rule.value, end, 0.0) for end in (low, high)]
            if spans[0] is None or spans[1] is None:
                return np.zeros(len(found.secrets))
            ends = sorted((spans[0].middle, spans[1].middle))
            # an error beside the border moves it by a row or two
            slack = max(float(np.ptp(found.secrets)) / len(found.secrets), 2 * (ends[1] - ends[0]), 1e-9)
            off = np.maximum(np.maximum(ends[0] - found.secrets, found.secrets - ends[1]), 0.0)
            return -0.5 * (off / slack) ** 2
        if view.mode.of_model or view.mode.of_family:
            return self._by_share(view, found, labels, rule)
        known = view.plan.problem.known
        about = known.minimum if known.minimum is not None else known.maximum
        if about is None:
            return np.zeros(len(found.secrets))
        split = 0.5 * (float(np.quantile(lower, 0.98)) + float(np.quantile(upper, 0.02)))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            factor = (released_statistic(view) - about) / (found.secrets - about)
        step = known.step or 0.0
        gap = abs(float(np.quantile(upper, 0.02)) - float(np.quantile(lower, 0.98)))
        cell = step * (1 + factor) + gap + 1e-9 * abs(split)
        return np.nan_to_num(-0.5 * ((about + factor * (rule.value - about) - split) / cell) ** 2, nan=-1e6)

    def _by_share(self, view: View, found: Inversion, labels: Array, rule: Threshold) -> Array:
        """The share of rows below the number is that of the original."""
        family, finite = view.plan.problem.family, np.isfinite(view.column) & np.isfinite(labels)
        names, codes = np.unique(labels[finite], return_inverse=True)
        middles = np.array([float(np.median(view.column[finite][codes == code])) for code in range(len(names))])
        below = np.isin(labels[finite], names[middles <= middles[names == rule.lower][0]])
        share, rows = float(np.mean(below)), int(finite.sum())
        # counts below the number: the number itself belongs to the upper side
        at = np.ceil(rule.value) - 1 if family.discrete else rule.value
        expected = np.asarray(originals(view).cdf(at, found.points), dtype=np.float64)
        spread = np.sqrt(np.maximum(share * (1 - share), 1 / rows) / rows)
        return np.asarray(-0.5 * ((expected - share) / spread) ** 2, dtype=np.float64)


def _border(lower: Array, upper: Array) -> tuple[float, float]:
    """The neighbours between which the fewest rows stand on the wrong side: some labels are errors."""
    values = np.concatenate((lower, upper))
    side = np.concatenate((np.ones(len(lower)), -np.ones(len(upper))))
    order = np.argsort(values, kind="stable")
    right = np.cumsum(side[order])
    cut = int(np.argmax(right[:-1])) if len(right) > 1 else 0
    ranked = values[order]
    return float(ranked[cut]), float(ranked[min(cut + 1, len(ranked) - 1)])
