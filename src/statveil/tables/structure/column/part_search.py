"""Whether the values of one size lie on a lattice of their own, however far the others reach."""

from __future__ import annotations

import math

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.column.lattice_search import any_step

__all__ = ["lattice_of_a_part"]

_FEWEST = 8
"""Values of one size: six on a lattice are no accident."""
_REACH = 2.2
"""From the smallest to the largest of them: two cells of digits or bits at most."""
_SURE, _BY_CHANCE = 20, 4  # few values may all be even multiples, or multiples of three or four
_NEXT = 1.15  # the next size, so that one of them begins close above every change of the cells
_MOST = 2000  # sizes that are looked at


def lattice_of_a_part(values: Array, bits: int) -> tuple[float, float] | None:
    """The coarsest lattice of distinct rising values of about one size; ``None`` where there is none.

    Numbers that were rounded to a few digits or bits and then multiplied by a constant have a step that grows with
    their size, and whole cents over many magnitudes have one that is too fine beside the largest of them to be found:
    in both, the values of one size are multiples of one step, up to a common offset, with few places.

    Returns
    -------
    tuple of float, optional
        The largest step beside the values of its size, and the largest step beside the largest value of all.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> pounds = rng.lognormal(4.0, 2.0, 400)
    >>> four_digits = np.array([float(f"{pound:.3e}") for pound in pounds])
    >>> beside, _ = lattice_of_a_part(np.unique(0.45359237 * four_digits), 53)
    >>> bool(1e-4 < beside <= 1e-3)
    True
    >>> lattice_of_a_part(np.unique(0.45359237 * pounds), 53) is None
    True
    """
    if len(values) < _FEWEST:
        return None
    largest = float(np.abs(values[[0, -1]]).max())
    beside = overall = 0.0
    for side in (values[values > 0], -values[values < 0][::-1]):
        start = float(side[0]) if len(side) else 0.0
        for _ in range(_MOST):
            first, last = np.searchsorted(side, (start, _REACH * start))
            if last - first >= _FEWEST and (found := any_step(side[first:last], bits)) is not None:
                step = found.step / (_BY_CHANCE if last - first < _SURE else 1)
                beside = max(beside, step / float(side[first]))
                overall = max(overall, step / largest)
            rest = np.searchsorted(side, _NEXT * start)
            if len(side) - rest < _FEWEST or not math.isfinite(_REACH * start):
                break
            # from the next value on, where none is close
            start = max(_NEXT * start, float(side[rest]) / _NEXT)
    return (beside, overall) if beside else None
