"""Random numbers that belong to a value: a secret function of its bits, the same for every copy in any block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["uniform_of"]

_Words = NDArray[np.uint64]
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_LENGTH = np.uint64(8 << 56)  # the message is 8 bytes long


def uniform_of(values: Array, seed: int) -> Array:
    """A number in [0, 1) for each value, drawn by the 128-bit secret seed: equal values have equal numbers.

    SipHash-2-4 of the value's 64 bits, a keyed hash made for exactly this: without the key its results cannot be told
    from random ones, however many are seen.
    """
    bits = (values + 0.0).view(np.uint64)  # adding zero makes a negative zero a plain one
    low, high = seed & 0xFFFFFFFFFFFFFFFF, (seed >> 64) & 0xFFFFFFFFFFFFFFFF
    keys = (low, high, low, high)
    v0, v1, v2, v3 = (np.full(len(bits), start ^ key, dtype=np.uint64) for start, key in zip(_START, keys, strict=True))
    for word in (bits, _LENGTH):
        v3 = v3 ^ word
        v0, v1, v2, v3 = _round(*_round(v0, v1, v2, v3))
        v0 = v0 ^ word
    v2 = v2 ^ np.uint64(0xFF)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return ((v0 ^ v1 ^ v2 ^ v3) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _round(v0: _Words, v1: _Words, v2: _Words, v3: _Words) -> tuple[_Words, _Words, _Words, _Words]:
    v0 = v0 + v1
    v1 = _turned(v1, 13) ^ v0
    v0 = _turned(v0, 32)
    v2 = v2 + v3
    v3 = _turned(v3, 16) ^ v2
    v0 = v0 + v3
    v3 = _turned(v3, 21) ^ v0
    v2 = v2 + v1
    v1 = _turned(v1, 17) ^ v2
    v2 = _turned(v2, 32)
    return v0, v1, v2, v3


def _turned(words: _Words, bits: int) -> _Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
