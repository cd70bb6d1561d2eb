"""Kinds of numbers: logarithms of whole numbers, converted units, few significant digits, favourite numbers.

A pattern is a set of numbers in absolute terms. Whether a column holds more of them than chance puts there is looked up
in the original: those who know the makers of such a column know what kind of numbers they write. Which of them stands
in which row stays unknown to an attacker, who tries all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.auditing.relations import CONVERSIONS
from statveil.auditing.written import FLOAT32, precision
from statveil.tables.blocks import Array

__all__ = ["PATTERNS", "Pattern", "find_patterns", "fineness", "members"]

_MOST = 60_000  # numbers of a pattern that are listed
_UNUSUAL = 1e-6  # chance of a column without the pattern to show it: more than a hundred are looked for
_FAVOURITE = 1e-4  # the same for multiples, of which there are few
_MIXED = ("multiples", "unit", "celsius", "fahrenheit")
_ALL = 0.9  # share of the rows that must be of the pattern, for the other ones
_ROWS = 300_000  # rows of the search: a handful of whole numbers in a long column is enough


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A set of numbers.

    Parameters
    ----------
    name, says : str
        Its name, and in words what the numbers are.
    places : callable
        The numbers from ``low`` to ``high``, sorted, or those of them that lie least densely.
    """

    name: str
    says: str
    places: Callable[[float, float], Array]


def _whole(low: float, high: float) -> Array:
    first, last = np.ceil(low), np.floor(high)
    return np.arange(first, min(last, first + _MOST) + 1) if np.isfinite(first) and first <= last else np.empty(0)


def _multiples(unit: float) -> Callable[[float, float], Array]:
    # multiplying or dividing, whichever people would have done, so that the floats are the very same
    inverse = round(1 / unit) if unit < 1 else 0
    return lambda low, high: (
        _whole(low * inverse, high * inverse) / inverse if inverse else _whole(low / unit, high / unit) * unit
    )


def _image(
    forward: Callable[[Array], Array], back: Callable[[float], float], *, least: float = 1.0, falling: bool = False
) -> Callable[[float, float], Array]:
    """Images of whole numbers from ``least`` on under a monotone function."""

    def places(low: float, high: float) -> Array:
        with np.errstate(all="ignore"):
            ends = np.nan_to_num([back(low), back(high)], nan=0.0, posinf=1e15, neginf=-1e15)
        first, last = max(least, np.floor(ends.min()) - 1), np.ceil(ends.max()) + 1
        if falling:
            last = min(last, 1e15)
        numbers = _whole(first, last)
        with np.errstate(all="ignore"):
            found = np.sort(np.asarray(forward(numbers), dtype=np.float64))
        return found[(found >= low) & (found <= high)]

    return places


def _converted(factor: float, digits: int, offset: float = 0.0) -> Callable[[float, float], Array]:
    """Whole numbers of another unit, converted and rounded."""

    def places(low: float, high: float) -> Array:
        numbers = _whole((low - 1) / factor - offset, (high + 1) / factor - offset)
        found = np.unique(np.round((numbers + offset) * factor, digits))
        return found[(found >= low) & (found <= high)]

    return places


def _significant(digits: int) -> Callable[[float, float], Array]:
    def places(low: float, high: float) -> Array:
        parts = []
        for sign in (-1.0, 1.0):
            top = max(-low, 0.0) if sign < 0 else max(high, 0.0)
            if top <= 0:
                continue
            for power in range(int(np.floor(np.log10(top))), int(np.floor(np.log10(top))) - 7, -1):
                scale = power - digits + 1
                numbers = np.arange(10 ** (digits - 1), 10**digits, dtype=np.float64)
                parts.append(sign * (numbers * 10.0**scale if scale >= 0 else numbers / 10.0**-scale))
        found = np.unique(np.concatenate(parts)) if parts else np.empty(0)
        return found[(found >= low) & (found <= high)]

    return places


def _rounded(places: Callable[[float, float], Array], digits: int) -> Callable[[float, float], Array]:
    return lambda low, high: np.unique(np.round(places(low, high), digits))


