"""Whether a rule that parts the labelled rows from the others with so few errors can be one by chance.

If the labels had nothing to do with the columns, every choice of as many rows would be as likely to be the labelled
ones. So the odds of such luck are at most the number of choices that some rule makes, or makes but for so many rows,
over the number of all choices: an exact bound, which counts every rule that was tried.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

__all__ = ["FEWEST", "FEWEST_ROWS", "OF_FEWER", "STRAY", "choices", "few_errors", "sure"]

FEWEST_ROWS, FEWEST = 40, 5
"""Rows, and rows on either side of a rule."""
STRAY, OF_FEWER = 0.02, 0.25
"""Errors, as shares of all rows (and one more) and of those on the smaller side."""
_LUCK = float(np.log(1e-5))


def choices(rows: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose so many rows.

    >>> round(float(np.exp(choices(5, 2))))
    10
    """
    return float(gammaln(rows + 1.0) - gammaln(chosen + 1.0) - gammaln(rows - chosen + 1.0))


def few_errors(wrong: int, rows: int, flagged: int) -> bool:
    """Whether a rule is one nearly without errors."""
    fewer = min(flagged, rows - flagged)
    return rows >= FEWEST_ROWS and fewer >= FEWEST and wrong <= min(1 + STRAY * rows, OF_FEWER * fewer)


def sure(wrong: int, rows: int, flagged: int, tried: float) -> bool:
    """Whether it is no accident either, among as many rules as the exponential of ``tried``.

    >>> sure(0, 60, 20, np.log(1000)), sure(4, 60, 20, np.log(1000)), sure(0, 60, 2, np.log(1000))
    (True, False, False)
    """
    if not few_errors(wrong, rows, flagged):
        return False
    near = choices(rows, wrong) + float(np.log(wrong + 1.0))  # choices that differ from a rule's in so many rows
    return bool(tried + near - choices(rows, flagged) <= _LUCK)
