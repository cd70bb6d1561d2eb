"""Whether a column lies on a lattice (multiples of one step, up to a common offset), and which."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.glance import glance

__all__ = ["Lattice", "any_step", "find_lattice", "short_floats", "ulp"]

MOST_DECIMALS = 12
MOST_STEPS = 1e8
"""Steps from the smallest to the largest value up to which a step that is not decimal is looked for."""
CLOSE = 1e-6
"""How far from the lattice, in steps, a value may lie."""
_GLANCE = 1024  # neighbours of a first look
_LUCK = 40.0  # bits of coincidence that a lattice of free step and offset must explain


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """Values are ``(index + a common offset) * up / down``.

    Parameters
    ----------
    up, down : float
        The step as a fraction, so that multiples of it come out as the nearest doubles.
    index : array of int
        Number of the step at each distinct value, in rising order.
    anchored : bool
        Whether the offset is 0: the values themselves are multiples of the step, and ``index`` counts from 0.
    """

    up: float
    down: float
    index: NDArray[np.int64]
    anchored: bool

    @property
    def step(self) -> float:
        """The distance of neighbours."""
        return self.up / self.down

    def times(self, periods: int) -> float:
        """Give so many steps as a number."""
        return periods * self.up / self.down


def ulp(values: Array, bits: int) -> Array:
    """Distance from each value to the next number with ``bits`` significant bits."""
    return np.spacing(np.abs(values)) * 2.0 ** (53 - bits)


def find_lattice(values: Array, rows: int, bits: int) -> Lattice | None:
    """Find the largest step of distinct rising ``values`` that stand for ``rows`` rows.

    Decimal numbers come first: that is what files hold. Then any step, up to rounding errors. ``bits`` is 53, or 24
    for 32-bit floats, whose values are exact here but mean less.
    """
    if bits <= 24:
        return _decimal(values, rows, 24) or any_step(values, 24)
    found = _decimal(values, rows, bits) or any_step(values, bits)
    if not short_floats(values):
        return found
    top = float(np.max(np.abs(values)))
    # Continuous 32-bit floats that were stored as 64-bit ones are multiples of the last bit of the smallest of them.
    # That is no step of the column; but whole numbers that 32 bits can hold are taken for what they seem to be.
    if found is not None:
        # Values whose own last bit is finer than the step tell the two apart.
        luck = float(np.sum(-np.log2(np.clip(ulp(values, 24) / found.step, 2.0**-50, 1.0))))
        if luck >= _LUCK:
            return found
        if found.step >= 1 and found.down == 1 and top <= 2**24:
            return found
    return find_lattice(values, rows, 24)


def short_floats(values: Array) -> bool:
    """Whether all values are 32-bit floats: as a rule a few of them say that they are not.

    >>> short_floats(np.array([0.5, 3.0])), short_floats(np.array([0.5, 0.1]))
    (True, False)
    """
    return all(
        bool(np.max(np.abs(some)) < 3e38) and bool(np.all(some.astype(np.float32) == some))
        for some in (values[glance(len(values))], values)
    )


def _decimal(values: Array, rows: int, bits: int) -> Lattice | None:
    """Values that are the nearest floating-point numbers to decimals, and the greatest common step of those."""
    top = float(np.max(np.abs(values)))
    sure = _slack(bits)
    few = values[:: max(1, len(values) // 256)]
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        if top * scale > 2.0 ** (bits - sure):
            return None  # the digits would be finer than the numbers themselves tell
        if not (_are_decimal(few, scale, bits) and _are_decimal(values, scale, bits)):
            continue
        # Bits of luck that continuous values would need to be decimal. More digits, more chances: ask for more.
        luck = float(np.sum(-np.log2(np.minimum(1.0, 3 * ulp(values, bits) * scale))))
        if luck < 15 + 2 * decimals:
            return None
        index = np.rint(values * scale).astype(np.int64)
        factor = int(np.gcd.reduce(index - index[0]))
        # Few rows share a factor by accident, two rows always do.
        if factor < 2 or (rows - 2) * math.log2(factor) < 20:
            return Lattice(up=1.0, down=scale, index=index, anchored=True)
        anchored = int(index[0]) % factor == 0
        base = 0 if anchored else int(index[0])
        return Lattice(up=float(factor), down=scale, index=(index - base) // factor, anchored=anchored)
    return None


def _slack(bits: int) -> int:
    """Bits by which a step must exceed the spacing of the largest value."""
    return 10 if bits > 24 else 4


def _are_decimal(values: Array, scale: float, bits: int) -> bool:
    # A whole number below 2**53 over a power of ten up to 10**22 is rounded once: the nearest double. A product or a
    # sum of decimals may miss it by one.
    nearest = np.rint(values * scale) / scale
    return bool(np.all(np.abs(nearest - values) <= 1.25 * ulp(values, bits)))


def any_step(values: Array, bits: int) -> Lattice | None:
    """Find a step that is not decimal, such as 1/550, from the gaps between neighbours."""
    if len(values) < 4:
        return None
    spread = float(values[-1] - values[0])
    if not math.isfinite(spread):
        return None
    fine = float(np.max(ulp(values[[0, -1]], bits)))
    least = max(fine * 2.0 ** _slack(bits), spread / MOST_STEPS)
    # Gaps of rounding size join two spellings of one value. Any other gap below the least step rules a lattice out.
    noise = fine * (64 if bits > 24 else 2)
    middle = np.diff(values[len(values) // 2 : len(values) // 2 + _GLANCE])  # where most values are near to each other
    if np.any((middle > noise) & (middle < 0.9 * least)):
        return None
    gaps = np.diff(values)
    real = gaps > noise
    if not np.any(real) or float(np.min(gaps[real])) < 0.9 * least:
        return None
    short = np.partition(gaps[real], min(63, int(np.sum(real)) - 1))[:64]
    step = _common(np.sort(short), least)
    start = float(values[int(np.flatnonzero(real & (gaps <= short.min()))[0])])
    if step < 0.9 * least:
        return None
    fitted = _refined(values - start, step, float(np.max(short)), least, fine)
    if fitted is None:
        return None
    step, shift = fitted
    steps = (values - start - shift) / step
    index = np.rint(steps)
    close = max(CLOSE, 2 * fine / step)
    if float(np.max(np.abs(steps - index))) > close:
        return None
    # Luck that continuous values would need: two of them are used up by the offset and the step.
    sites = len(np.unique(index))
    if (sites - 2) * math.log2(1 / (2 * close)) - math.log2(spread / step + 1) < _LUCK:
        return None
    up, down = _simple(step, 4 * fine / spread)
    whole = np.rint(values / (up / down))
    anchored = bool(np.max(np.abs(values / (up / down) - whole)) <= 2 * close)
    number = (whole if anchored else index - index[0]).astype(np.int64)
    return Lattice(up=up, down=down, index=number, anchored=anchored)


def _common(gaps: Array, least: float) -> float:
    """Greatest common divisor of a few gaps, up to ``least / 4``; below ``least`` if there is none."""
    step = float(gaps[0])
    for used in range(2, len(gaps) + 1):
        step = _divisor(float(gaps[used - 1]), step, least)
        if step < 0.9 * least:
            break
        # Euclid's rule adds up errors, many times the error of one gap. A common fit of the gaps so far does not.
        many = np.rint(gaps[:used] / step)
        step = float(many @ gaps[:used]) / float(many @ many)
    return step


def _divisor(a: float, b: float, least: float) -> float:
    while b > least / 4:
        a, b = b, abs(a - round(a / b) * b)
    return a


def _refined(away: Array, step: float, reach: float, least: float, fine: float) -> tuple[float, float] | None:
    """Fit step and offset to ever more distant values; a value between the lattice's points splits the step.

    ``reach`` is the distance over which the step is known up to rounding errors.
    """
    distance = np.abs(away)
    far = float(np.max(distance))
    for _ in range(60):
        # The step is known up to about error / reach, which fixes the number of steps up to this distance.
        error = max(4 * fine, 1e-7 * step)
        sight = min(far, max(2 * step, 0.05 * step * reach / error))
        if sight < far:
            beyond = distance[distance > reach * (1 + 1e-9)]
            sight = max(sight, float(np.min(beyond))) if len(beyond) else far
        near = away[distance <= sight]
        steps = np.rint(near / step)
        rest = near - steps * step
        worst = int(np.argmax(np.abs(rest)))
        if abs(rest[worst]) > max(0.1 * step, 8 * fine):
            step = _divisor(step, abs(float(rest[worst])), least)
            if step < 0.9 * least:
                return None
            reach = step
            continue
        centred = steps - np.mean(steps)
        square = float(centred @ centred)
        slope = float(centred @ (rest - np.mean(rest))) / square if square else 0.0
        shift = float(np.mean(rest) - slope * np.mean(steps))
        step += slope
        if sight >= far:
            return step, shift
        reach = sight
    return None


def _simple(step: float, doubt: float) -> tuple[float, float]:
    """Give the step as a simple fraction where one lies within the relative ``doubt``, such as 1/550."""
    exact = Fraction(step)
    bound = 1
    while bound <= 10**7:
        near = exact.limit_denominator(bound)
        off = abs(float(near / exact) - 1) if near else 1.0
        # A fraction of small parts that lies so close is no accident.
        if near and off <= doubt and near.numerator * near.denominator * max(doubt, 1e-15) < 1e-3:
            return float(near.numerator), float(near.denominator)
        bound *= 4
    return step, 1.0
