"""Exact totals of many counts at any size: uniform subsets and multinomials, nothing listed unit by unit."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from statveil.tables.blocks import Array

__all__ = ["Counts", "spread", "thinned"]

Counts = NDArray[np.int64]

_LISTED = 8_192  # so many single units are drawn by their position; more go through binomials first
_MARGIN = 3.0  # standard deviations that a random total is aimed above what is needed


def _distinct(size: int, below: int, draws: Generator) -> Counts:
    """A uniformly random ``size``-subset of 0, ..., ``below`` - 1, in order; quick up to half of them."""
    found = np.empty(0, dtype=np.int64)
    # No number is treated differently from another, so given how many are found, each set of that size is as likely.
    while len(found) < size:
        found = np.unique(np.concatenate([found, draws.integers(0, below, size - len(found))]))
    return found


def thinned(units: Counts, keep: int, draws: Generator, *, listed: int = _LISTED) -> Counts:
    """How many units each entry keeps when exactly ``keep`` of all units are kept, every subset being as likely.

    Parameters
    ----------
    units
        Units of each entry, with a total below 2**53.
    keep
        From 0 to the total.
    draws
        Where the randomness comes from.
    listed
        Largest number of single units drawn by position, at least 9; changes the draws, not their law.

    Returns
    -------
    Counts
        A draw of the multivariate hypergeometric law.
    """
    total = int(units.sum())
    removed = total - keep
    if min(keep, removed) <= max(listed, 9):
        places = _distinct(min(keep, removed), total, draws)
        drawn = np.bincount(np.searchsorted(np.cumsum(units), places, side="right"), minlength=len(units))
        return drawn if keep <= removed else units - drawn
    # Independent coins with one bias keep a subset that is uniform given its size; a uniform subset of that is uniform
    # again. So the bias is free to choose, and it is chosen to leave few units over. 9 or more removed units keep it
    # below 1.
    rate = (keep + _MARGIN * math.sqrt(keep * (removed / total))) / total
    while True:
        kept = draws.binomial(units, rate)
        if int(kept.sum()) >= keep:
            return thinned(kept, keep, draws, listed=listed)


def spread(weights: Array, units: int, draws: Generator) -> Counts:
    """How many of ``units`` units each entry gets when each goes to an entry with the odds ``weights``: multinomial."""
    # Independent Poisson counts are multinomial given their total, and a uniform subset of those units still is.
    # Unlike one binomial after another, this loses no precision when weights differ by many orders of magnitude.
    rates = weights * ((units + _MARGIN * math.sqrt(units) + _MARGIN**2) / weights.sum())
    while True:
        given = draws.poisson(rates)
        if int(given.sum()) >= units:
            return thinned(given, units, draws)
