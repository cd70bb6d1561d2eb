"""The attacker on a private histogram who knows the mechanism: counts without the bias of clipped noise."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, isotonic_regression

from statveil.alternatives.alternative import Array
from statveil.alternatives.binned import BinnedAlternative

__all__ = ["debiased_counts"]


def debiased_counts(mechanism: BinnedAlternative, released: Array) -> Array:
    """What the original counts were, as well as the release and the number of rows tell.

    Clipped noise adds (b/2) e^(-c/b) to a count c on average, and a bin shows nothing with probability
    e^(-c/b) / 2: counting a bin that shows nothing as -b instead of 0 removes the bias for every c at once.
    Inverting the expectation bin by bin does not, as its estimates cannot go below 0. The release is a sample of
    the noisy histogram, so a bin may show nothing by chance too: -b becomes minus the mean of an empty bin over its
    chance to show nothing, which is exact where it matters most, in the many bins that were empty.

    The rows per unit of noisy count follow from the total, which is the number of rows. Counts below 0 are then
    removed by the nearest increasing cumulative counts, which keeps their sum and with it the mean, unless they
    leave 0 to the number of rows.
    """
    shown = mechanism.counts(released)
    rows = float(len(released))
    silent = float(np.count_nonzero(shown == 0))

    def instead(total: float) -> float:
        mean, chance = mechanism.empty_bin(rows / total)
        return mean / chance

    # the noisy counts sum to `total`; the unbiased ones must sum to the number of rows
    most = rows + 2 * mechanism.scale * mechanism.bins
    total = brentq(lambda total: total - silent * instead(total) - rows, rows, most) if silent else rows
    unbiased = np.where(shown > 0, shown * total / rows, -instead(total))
    if mechanism.bins == 1:
        return np.array([rows])
    below = np.clip(isotonic_regression(np.cumsum(unbiased)[:-1]).x, 0.0, rows)
    counts: Array = np.diff(below, prepend=0.0, append=rows)
    return counts
