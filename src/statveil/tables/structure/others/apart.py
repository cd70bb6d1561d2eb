"""How far apart the differences and quotients of two columns stand, found once for both orders of the two.

Of twelve hidden columns each is looked at beside eleven others, and the differences of two columns are those of the
same two in the other order, but for their sign.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.distinct import Memo, sorted_by_engine

__all__ = ["FINE", "shifted", "surely_apart"]

FINE = 1e-10
"""Of the spread: differences nearer than that are one."""

_ROWS = 3  # that share one difference
_LARGEST_LOG = 600.0  # of quotients that are floats of all digits, either way up


class _Apart(NamedTuple):
    """What any three differences of a pair reach over, at least, and the largest of all."""

    span: float
    largest: float


_Known = dict[tuple[int, int, bool], tuple["weakref.ref[NDArray[Any]]", _Apart | None]]
_memo: Memo[_Known] = Memo(lambda column: {}, 64)


def shifted(values: Array, column: Array, shift: int) -> tuple[Array, Array]:
    """Each row of the one beside the row of the other that stands so many rows further on."""
    if not shift:
        return values, column
    return (values[:-shift], column[shift:]) if shift > 0 else (values[-shift:], column[:shift])


def surely_apart(values: Array, column: Array, shift: int) -> bool:
    """Whether no three rows share a difference or a quotient up to ``FINE``, as far as that is known from both orders.

    Asked of arrays that nobody can write to; of others, and of those with gaps, the answer is no.
    """
    if values.flags.writeable or column.flags.writeable:
        return False
    differences, quotients = (_between(values, column, shift, ratio=ratio) for ratio in (False, True))
    if differences is None or quotients is None:
        return False
    spread = float(np.std(shifted(values, column, shift)[0]))
    # as far as either side may be rounded
    off = 8 * float(np.spacing(differences.largest))
    off_logs = 8 * float(np.spacing(quotients.largest) + 2.0**-52)
    return differences.span > 1.001 * FINE * spread + off and quotients.span > 1.001 * FINE + off_logs


def _between(values: Array, column: Array, shift: int, *, ratio: bool) -> _Apart | None:
    """The span of the nearest three, known from the other order or found now."""
    if id(values) > id(column):
        return _between(column, values, -shift, ratio=ratio)
    known, key = _memo(values), (id(column), shift, ratio)
    if key in known and known[key][0]() is column:
        return known[key][1]
    found = _found(*shifted(values, column, shift), ratio=ratio)
    known[key] = weakref.ref(column), found
    return found


def _found(x: Array, y: Array, *, ratio: bool) -> _Apart | None:
    with np.errstate(all="ignore"):
        rest = np.log(np.abs(y / x)) if ratio else y - x
    if len(rest) <= _ROWS:
        return None
    low, high = float(rest.min()), float(rest.max())
    width, largest = high - low, max(abs(low), abs(high))
    if not 1e-200 < width < 1e200 or (ratio and largest > _LARGEST_LOG):  # also where some are no numbers
        return None
    scale = (2**32 - 2) / width
    cells = sorted_by_engine(((rest - low) * scale).astype(np.uint32))
    nearest = int((cells[_ROWS - 1 :] - cells[: 1 - _ROWS]).min())
    return _Apart(span=max(nearest - 2, 0) / scale, largest=largest)
