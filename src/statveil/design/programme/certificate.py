"""Proof that no randomised mechanism on a grid of cells has a lower risk, and its check, without a solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.design.cells.cell_grid import CellGrid
from statveil.design.programme.windows import covered, reach, runs_of

__all__ = ["Certificate", "lower_bound"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Certificate:
    """For each run a guess drawn at random: windows with their weights.

    Parameters
    ----------
    run : array of int
        First cell of the run of each window.
    length : array of int
        Which window length each one has: 0 for the grid's, i for the i-th of ``caps``.
    start, stop, weight : array
        Ends of each window in the secret, and its weight.
    caps : tuple of (float, float)
        Other window lengths, with the largest risk that the mechanisms in question may have at each.
    prices : tuple of float
        What a unit of each cap is worth in risk; the windows of one run and one cap weigh at most its price.
    """

    run: Index
    length: Index
    start: Array
    stop: Array
    weight: Array
    caps: tuple[tuple[float, float], ...] = ()
    prices: tuple[float, ...] = ()


def lower_bound(grid: CellGrid, certificate: Certificate) -> float:
    """A risk that no randomised mechanism on the grid is below (none that meets the caps, if there are any).

    A release of run r lets a guess catch at least what a window drawn by the weights catches on average: the sum over
    cells i of mass_i P(r | i) c_r(i), c_r(i) being the expected share of cell i in that window. Summed over the runs it
    is at least the sum of mass_i min_r c_r(i), as the P(r | i) of a cell add up to 1. The windows of a cap add at most
    price times cap to this sum, which is taken off again.
    """
    lengths = [reach(grid, reach(grid, w)) for w in (grid.window, *(w for w, _ in certificate.caps))]
    prices = [max(0.0, price) for price in certificate.prices]
    most = np.array([1.0, *prices])
    length = certificate.length
    # a window that is too long proves nothing, and weights above the price are scaled down
    fits = certificate.stop - certificate.start <= np.array(lengths)[length]
    weight = np.where(fits & (certificate.weight > 0) & (most[length] > 0), certificate.weight, 0.0)
    total = np.zeros((len(grid), len(most)))
    np.add.at(total, (certificate.run, length), weight)
    weight = weight / np.maximum(total[certificate.run, length] / np.where(most > 0, most, 1.0)[length], 1.0)
    least = np.full(len(grid), np.inf)
    order = np.argsort(certificate.run, kind="stable")
    opens = np.searchsorted(certificate.run[order], np.arange(len(grid) + 1))
    for run in runs_of(grid):
        own = order[opens[run] : opens[run + 1]]
        part = slice(run, grid.last[run] + 1)
        share = covered(grid.low[part], grid.high[part], certificate.start[own], certificate.stop[own])
        least[part] = np.minimum(least[part], weight[own] @ share)
    paid = sum(price * cap for price, (_, cap) in zip(prices, certificate.caps, strict=True))
    return max(0.0, float(grid.mass @ least) * (1 - _ROUNDING) - paid)
