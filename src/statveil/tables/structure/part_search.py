"""Whether the values of one size lie on a lattice of their own, however far the others reach."""

from __future__ import annotations

import math

import numpy as np

from statveil.modes.mode import BLUR
from statveil.tables.blocks import Array
from statveil.tables.structure.lattice_search import any_step

__all__ = ["lattice_of_a_part"]

_FEWEST = 8
"""Values of one size: six on a lattice are no accident."""
_REACH = 2.2
"""From the smallest to the largest of them: two cells of digits or bits at most."""
_NEXT = 1.15  # the next size, so that one of them begins close above every change of the cells
_COARSE = 1.4
"""Of the blur: a step below it keeps less than 1e-4 of its wave (exp(-2 pi^2 / 1.4^2) is 4e-5)."""
_MOST = 2000  # sizes that are looked at


def lattice_of_a_part(values: Array, bits: int) -> bool:
    """Whether distinct rising values of about one size are multiples of one step, up to a common offset.

    Numbers that were rounded to three, four or five digits and then multiplied by a constant have a step that grows
    with their size, and whole cents over many magnitudes have one that is too fine beside the largest of them to be
    found: in both, the values of one size have few places. Steps so fine that the map's blur hides them are no finding.

    >>> rng = np.random.default_rng(1)
    >>> pounds = rng.lognormal(4.0, 2.0, 400)
    >>> four_digits = np.array([float(f"{pound:.3e}") for pound in pounds])
    >>> lattice_of_a_part(np.unique(0.45359237 * four_digits), 53)
    True
    >>> lattice_of_a_part(np.unique(0.45359237 * pounds), 53)
    False
    """
    if len(values) < _FEWEST:
        return False
    mean, spread = float(values.mean()), float(values.std())
    for side, middle in ((values[values > 0], mean), (-values[values < 0][::-1], -mean)):
        start = float(side[0]) if len(side) else 0.0
        for _ in range(_MOST):
            first, last = np.searchsorted(side, (start, _REACH * start))
            if last - first >= _FEWEST:
                part = side[first:last]
                step = any_step(part, bits)
                # the least blur that one of them gets, in a column that is stretched or moved
                size = min(float(part[0]), float(np.abs(part - middle).min()) + spread)
                if step is not None and step.step > _COARSE * BLUR * size:
                    return True
            rest = np.searchsorted(side, _NEXT * start)
            if len(side) - rest < _FEWEST or not math.isfinite(_REACH * start):
                break
            # from the next value on, where none is close
            start = max(_NEXT * start, float(side[rest]) / _NEXT)
    return False
