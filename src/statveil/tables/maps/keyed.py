"""Random numbers that belong to a value: a secret function of its bits, the same for every copy in any block."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["normal_of", "uniform_of"]

_Words = NDArray[np.uint64]
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_LENGTH = np.uint64(8 << 56)  # the message is 8 bytes long
_STRIPE = 2**14  # values at once: what stays in the cache
_BYTES, _LANES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)
_FOLDS = (32, 29, 32)
_HALF = np.uint64(2**32 - 1)
_UNITS, _TOPS = np.uint64(0x4330000000000000), np.uint64(0x4530000000000000)  # the floats 2^52 and 2^84
_MIDDLE, _STD = 1020.5, 209.0156  # of the sum of eight bytes and a fraction: 8 x 127.5 + 0.5, sqrt(8 (256^2 - 1) / 12)


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


def normal_of(values: Array, seed: int) -> Array:
    """A nearly normal number for each value, of mean 0 and standard deviation 1, never beyond 5.

    The value's bits are mixed with 256 bits that the secret seed gives, in three rounds of multiplying and folding:
    equal values have equal numbers. It is no cipher, as :func:`uniform_of` nearly is, which takes ten times as long;
    here nobody sees the numbers themselves, only that no lattice is left. The sum of eight bytes is nearly normal, and
    a fraction fills the gaps between its steps.
    """
    made = hashlib.sha256(b"blur" + seed.to_bytes(16, "little")).digest()
    first, *odd = (np.uint64(int.from_bytes(made[at : at + 8], "little")) for at in range(0, 32, 8))
    factors = [factor | np.uint64(1) for factor in odd]  # an odd factor loses no bit
    out = np.empty(len(values))
    # fresh memory for every step costs as much as the arithmetic
    room, others = np.empty(min(_STRIPE, len(values))), np.empty(min(_STRIPE, len(values)), dtype=np.uint64)
    for start in range(0, len(values), _STRIPE):
        part = out[start : start + _STRIPE]
        size = len(part)
        words, other = room[:size].view(np.uint64), others[:size]
        np.add(values[start : start + size], 0.0, out=room[:size])  # adding zero makes a negative zero a plain one
        words ^= first
        for factor, fold in zip(factors, _FOLDS, strict=True):
            words *= factor
            words ^= np.right_shift(words, np.uint64(fold), out=other)
        _as_floats(words, part, other)
        part *= 2.0**-64
        np.right_shift(words, np.uint64(8), out=other)
        other &= _BYTES
        words &= _BYTES
        words += other
        words *= _LANES  # the four sums of two bytes come together in the top lane
        words >>= np.uint64(48)
        words |= _UNITS  # a small number n becomes the float 2^52 + n
        room[:size] -= 2.0**52
        part += room[:size]
        part -= _MIDDLE
        part *= 1 / _STD
    return out


def _as_floats(words: _Words, out: Array, room: _Words) -> None:
    """The nearest float of each word, as a cast finds it, in half of its time: that goes word by word.

    Both halves of a word are put behind the leading bit of a float whose last bit is worth 1 or 2^32. Taking the
    leading bits away again is exact, so the sum of the halves is the only number that is rounded.
    """
    halves = out.view(np.uint64)
    np.bitwise_and(words, _HALF, out=halves)
    halves |= _UNITS
    np.right_shift(words, np.uint64(32), out=room)
    room |= _TOPS
    tops = room.view(np.float64)
    tops -= 2.0**84 + 2.0**52
    out += tops
