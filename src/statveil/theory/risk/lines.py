"""Risk by quadrature over lines: for any density, and for lines that are parallel or meet in a point.

The parameters are swept by lines. On each line a bin leaves one piece open; the attacker takes the best
window of the posterior on that piece. The risk is the integral over the lines of the sum over the pieces.
Panels of lines are halved until two rules of different order agree; what they still differ by, panel by
panel and without a sign, is added, so the risk is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statveil.numeric import Array

__all__ = ["Caught", "Sweep", "caught_share"]


_ENOUGH = 2e-6
"""Error of the integral over the lines, relative to the mass, at which halving ends."""
_QUICK = 24  # panels for comparing candidates
_UNEVEN = 0.5 * (math.sqrt(5) - 1)
_KRONROD = np.array(
    [0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
     0.741531185599394439863864773280788, 0.586087235467691130294144691693, 0.405845151377397166906606412076961,
     0.207784955007898467600689403773245, 0.0]
)  # fmt: skip
_WEIGHTS = np.array(
    [0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
     0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
     0.204432940075298892414161999234649, 0.209482141084727828012999174891714]
)  # fmt: skip
_GAUSS = np.array(
    [0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975,
     0.417959183673469387755102040816327]
)  # fmt: skip
_AT = np.concatenate([-_KRONROD, _KRONROD[-2::-1]])
_FINE = np.concatenate([_WEIGHTS, _WEIGHTS[-2::-1]])
_COARSE = np.zeros(15)
_COARSE[1::2] = np.concatenate([_GAUSS, _GAUSS[-2::-1]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A family of lines: where they break, where each enters and leaves, and the density along them."""

    knots: Array
    """Transverse coordinates between which everything is smooth; the first and the last bound the lines."""
    landmarks: Array
    """Transverse coordinates with equal mass between them, and where peaks begin and end: none falls between panels."""
    chord: Callable[[Array], tuple[Array, Array]]
    """Where each line enters and leaves the support, in the binned coordinate."""
    weight: Callable[[Array, Array], Array]
    """Density times Jacobian at (transverse, binned) coordinates, up to a constant."""
    spread: Callable[[Array, Array], Array] | None = None
    """Never falls along a line, and rises where the density may change fast; ``None``: the density is even."""
    below: Callable[[Array, Array], Array] | None = None
    """Mass of a line up to a point, from anywhere on it, where it is known without quadrature."""
    turns: Callable[[Array], Array] | None = None
    """For each line, as a row, where along it the density bends or turns; ``None``: nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """What the best windows catch of each line or piece, rounded up, and the mass there."""

    hit: Array
    mass: Array


def caught_share(
    sweep: Sweep,
    on_lines: Callable[[Array], Caught],
    *,
    mass: float | None = None,
    quick: bool = False,
    most: int = 40_000,
) -> float:
    """P(hit): what ``on_lines`` catches of all lines, over the whole mass, rounded up by the error of both.

    ``mass`` is the whole of the belief, where known: what the lines miss of it counts as hit. ``most`` is the largest
    number of lines; ``quick`` is for comparing candidates, never for a reported risk.
    """
    if quick:
        at, weights = _few(sweep)
        found = on_lines(at)
        whole = math.fsum(weights * found.mass)
        return min(1.0, math.fsum(weights * found.hit) / whole) if whole > 0 else 1.0
    hit, whole, error = _halved(sweep, on_lines, most)
    if mass is not None:
        return min(1.0, (hit + error + abs(mass - whole)) / mass)
    return min(1.0, (hit + error) / (whole - error)) if whole > error else 1.0


def _few(sweep: Sweep) -> tuple[Array, Array]:
    points = _points(sweep, _QUICK)
    at, weight = np.polynomial.legendre.leggauss(3)
    middle, half = 0.5 * (points[1:] + points[:-1]), 0.5 * np.diff(points)
    return (middle[:, None] + half[:, None] * at).ravel(), (half[:, None] * weight).ravel()


def _points(sweep: Sweep, most: int) -> Array:
    """Ends of the first panels: the landmarks and, unless there are more than twice ``most``, the knots."""
    low, high = float(sweep.knots.min()), float(sweep.knots.max())
    marks, inner = sweep.landmarks, sweep.knots
    if most > _QUICK:  # a reported risk uses every landmark, so that no peak falls between two panels
        inner = _picked(np.unique(inner), 2 * most)
    else:  # candidates are compared at the same few lines, so that plans stay what they were
        marks = marks[:: max(1, len(marks) // most)]
        inner = inner if len(inner) <= 2 * most else inner[:: len(inner) // most]
    points = np.unique(np.concatenate([[low], marks, inner, [high]]))
    points = points[(points >= low) & (points <= high)]
    return np.concatenate([points[:-1][np.diff(points) > 1e-13 * (high - low)], [high]])


def _picked(knots: Array, most: int) -> Array:
    """All knots or, of too many, some at uneven distances: every tenth of ten kinds would always be the same kind."""
    if len(knots) <= most:
        return knots
    number = np.arange(most)
    at = ((number + np.mod(number * _UNEVEN, 1.0)) * (len(knots) / most)).astype(np.int64)
    return np.asarray(knots[at])


def _halved(sweep: Sweep, on_lines: Callable[[Array], Caught], most: int) -> tuple[float, float, float]:
    """Integrals of what is caught and of the mass, and the error of both."""
    # a jump close to the end of a panel lies beyond the nodes of both rules: every knot that can be has to be an end
    points = _points(sweep, max(64, most // 60))
    start, stop = points[:-1], points[1:]
    hits: list[Array] = []
    masses: list[Array] = []
    errors: list[Array] = []
    used = 0
    while len(start):
        half = 0.5 * (stop - start)
        found = on_lines((0.5 * (start + stop)[:, None] + half[:, None] * _AT).ravel())
        used += 15 * len(start)
        hit, mass = found.hit.reshape(-1, 15), found.mass.reshape(-1, 15)
        caught, held = half * (hit @ _FINE), half * (mass @ _FINE)
        error = half * (np.abs(hit @ (_FINE - _COARSE)) + np.abs(mass @ (_FINE - _COARSE)))
        whole = math.fsum(held) + sum(math.fsum(part) for part in masses)
        # an error small beside the panel's share of all panels, or of all mass, is small enough
        share = np.maximum(held / max(whole, 1e-300), 1 / max(256, len(start)))
        done = (error <= _ENOUGH * whole * share) | (stop - start <= 1e-12 * (points[-1] - points[0]))
        if used + 30 * int(np.sum(~done)) > most:
            done[:] = True
        for kept, part in ((hits, caught), (masses, held), (errors, error)):
            kept.append(part[done])
        middle = 0.5 * (start + stop)[~done]
        start, stop = np.concatenate([start[~done], middle]), np.concatenate([middle, stop[~done]])
    return tuple(math.fsum(np.concatenate(parts)) for parts in (hits, masses, errors))  # type: ignore[return-value]
