"""How exactly the numbers of a column are written."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["FLOAT32", "precision"]

FLOAT32 = 2.0**-22
"""The jitter of 32-bit floats and their rounding, each half a unit of the last bit, doubled; of the largest number."""


def precision(values: Array) -> float:
    """How far a number of this column may lie from its exact value, judged by its decimals.

    >>> precision(np.array([1.25, 3.5, 7.75]))
    0.005
    """
    finite = values[np.isfinite(values)][:4096]
    size = float(np.max(np.abs(finite), initial=0.0))
    with np.errstate(over="ignore"):
        bits = 24 if np.all(finite.astype(np.float32) == finite) else 50
    for digits in range(-6, 12):
        scaled = finite * 10.0**digits
        noise = 1e-9 + 2.0**-bits * np.abs(scaled)  # decimals are not exact in binary
        if float(noise.max(initial=0.0)) > 0.05:
            break  # from here on the decimals drown in the last bits
        if size and np.all(np.abs(scaled - np.round(scaled)) <= noise):
            return max(FLOAT32 * size, 0.5 / 10.0**digits)
    return FLOAT32 * size
