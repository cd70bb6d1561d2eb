"""Whether values between two bounds follow a Beta distribution, a family that the odds map leaves."""

from __future__ import annotations

import numpy as np

from statveil.tables.blocks import Array

__all__ = ["beta_levels"]

_CLOSE, _FEWEST = 0.03, 300
"""Kolmogorov distance up to which rows count as a Beta distribution, and rows from which it says anything."""


def beta_levels(share: Array) -> tuple[float, Array] | None:
    """The size a + b of the Beta distribution with the rows' mean and spread, and its levels at the rows.

    ``None`` where the rows do not follow it.
    """
    from scipy.special import betainc

    centre, spread = float(share.mean()), float(share.var())
    size = centre * (1 - centre) / spread - 1 if spread > 0 else 0.0
    if size <= 0 or len(share) < _FEWEST:
        return None
    level = np.asarray(betainc(centre * size, (1 - centre) * size, share), dtype=np.float64)
    ranks = (np.argsort(np.argsort(share, kind="stable"), kind="stable") + 0.5) / len(share)
    return (size, level) if float(np.abs(level - ranks).max()) <= _CLOSE else None
