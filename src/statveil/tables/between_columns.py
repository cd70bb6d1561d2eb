"""The checks of two columns that move apart: each alone, and what lies between the two values of a row.

The ratio of the two (under a scaling) or their difference (under a shift) moves by what the secret moves by, in every
row alike: it is a column that is released so, though nobody wrote it down. A step, a frequent value or a bound of it,
as where both are equal or one is never above the other, and a column that tells it, as a margin does, show how far.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from statveil.made_plan import Plan
from statveil.tables.blocks import Array
from statveil.tables.groups import GroupRows
from statveil.tables.structure.bound_search import natural_bounds
from statveil.tables.structure.findings import Finding
from statveil.tables.structure.group_search import order_of, rises
from statveil.tables.structure.telling import Copies
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
    """Looks at the other columns beside each of the two, with the other one among them, and beside what lies between.

    The two move by different maps, so each is to the other as a column that stays as it is.
    """

    def __init__(
        self, names: tuple[str, str], *, stretched: bool, values_show: bool = True, shuffled: bool = False
    ) -> None:
        super().__init__(values_show=values_show)
        self._both, self._stretched, self._shuffled = names, stretched, shuffled
        self._parts = [Copies(values_show=values_show) for _ in range(3)]

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        if self._shuffled and not any(rises(order_of(column)) for column in others.values()):
            # sorted by both, each is told by the other and by the rows around, which nobody finds again
            order = np.random.default_rng(0).permutation(len(values))
            values, others = values[order], {name: column[order] for name, column in others.items()}
        one, two = (np.ascontiguousarray(values[:, place]) for place in range(2))
        beside = ({**others, self._name(1, others): _series(two)}, {**others, self._name(0, others): _series(one)})
        apart = between(one, two, stretched=self._stretched)
        fed = zip(self._parts, (one, two, apart), (*beside, others), strict=True)
        wanted = [part.add(own, columns) for part, own, columns in fed]  # each sees all rows
        return all(wanted)

    def found(self, statistics: Collection[float] = ()) -> list[Finding]:
        whose = (*(f"of {name!r}" for name in self._both), f"of {_between_words(self._stretched)}")
        told = zip(whose, (part.found(statistics) for part in self._parts), strict=True)
        return [replace(one, says=f"({of}) {one.says}") for of, found in told for one in found]

    def _name(self, place: int, others: Mapping[str, pl.Series]) -> str:
        """What the one of the two is called among others, of which a column named by a number may have that text."""
        name = self._both[place]
        while name in others:
            name += "'"
        return name


def _between_words(stretched: bool) -> str:
    return f"the {'ratio' if stretched else 'difference'} of the two values of a row"


def _series(values: Array) -> pl.Series:
    return pl.Series("", values).fill_nan(None)
