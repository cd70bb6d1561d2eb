"""How a comb cuts lines into blocks, by their length, written down anew; and the lengths at which anything changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SAME", "comb_blocks", "packed_blocks", "turning_lengths"]

Array = NDArray[np.float64]
Json = Mapping[str, Any]

SAME = 1e-9
"""Lengths as close as this, as a share, are the same."""


def comb_blocks(length: Array, *, window: float, teeth: int, extent: float) -> tuple[Array, Array, Array, Array]:
    """Number and size of the equal blocks of a line, their spacing (0: an interval), and the rest (an interval)."""
    # lines as long as an extent, or as whole blocks, up to a rounding error: as long as that
    n = np.floor(length / (teeth * window) * (1 + SAME))
    count, size, spacing, rest = np.ones_like(length), length.copy(), np.zeros_like(length), np.zeros_like(length)
    one = (n == 0) & (length > extent * (1 + SAME))
    spacing[one] = window
    many = n > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = many & (length <= n * teeth * extent / (teeth - 1) * (1 + SAME))
        spare = many & ~whole & (length - n * extent < (n + 1) * window)
        more = many & ~whole & ~spare
        count = np.where(whole | spare, n, np.where(more, n + 1, count))
        spacing = np.where(whole, length / (n * teeth), np.where(spare, extent / (teeth - 1), spacing))
        equal = np.where(more, length / (n + 1), size)
        size = np.where(whole, length / n, np.where(spare, teeth * extent / (teeth - 1), equal))
        rest = np.where(spare, length - n * size, rest)
        spacing = np.where(more, np.where(size <= extent * (1 + SAME), 0.0, window), spacing)
    return count, size, spacing, rest


def packed_blocks(length: Array, *, window: float, teeth: int) -> tuple[Array, Array, Array, Array]:
    """The same for blocks of so many windows, as many as fit from the start of a line on."""
    size = np.full(length.shape, teeth * window)
    count = np.floor(length / size * (1 + SAME))
    rest = np.maximum(length - count * size, 0.0)
    return count, size, np.full(length.shape, window), np.where(rest > SAME * window, rest, 0.0)


def turning_lengths(mechanism: Json, n: NDArray[np.int64], window: float) -> Array:
    """Lengths of lines where blocks change, by their number ``n``, or where a window catches something else of them.

    A window is the attacker's; under a range of tolerances it is not the one that the teeth were laid for. Then what is
    caught jumps where intervals become combs, a hair behind other bends: no rule between those would ever see it.
    """
    c, teeth, extent = float(mechanism["window"]), int(mechanism["teeth"]), float(mechanism["extent"])
    widest = teeth * extent / (teeth - 1)
    held = np.arange(max(1, math.floor(window / extent * (teeth - 1))), min(teeth, math.ceil(window / c)) + 1)
    least = math.floor(window / c) + 1  # teeth, as close as they may be, that a window holds
    found = [
        n * teeth * c,  # one more block fits
        n * widest,  # even blocks are at their widest, then a rest appears
        n * extent + (n + 1) * c,  # the rest becomes a block
        n * extent,  # blocks are intervals up to here
        n * window,  # a window catches all of an interval
        n * least * c,  # or all of a comb with the least spacing
        n * widest + window,  # or all of the rest
        np.multiply.outer(n * teeth * window, 1 / held).ravel(),  # one tooth less of even blocks falls into it
        np.array([c, extent, extent + c]),
    ]
    return np.concatenate(found)
