"""Integrals of a distribution function that is known point by point only, wherever its mass lies.

A rule with fixed points on a wide support steps over the mass. Here the median is found first, panels grow outwards
from it, and a panel is halved until two rules (7 Gauss and 15 Kronrod points) agree on it. A distribution function
only rises, so what it gains from end to end of a panel also tells whether the points between have seen that gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statveil.numeric import Array, Index

__all__ = ["Integral", "Panels", "integrated", "outwards"]


_FINE = 1e-12
"""A panel is fine when its error is this small a part of the whole integral."""
_ROUNDING = 2e-15
_HALVINGS = 60
_PANELS_EACH, _PANELS_MORE = 80, 4_000
"""Panels in one round, for each integral and on top, before the function is given up as too rough."""

# Gauss-Kronrod 7-15 (QUADPACK): nodes in [-1, 1], Kronrod weights, Gauss weights (0 at the added nodes)
_HALF = np.array(
    [
        [0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0],
        [0.949107912342758524526189684047851, 0.063092092629978553290700663189204, 0.129484966168869693270611432679082],
        [0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0],
        [0.741531185599394439863864773280788, 0.140653259715525918745189590510238, 0.279705391489276667901467771423780],
        [0.586087235467691130294144691693307, 0.169004726639267902826583426598550, 0.0],
        [0.405845151377397166906606412076961, 0.190350578064785409913256402421014, 0.381830050505118944950369775488975],
        [0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0],
    ]
)
_CENTRE = np.array([[0.0, 0.209482141084727828012999174891714, 0.417959183673469387755102040816327]])
_RULE = np.concatenate([_HALF * [-1.0, 1.0, 1.0], _CENTRE, _HALF[::-1]])
_NODES = np.concatenate([[-1.0], _RULE[:, 0], [1.0]])
_KRONROD, _GAUSS = (np.concatenate([[0.0], _RULE[:, k], [0.0]]) for k in (1, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Panels:
    """Ranges to integrate over, each for one of several integrals."""

    owner: Index
    low: Array
    high: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Integral:
    """Integrals (one row each), bounds of what their rules disagree by, and the edges of all panels."""

    value: Array
    error: Array
    edges: Array


def outwards(centre: Array, scale: Array, low: float, high: float) -> Panels:
    """Panels from each centre to both ends, eight times as long each time, the first of them ``scale`` long."""
    width = high - low
    first = np.clip(scale, 1e-14 * width, 0.25 * width)
    count = int(np.ceil(np.log(width / float(first.min())) / np.log(8.0))) + 2
    reach = np.concatenate([np.zeros((len(centre), 1)), first[:, None] * 8.0 ** np.arange(count)], axis=1)
    parts = []
    for ends in (np.minimum(centre[:, None] + reach, high), np.maximum(centre[:, None] - reach, low)):
        a, b = np.minimum(ends[:, :-1], ends[:, 1:]), np.maximum(ends[:, :-1], ends[:, 1:])
        owner = np.broadcast_to(np.arange(len(centre))[:, None], a.shape)
        parts.append((owner[b > a], a[b > a], b[b > a]))
    return Panels(
        owner=np.concatenate([part[0] for part in parts]),
        low=np.concatenate([part[1] for part in parts]),
        high=np.concatenate([part[2] for part in parts]),
    )


def integrated(of: Callable[[Array, Index], tuple[Array, Array, Array]], panels: Panels, count: int) -> Integral:
    """Integrals of shares times weights.

    ``of`` gets points, one row for each panel, and the owner of each row. It gives the share at each point, the
    weights (last axis: one integral each), and a distribution function, which tells where mass lies.
    """
    owner, low, high = panels.owner, panels.low, panels.high
    edges = [low, high]
    value = error = np.zeros((count, 1))
    for halving in range(_HALVINGS + 1):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        points = middle[:, None] + half[:, None] * _NODES
        points[:, 0], points[:, -1] = low, high
        share, weight, below = of(points, owner)
        integrand = share[..., None] * weight * half[:, None, None]
        fine = np.einsum("pnc,n->pc", integrand, _KRONROD)
        gap = np.abs(fine - np.einsum("pnc,n->pc", integrand, _GAUSS))
        gained = below[:, -1] - below[:, 0]
        unseen = gained - (below[:, -2] - below[:, 1]) > 0.5 * gained  # the mass lies beside the outermost points
        gap = np.where(unseen[:, None], np.maximum(gap, 0.01 * integrand.max(axis=1)), gap)
        size = value + _summed(owner, fine, count)
        noise = _ROUNDING * half[:, None] * weight.max(axis=1)
        rough = np.any(gap > _FINE * size[owner] + noise, axis=1)
        if halving == _HALVINGS or rough.sum() > _PANELS_EACH * count + _PANELS_MORE:
            rough[:] = False  # given up: the error says so
        value = value + _summed(owner[~rough], fine[~rough], count)
        error = error + _summed(owner[~rough], gap[~rough], count)
        if not rough.any():
            break
        ends = np.stack([low[rough], middle[rough], high[rough]])
        owner, low, high = np.repeat(owner[rough], 2), ends[:2].T.ravel(), ends[1:].T.ravel()
        edges.append(middle[rough])
    return Integral(value=value, error=error, edges=np.unique(np.concatenate(edges)))


def _summed(owner: Index, parts: Array, count: int) -> Array:
    return np.stack([np.bincount(owner, weights=column, minlength=count) for column in parts.T], axis=1)
