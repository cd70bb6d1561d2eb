"""A quantile of a column behind known independent noise: corrected by the maximum-likelihood distribution (EM)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["quantile_behind"]

_CELLS, _ROWS_PER_CELL = 128, 4
"""Cells of the released values, at most, and rows in each, at least."""
_ROUNDS = (10, 500)
"""Fewest and most rounds: stopping early smooths, but louder noise takes longer to remove."""


def quantile_behind(
    released: Array, alpha: float, cdf: Callable[[Array], Array], *, noise: float, floor: float | None = None
) -> float:
    """The ``alpha``-quantile of the column to which noise was added.

    The column is taken to have mass in cells with about as many released values each, none below ``floor``. Each
    round of EM (Richardson 1972, Lucy 1974) moves mass to where the released values are more likely. The guess is the
    released quantile plus the difference between the quantiles of the fit without and with noise, so that the cells'
    own coarseness cancels.

    Parameters
    ----------
    released : array
        The noisy column.
    alpha : float
        Which quantile.
    cdf : callable
        Distribution function of the noise.
    noise : float
        Standard deviation of the noise.
    floor : float, optional
        A value that the column is known not to fall below.
    """
    plain = float(np.quantile(released, alpha))
    least = -np.inf if floor is None else floor
    cells = min(_CELLS, len(released) // _ROWS_PER_CELL)
    edges = np.unique(np.quantile(released, np.linspace(0.0, 1.0, cells + 1)))
    held = np.unique(np.maximum(edges, least))  # where the column can lie
    if len(edges) < 3 or len(held) < 2:
        return max(plain, least)
    shown = np.histogram(released, edges)[0] / len(released)
    middles = 0.5 * (held[1:] + held[:-1])
    outer = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    chance = np.diff(cdf(outer[:, None] - middles), axis=0)  # of each released cell, given each cell of the column
    mass = np.full(len(middles), 1 / len(middles))
    for _ in range(_rounds(released, cdf, noise)):
        mass = mass * (chance.T @ (shown / np.maximum(chance @ mass, 1e-300)))
    guess = plain + _quantile(held, mass, alpha) - _quantile(edges, chance @ mass, alpha)
    return max(guess, least)


def _rounds(released: Array, cdf: Callable[[Array], Array], noise: float) -> int:
    """About the variance of the noise over the column's, judged by the middle 80 % of the values.

    Of 10 to 1,000 rounds on exponential columns 10 guessed best up to a ratio of 10, 100 at 100, 500 at 900.
    """
    grid = noise * np.linspace(-6.0, 6.0, 1_201)
    both, alone = (
        float(high - low) ** 2
        for low, high in (np.quantile(released, [0.1, 0.9]), np.interp([0.1, 0.9], cdf(grid), grid))
    )
    return int(np.clip(alone / max(both - alone, alone / _ROUNDS[1], 1e-300), *_ROUNDS))


def _quantile(edges: Array, mass: Array, alpha: float) -> float:
    """Quantile of mass that lies evenly inside its cells."""
    below = np.concatenate([[0.0], np.cumsum(mass)])
    return float(np.interp(alpha, below / below[-1], edges))
