"""Transformed lattices: logarithms, powers, roots and reciprocals of whole numbers or of other round ones.

A shift of logarithms scales the whole numbers behind them, and only the right scale makes them whole again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.distinct import frozen

__all__ = ["find_transform"]

SHARE = 0.3
"""Share of the values that must come back to round numbers, where chance brings back some."""
_NEVER = 1e-3
"""Values that chance brings back, below which five are enough: only the right shift makes those five round again."""
_LOOKED_AT, _QUICK = 4096, 60
_STEPS = tuple(float(f"1e{power}") for power in range(6, -5, -1))
_CLEAR = 0.1  # values whose own error is larger than this share of a step tell nothing
_FEWEST = 5
_LUCK = 1e-6  # that chance does so well, for one of the about three hundred pairs of a transform and a step


@dataclass(frozen=True, slots=True, kw_only=True)
class _Back:
    """How to undo a transform: what the column is called, the inverse, its slope, and whether a few values tell it.

    A few reciprocals are ratios, which are looked for by themselves.
    """

    says: str
    inverse: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    few: bool = True


def _power(base: float, less: float = 0.0) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    log = float(np.log(base))
    return lambda x: np.exp2(x * np.log2(base)) - less if base != np.e else np.exp(x) - less, lambda x: log * base**x


def _two_roots(x: Array) -> Array:
    """The number of which x is the root plus the root of one more, whose reciprocal is the one less the other."""
    return np.where(x >= 1, 0.25 * (x - 1 / x) ** 2, np.nan)


def _backs() -> list[_Back]:
    named = [
        ("logarithms", _power(np.e)),
        ("logarithms to base 10", _power(10.0)),
        ("logarithms to base 2", _power(2.0)),
    ]
    logs = [_Back(says=says, inverse=pair[0], slope=pair[1]) for says, pair in named]
    logs[1] = _Back(says=logs[1].says, inverse=lambda x: 10.0**x, slope=logs[1].slope)
    return [
        *logs,
        _Back(says="square roots", inverse=np.square, slope=lambda x: 2 * x),
        _Back(says="cube roots", inverse=lambda x: x**3, slope=lambda x: 3 * x * x),
        _Back(says="decibels", inverse=lambda x: 10.0 ** (x / 10), slope=lambda x: 0.2302585093 * 10.0 ** (x / 10)),
        _Back(says="decibels", inverse=lambda x: 10.0 ** (x / 20), slope=lambda x: 0.1151292546 * 10.0 ** (x / 20)),
        _Back(says="logarithms", inverse=lambda x: np.exp(x / 100), slope=lambda x: 0.01 * np.exp(x / 100)),
        _Back(says="fourth roots", inverse=lambda x: x**4, slope=lambda x: 4 * x**3),
        _Back(says="powers 3/4", inverse=lambda x: np.cbrt(x) ** 4, slope=lambda x: 4 / 3 * np.cbrt(x)),
        _Back(says="powers 3/2", inverse=lambda x: np.cbrt(x) ** 2, slope=lambda x: 2 / 3 / np.cbrt(x)),
        _Back(says="powers 2/3", inverse=lambda x: np.sqrt(x) ** 3, slope=lambda x: 1.5 * np.sqrt(x)),
        _Back(says="reciprocals", inverse=lambda x: 1 / x, slope=lambda x: 1 / (x * x), few=False),
        _Back(says="squares", inverse=np.sqrt, slope=lambda x: 0.5 / np.sqrt(x)),
        _Back(says="cubes", inverse=np.cbrt, slope=lambda x: 1 / (3 * np.cbrt(x) ** 2)),
        _Back(says="powers of e", inverse=np.log, slope=lambda x: 1 / x),
        _Back(says="powers of 10", inverse=np.log10, slope=lambda x: 0.4342944819 / x),
        _Back(says="powers of 2", inverse=np.log2, slope=lambda x: 1.442695041 / x),
        _Back(says="log-odds", inverse=lambda x: 1 / (1 + np.exp(-x)), slope=lambda x: 0.25 / np.cosh(x / 2) ** 2),
        _Back(says="inverse hyperbolic sines", inverse=np.sinh, slope=np.cosh),
        _Back(says="angles of shares", inverse=lambda x: np.sin(x) ** 2, slope=lambda x: np.sin(2 * x)),
        _Back(says="Freeman-Tukey roots", inverse=_two_roots, slope=lambda x: 0.5 * (x - x**-3)),
        _Back(says="Freeman-Tukey roots", inverse=lambda x: _two_roots(2 * x), slope=lambda x: 2 * x - (2 * x) ** -3),
        _Back(
            says="tangents",
            inverse=lambda x: np.degrees(np.arctan(x)),
            slope=lambda x: np.degrees(1 / (1 + x * x)),
        ),
    ]


_BACKS = _backs()


def find_transform(values: Array, error: Array) -> str | None:
    """Name the transform that made the distinct ``values`` out of round numbers.

    Parameters
    ----------
    values : array
        Distinct values.
    error : array
        How far each may lie from the exact one: a little more than half of its last digit.

    Examples
    --------
    >>> whole = np.arange(20.0, 60.0)
    >>> find_transform(np.log(whole), 2 * np.spacing(np.log(whole)))
    'logarithms'
    """
    if len(values) < _FEWEST:
        return None
    if len(values) > _LOOKED_AT:
        chosen = _chosen(len(values))
        values, error = values[chosen], error[chosen]
    with np.errstate(all="ignore"):
        for back in _BACKS:
            original = back.inverse(values)
            doubt = np.abs(back.slope(values)) * error + 2 * np.spacing(np.abs(original))
            usable = np.isfinite(original) & np.isfinite(doubt) & (doubt > 0)
            original, doubt = original[usable], doubt[usable]
            if any(_round(original / step, doubt / step, back.few) for step in _worth_a_look(original, doubt)):
                return back.says
    return None


@lru_cache(maxsize=4)
def _chosen(rows: int) -> NDArray[np.int64]:
    """Which of so many values are looked at: columns of one table have as many, as a rule."""
    return frozen(np.random.default_rng(0).permutation(rows)[:_LOOKED_AT].copy())


def _worth_a_look(original: Array, doubt: Array) -> list[float]:
    """Steps of which a few of the values are multiples more often than by chance: a quick look before the long one."""
    if len(original) < _FEWEST:
        return []
    few = slice(None, None, max(1, len(original) // _QUICK))
    steps = np.asarray(_STEPS)
    places, off = original[few, None] / steps, doubt[few, None] / steps
    clear = off <= _CLEAR
    chance = 2 * np.sum(np.where(clear, off, 0.0), axis=0)
    some = places[[0, len(places) // 3, 2 * len(places) // 3]] % 1.0
    shifts = np.concatenate([np.zeros((1, len(steps))), some])
    away = places - shifts[:, None, :]
    on = np.sum(clear & (np.abs(away - np.rint(away)) <= 2 * off), axis=1)
    seen = np.max(on - (shifts > 0), axis=0)  # a value that gave the offset proves nothing
    good = (seen >= np.maximum(2, 1.2 * chance)) & (np.sum(clear, axis=0) >= 3)
    return [step for step, look in zip(_STEPS, good, strict=True) if look]


def _round(places: Array, doubt: Array, few: bool) -> bool:
    """Whether so many numbers are nearly whole, or whole up to one common offset, that chance cannot explain it."""
    from scipy.special import gammainc

    clear = doubt <= _CLEAR
    if int(np.sum(clear)) < _FEWEST:
        return False
    places, doubt = places[clear], doubt[clear]
    expected = float(np.sum(2 * doubt))
    if expected > 0.6 * SHARE * len(places):
        # With large doubts the clearest values decide.
        order = np.argsort(doubt)[: max(_FEWEST, len(doubt) // 4)]
        places, doubt = places[order], doubt[order]
        expected = float(np.sum(2 * doubt))
    some = places[[0, len(places) // 3, 2 * len(places) // 3]]
    least = _FEWEST if few and expected < _NEVER else max(_FEWEST - 1, SHARE * len(places))
    for shift in (0.0, *(some - np.floor(some))):  # anchored, or with one common offset that a value shows
        near = np.rint(places - shift)
        on = np.abs(places - shift - near) <= (doubt if not shift else 2 * doubt)
        if int(np.count_nonzero(on)) < least:
            continue
        # Zero and one come back from anything: log 1 is 0. A value that gave the offset proves nothing.
        number = len(np.unique(near[on & (np.abs(near) > 1)])) - bool(shift)
        if number >= least and float(gammainc(number, max(2 * expected, 1e-300))) < _LUCK:
            return True
    return False
