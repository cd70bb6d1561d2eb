"""Round numbers behind a factor that nobody says: multiples, also with an offset or behind a usual function."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.column.ratio_search import denominators

__all__ = ["common_multiples", "multiples", "of_multiples", "spacing"]

_PAIRS, _FEWEST_PAIRS = 2_048, 8
_LOOKED_AT = 20_000
"""Values of which pairs are made: far more than the pairs that are looked at."""
_SOME = 256
_MULTIPLE_CLOSE = 4e-15  # three rounding errors of a product each
_BACK_CLOSE = 3e-14  # of what logarithms and powers come back from
_MULTIPLES = ((20_000, 0.04), (10**6, 0.3))
"""Whole numbers up to this, in so many pairs: by chance they are met in a pair of 500 at most."""
_FEWEST_OF_SOME = (1, 20)
"""Of 128 such pairs: 5 and 38 are the fewest that tell, 0 and 1 what chance makes of them."""
_SPACED = ((20_000, 0.015), (300_000, 0.05))
"""The same of differences, where a row off the lattice spoils four times as many."""
_TENFOLD = (1.0, 2.5, 5.0, 10.0, 20.0, 2 / 3, 1.5, -1.0, -2.5, -5.0, -10.0, -20.0)
"""Decimal logarithms times these: magnitudes of stars and earthquakes, decibels, absorbances."""
_NATURAL = (1.0, 10.0, 100.0, 1 / np.log(2), 10 / np.log(2), 12 / np.log(2), -1.0, -1 / np.log(2))
_FAR = 40.0  # log-odds beyond which a share has no digits
_POWERS = (2.0, 3.0, 1.5, 4.0, 0.5, 1 / 3, 2 / 3, 0.75, 4 / 3, 0.25, -2.0, -0.5, -1 / 3)


def multiples(values: Array, *, close: float = _MULTIPLE_CLOSE, most: int = _PAIRS) -> bool:
    """Whether many of some distinct rising values are whole multiples of one number, whatever it is.

    A fifth of the rows in another unit, converted with all digits, are enough: two of them stand to each other as two
    whole numbers do.

    >>> rng = np.random.default_rng(1)
    >>> yards, free = 0.9144 * rng.integers(500, 4000, 300), rng.gamma(4, 400, 300)
    >>> multiples(np.sort(np.where(rng.random(300) < 0.5, yards, free)))
    True
    >>> multiples(np.sort(free))
    False
    """
    return _many(_thinned(_shares(*_pairs(values)), most), close)


def of_multiples(values: Array) -> str | None:
    """Which function distinct rising values are of multiples of one number, whatever it is; ``None``: none.

    A constant before a power, or added to a logarithm, is a factor of the numbers behind it. Shares are multiples of
    one part in as many as were counted.

    >>> of_multiples(np.unique(25 - 2.5 * np.log10(np.random.default_rng(1).integers(500, 5000, 200))))
    'logarithms'
    >>> of_multiples(np.unique(np.pi / 6 * np.random.default_rng(1).integers(100, 900, 200) ** 3.0))
    'powers or roots'
    """
    if not len(values):  # all that the column has was named already
        return None
    looked: list[tuple[Array, str]] = []
    values = _thinned(values, 2 * _PAIRS)  # a quarter of so many pairs is looked at
    positive = values[values > 0]
    with np.errstate(all="ignore"):
        tens = ((10.0 ** (values / by), "logarithms") for by in _TENFOLD)
        others = ((np.exp(values / by), "logarithms") for by in _NATURAL)
        powers = ((positive ** (1 / by), "powers or roots") for by in _POWERS)
        for back, says in (*tens, *others, *powers, *_of_shares(values)):
            kept = back[np.isfinite(back) & (back > 1e-290)]
            if len(kept) >= 0.8 * len(values):
                looked.append((_thinned(_shares(*_pairs(np.unique(kept))), _PAIRS // 4), says))
    if not looked:
        return None
    # a few pairs of all functions at once rule out nearly all of them
    some = [_thinned(shares, _SOME) for shares, _ in looked]
    below = denominators(np.concatenate(some), _BACK_CLOSE, _MULTIPLES[-1][0])
    ends = np.cumsum([len(part) for part in some])[:-1]
    worth = (_worth(part) for part in np.split(below, ends))
    return next(
        (says for (shares, says), open_ in zip(looked, worth, strict=True) if open_ and _many(shares, _BACK_CLOSE)),
        None,
    )


def _of_shares(values: Array) -> Iterator[tuple[Array, str]]:
    """What functions of shares come back to: angles, log-odds and probits."""
    from scipy.special import expit, ndtr

    low, high = float(values[0]), float(values[-1])
    for times in (1.0, 2.0):
        if low >= 0 and high <= times * np.pi / 2:
            yield np.sin(values / times) ** 2, "angles of shares"
    if low > -_FAR and high < _FAR:
        # the smaller part, of which more digits are left
        yield expit(-np.abs(values)), "log-odds of shares"
        yield ndtr(-np.abs(values)), "probits of shares"


def spacing(values: Array) -> tuple[float, float] | None:
    """The step of a lattice, with whatever offset, that many of some distinct rising values lie on; ``None``: of none.

    Differences of values on it are whole multiples of the step, and two of them stand to each other as whole numbers.

    Returns
    -------
    tuple of float, optional
        The step beside the values, and beside the largest of them.
    """
    number = len(values)
    if number < 2 * _FEWEST_PAIRS:
        return None
    most = max(1, min(number // 20, 12))  # of near neighbours, whose whole numbers are short
    first, second = _apart(values, most, min(most, max(1, 4 * _PAIRS // number)))
    size = np.maximum(np.abs(first), np.abs(second))
    gap = second - first
    error = 4 * np.spacing(size) / gap
    sure = np.flatnonzero(error < 2.0**-38)
    draw = np.random.default_rng(0)
    one, two = (draw.permutation(sure)[: 2 * _PAIRS] for _ in range(2))
    swap = gap[one] > gap[two]
    one, two = np.where(swap, two, one), np.where(swap, one, two)
    ratio = gap[one] / gap[two]
    kept = np.flatnonzero((ratio > 1e-3) & (ratio < 1))
    one, two, ratio = one[kept], two[kept], ratio[kept]
    close = error[one] + error[two]
    below = denominators(ratio, close, _SPACED[-1][0])
    for largest, share in reversed(_SPACED):  # the finer first: of a fine lattice, small numbers show a coarser one
        hit = (below > 0) & (below <= largest)
        # 0.3 n^2 fractions up to 1 have denominators up to n
        chance = float(np.sum(np.minimum(1.0, 0.61 * largest**2 * close)))
        if np.count_nonzero(hit) >= max(_FEWEST_PAIRS, share * len(ratio), 2 * chance + 6 * np.sqrt(chance)):
            step = gap[two[hit]] / below[hit]
            top = float(np.abs(values[[0, -1]]).max())
            # common factors shorten many fractions, so that the smallest steps are the step itself, but for chance
            return float(np.quantile(step / size[two[hit]], 0.1)), float(np.quantile(step, 0.1)) / top
    return None


def common_multiples(first: Array, second: Array, *, close: float = _MULTIPLE_CLOSE, most: int = _PAIRS) -> bool:
    """Whether the two numbers of many pairs are whole multiples of one number, which may differ from pair to pair."""
    return _many(_thinned(_shares(first, second), most), close)


def _shares(first: Array, second: Array) -> Array:
    """The smaller number of each pair as a share of the larger one, where that can tell anything."""
    kept = np.flatnonzero(np.isfinite(first) & np.isfinite(second) & (first != 0) & (second != 0))
    with np.errstate(all="ignore"):
        ratio = np.abs(first[kept] / second[kept])
    ratio = np.where(ratio > 1, 1 / np.maximum(ratio, 1e-300), ratio)
    return ratio[(ratio > 1e-3) & (ratio < 1 - 0.9 / _MULTIPLES[-1][0])]  # closer to 1, only longer numbers stand so


def _thinned(values: Array, most: int) -> Array:
    return values[:: len(values) // most + 1] if len(values) > most else values


def _many(ratio: Array, close: float) -> bool:
    """Whether so many are ratios of whole numbers that it is no chance."""
    if len(ratio) < _FEWEST_PAIRS:
        return False
    below = denominators(ratio, close, _MULTIPLES[-1][0])
    return any(
        int(np.count_nonzero((below > 0) & (below <= largest))) >= max(_FEWEST_PAIRS, share * len(ratio))
        for largest, share in _MULTIPLES
    )


def _worth(below: Array) -> bool:
    """Whether some pairs leave it open that many are ratios of whole numbers."""
    return len(below) < _SOME // 2 or any(
        int(np.count_nonzero((below > 0) & (below <= largest))) >= fewest
        for (largest, _), fewest in zip(_MULTIPLES, _FEWEST_OF_SOME, strict=True)
    )


def _pairs(values: Array) -> tuple[Array, Array]:
    """Pairs of about one size, so that the whole numbers stay short; the fewer the rows, the more pairs of them."""
    kept = _thinned(values[values != 0], _LOOKED_AT)
    many = max(3, min(len(kept) // 4, 2 * _PAIRS // max(len(kept), 1)))
    return _apart(kept, max(1, len(kept) // 4), many)


def _apart(values: Array, farthest: int, many: int) -> tuple[Array, Array]:
    """Pairs of values that stand 1 to ``farthest`` places from each other, at so many distances."""
    places = np.unique(np.linspace(1, farthest, many).astype(np.int64)).tolist()
    return np.concatenate([values[:-by] for by in places]), np.concatenate([values[by:] for by in places])
