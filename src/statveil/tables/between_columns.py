"""The checks of two columns that move apart: each alone, and what lies between the two values of a row.

The ratio of the two (under a scaling) or their difference (under a shift) moves by what the secret moves by, in every
row alike: it is a column that is released so, though nobody wrote it down. A step, a frequent value or a bound of it,
as where both are equal or one is never above the other, and a column that tells it, as a margin does, show how far. So
does one that tells what both make together, as the rank of their sum: after the move it is the rank of another sum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.made_plan import Plan
from statveil.tables.blocks import Array
from statveil.tables.groups import GroupRows
from statveil.tables.structure.column.bound_search import natural_bounds
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.others.alongside import opaque
from statveil.tables.structure.others.facets import Facet, Parted, Sampled
from statveil.tables.structure.others.telling import Copies
from statveil.tables.structure.reading.sampler import Sampler
from statveil.tables.structure.rows.group_search import keys_of, order_of, rises
from statveil.tables.structure.rows.relation import Keys
from statveil.tables.structure.rows.tied_search import Broken
from statveil.tables.verification import Verifier, bound_findings
from statveil.tables.within_groups import GroupVerifier

__all__ = ["PairCopies", "PairVerifier", "between"]


def between(one: Array, two: Array, *, stretched: bool) -> Array:
    """What lies between the two values of a row, NaN where there is nothing."""
    with np.errstate(all="ignore"):
        apart = one / two if stretched else one - two
    shown = np.isfinite(apart) & ((apart > 0) | (not stretched))
    return np.where(shown, apart, np.nan)


class PairVerifier(GroupVerifier):
    """Watches both columns, each alone, and what lies between them."""

    def __init__(self, plan: Plan, groups: GroupRows, *, bits: int) -> None:
        super().__init__(plan, groups, bits=bits)
        self._between = Verifier(plan, bits=bits, alone=False)
        self._first: Array | None = None

    def watch(self, values: Array, start: int) -> None:
        super().watch(values, start)
        if self._first is None:
            self._first = values
            return
        apart = between(self._first, values, stretched=self.plan.release_mode.stretches)
        self._between.watch(apart, (start - len(values)) // 2)
        self._first = None

    def part(self) -> Self:
        fresh = super().part()
        fresh._between = self._between.part()
        return fresh

    def _samplers(self) -> list[Sampler]:
        return [*super()._samplers(), self._between.sampler]

    def _most(self, rows: int) -> list[int]:
        return [*super()._most(rows), rows // 2]

    def numbers(self) -> tuple[float, ...]:
        return (*super().numbers(), *self._between.numbers())

    def undeclared(self, params: dict[str, float] | None, found: list[Finding] | None = None) -> list[Finding]:
        apart, sample = self._between.undeclared(None), self._between.sampler.values
        stretched = self.plan.release_mode.stretches
        # one that is never above the other, and often near it
        side = np.log(sample) if stretched else sample
        apart += bound_findings(*(0.0 if natural_bounds(one)[0] == 0 else None for one in (side, -side)))
        # no value is named: where one column is a multiple of the other, it is the secret itself
        said = [
            Finding(
                name=name,
                values=(),
                flag="",
                says=f"{_between_words(stretched)} shows {_SHOWS.get(name, 'structure')}; the columns move "
                "apart, and where that comes out shows by how much. Leave such rows out.",
            )
            for name in dict.fromkeys(one.name for one in apart)
        ]
        return [*super().undeclared(params, found), *said]


_SHOWS = {
    "step": "a step, as where one is a whole multiple of the other",
    "heaps": "favourite values",
    "atoms": "frequent values, as where both are equal or one is a fixed multiple of the other",
    "bounds": "a bound, as where one is never above the other",
}


class PairCopies(Copies):
    """Looks at the other columns beside each of the two, with the other one among them, and beside what both make.

    The two move by different maps, so each is to the other as a column that stays as it is.
    """

    def __init__(
        self,
        names: tuple[str, str],
        *,
        stretched: bool,
        values_show: bool = True,
        shuffled: bool = False,
        broken: Broken | None = None,
    ) -> None:
        super().__init__(values_show=values_show)
        self._both, self._stretched, self._shuffled = names, stretched, shuffled
        self.facets = partial(_beside_each_other, names, stretched)
        # of sums nothing is kept but what orders the rows: their digits change
        self._parts = [
            *(Copies(values_show=values_show, broken=broken, shuffled=shuffled) for _ in range(2)),
            Copies(values_show=values_show),
            *(Copies(values_show=False) for _ in range(1 + stretched)),
        ]
        self._ordered = _OrderedByBoth()

    @property
    def searches(self) -> Sequence[Sampled] | None:
        # shuffled anew in every piece that comes, so these must be the same
        return None if self._shuffled else self._parts

    @property
    def watchers(self) -> Sequence[Parted]:
        return (self._ordered,)

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        if self._shuffled and not any(rises(order_of(column)) for column in others.values()):
            # sorted by both, each is told by the other and by the rows around, which nobody finds again
            order = np.random.default_rng(0).permutation(len(values))
            values, others = values[order], {name: column[order] for name, column in others.items()}
        seen = _beside_each_other(self._both, self._stretched, values, others, 0)
        wanted = [part.add(one.values, one.others) for part, one in zip(self._parts, seen, strict=True)]  # all rows
        self._ordered.add(values, others)
        return all(wanted)

    def found(self, statistics: Collection[float] = ()) -> list[Finding]:
        whose = (
            *(f"of {name!r}" for name in self._both),
            f"of {_between_words(self._stretched)}",
            "of the sum of the two values of a row",
            *(("of the difference of the two values of a row",) if self._stretched else ()),
        )
        told = zip(whose, (part.found(statistics) for part in self._parts), strict=True)
        said = [replace(one, says=f"({of}) {one.says}") for of, found in told for one in found]
        if names := self._ordered.found():
            says = (
                f"other columns rise with both columns together ({', '.join(map(repr, names[:5]))}), as the rank of a "
                "sum or product of the two does: the columns move apart, and where the order fits again shows by how "
                "much; drop them."
            )
            said.append(Finding(name="copies", values=(), flag="", says=says))
        return said


def _beside_each_other(
    names: tuple[str, str], stretched: bool, values: Array, others: Mapping[str, pl.Series], start: int
) -> list[Facet]:
    """Each of the two with the other one among the others, then what both make."""
    one, two = (np.ascontiguousarray(values[:, place]) for place in range(2))
    made = (between(one, two, stretched=stretched), one + two, *((one - two,) if stretched else ()))
    return [
        Facet(one, {**others, _free(names[1], others): _series(two)}, start),
        Facet(two, {**others, _free(names[0], others): _series(one)}, start),
        *(Facet(own, others, start) for own in made),
    ]


def _free(name: str, others: Mapping[str, pl.Series]) -> str:
    """What one of the two is called among others, of which a column named by a number may have that text."""
    while name in others:
        name += "'"
    return name


def _between_words(stretched: bool) -> str:
    return f"the {'ratio' if stretched else 'difference'} of the two values of a row"


def _series(values: Array) -> pl.Series:
    return pl.Series("", values).fill_nan(None)


class _OrderedByBoth:
    """Columns that rise with a weighted sum or a product of powers of the two, or are labels for ranges of one."""

    def __init__(self) -> None:
        self._rows: list[tuple[Array, Array, dict[str, tuple[Array, Keys]]]] = []
        self._held = 0

    def part(self, start: int) -> Self:
        """One for the rows from ``start`` on; it will :meth:`join` that of the rows before."""
        fresh = copy(self)
        fresh._rows, fresh._held = [], start
        return fresh

    def join(self, other: Self) -> None:
        """Take in the rows that follow."""
        self._rows += other._rows
        self._held = other._held

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> None:
        """Take in the next rows."""
        if self._held >= _ORDERED_ROWS:
            return
        one, two = (np.ascontiguousarray(values[:, place]) for place in range(2))
        some = slice(0, _ORDERED_ROWS - self._held)
        plain = [name for name, column in others.items() if not opaque(column.dtype)][:_ORDERED_COLUMNS]
        columns = {name: others[name][some] for name in plain}
        self._rows.append(
            (one[some], two[some], {name: (order_of(column), keys_of(column)) for name, column in columns.items()})
        )
        self._held += len(one[some])

    def found(self) -> list[str]:
        """Names of the columns that do."""
        if not self._rows:
            return []
        one, two = (np.concatenate([part[place] for part in self._rows]) for place in range(2))
        names = [name for name in self._rows[0][2] if all(name in part[2] for part in self._rows)]
        told = []
        for name in names:
            order, keys = (np.concatenate([part[2][name][place] for part in self._rows]) for place in range(2))
            if _rises_with(one, two, order) or _labels_of(one, two, keys):
                told.append(name)
        return told


_ORDERED_ROWS, _ORDERED_COLUMNS = 2**14, 200
_FEWEST_ORDERED = 12
_TOLD = 0.95
"""Rank correlation from which a column tells another one, as among copies."""
_LABELS = (3, 30)
_OF_RANGES = 0.9
"""Share of what labels for equal ranges say of a column, from which some are such labels with errors."""


def _together(one: Array, two: Array, known: NDArray[np.bool_]) -> Iterator[tuple[Array, NDArray[np.bool_]]]:
    """The two beside each other, and their logarithms, in the rows that have all of it."""
    with np.errstate(all="ignore"):
        ways = ((one, two), (np.log(one), np.log(two)))
    for first, second in ways:
        rows = known & np.isfinite(first) & np.isfinite(second)
        if np.count_nonzero(rows) >= _FEWEST_ORDERED:
            yield np.stack((first[rows], second[rows]), axis=1), rows


def _rises_with(one: Array, two: Array, column: Array) -> bool:
    """Whether a column has the order of a weighted sum of the two, or of their logarithms."""
    from scipy.stats import norm, rankdata

    for both, rows in _together(one, two, np.isfinite(column)):
        if len(np.unique(column[rows])) < _FEWEST_ORDERED:
            continue
        ranks = rankdata(column[rows])
        beside = np.column_stack((np.ones(len(both)), both))
        # scores, as the tails of the two would bend a plain rank
        for aim in (ranks, norm.ppf(ranks / (len(ranks) + 1)), column[rows]):
            weights, *_ = np.linalg.lstsq(beside, aim, rcond=None)
            order = rankdata(beside @ weights)
            if np.ptp(order) and abs(float(np.corrcoef(order, ranks)[0, 1])) >= _TOLD:
                return True
    return False


def _labels_of(one: Array, two: Array, keys: Keys) -> bool:
    """Whether labels tell ranges of a weighted sum of the two: that which lies furthest apart between the labels."""
    from scipy.stats import rankdata

    for both, rows in _together(one, two, np.ones(len(one), dtype=np.bool_)):
        _, label, sizes = np.unique(keys[rows], return_inverse=True, return_counts=True)
        if not _LABELS[0] <= len(sizes) <= _LABELS[1] or sizes.min() < _LABELS[0]:
            continue
        off = both - both.mean(axis=0)
        means = np.stack([np.bincount(label, weights=off[:, place]) / sizes for place in range(2)], axis=1)
        spread = off.T @ off
        if np.linalg.cond(spread) > _ALIKE:
            continue
        apart, directions = np.linalg.eig(np.linalg.solve(spread, (means * sizes[:, None]).T @ means))
        ranks = rankdata(off @ np.real(directions[:, int(np.argmax(np.real(apart)))]))
        within = np.bincount(label, weights=ranks) / sizes
        said = float(sizes @ (within - ranks.mean()) ** 2) / float(np.sum((ranks - ranks.mean()) ** 2))
        if said >= _OF_RANGES * (1.0 - float(np.sum((sizes / len(label)) ** 3))):
            return True
    return False


_ALIKE = 1e12
"""Condition from which the two are one column, which other searches name."""