def _all() -> dict[str, Pattern]:
    made = [
        Pattern(name=f"multiples-{unit:g}", says=f"multiples of {unit:g}", places=_multiples(unit))
        for unit in (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0)
    ]
    images: list[tuple[str, str, Callable[[float, float], Array]]] = [
        ("log", "logarithms of whole numbers", _image(np.log, lambda y: float(np.exp(y)))),
        ("log1p", "logarithms of whole numbers", _image(np.log1p, lambda y: float(np.expm1(y)), least=0.0)),
        ("log10", "decimal logarithms of whole numbers", _image(np.log10, lambda y: float(np.float_power(10.0, y)))),
        ("log2", "binary logarithms of whole numbers", _image(np.log2, lambda y: float(np.exp2(y)))),
        ("sqrt", "square roots of whole numbers", _image(np.sqrt, lambda y: max(y, 0.0) ** 2, least=0.0)),
        ("square", "squares of whole numbers", _image(np.square, lambda y: max(y, 0.0) ** 0.5, least=0.0)),
        ("cube", "cubes of whole numbers", _image(lambda k: k**3, lambda y: max(y, 0.0) ** (1 / 3), least=0.0)),
        (
            "reciprocal",
            "reciprocals of whole numbers",
            _image(lambda k: 1 / k, lambda y: 1 / y if y > 0 else 1e15, falling=True),
        ),
        (
            "per-mille",
            "a thousand over whole numbers",
            _image(lambda k: 1000 / k, lambda y: 1000 / y if y > 0 else 1e15, falling=True),
        ),
        (
            "exp",
            "exponentials of tenths",
            _image(lambda k: np.exp(k / 10), lambda y: 10 * float(np.log(max(y, 1e-300))), least=-1e4),
        ),
    ]
    for name, says, places in images:
        made.append(Pattern(name=name, says=says, places=places))
        made += [
            Pattern(name=f"{name}/{digits}", says=f"{says}, rounded", places=_rounded(places, digits))
            for digits in (1, 2, 3, 4, 5, 6)
        ]
    for factor in (*CONVERSIONS, *(1 / factor for factor in CONVERSIONS)):
        made += [
            Pattern(
                name=f"unit-{factor:.6g}/{digits}",
                says=f"whole numbers of a unit of {factor:.4g}, rounded",
                places=_converted(factor, digits),
            )
            for digits in (0, 1, 2, 3)
        ]
    for factor, offset, name in ((1 / 1.8, -32.0, "celsius"), (1.8, 32 / 1.8, "fahrenheit")):
        made += [
            Pattern(
                name=f"{name}/{digits}",
                says="whole degrees of the other scale, rounded",
                places=_converted(factor, digits, offset),
            )
            for digits in (0, 1, 2)
        ]
    made += [
        Pattern(name=f"digits-{digits}", says=f"numbers of {digits} significant digits", places=_significant(digits))
        for digits in (2, 3, 4)
    ]
    return {pattern.name: pattern for pattern in made}


PATTERNS = _all()
"""Every pattern that is looked for, by name."""


def fineness(values: Array) -> float:
    """Half the distance within which a number of this column means the same: its decimals, or its last bits."""
    coarse, size = precision(values), float(np.max(np.abs(values), initial=0.0))
    if coarse > FLOAT32 * size:
        return coarse
    with np.errstate(over="ignore"):
        single = bool(np.all(values.astype(np.float32) == values))
    return FLOAT32 * size if single else 2.0**-46 * size


def members(values: Array, places: Array, slack: float) -> NDArray[np.bool_]:
    """Which values lie on one of the sorted places, up to ``slack``."""
    if not len(places):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.searchsorted(places, values)
    near = np.minimum(
        np.abs(values - places[np.minimum(at, len(places) - 1)]), np.abs(values - places[np.maximum(at - 1, 0)])
    )
    return np.asarray(near <= slack)


def find_patterns(column: Array) -> tuple[str, ...]:
    """The patterns that the column has more of than chance puts there, by name."""
    from scipy.special import bdtrc

    values = column[np.isfinite(column)]
    values = values if len(values) <= _ROWS else values[:: len(values) // _ROWS + 1]
    if len(values) < 10 or np.ptp(values) == 0:
        return ()
    unit = 2 * fineness(values)
    decimal = precision(values) == 0.5 * unit and unit > 2.0**-20 * float(np.abs(values).max())
    written = str(round(-np.log10(unit))) if decimal else ""
    low, high = float(values.min()), float(values.max())
    found: list[tuple[float, str]] = []
    for pattern in PATTERNS.values():
        if pattern.name.partition("/")[2] not in ("", written):
            continue  # rounded to other decimals than the column is
        places = pattern.places(low - unit, high + unit)
        if len(places) < 2:
            continue
        inside = values[(values >= places[0] - unit) & (values <= places[-1] + unit)]
        if not len(inside):
            continue
        # chance: the share of the column's own grid, near each value, that the pattern occupies
        expected = float(np.minimum(_density(inside, places) * unit, 1.0).mean())
        if expected > 0.6:
            continue
        hits = int(np.count_nonzero(members(inside, places, 1e-3 * unit if decimal else 0.5 * unit)))
        limit = _FAVOURITE if pattern.name.startswith("multiples") else _UNUSUAL
        # some rows may be whole or converted among others; digits and logarithms are a column's own way of writing
        mixed = pattern.name.startswith(_MIXED)
        if hits >= (3 if mixed else max(3.0, _ALL * len(inside))) and bdtrc(hits - 1, len(inside), expected) < limit:
            found.append((-hits * float(np.log(hits / len(inside) / max(expected, 1e-12))), pattern.name))
    return tuple(name for _, name in sorted(found)[:6])


def _density(values: Array, places: Array) -> Array:
    """Places for each unit of length, over the eleven places around each value."""
    at = np.clip(np.searchsorted(places, values), 1, len(places) - 1)
    first, last = np.maximum(at - 6, 0), np.minimum(at + 5, len(places) - 1)
    return np.asarray((last - first) / np.maximum(places[last] - places[first], 1e-300))
