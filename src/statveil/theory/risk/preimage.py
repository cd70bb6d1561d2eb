"""Cost of one bin: the largest mass that one guess catches, searched for.

A guess y + eps wins on the whole pre-image of [y, y + 2 eps] inside the bin. Where the secret turns inside
the bin that pre-image may be several intervals; the paper's contiguous window misses all but one of them.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from statveil.numeric import Array, zoomed
from statveil.problem.axis import Axis
from statveil.theory.curve import Curve

__all__ = ["bin_cost", "caught", "contiguous_cost"]


_SAMPLES = 33


def caught(curve: Curve, axis: Axis, low: float, high: float, y: Array, window: float) -> Array:
    """Prior mass of the parameters in [low, high] whose secret lies in [y, y + window]."""
    total = np.zeros(np.shape(y))
    for piece in curve.pieces:
        a, b = max(low, piece.low), min(high, piece.high)
        if a >= b:
            continue
        ends = np.stack([piece.inverse(curve.value, y), piece.inverse(curve.value, y + window)])
        ends = np.clip(ends, a, b)
        total += np.abs(axis.cdf(ends[1]) - axis.cdf(ends[0]))
    return total


def bin_cost(curve: Curve, axis: Axis, low: float, high: float, window: float) -> float:
    """max over guesses of :func:`caught`.

    The mass is smooth in the guess except where an end of its window meets the secret at an end of the bin or
    at a turning point. Between these it is sampled, and the best sample is improved by golden-section search.
    """
    marks = np.array([low, *(t for t in curve.turns if low < t < high), high])
    heights = np.asarray(curve.value(marks), dtype=np.float64)
    if heights.max() - heights.min() <= window:
        return float(axis.cdf(high) - axis.cdf(low))
    kinks = np.unique(np.concatenate([heights, heights - window]))
    kinks = kinks[(kinks >= heights.min()) & (kinks <= heights.max() - window)]
    kinks = np.unique(np.concatenate([kinks, [heights.min(), heights.max() - window]]))
    share = np.linspace(0.0, 1.0, _SAMPLES)
    y = np.unique((kinks[:-1, None] + np.diff(kinks)[:, None] * share).ravel()) if len(kinks) > 1 else kinks
    marks = axis.landmarks[(axis.landmarks > low) & (axis.landmarks < high)]
    near = np.asarray(curve.value(marks), dtype=np.float64)
    y = np.unique(np.concatenate([y, near, near - 0.5 * window, near - window]))  # no narrow peak is jumped over
    mass = caught(curve, axis, low, high, y, window)
    best = int(mass.argmax())
    top = float(mass[best])
    a, b = float(y[max(best - 1, 0)]), float(y[min(best + 1, len(y) - 1)])
    return max(top, zoomed(lambda guess: caught(curve, axis, low, high, guess, window), a, b, rounds=9)[2])


def contiguous_cost(curve: Curve, axis: Axis, low: float, high: float, window: float) -> float:
    """The paper's P: the best single interval on which the secret moves by at most the window.

    Wrong for secrets that turn inside the bin; kept for comparison.
    """
    turns = [t for t in curve.turns if low < t < high]
    t = np.unique(np.concatenate([np.linspace(low, high, 20_001), turns]))
    g, mass = np.asarray(curve.value(t), dtype=np.float64), axis.cdf(t)
    best, start = 0.0, 0
    lows: deque[int] = deque()  # running minimum and maximum of the secret inside the window
    highs: deque[int] = deque()
    for stop in range(len(t)):
        while lows and g[lows[-1]] >= g[stop]:
            lows.pop()
        while highs and g[highs[-1]] <= g[stop]:
            highs.pop()
        lows.append(stop)
        highs.append(stop)
        while g[highs[0]] - g[lows[0]] > window * (1 + 1e-12):
            start += 1
            if lows[0] < start:
                lows.popleft()
            if highs[0] < start:
                highs.popleft()
        best = max(best, float(mass[stop] - mass[start]))
    return best
