"""Whether rows of two parts of a table belong together: the first with the first, with the last, or so many further on.

Each part keeps its own order under its map, and what lies between a row and its partner in the other part is what the
release must hide. So the rows of each part, in their order and by their ranks in it, are held against those of the
other, at every shift, in the same and in the reverse order, one to one and one to several (a case and its controls).
And where all pairs differ by one amount or factor, some of them are enough: the differences of rows that stand alike in
both parts have one value more often than those of rows that do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import poisson

from statveil.tables.blocks import Array
from statveil.tables.structure.rows.pairings import Pairing, far_above
from statveil.tables.structure.rows.relation import evenly_spread, scores_of

__all__ = ["one_shape", "told_by_parts"]

_FEWEST = 10
_MOST_PARTNERS = 8
_REORDERED = 19
_FIXED_SEED = 0x5EED
_SHIFTS = 4  # rows by which parts that stand alike may be out of step
_DIGITS = 9  # to which two differences are the same
_LEAST_SAME, _MIXED = 4, 3


_Search = Callable[[Array, Array, bool], Pairing]


def told_by_parts(one: Array, two: Array, *, level: float, beside: bool = False) -> float:
    """The share that rows of one part tell of those of the other; 0 if rows in no order could look the same.

    Parameters
    ----------
    one, two
        The rows of both parts in their order, also those without a value, which are no number.
    level
        How often rows in no order may be taken for pairs.
    beside
        Whether the parts are two columns of the same rows: the two values of a row are no news.
    """
    known = [np.isfinite(part) for part in (one, two)]
    if min(int(np.count_nonzero(inside)) for inside in known) < _FEWEST:
        return 0.0
    scores = [_placed(part, inside) for part, inside in zip((one, two), known, strict=True)]
    even = all(evenly_spread(ranks[None, :]) for ranks in scores)
    share = 0.0
    searches: tuple[_Search, ...] = (_plainly, _best)
    for search in searches:
        found = search(scores[0], scores[1], beside)
        if found.chance > level / 3:
            continue
        rng = np.random.default_rng(_FIXED_SEED)
        mixed = (_mixed(scores[0], scores[1], rng, beside) for _ in range(_REORDERED))
        drawn = [search(first, second, beside).height for first, second in mixed]
        if found.height > max(far_above(drawn, even=even), *drawn):
            share = max(share, min(found.share, 1.0))
    return max(share, _same_apart(one, two, level / 3, beside=beside))


def _mixed(one: Array, two: Array, rng: np.random.Generator, beside: bool) -> tuple[Array, Array]:
    """Both in no order; the two values of a row stay together."""
    if not beside:
        return rng.permutation(one), rng.permutation(two)
    order = rng.permutation(len(one))
    return one[order], two[order]


def _counted_twice(one: Array, two: Array) -> float:
    """Of two columns of the same rows in the reverse order, two rows meet twice, and what a row's values share counts.

    The standard deviation of their likeness, in that of rows which meet once.
    """
    return math.sqrt(1.0 + float((one * two).mean()) ** 2)


def _placed(part: Array, known: Array) -> Array:
    """The ranks of a part with variance 1 on average, 0 where it has no value."""
    scores = np.zeros(len(part))
    scores[known] = scores_of(part[known], categories=False)[0]
    size = math.sqrt(float((scores * scores).mean()))
    return scores / size if size else scores


def _plainly(one: Array, two: Array, beside: bool) -> Pairing:
    """The first with the first, the last with the last, the first with the last: of so few looks few rows show more."""
    rows = min(len(one), len(two))
    compared = [(one[:rows], two[::-1][:rows])]
    if not beside:
        compared += [(one[:rows], two[:rows]), (one[len(one) - rows :], two[len(two) - rows :])]
    height = max(abs(float((first * second).sum())) for first, second in compared) / math.sqrt(rows)
    height /= _counted_twice(one, two) if beside else 1.0
    return Pairing(height, height / math.sqrt(rows), looks=len(compared))


def _best(one: Array, two: Array, beside: bool) -> Pairing:
    """The shift, the direction and the number of partners at which the rows are most alike."""
    best, looks = (0.0, 0.0), 0
    for partners in range(1, 1 + (1 if beside else _MOST_PARTNERS)):
        for few, many in ((one, two), (two, one)) if partners > 1 else ((one, two),):
            number = len(many) // partners
            if number < _FEWEST or len(few) < _FEWEST:
                continue
            # each row of the one has so many of the other, which stand beside each other
            several = many[: number * partners].reshape(number, partners).sum(axis=1)
            several /= float(several.std()) or 1.0  # they may be alike without those of the other part
            for turned in (several, several[::-1]):
                products, pairs = _shifted(few, turned)
                if beside and turned is several:
                    products[np.argmax(pairs)] = 0.0
                heights = np.abs(products) / np.sqrt(pairs)
                if beside and turned is not several:
                    heights /= _counted_twice(one, two)
                at = int(np.argmax(heights))
                share = float(heights[at]) / math.sqrt(float(pairs[at]))
                best, looks = max(best, (float(heights[at]), share)), looks + len(heights)
    return Pairing(*best, looks=max(looks, 1))


def _shifted(one: Array, two: Array) -> tuple[Array, Array]:
    """The sum of the products of rows at every shift, and how many they are."""
    total = len(one) + len(two) - 1
    length = next_fast_len(total, real=True)
    products = irfft(rfft(one, length) * rfft(two[::-1], length), length)[:total]
    place = np.arange(total)
    pairs = np.minimum(np.minimum(place + 1, total - place), min(len(one), len(two)))
    inside = pairs >= _FEWEST
    return products[inside], pairs[inside]


# --- one amount or factor between all pairs -----------------------------------------------------------
def _same_apart(one: Array, two: Array, level: float, *, beside: bool) -> float:
    """The share of pairs that lie exactly as far apart as others, by a difference or a factor; 0 if by accident."""
    share = 0.0
    looks = 2 * 2 * 2 * (2 * _SHIFTS + 1)
    rng = np.random.default_rng(_FIXED_SEED)
    forms = [(one, two)]
    if min(np.nanmin(one), np.nanmin(two)) > 0:
        forms.append((np.log(one), np.log(two)))
    for first, second in forms:
        others = [rng.permutation(second) for _ in range(_MIXED)]
        for turned in (False, True):
            for from_end in (False, True) if len(one) != len(two) else (False,):
                for shift in range(-_SHIFTS, _SHIFTS + 1):
                    if beside and not turned and not shift:
                        continue
                    pairs = _beside(first, second[::-1] if turned else second, shift, from_end=from_end)
                    seen, different, number = _most_alike(*pairs)
                    if seen < _LEAST_SAME:
                        continue
                    mixed = (_beside(first, other, shift, from_end=from_end) for other in others)
                    usual = float(max(_most_alike(*pair)[0] for pair in mixed))
                    usual += 2 * math.sqrt(usual) if usual > _LEAST_SAME else 0  # it is drawn itself
                    if poisson.sf(seen - 1, usual) * different <= level / looks:
                        share = max(share, seen / number)
    return share


def one_shape(one: Array, two: Array) -> bool:
    """Whether one part has the values of the other plus one amount, or times one factor, in whatever order.

    Then no order has to be known: the i-th smallest of one belongs with the i-th smallest of the other.
    """
    one, two = (np.sort(part[np.isfinite(part)]) for part in (one, two))
    if len(one) != len(two) or len(one) < _FEWEST or len(np.unique(one)) < _FEWEST:
        return False
    forms = [(one, two)]
    if min(one[0], two[0]) > 0:
        forms.append((np.log(one), np.log(two)))
    return any(_most_alike(*form)[0] == len(one) for form in forms)


def _beside(one: Array, two: Array, shift: int, *, from_end: bool) -> tuple[Array, Array]:
    """Rows that stand alike in both, from the first or from the last one, but for a shift."""
    if from_end:
        one, two = one[::-1], two[::-1]
    first, second = (one[shift:], two) if shift >= 0 else (one, two[-shift:])
    rows = min(len(first), len(second))
    return first[:rows], second[:rows]


def _most_alike(one: Array, two: Array) -> tuple[int, int, int]:
    """How many pairs have the most usual difference, how many differences there are, and how many pairs."""
    apart = (two - one)[np.isfinite(one) & np.isfinite(two)]
    if not len(apart):
        return 0, 1, 1
    size = float(max(np.abs(one[np.isfinite(one)]).max(), np.abs(two[np.isfinite(two)]).max())) or 1.0
    _, counts = np.unique(np.round(apart / size, _DIGITS), return_counts=True)
    return int(counts.max()), len(counts), len(apart)
