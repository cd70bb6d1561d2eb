"""A flag for a limit that other columns say, as a link: known limits fit the column in its own place alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.others.links import Link, best_cut, codes_among, lagged, wrong_sides

__all__ = ["Curve", "CurveLink", "LimitLink", "Split", "limit_link"]

Keys = NDArray[np.generic]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """A way to part the labels of a column in two: ``marked`` are the labels of the flagged rows, ``other`` the rest.

    They are positions among the ``names`` of all labels, in rising order.
    """

    flag: Flags
    names: Keys
    marked: NDArray[np.int64]
    other: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FlagLink(Link):
    """The last column is a flag for a limit that the others say."""

    attacker: ClassVar[str] = "limits"

    split: Split

    def _sides(self, others: Mapping[str, Array]) -> tuple[Flags, Flags]:
        """Which rows are flagged, and in which that is known."""
        code = codes_among(self.split.names, others[self.columns[-1]])
        return np.isin(code, self.split.marked), code >= 0

    def _misfit(self, above: Array, others: Mapping[str, Array], *, rising: bool) -> float:
        """Of rows of which the limit says how far they are above it, NaN where it says nothing."""
        flag, known = self._sides(others)
        known &= np.isfinite(above)
        return wrong_sides((above[known] >= 0) == rising, flag[known])

    def _moved(self, was: Array, above: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        """The flag worked out anew: rows that change sides take the nearest label of the other one."""
        name = self.columns[-1]
        flag, known = self._sides(others)
        changed = known & np.isfinite(above) & np.isfinite(was) & ((above >= 0) != (was >= 0))
        column = others[name].copy()
        for side, labels in ((True, self.split.marked), (False, self.split.other)):
            column[changed & (flag != side)] = float(self.split.names[labels[0]])
        return {name: column}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitLink(_FlagLink):
    """The limit goes by the labels of the other columns: one for each, NaN where no row shows it."""

    says: ClassVar[str] = "a flag for a limit by label"

    labels: tuple[Keys, ...]
    """The labels of each of the other columns, in rising order."""
    limits: Array
    """One for each combination of them."""
    rising: bool

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        return self._misfit(original - self._limit(others), others, rising=self.rising)

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        return self._moved(before - self._limit(others), after - self._limit(others), others)

    def _limit(self, others: Mapping[str, Array]) -> Array:
        at = np.zeros(len(others[self.columns[0]]), dtype=np.int64)
        known = np.ones(len(at), dtype=np.bool_)
        for names, column in zip(self.labels, self.columns, strict=False):
            code = codes_among(names, others[column])
            known &= code >= 0
            at = at * len(names) + np.maximum(code, 0)
        return np.where(known, self.limits[at], np.nan)


def limit_link(values: Array, names: Sequence[str], keys: Sequence[Keys], name: str, split: Split) -> LimitLink:
    """The link of a flag to columns of labels, with the limits that the rows show."""
    labels = tuple(np.unique(one) for one in keys)
    joint = np.zeros(len(values), dtype=np.int64)
    for one, column in zip(labels, keys, strict=True):
        joint = joint * len(one) + codes_among(one, column)
    limits = np.full(int(np.prod([len(one) for one in labels])), np.nan)
    order = np.argsort(joint, kind="stable")
    starts = np.flatnonzero(np.concatenate(([True], np.diff(joint[order]) != 0)))
    cuts = []
    for rows in np.split(order, starts[1:]):
        flag = split.flag[rows]
        if flag.any() and not flag.all():
            cuts.append((int(joint[rows[0]]), *best_cut(values[rows], flag), len(rows)))
    rising = sum(size if above else -size for _, _, above, size in cuts) >= 0
    for at, cut, above, _ in cuts:
        if above == rising:
            limits[at] = cut
    return LimitLink(columns=(*names, name), split=split, labels=labels, limits=limits, rising=rising)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curve:
    """A cubic over another column, of both columns themselves or of their logarithms, above which rows are flagged.

    ``weights`` are of 1, v, v^2, v^3 and u, where u and v are the column and the other one in units of their spread.
    """

    logs: bool
    centre: tuple[float, float]
    spread: tuple[float, float]
    weights: Array
    cut: float
    rising: bool

    def above(self, values: Array, beside: Array) -> Array:
        """How far rows lie above the curve, in no unit; NaN where one of the columns has no value."""
        with np.errstate(all="ignore"):
            x, y = (np.log(values), np.log(beside)) if self.logs else (values, beside)
            u, v = (x - self.centre[0]) / self.spread[0], (y - self.centre[1]) / self.spread[1]
            w = self.weights
            score = w[0] + v * (w[1] + v * (w[2] + v * w[3])) + w[4] * u
        return np.where(np.isfinite(score), score - self.cut, np.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveLink(_FlagLink):
    """The limit is a curve over another column, or over the row so many rows before where ``lag`` is not 0."""

    says: ClassVar[str] = "a flag for a limit that follows another column"

    curve: Curve
    lag: int = 0

    @property
    def in_order(self) -> bool:
        return self.lag != 0

    def misfit(self, original: Array, others: Mapping[str, Array]) -> float:
        return self._misfit(self._above(original, others), others, rising=self.curve.rising)

    def moved(self, before: Array, after: Array, others: Mapping[str, Array]) -> dict[str, Array]:
        return self._moved(self._above(before, others), self._above(after, others), others)

    def _above(self, column: Array, others: Mapping[str, Array]) -> Array:
        beside = lagged(column, self.lag) if self.lag else others[self.columns[0]]
        return self.curve.above(column, beside)
