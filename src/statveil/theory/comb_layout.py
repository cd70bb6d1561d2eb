"""How a line of parameters is cut into combs, and what the best window catches of it.

A comb is a set of points a spacing apart that share a release. No window shorter than the spacing holds two of
them, so of K teeth it catches one (docs/theory.md, combs). A line of any length is cut into blocks of K teeth, and
what does not fit into whole blocks decides how. Everything is measured along one coordinate of the line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numeric import Array, whole_parts
from statveil.rounding import REL_TOL, tolerant_floor

__all__ = ["STRETCH", "Layout", "cost", "knots", "layout", "longest_class", "mean_cost", "most_teeth", "packed"]


STRETCH = 1 + 1e-8
"""Least spacing of teeth over the length of a hit: a closed window must not hold two teeth."""

_MOST_KNOTS = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Blocks of each line; the first block starts where the line does, the rest lies at its end."""

    count: Array
    """Number of blocks."""
    block: Array
    """Length of each block."""
    spacing: Array
    """Spacing of the teeth; 0 where a block is one interval."""
    rest: Array
    """Length of what lies behind the last block."""
    toothed: NDArray[np.bool_]
    """Whether the rest is a comb too; else it is an interval."""


def most_teeth(extent: float, window: float) -> int:
    """Largest number of teeth, a window apart, whose first and last are no farther apart than the extent.

    >>> most_teeth(0.3, 0.1)
    4
    """
    return tolerant_floor(extent / window) + 1


def layout(length: ArrayLike, teeth: int, extent: float, window: float) -> Layout:
    """The best blocks of lines of these lengths, by the four cases of docs/theory.md, combs.

    Parameters
    ----------
    length : array
        Lengths of the lines.
    teeth : int
        Largest number K of teeth that share a release. With K = 1 every point has a release of its own.
    extent : float
        Largest distance E between two points that share a release; (K - 1) windows must fit into it.
    window : float
        Least spacing of teeth: the length of a hit, stretched by :data:`STRETCH`.
    """
    _check(teeth, extent, window)
    line = np.maximum(np.asarray(length, dtype=np.float64), 0.0)
    if teeth == 1:
        none = np.zeros(line.shape)
        return Layout(count=np.ones(line.shape), block=line, spacing=line, rest=none, toothed=none > 0)
    widest = extent / (teeth - 1)
    n = whole_parts(line / (teeth * window))
    even = (n >= 1) & (line <= n * teeth * widest * (1 + REL_TOL))
    ragged = (n >= 1) & ~even & (line - n * extent < (n + 1) * window)
    count = np.where(even | ragged, n, n + 1)
    block = np.where(ragged, teeth * widest, line / count)
    interval = block <= extent * (1 + REL_TOL)
    spacing = np.where(even, block / teeth, np.where(ragged, widest, np.where(interval, 0.0, window)))
    rest = np.where(ragged, line - n * teeth * widest, 0.0)
    return Layout(count=count, block=block, spacing=spacing, rest=rest, toothed=np.zeros(line.shape, dtype=bool))


def packed(length: ArrayLike, teeth: int, window: float) -> Layout:
    """Blocks of K teeth, a window apart, as many as fit from the start on: the best where the belief only falls.

    What is left is an interval if a release may reach over it, and a comb of fewer teeth otherwise.
    """
    line = np.maximum(np.asarray(length, dtype=np.float64), 0.0)
    block = np.full(line.shape, teeth * window)
    count = whole_parts(line / block)
    rest = np.maximum(line - count * block, 0.0)
    rest = np.where(rest > REL_TOL * window, rest, 0.0)
    return Layout(
        count=count,
        block=block,
        spacing=np.full(line.shape, window),
        rest=rest,
        toothed=rest > (teeth - 1) * window * (1 + REL_TOL),
    )


