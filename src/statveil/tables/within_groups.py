"""The checks of a column whose groups move by maps of their own: on all rows, on each group, and between the groups.

A look at all rows misses what only one group has: a copy of it, a step, a bound. And what all rows keep under one map
shows under two: a value that both groups have comes out twice, and how far apart tells everything.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Self

import numpy as np
import polars as pl

from statveil.made_plan import Plan
from statveil.tables.blocks import Array
from statveil.tables.groups import GroupRows
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.others.facets import Facet, Sampled, some_rows
from statveil.tables.structure.others.telling import Copies
from statveil.tables.structure.reading.sampler import Sampler, thinning
from statveil.tables.structure.rows.tied_search import Broken
from statveil.tables.verification import Verifier, Watched, name_filled, precision

__all__ = ["GroupCopies", "GroupVerifier"]

_SHARED = 3
"""Values in two groups from which their common factor, or distance, shows among those of all other pairs."""
_SHORT, _CELLS = 24, 16
"""Bits of 32-bit floats; half-cells of these on either side of a value, so that there are 8 to 16 whole ones."""


class GroupVerifier(Verifier):
    """Watches all rows, and those of each group alone."""

    def __init__(self, plan: Plan, groups: GroupRows, *, bits: int) -> None:
        super().__init__(plan, bits=bits)
        self._groups, self._others = groups, Sampler()
        self._parts = [Verifier(plan, bits=bits, alone=False) for _ in range(2)]

    def watch(self, values: Array, start: int) -> None:
        super().watch(values, start)
        inside = self._groups.rows(start, len(values))
        for part, rows in zip(self._parts, inside, strict=True):
            part.watch(np.where(rows, values, np.nan), start)
        self._others.add(np.where(inside[0] | inside[1], np.nan, values), start)

    # --- in parts, each looked at elsewhere -----------------------------------------------------
    def begin(self, first: Array, rows: int) -> bool:
        about = [sampler.about for sampler in self._samplers()]  # as they looked before, and kept too few
        for sampler, finite in zip(self._samplers(), about if any(about) else self._most(rows), strict=True):
            sampler.thin(thinning(finite))
        return super().begin(first, rows)

    def part(self) -> Self:
        fresh = super().part()
        fresh._parts, fresh._others = [one.part() for one in self._parts], self._others.part()
        return fresh

    def seen(self) -> Watched:
        return super().seen()._replace(inside=tuple(self._samplers()))

    def join(self, part: Watched) -> None:
        super().join(part)
        for own, one in zip(self._samplers(), part.inside, strict=True):
            own.join(one)

    def settle(self) -> bool:
        return all([super().settle(), *(one.settle() for one in self._samplers())])

    def give_up(self) -> None:
        super().give_up()
        for one in self._samplers():
            one.thin(0)

    def _samplers(self) -> list[Sampler]:
        """Of all that is looked at by itself."""
        return [*(part.sampler for part in self._parts), self._others]

    def _most(self, rows: int) -> list[int]:
        """How many finite rows each of these has at most."""
        return [*self._groups.most(rows)]

    def numbers(self) -> tuple[float, ...]:
        return (*super().numbers(), *(number for part in self._parts for number in part.numbers()))

    def undeclared_step(self) -> list[Finding]:
        return [*super().undeclared_step(), *(found for part in self._parts for found in part.undeclared_step())]

    def undeclared(self, params: dict[str, float] | None, found: list[Finding] | None = None) -> list[Finding]:
        everywhere = super().undeclared(params, found)
        for part in self._parts:
            everywhere += part.undeclared(params)
        for part in self._parts:
            if len(sample := part.sampler.values):
                mean = float(sample.mean())
                everywhere = name_filled(everywhere, (mean,), self.plan.problem.within(mean))
        return [*dict.fromkeys((*everywhere, *self._shared()))]

    def _shared(self) -> list[Finding]:
        """Values that two parts of the table have, of which at least one moves, and not as the other does."""
        parts = [sampler.values for sampler in (*(one.sampler for one in self._parts), self._others)]
        spread = self.plan.release_mode.blurs or precision(self.sampler.values, self.bits, ()) == _SHORT
        if not any(self._many(one, two, spread) for one, two in itertools.combinations(parts, 2)):
            return []
        says = (
            "one of the two columns has exactly the values of the other, as where nothing changed from one to the "
            "next; each moves by a map of its own, so where such values come out shows both maps. Leave such rows out."
            if self.plan.release_mode.of_columns
            else "rows of one group have exactly the values of rows of another, as where nothing changed from one "
            "period to the next; each group moves by a map of its own, so where such values come out shows both maps. "
            "Leave such rows out."
        )
        return [Finding(name="shared", values=(), flag="", says=says)]

    def _many(self, one: Array, two: Array, spread: bool) -> bool:
        """Whether more values are in both of two parts than by chance.

        Where values are ``spread`` over a cell of 32-bit floats some are equal by chance, and tell nothing: as many as
        are equal within a part, and no more than lie a few cells apart, cell by cell.
        """
        kept = self.known.fixed_points
        one, two = (values[~np.isin(values, kept)] for values in (one, two))
        firsts, seconds = np.unique(one), np.unique(two)
        equal = len(np.intersect1d(firsts, seconds, assume_unique=True))
        if equal < _SHARED or not spread:
            return equal >= _SHARED
        within = (len(one) - len(firsts)) + (len(two) - len(seconds))
        pairs = 0.5 * (len(one) ** 2 + len(two) ** 2)
        alike = within * len(one) * len(two) / pairs
        reach = _CELLS * 2.0**-_SHORT * np.abs(firsts)
        ends = (np.searchsorted(seconds, firsts + side * reach, side="right") for side in (1, -1))
        beside = (int(np.subtract(*ends).sum()) - equal) / _CELLS
        return equal > alike + 4 * math.sqrt(alike) + 2 or equal > beside + 3 * math.sqrt(beside)


class GroupCopies(Copies):
    """Looks at the other columns beside all rows, and beside those of each group alone."""

    def __init__(
        self, groups: GroupRows, *, values_show: bool = True, broken: Broken | None = None, shuffled: bool = False
    ) -> None:
        super().__init__(values_show=values_show)
        self._groups, self._done = groups, 0
        self._parts = [Copies(values_show=values_show, broken=broken, shuffled=shuffled) for _ in range(2)]
        self.facets = partial(_all_and_each, groups)

    @property
    def searches(self) -> Sequence[Sampled] | None:
        return (self, *self._parts)

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        wanted = super().add(values, others)
        inside = self._groups.rows(self._done, len(values))
        self._done += len(values)
        for part, rows in zip(self._parts, inside, strict=True):
            if wanted and rows.any():
                mask = pl.Series(rows)
                part.add(values[rows], {name: one.filter(mask) for name, one in others.items()})
        return wanted

    def found(self, statistics: Collection[float] = ()) -> list[Finding]:
        told = super().found(statistics)
        return told or [*dict.fromkeys(found for part in self._parts for found in part.found(statistics))]


def _all_and_each(groups: GroupRows, values: Array, others: Mapping[str, pl.Series], start: int) -> list[Facet]:
    """All rows, and those of each group alone."""
    inside, before = groups.rows(start, len(values)), groups.before(start)
    return [
        Facet(values, others, start),
        *(Facet(values[rows], some_rows(others, rows), first) for rows, first in zip(inside, before, strict=True)),
    ]
