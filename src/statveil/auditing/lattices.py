"""What released numbers show of a lattice: which one is known, and how coarsely the numbers are written."""

from __future__ import annotations

import numpy as np

from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["COARSEST", "DECIMAL_STEPS", "known_lattice", "quanta", "rows_of"]

DECIMAL_STEPS = tuple(float(f"{lead}e{power}") for power in range(4, -4, -1) for lead in (5, 2, 1))
"""Steps to suppose where none is known, the largest first: the first that fits explains most."""


_ROWS = 100_000  # beyond, every so many-th row: a lattice shows in hundreds


COARSEST = 0.75  # of a step: a number rounded more coarsely tells nearly nothing about its place on the lattice


def rows_of(view: View) -> Array:
    """Released numbers, at most 100,000 of them spread over the table."""
    values = view.column[np.isfinite(view.column)]
    return values[:: -(-len(values) // _ROWS)] if len(values) else values


def known_lattice(view: View) -> tuple[float | None, float]:
    """The step that everyone knows, if any, and a number that lies on the lattice."""
    structure, declared = view.knowledge.structure, view.plan.problem.known
    points = structure.fixed_points or declared.fixed_points
    return structure.step or declared.step, points[0] if points else 0.0


def quanta(values: Array, size: float) -> Array:
    """How coarsely each released number is written: decimals, significant digits, 32 or 64 bits.

    Parameters
    ----------
    values : array
        Released numbers.
    size : float
        The largest number in the computation that gave them.

    Examples
    --------
    >>> quanta(np.array([1.25, 13.5, 144.75]), 200.0).tolist()
    [0.01, 0.01, 0.01]
    """
    sizes = np.maximum(np.abs(values), np.finfo(float).tiny)
    fine = np.maximum(2.0**-40 * max(size, float(sizes.max())), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if np.array_equal(single.astype(np.float64), values) and not np.array_equal(values, np.round(values)):
        # twice the spacing: half a unit of jitter before the map, half a unit of rounding after it
        fine = np.maximum(fine, 2.0 * np.spacing(np.abs(single)).astype(np.float64))
    coarse = np.full(len(values), fine) if np.ndim(fine) == 0 else fine
    powers = np.floor(np.log10(sizes) + 1e-12)
    for digits in range(-3, 10):
        if _written(values, np.full(len(values), 10.0**-digits)):
            coarse = np.maximum(coarse, 10.0**-digits)
            break
    for digits in range(3, 10):
        unit = 10.0 ** (powers - digits + 1)
        if _written(values, unit):
            coarse = np.maximum(coarse, unit)
            break
    return np.asarray(coarse, dtype=np.float64)


def _written(values: Array, unit: Array) -> bool:
    """Whether every number is a multiple of its unit, and that this is no accident of the float's own last bits."""
    spacing = np.spacing(np.abs(values))
    if (unit < 256 * spacing).any():
        return False
    return bool((np.abs(np.round(values / unit) * unit - values) <= 4 * spacing).all())
