"""Known true records: a row whose original value is known tells how far every row was moved."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.believed import originals
from statveil.auditing.evidence import agreed, slack_of, span
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["Records"]


class Records(Attacker):
    """Compares the released value of each known row with its true value."""

    name: ClassVar[str] = "records"
    doc: ClassVar[str] = "true values of single rows, compared with their released values"
    remedy: ClassVar[str] = (
        "One known row undoes any map that moves all rows alike. Leave out the rows whose values others know, "
        "or do not release the column row by row."
    )

    def applies(self, view: View) -> bool:
        return bool(view.knowledge.records) and view.mode.row_tells

    def attack(self, view: View) -> Posterior | None:
        found = inverted(view)
        if found is None:
            return None
        rows = [
            (value, float(view.column[row]))
            for row, value in view.knowledge.records
            if 0 <= row < len(view.column) and np.isfinite(view.column[row]) and np.isfinite(value)
        ]
        if not view.mode.line:
            weigh = _by_level if view.mode.of_model else _by_factor
            evidence = np.exp(sum((weigh(view, found, *row) for row in rows), np.zeros(len(found.secrets))))
            return found.posterior(evidence) or found.posterior()
        slack = slack_of(view.plan, view.column)
        spans = [span(found, value, released, slack) for value, released in rows]
        return agreed(view, found, [one for one in spans if one is not None]) or found.posterior()


def _by_level(view: View, found: Inversion, value: float, released: float) -> Array:
    """Log-likelihood of a known row after ``rank``: the original's quantile at the level that the release shows."""
    family = view.plan.problem.family
    column = view.column[np.isfinite(view.column)]
    low, high = float(np.mean(column < released)), float(np.mean(column <= released))
    shapes = originals(view)
    above = np.asarray(shapes.cdf(value, found.points), dtype=np.float64)
    below = np.asarray(shapes.cdf(value - 1.0, found.points), dtype=np.float64) if family.discrete else above
    level = 0.5 * (low + high)
    spread = np.sqrt(level * (1 - level) / len(column)) + 1 / len(column)
    off = np.maximum(np.maximum(below - high, low - above), 0.0)
    return np.asarray(-0.5 * (off / spread) ** 2, dtype=np.float64)


def _by_factor(view: View, found: Inversion, value: float, released: float) -> Array:
    """Log-likelihood of a known row after ``jitter`` or ``smooth``: both scale from the bound, give or take a cell."""
    known = view.plan.problem.known
    about = known.minimum if known.minimum is not None else known.maximum
    if about is None or value == about:
        return np.zeros(len(found.secrets))
    statistic = released_statistic(view)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        factor = (statistic - about) / (found.secrets - about)
    cell = (known.step or 0.0) * (1 + factor) + view.mode.blur * abs(released - about)
    off = np.abs(released - about - factor * (value - about))
    return np.nan_to_num(-0.5 * (off / np.maximum(cell, 1e-12 * abs(released))) ** 2, nan=-1e6)
