"""A bound that the original column reaches: where it lies after the release tells how far the rows were moved."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.evidence import on_comb, pulled_back, slack_of, span
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["Support"]

_GAPS = 8  # gaps between the outermost values that say how close a sample comes to its bound
_LEVELS = (np.arange(64) + 0.5) / 64


class Support(Attacker):
    """Puts the smallest or largest released value back to the known minimum or maximum."""

    name: ClassVar[str] = "support"
    doc: ClassVar[str] = "a known minimum or maximum, compared with the smallest or largest released value"
    remedy: ClassVar[str] = "Declare the bound in the plan (known minimum or maximum), so that the map keeps it."

    def applies(self, view: View) -> bool:
        known, kept = view.knowledge.structure, view.mode.fixed_point(view.plan.problem)
        moved = [bound for bound in (known.minimum, known.maximum) if bound is not None and bound != kept]
        return view.mode.line and bool(moved)

    def attack(self, view: View) -> Posterior | None:
        found, known = inverted(view), view.knowledge.structure
        if found is None:
            return None
        values = np.sort(view.column[np.isfinite(view.column)])
        sides = [
            _Side(view, found, bound, outermost, sign)
            for bound, outermost, sign in ((known.minimum, values, 1.0), (known.maximum, values[::-1], -1.0))
            if bound is not None
        ]
        telling = [side for side in sides if len(side.points)]
        # each side proposes candidates, the others say how well they fit
        points = [side.points for side in telling]
        shares = [
            side.shares * np.prod([other.fit(side.points) for other in telling if other is not side], axis=0)
            for side in telling
        ]
        if not telling:
            return found.posterior()
        return _inside(view, found, np.concatenate(points), np.concatenate(shares)) or found.posterior()


class _Side:
    """One bound: candidates for the secret with shares, and how well any secret fits.

    The distance of the outermost value from its bound is as large as the gaps between the outermost values. Given
    the total T of m gaps, its chance to exceed e is (1 + e / T)^-m. A bound that is said to be reached may be
    reached exactly: half of the belief lies there, all of it for a lattice and for several equal values.
    """

    def __init__(self, view: View, found: Inversion, bound: float, outermost: Array, sign: float) -> None:
        slack, end = slack_of(view.plan, view.column), float(outermost[0])
        near = np.abs(outermost[: _GAPS + 1] - end)
        exact = view.knowledge.structure.step is not None or bool(len(near) > 1 and near[1] <= slack)
        self.gaps = max(len(near) - 1, 1)
        self.total = max(float(near[-1]), slack)
        self.points, self.shares = np.empty(0), np.empty(0)
        hit = span(found, bound, end, slack)
        if hit is None:  # the map keeps this bound
            return
        self.points, self.shares = np.array([hit.low, hit.middle, hit.high]), np.array([0.25, 0.5, 0.25])
        order = np.argsort(found.secrets)
        assert found.factor is not None
        self._secrets, self._factor = found.secrets[order], found.factor[order]
        self._excess = sign * (pulled_back(found, end) - bound)[order]  # by how much the column would miss the bound
        self._slack, self.exact = slack, exact
        if not exact:
            missed = self.total * ((1 - _LEVELS) ** (-1 / self.gaps) - 1)
            spans = [span(found, bound, end - sign * distance, 0.0) for distance in missed]
            places = np.array([place.middle for place in spans if place is not None])
            self.points = np.concatenate([self.points, places])
            self.shares = np.concatenate([self.shares, np.full(len(places), 1 / max(len(places), 1))])

    def fit(self, secrets: Array) -> Array:
        """Relative chance of a column with these secrets to end where this one ends."""
        factor = np.abs(np.interp(secrets, self._secrets, self._factor))
        excess = np.interp(secrets, self._secrets, self._excess) * factor
        scale = max(self._slack if self.exact else self.total, np.finfo(float).tiny)  # a column of zeros
        with np.errstate(over="ignore"):
            near = (1 + np.maximum(excess, 0.0) / scale) ** -(self.gaps + 1.0)
        return np.where(excess < -2 * self._slack, 0.0, near)


def _inside(view: View, found: Inversion, points: Array, shares: Array) -> Posterior | None:
    """The candidates that the bin leaves open, weighted by the prior."""
    order = np.argsort(found.secrets)
    secrets, weights = found.secrets[order], found.weights[order]
    reach = 1e-6 * float(np.ptp(secrets))
    kept = (points >= secrets[0] - reach) & (points <= secrets[-1] + reach)
    places = np.clip(points[kept], secrets[0], secrets[-1])
    return Posterior.of(on_comb(view, found, places), shares[kept] * np.interp(places, secrets, weights))
