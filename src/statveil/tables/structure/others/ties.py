"""A tie: how other columns tell the released one, so that it can be read off them.

The search for ties serves the release, which refuses them, and the audit, which attacks with them: whatever the one
finds the other must break.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from statveil.tables.blocks import Array
from statveil.tables.structure.reading.clocks import hhmm, minutes, minutes_between

__all__ = ["FORMS", "JOINTS", "Tie", "fitted"]

FORMS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "itself": (lambda x: x, lambda y: y),
    "log": (np.log, np.exp),
    "log1p": (np.log1p, np.expm1),
    "exp": (np.exp, np.log),
    "sqrt": (np.sqrt, np.square),
    "square": (np.square, np.sqrt),
    "reciprocal": (lambda x: 1 / x, lambda y: 1 / y),
}
"""Usual forms in which a column is kept twice, each with the way back. Logarithms to other bases are linear in one."""

JOINTS: dict[str, Callable[[Array, Array], Array]] = {
    "-": np.subtract,
    "+": np.add,
    "/": np.divide,
    "*": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "hypot": np.hypot,
    "leg": lambda y, z: np.sqrt(np.abs(y * y - z * z)),
    "clock": minutes_between,
}
"""What two columns are joined by. Sums and products of more columns have weights."""

_KNOTS = 256  # of a relation that has none of the usual forms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tie:
    """Other columns from which the released one can be read.

    Parameters
    ----------
    columns : tuple of str
        One column, or those that tell it together.
    joint : str
        ``""`` for one column, ``"grows"`` and ``"grows next"`` for what it grows by up to a row or from it on,
        ``"whole"`` where the released column times this one is whole (an average beside its count), a name of
        :data:`JOINTS`, or ``"sum"`` and ``"product"`` with ``weights``.
    form, slope, start : str, float, float
        form(x) = start + slope times what the columns make; ``"any"`` for a relation without a usual form.
    scale, shift : float
        The last step: x = shift + scale times what was read, so that errors do not bias the mean.
    part : pair of float
        The rows that it holds for, as shares of the table; ``scattered`` where it holds for some rows anywhere.
    knots : pair of array, optional
        Places of a relation without a usual form: what the columns make, and x there.
    """

    columns: tuple[str, ...]
    joint: str = ""
    weights: tuple[float, ...] = ()
    form: str = "itself"
    slope: float = 1.0
    start: float = 0.0
    scale: float = 1.0
    shift: float = 0.0
    part: tuple[float, float] = (0.0, 1.0)
    scattered: bool = False
    knots: tuple[Array, Array] | None = None

    def joined(self, columns: Mapping[str, Array]) -> Array:
        """What the columns make together, row by row."""
        parts = [columns[name] for name in self.columns]
        with np.errstate(all="ignore"):
            if self.joint.startswith("grows"):
                steps = np.diff(parts[0])
                return np.concatenate(([np.nan], steps) if self.joint == "grows" else (steps, [np.nan]))
            if self.joint == "sum":
                return np.asarray(np.column_stack(parts) @ np.asarray(self.weights))
            if self.joint == "product":
                return np.asarray(np.log(np.column_stack(parts)) @ np.asarray(self.weights))
            return parts[0] if len(parts) == 1 else JOINTS[self.joint](*parts)

    def read(self, columns: Mapping[str, Array]) -> Array:
        """The original column as far as the others tell it, NaN elsewhere."""
        read = self.back(self.joined(columns))
        rows = np.arange(len(read)) / max(len(read), 1)
        inside = (rows >= self.part[0]) & (rows < self.part[1])
        return np.where(inside & np.isfinite(read), read, np.nan)

    def back(self, joined: Array) -> Array:
        """The original, from what the columns make."""
        with np.errstate(all="ignore"):
            if self.knots is None:
                return np.asarray(self.shift + self.scale * FORMS[self.form][1](self.start + self.slope * joined))
            known = np.where(np.isfinite(joined), joined, self.knots[0][0])
            read = self.shift + self.scale * np.interp(known, *self.knots)
            return np.where(np.isfinite(joined), read, np.nan)

    def moved(self, before: Array, after: Array, columns: Mapping[str, Array]) -> dict[str, Array]:
        """The columns as they would be had the released column been ``after`` instead of ``before``."""
        first = self.columns[0]
        if self.joint == "whole":
            return {}
        if self.joint.startswith("grows"):
            change = np.cumsum(np.nan_to_num(self._made(after) - self._made(before), nan=0.0))
            return {first: columns[first] + (change if self.joint == "grows" else np.roll(change, 1))}
        made = self.joined(columns) + np.nan_to_num(self._made(after) - self._made(before), nan=0.0)
        with np.errstate(all="ignore"):
            match self.joint:
                case "":
                    return {first: made}
                case "sum" | "product":
                    change = (made - self.joined(columns)) / self.weights[0]
                    return {first: columns[first] + change if self.joint == "sum" else columns[first] * np.exp(change)}
                case "-" | "+":
                    other = columns[self.columns[1]]
                    return {first: made + other if self.joint == "-" else made - other}
                case "/" | "*":
                    other = columns[self.columns[1]]
                    return {first: made * other if self.joint == "/" else made / other}
                case "clock":
                    return {first: hhmm(minutes(columns[self.columns[1]]) + made)}
                case "hypot" | "leg":
                    return {name: columns[name] * made / self.joined(columns) for name in self.columns}
                case _:  # the larger or smaller of two: whichever it was
                    mine = columns[first] == self.joined(columns)
                    return {
                        first: np.where(mine, made, columns[first]),
                        self.columns[1]: np.where(mine, columns[self.columns[1]], made),
                    }

    def _made(self, column: Array) -> Array:
        """What a column of such values makes of the others, on average."""
        with np.errstate(all="ignore"):
            plain = (column - self.shift) / (self.scale or 1.0)
            if self.knots is None:
                return np.asarray((FORMS[self.form][0](plain) - self.start) / (self.slope or 1.0))
            made, read = self.knots
            order = np.argsort(read, kind="stable")
            return np.interp(plain, read[order], made[order])


def fitted(tie: Tie, values: Array, joined: Array, *, close: float) -> Tie:
    """The tie with the relation of two columns: the usual form that fits best, or any that rises or falls throughout.

    ``close`` is the correlation from which a usual form is taken for the form.
    """
    good = np.isfinite(values) & np.isfinite(joined)
    x, y = values[good], joined[good]
    best, found = close, tie
    with np.errstate(all="ignore"):
        for form, (there, _) in FORMS.items():
            shape = there(x)
            if np.isfinite(shape).all() and np.ptp(shape) and (fit := abs(float(np.corrcoef(shape, y)[0, 1]))) > best:
                slope, start = np.polyfit(y - y.mean(), shape, 1)
                best = fit + 1e-9  # of two forms that fit alike the plainer one
                found = replace(tie, form=form, slope=float(slope), start=float(start - slope * y.mean()))
    if found is tie:
        edges = np.quantile(y, np.linspace(0, 1, min(_KNOTS, max(4, len(y) // 8)) + 1))
        code = np.clip(np.searchsorted(edges, y, side="right") - 1, 0, len(edges) - 2)
        rows = np.bincount(code, minlength=len(edges) - 1)
        kept = rows > 0
        middles = [np.bincount(code, weights=part, minlength=len(rows))[kept] / rows[kept] for part in (y, x)]
        found = replace(tie, form="any", knots=(middles[0], middles[1]))
    read = found.back(joined)
    known = np.isfinite(read) & np.isfinite(values)
    if np.count_nonzero(known) < 3 or not np.ptp(read[known]):
        return found
    # the mean of what is read shall be the mean, whatever the errors do to it in this form
    scale, middle = np.polyfit(read[known] - read[known].mean(), values[known], 1)
    return replace(found, scale=float(scale), shift=float(middle - scale * read[known].mean()))
