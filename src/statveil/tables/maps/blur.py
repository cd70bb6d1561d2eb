"""Every value of a continuous column loses what lies beyond its fifth digit, so that no lattice tells the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statveil.modes.mode import BLUR
from statveil.tables.blocks import Array
from statveil.tables.maps.keyed import normal_of

__all__ = ["Blur"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blur:
    """A small move of every value, as a normal variable is, by a secret function of the value itself.

    Numbers that were rounded to a few digits or bits and then converted (pounds as kilograms, R's six printed digits
    times a rate, 32-bit floats worked out in 64 bits) lie on cells whose width, or the places where it changes, tell
    where the column lay. Nothing in such a column says that it is one, so all of them lose what lies beyond the fifth
    digit. Six digits have cells of 1e-5 of a value at most; a normal variable of 0.76 cells leaves 1e-5 of their wave.
    Coarser cells are few enough to be found (:mod:`statveil.tables.structure.part_search`).

    Copies of one value stay copies. Values that are ``held`` (the fixed point, bounds) stay, and nothing crosses them:
    what would is mirrored.

    Parameters
    ----------
    seed : int
        The secret seed.
    about, least : float
        A value x moves by about 2^-17 (|x - about| + least). Where a value stays fixed both are 0, so that a scaling
        makes the same of the blur as of the value. A column that is moved has its own mean and standard deviation
        here: two values that nearly agree come out as far apart wherever the column lay.
    held : tuple of float
        Values that stay where they are.
    """

    seed: int
    about: float = 0.0
    least: float = 0.0
    held: tuple[float, ...] = ()

    def __call__(self, values: Array) -> Array:
        """The values, each moved a little."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = normal_of(values, self.seed)
            moved *= BLUR
            moved *= np.abs(values - self.about) + self.least if self.least else values
            moved += values
            for point in self.held:
                crossed = (moved > point) != (values > point)
                crossed |= values == point
                if crossed.any():
                    mirrored = 2 * point - moved[crossed]
                    within = values[crossed] != point
                    for other in self.held:  # which may lie closer than a blur
                        within &= (mirrored > other) == (values[crossed] > other)
                    moved[crossed] = np.where(within, mirrored, values[crossed])
        return moved