def cost(length: ArrayLike, teeth: int, extent: float, window: float, attacker: float) -> Array:
    """How much of each line the best windows of length ``attacker`` catch, one window a release.

    ``attacker`` is the length of a hit for an attacker of any tolerance; ``window`` is the layout's. A block of b
    with the spacing w has classes of floor(b/w) and of one more teeth. A closed window holds q neighbouring ones,
    so it catches min(b, q w), as it would of an interval by a window of q spacings.
    """
    line = np.maximum(np.asarray(length, dtype=np.float64), 0.0)
    found = layout(line, teeth, extent, window)
    comb = found.spacing > 0
    with np.errstate(over="ignore"):
        held = whole_parts(attacker / np.where(comb, found.spacing, 1.0)) + 1  # rounded up: against ourselves
        caught = np.where(comb, held * found.spacing, attacker)
    blocks = found.count * np.minimum(found.block, caught)
    return np.asarray(np.minimum(blocks + np.minimum(found.rest, attacker), line))


def knots(low: float, high: float, teeth: int, extent: float, window: float, attacker: float) -> Array:
    """Lengths from ``low`` to ``high``, both included, between which :func:`cost` is linear."""
    _check(teeth, extent, window)
    if teeth == 1 or high <= low:
        return np.array([low, high])
    widest, slack = extent / (teeth - 1), 1 + REL_TOL
    first = max(0, int(low / (teeth * window)) - 1)
    last = int(high / (teeth * window)) + 1
    # where one more tooth of an even block falls into the window: only spacings from the least to the widest count
    least_held = max(1, int(min(attacker / widest, teeth)))
    most_held = int(min(attacker / window * slack, teeth - 1))
    count = (last - first + 1) * (6 + max(0, most_held - least_held + 1))
    if count > _MOST_KNOTS:
        raise ProblemError(
            f"the risk of this comb has {count:,} pieces, more than {_MOST_KNOTS:,}. "
            "Use a larger tolerance, a larger distortion or a narrower prior."
        )
    n = np.arange(first, last + 1, dtype=np.float64)
    held = np.arange(least_held, most_held + 1, dtype=np.float64)
    found = [
        n * (teeth * window) / slack,  # one more block fits
        n * (teeth * widest) * slack,  # even blocks are at their widest
        n * extent + (n + 1) * window,  # the rest is as long as a window
        (n + 1) * extent * slack,  # equal blocks are intervals up to here
        (n + 1) * attacker,  # a window catches a whole interval
        n * (teeth * widest) + attacker,  # a window catches the whole rest
        np.multiply.outer(n * (teeth * attacker * slack), 1 / held).ravel(),
    ]
    at = np.concatenate(found)
    return np.concatenate([[low], np.unique(at[(at > low) & (at < high)]), [high]])


def mean_cost(low: float, high: float, teeth: int, extent: float, window: float, attacker: float) -> float:
    """Mean of :func:`cost` over lengths that are equally likely from ``low`` to ``high``; exact."""
    if high <= low:
        return float(cost(low, teeth, extent, window, attacker))
    at = knots(low, high, teeth, extent, window, attacker)
    width = np.diff(at)
    # the midpoint rule is exact on linear pieces, also where the cost jumps at a knot
    return float(np.sum(width * cost(at[:-1] + 0.5 * width, teeth, extent, window, attacker))) / (high - low)


def longest_class(low: float, high: float, teeth: int, extent: float, window: float) -> float:
    """Largest distance between two points that share a release, over lines from ``low`` to ``high`` long."""
    at = knots(low, high, teeth, extent, window, window)
    left, width = at[:-1], np.diff(at)

    def spread(length: Array) -> Array:
        found = layout(length, teeth, extent, window)
        comb = found.spacing > 0
        step = np.where(comb, found.spacing, 1.0)
        inside = np.where(comb, (np.ceil(found.block / step * (1 - 1e-12)) - 1) * step, found.block)
        return np.maximum(inside, found.rest)

    # linear between knots, and largest at the ends of a piece as seen from inside; never over the extent
    middle, later = spread(left + 0.5 * width), spread(left + 0.75 * width)
    return min(float(np.max(middle + 2 * np.abs(later - middle))), extent * (1 + REL_TOL))


def _check(teeth: int, extent: float, window: float) -> None:
    if teeth < 1 or not window > 0 or not extent >= (teeth - 1) * window * (1 - REL_TOL):
        raise ProblemError(
            f"{teeth} teeth, {window:g} apart, do not fit into the extent {extent:g}. "
            "Use fewer teeth, a smaller spacing or a larger extent."
        )
