"""A public shape as people write it: ``lognorm(1)``, ``quantiles(0=1,0.5=3,1=20)``, a table, a sample."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from statveil.errors import ProblemError, shortened
from statveil.problem.shapes.scipy_shape import scipy_shape
from statveil.problem.shapes.standard import Standard
from statveil.problem.shapes.table import QuantileTable, table_of_sample

__all__ = ["standard_of"]

_WRITTEN = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,39})(?:\(([^()]*)\))?")
_LONGEST = 100_000
_FORMS = "write lognorm(1), t(3) or another continuous distribution of SciPy, or quantiles(0=1,0.5=3,1=20)"


def standard_of(of: Any) -> Standard:
    """The shape from its text, its table of quantiles by level, its JSON object, or a public sample."""
    if isinstance(of, Standard):
        return of
    if isinstance(of, str):
        return _written(of)
    if isinstance(of, Mapping):
        if set(of) <= {"levels", "values", "label"} and {"levels", "values"} <= set(of):
            return QuantileTable(of["levels"], of["values"], of.get("label", ""))
        return QuantileTable(*_ordered(dict(of)))
    if of is None or isinstance(of, bool | int | float | bytes):
        raise ProblemError(f"a shape must be a text, a table of quantiles or a public sample. Got {of!r}; {_FORMS}.")
    return table_of_sample(of)


def _written(text: str) -> Standard:
    found = _WRITTEN.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if found is None:
        raise ProblemError(f"a shape is a name with numbers in brackets. Got {shortened(text)!r}; {_FORMS}.")
    name, inside = found[1], found[2]
    parts = [part.strip() for part in inside.split(",")] if inside and inside.strip() else []
    if name == "quantiles":
        pairs = [part.partition("=") for part in parts]
        if not parts or any(not equals for _, equals, _ in pairs):
            raise ProblemError(f"a table of quantiles is written quantiles(LEVEL=VALUE,...). Got {shortened(text)!r}.")
        table: dict[float, float] = {}
        for level, _, value in pairs:
            at = _number(level, text)
            if at in table:
                raise ProblemError(f"the level {at:g} stands twice in {shortened(text)!r}; keep one of them.")
            table[at] = _number(value, text)
        return QuantileTable(*_ordered(table))
    return scipy_shape(name, tuple(_number(part, text) for part in parts))


def _number(part: str, text: str) -> float:
    try:
        value = float(part)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ProblemError(
            f"every argument of a shape must be a finite number. Got {shortened(part)!r} in {shortened(text)!r}; "
            f"{_FORMS}."
        )
    return value


def _ordered(table: dict[Any, Any]) -> tuple[list[float], list[float]]:
    """A table by level, in order."""
    try:
        levels = sorted(table)
    except TypeError:
        raise ProblemError("the levels of a table of quantiles must be numbers from 0 to 1.") from None
    return levels, [table[level] for level in levels]
