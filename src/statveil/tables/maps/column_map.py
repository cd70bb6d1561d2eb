"""What a map of the column is: a block in, a block out, the same for the same seed whatever the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator, Philox

from statveil.tables.blocks import Array

__all__ = ["ColumnMap", "stream"]


class ColumnMap(ABC):
    """Realises a plan on the rows. It is private: its numbers give the true statistic away."""

    whole: ClassVar[bool] = False
    """Whether whole numbers stay whole numbers, so that an integer column keeps its type."""

    @abstractmethod
    def block(self, values: Array, index: int) -> Array:
        """The released rows of block number ``index``; rows that are not finite come back as they are."""

    @abstractmethod
    def coefficients(self) -> dict[str, Any]:
        """What the private record keeps, as JSON values."""


def stream(seed: int, purpose: int, block: int, node: int = 0) -> Generator:
    """Random numbers of one block for one purpose, from the 128-bit secret seed; ``node`` divides a purpose further.

    Philox is counter-based: streams of different blocks never overlap, and no block needs the one before it. Nothing of
    a plan is in the address: the random numbers are the column's, and every plan for it meets the same ones.
    """
    counter = np.array([0, node, purpose, block], dtype=np.uint64)
    key = np.array([seed & 0xFFFFFFFFFFFFFFFF, (seed >> 64) & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    return Generator(Philox(key=key, counter=counter))
