"""Whether the few rows that a label marks are just the largest or smallest: an alarm above a public limit.

Of two rows in a hundred that are marked at random, one pair in 4,950 is the two largest. So few rows show no edge (see
``edge_search``), but where they are exactly those at the ends, chance is soon ruled out, and the limit lies between two
released values.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.distinct import distinct

__all__ = ["few_at_the_ends"]

_LUCK = 0.01  # how often a table has such a label by chance, all labels together
_LEAST, _MOST = 2, 100  # different values that are marked: one says little, and more show an edge
_LABELS = 20
_USUAL = 0.5  # share of the rows that have the usual label: rows of some persons each are alike by themselves


def few_at_the_ends(values: Array, labels: Mapping[str, NDArray[np.generic]]) -> list[str]:
    """Columns with a label that all of the largest values, or of the smallest, or of both, have and no others.

    >>> x = np.random.default_rng(0).normal(100, 7, 200)
    >>> few_at_the_ends(x, {"alarm": x > np.sort(x)[-3], "other": np.arange(200) < 2})
    ['alarm']
    """
    places, code, counts = distinct(values)
    found: dict[str, float] = {}
    looked = 0
    for name, keys in labels.items():
        names, label, sizes = distinct(keys)
        if not 2 <= len(names) <= _LABELS or sizes.max() < _USUAL * len(keys) or sizes.max() == len(keys):
            continue
        usual = int(np.argmax(sizes))
        for one in range(len(names)):
            if one == usual or not _LEAST <= sizes[one] <= _MOST:
                continue
            looked += 1
            marked = np.bincount(code[label == one], minlength=len(places))
            chance = _chance(marked, counts)
            if chance is not None:
                found[name] = min(found.get(name, 0.0), chance)
    return [name for name, chance in found.items() if chance + np.log(looked) <= np.log(_LUCK)]


def _chance(marked: NDArray[np.int64], counts: NDArray[np.int64]) -> float | None:
    """The logarithm of how likely it is that so many values are just those at the ends; ``None`` if they are not.

    Rows of one value, as those of one person, count once.
    """
    some = marked > 0
    number, places = int(np.count_nonzero(some)), len(marked)
    if not _LEAST <= number < places or np.any(marked[some] != counts[some]):
        return None
    low = int(np.argmin(some))  # so many at the lower end
    if not some[places - (number - low) :].all():
        return None
    ways = gammaln(places + 1) - gammaln(number + 1) - gammaln(places - number + 1)
    return float(np.log(number + 1) - ways)
