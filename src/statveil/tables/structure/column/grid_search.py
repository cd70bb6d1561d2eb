"""Frequent values that are logarithms, ratios and the like of whole numbers: no atoms that anybody declares."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.column.transform_search import find_transform

__all__ = ["grid_behind"]

_FEWEST = 5
"""Frequent values from which a common origin can be told."""
_LARGEST = 1_000  # denominators of ratios
_TIMES = 10.0  # as many as chance gives
_PLAIN = 5  # significant digits that a value which people choose has less of


def grid_behind(atoms: Array, error: Array) -> str | None:
    """Where most of the frequent values come from, if they are no plain numbers themselves.

    Parameters
    ----------
    atoms, error : array
        The values, and how far each may lie from the exact one.

    >>> logs = np.log(np.array([19.0, 29.0, 49.0, 99.0, 149.0, 199.0, 299.0]))
    >>> grid_behind(logs, 2 * np.spacing(logs))
    'logarithms'
    >>> grid_behind(np.array([1.0, 4.0, 9.0, 16.0, 25.0, 36.0]), np.full(6, 1e-15)) is None
    True
    """
    odd = np.array([float(f"{atom:.{_PLAIN - 2}e}") != atom for atom in atoms.tolist()], dtype=bool)
    if np.count_nonzero(odd) < _FEWEST:
        return None
    order = np.argsort(atoms[odd])
    values, off = atoms[odd][order], error[odd][order]
    return find_transform(values, off) or ("ratios" if _are_ratios(values, off) else None)


def _are_ratios(values: Array, error: Array) -> bool:
    pairs = list(zip(values.tolist(), error.tolist(), strict=True))
    seen = sum(abs(float(Fraction(value).limit_denominator(_LARGEST)) - value) <= off for value, off in pairs)
    # about 0.3 n^2 fractions per unit have denominators up to n
    expected = sum(min(1.0, 0.31 * _LARGEST**2 * 2 * off) for _, off in pairs)
    return bool(seen >= max(_FEWEST, _TIMES * expected, 0.5 * len(values)))
