"""E(z - Z)^+ and E(Z - z)^+ of a distribution that has no closed form: Gauss rules between some hundred quantiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statveil.numeric import Array

__all__ = ["Tail", "tail_of"]

_POINTS = 16
_LEVELS = np.concatenate([np.linspace(0.5, 0.01, 99), np.geomspace(0.01, 1e-12, 101)[1:], np.logspace(-13, -300, 288)])
"""Shares beyond the edges of the pieces, from the median out; far levels cost nothing where a tail ends earlier."""
_ORDINARY = 1e-13
"""A share that every distribution should know the quantile of."""
_LOST = 1e-19
"""Where the rest of a tail, against the spread, is lost in rounding."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Tail:
    """The integral of a tail's share from a point outwards, for points from the median out.

    In every piece the share is a polynomial of degree 15 (Gauss points), whose integral is one too.
    """

    edges: Array
    """Distances from the median, from 0 out."""
    rest: Array
    """The integral beyond each edge."""
    pieces: Array
    """By piece: Legendre coefficients of the integral from a point of the piece to its outer edge."""
    second: float
    """The integral of twice the distance times the share: this tail's part of E(Z - median)^2."""

    def beyond(self, distance: Array) -> Array:
        """The integral from this distance outwards."""
        at = np.clip(np.ravel(distance), 0.0, self.edges[-1])
        piece = np.clip(np.searchsorted(self.edges, at, side="right") - 1, 0, len(self.pieces) - 1)
        low, high = self.edges[piece], self.edges[piece + 1]
        place = (2 * at - low - high) / (high - low)
        vander = np.polynomial.legendre.legvander(place, _POINTS)
        inside = np.sum(vander * self.pieces[piece], axis=-1)
        return np.asarray(np.maximum(self.rest[piece + 1] + inside, 0.0)).reshape(np.shape(distance))


def _quantiles(quantile: Callable[[Array], Array]) -> Array:
    """Quantiles at all levels but the median; none far out where SciPy gives up there."""
    levels = _LEVELS[1:]
    try:
        return quantile(levels)
    except (ValueError, ArithmeticError, RuntimeError):
        near = levels >= _ORDINARY
        return np.concatenate([quantile(levels[near]), np.full(int((~near).sum()), np.nan)])


def tail_of(quantile: Callable[[Array], Array], share: Callable[[Array], Array], spread: float) -> Tail | None:
    """A tail from its shares: ``quantile`` gives the distance from the median beyond which a share lies.

    ``None`` where the quantiles are no increasing numbers.
    """
    edges = np.concatenate([[0.0], _quantiles(quantile)])
    good = np.isfinite(edges) & (edges >= np.maximum.accumulate(np.where(np.isfinite(edges), edges, 0.0)))
    lost = np.concatenate([_LEVELS * np.where(np.isfinite(edges), edges, 0.0) < _LOST * spread, [True]])
    lost[:120] = False  # never inside the body
    edges = np.unique(edges[: int(np.argmax(lost))][good[: int(np.argmax(lost))]])
    if len(edges) < 2:
        return None
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = 0.5 * np.diff(edges)[:, None]
    points = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes
    shares = share(points)
    if not np.all(np.isfinite(shares)):
        return None
    # Legendre coefficients of the share, from its values at the Gauss points, and of its integral to the outer edge
    orders = np.arange(_POINTS)
    project = (np.polynomial.legendre.legvander(nodes, _POINTS - 1) * weights[:, None]) * (orders + 0.5)
    integral = np.polynomial.legendre.legint((shares @ project).T, lbnd=1, axis=0).T
    pieces = -half * integral
    whole = half[:, 0] * (shares @ weights)
    rest = np.concatenate([np.cumsum(whole[::-1])[::-1], [0.0]])
    second = float(np.sum(2 * half[:, 0] * ((shares * points) @ weights)))
    return Tail(edges=edges, rest=rest, pieces=pieces, second=second)
