"""Every value loses its last digits, the seventh or a share of the tolerance: no lattice tells how far it moved."""

from __future__ import annotations

import hashlib
import struct

import numpy as np

from statveil.modes.mode import BLUR
from statveil.tables.blocks import Array
from statveil.tables.maps.keyed import normal_of

__all__ = ["blurred", "blurred_evenly"]


def blurred(values: Array, seed: int, *, held: tuple[float, ...] = ()) -> Array:
    """Every value moved by about one cell of a 32-bit float, as a normal variable is.

    A stretched column keeps 36 bits, so 32-bit floats times any constant (pounds as kilograms, worked out in 64 bits)
    would keep a lattice of 24 bits, whose width tells the factor. Nothing in such a column says that it is one, so all
    of them lose what lies beyond the seventh digit. A normal variable as wide as the widest cell leaves less than
    1e-6 of the lattice's wave: the transform of the sum of eight uniform bytes, sinc(256 / 209)^8, is 7e-7 there, and
    less at every multiple.

    Copies of one value stay copies. Values that are ``held`` (the fixed point, bounds) stay, and nothing crosses them:
    what would is mirrored. No value changes its sign.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        moved = normal_of(values, seed)
        moved *= BLUR
        moved *= values
        moved += values
        for point in held:
            if point == 0:  # no value changes its sign, so none crosses it, and 0 itself stays
                continue
            crossed = (moved > point) != (values > point)
            crossed |= values == point
            if crossed.any():
                mirrored = 2 * point - moved[crossed]
                within = values[crossed] != point
                for other in held:  # which may lie closer than a blur
                    within &= (mirrored > other) == (values[crossed] > other)
                moved[crossed] = np.where(within, mirrored, values[crossed])
    return moved


def blurred_evenly(values: Array, seed: int, *, width: float) -> Array:
    """Every value moved as a normal variable is, of one ``width`` for all: for columns that are only moved.

    Whatever lattice they lie on, exactly or by a function, nothing is left of it where its cells are narrower than the
    width: of waves as long as that the transform of a normal variable leaves exp(-2 pi^2), 3e-9.

    Copies of one value stay copies. Two widths have numbers of their own: of two releases under one seed, what each
    was moved by would otherwise follow from how they differ.
    """
    own = hashlib.sha256(b"statveil even blur\0" + struct.pack("<d", width) + seed.to_bytes(16, "big")).digest()
    moved = normal_of(values, int.from_bytes(own[:16], "big"))
    moved *= width
    with np.errstate(invalid="ignore"):
        moved += values
    return moved
