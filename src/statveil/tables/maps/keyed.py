"""Random numbers that belong to a value: a secret function of its bits, the same for every copy in any block."""

from __future__ import annotations

import hashlib

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["normal_of"]

_STRIPE = 2**14  # values at once: what stays in the cache
_BYTES, _LANES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0001000100010001)
_FOLDS = (32, 29, 32)
_MIDDLE, _STD = 1020.5, 209.0156  # of the sum of eight bytes and a fraction: 8 x 127.5 + 0.5, sqrt(8 (256^2 - 1) / 12)


def normal_of(values: Array, seed: int) -> Array:
    """A nearly normal number for each value, of mean 0 and standard deviation 1, never beyond 5.

    The value's bits are mixed with 256 bits that the secret seed gives, in three rounds of multiplying and folding:
    equal values have equal numbers. It is no cipher, which would take ten times as long;
    here nobody sees the numbers themselves, only that no lattice is left. The sum of eight bytes is nearly normal, and
    a fraction fills the gaps between its steps.
    """
    made = hashlib.sha256(b"blur" + seed.to_bytes(16, "little")).digest()
    first, *odd = (np.uint64(int.from_bytes(made[at : at + 8], "little")) for at in range(0, 32, 8))
    factors = [factor | np.uint64(1) for factor in odd]  # an odd factor loses no bit
    out = np.empty(len(values))
    for start in range(0, len(values), _STRIPE):
        part = out[start : start + _STRIPE]
        words = (values[start : start + _STRIPE] + 0.0).view(np.uint64)  # adding zero makes a negative zero a plain one
        words ^= first
        for factor, fold in zip(factors, _FOLDS, strict=True):
            words *= factor
            words ^= words >> np.uint64(fold)
        np.multiply(words, 2.0**-64, out=part)
        others = (words >> np.uint64(8)) & _BYTES
        words &= _BYTES
        words += others
        words *= _LANES  # the four sums of two bytes come together in the top lane
        words >>= np.uint64(48)
        part += words
        part -= _MIDDLE
        part *= 1 / _STD
    return out
