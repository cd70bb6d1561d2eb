"""Whether a fixed amount, ratio or round total ties rows together: rows of one id, neighbours, two columns of a row.

Who knows it puts the released rows back where it holds again: where a column was stretched, by a difference of rows
that recurs (a fee) or is a multiple of something; where it was moved, by a ratio (a net price); in any case by totals
and sums that are round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from statveil.modes import Mode
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.column.lattice_search import find_lattice, short_floats, ulp
from statveil.tables.structure.column.ratio_search import ratios
from statveil.tables.structure.others.alongside import LEFT, SIZES, Alongside
from statveil.tables.structure.reading.distinct import distinct
from statveil.tables.structure.rows.recurring_search import Chance, recurring, recurring_ratio
from statveil.tables.structure.rows.round_relations import on_round_numbers
from statveil.tables.structure.rows.standing import MOST_OF_A_GROUP, Standing, block_totals, group_totals, standings

__all__ = ["Broken", "Tie", "broken_by", "find_ties_of_rows", "tie_findings"]

_MIXED = 4  # times that rows are put in no relation
_LEAST_ROWS = 30
_MOST_BESIDE = 24  # columns of numbers that are added to the column
_FEW_VALUES = 6
_FREQUENT = 3  # rows that have a value, from which on it is a frequent one where most are met once
_MOST_ROWS = 4096
_EXACT = 0.1  # of the pairs of rows: steps of so fine a lattice that it is as good as none
_DECIMALS = (0.01, 0.1, 1.0, 10.0)
_BY_CHANCE = 0.01
_FEWEST_PAIRS = 5
_COPIED = 8.0  # steps that a column lies from another at least: what is added up of copies is even

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Which relations between rows of a column a map does not keep; totals and sums with others it never does."""

    differences: bool
    ratios: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """What ties rows together.

    Parameters
    ----------
    column : str or None
        The column that says which rows, or that stands beside them; ``None`` for the order of the table.
    says : str
        What was found, in a few words.
    """

    column: str | None
    says: str


def broken_by(mode: Mode, about: float | None) -> Broken | None:
    """What a mode breaks that keeps the value ``about`` where it is; ``None`` where values are those of a model."""
    if not (mode.structure_shows or mode.random) or mode.of_model or mode.of_family or mode.categories or mode.of_table:
        return None
    stretches = mode.stretches or mode.bends
    return Broken(differences=stretches, ratios=mode.bends or not (stretches and about == 0))


def find_ties_of_rows(sample: Alongside, broken: Broken, *, shuffled: bool) -> list[Tie]:
    """All that ties rows of a column to others, one finding for each column and for the order."""
    values = sample.around.values
    known = values[np.isfinite(values)]
    if len(known) < _LEAST_ROWS or not np.ptp(known):
        return []
    return [*_Search(sample, broken, known).found(shuffled=shuffled)]


class _Search:
    """The column's own lattice and rounding errors, once for all that is looked at."""

    def __init__(self, sample: Alongside, broken: Broken, known: Array) -> None:
        self._sample, self._broken = sample, broken
        self._values = sample.around.values
        places = distinct(sample.values).places
        self._bits = 24 if short_floats(places) and np.any(places != np.rint(places)) else 53
        lattice = find_lattice(places, len(known), 53)
        self._step = 0.0 if lattice is None else lattice.step
        self._fine = 4 * float(np.max(ulp(places[[0, -1]], self._bits)))
        self._cell = 1.0 if self._step else self._fine
        self._own = self._values
        if self._step:  # whole steps, from a value that all share where the lattice does not begin at 0
            start = 0.0 if lattice is None or lattice.anchored else float(places[0])
            self._own = np.rint((self._values - start) / self._step)
        rng = np.random.default_rng(0)
        self._mixes = [rng.permutation(len(self._values)) for _ in range(_MIXED)]
        self._frequent = self._often()
        steps = float(places[-1] - places[0]) / self._step if self._step else np.inf
        self._exact = steps > _EXACT * len(known) ** 2
        """Whether two rows hardly ever differ by one amount by chance, so that it shows among all pairs."""

    def _often(self) -> NDArray[np.bool_]:
        """Rows with a frequent value in a column of which most are met once: two such rows differ by a known amount."""
        often = np.zeros(len(self._values), dtype=np.bool_)
        found = distinct(self._sample.values)
        if len(found.places) > 0.5 * len(self._sample.values):
            often[np.isfinite(self._values)] = (found.counts >= _FREQUENT)[found.code]
        return often

    def found(self, *, shuffled: bool) -> Iterator[Tie]:
        for standing in standings(self._sample, shuffled=shuffled):
            loose = shuffled and standing.name is None
            if loose and not self._exact:
                continue
            says = self._pairs(standing, loose=loose) or (self._totals(standing) if standing.grouped else None)
            if says is not None:
                yield Tie(column=standing.name, says=says)
        if self._broken.differences and self._anywhere():
            yield Tie(column=None, says="rows differ by whole amounts, though they are none")
        if not shuffled and (rows := self._blocks()) is not None:
            yield Tie(column=None, says=f"totals of every {rows} rows are round")
        for name, column in list(self._sample.numbers.items())[: 2 * _MOST_BESIDE]:
            if not name.endswith((SIZES, LEFT)) and (says := self._beside(column)) is not None:
                yield Tie(column=name, says=says)

    def _pairs(self, standing: Standing, *, loose: bool) -> str | None:
        """What differences or ratios of rows that stand together say; ``loose`` if nobody will know that they did.

        An exact amount is then found among all pairs.
        """
        for first, second in standing.pairs():
            good = np.isfinite(self._values[first]) & np.isfinite(self._values[second])
            good &= ~(self._frequent[first] & self._frequent[second])
            a, b = first[good], second[good]
            if len(a) < 10:
                continue
            rng = np.random.default_rng(len(a))
            others = [b[rng.permutation(len(b))] for _ in range(_MIXED)]
            if self._broken.differences and (says := self._differences(a, b, others, standing, loose)) is not None:
                return says
            if self._broken.ratios and self._ratios(a, b, others):
                return "one ratio of two rows recurs"
        return None

    def _differences(self, a: Whole, b: Whole, others: list[Whole], standing: Standing, loose: bool) -> str | None:
        x = self._own

        @cache
        def chance() -> list[Array]:
            return [x[other] - x[a] for other in others]

        if recurring(x[b] - x[a], chance, self._cell, step=bool(self._step)):
            return "one difference of two rows recurs"
        unit = self._fine if not self._step else 0.0
        if (
            not loose
            and (standing.grouped or not self._step)
            and on_round_numbers(x[b] - x[a], chance, unit, step=1.0 if self._step else 0.0)
        ):
            return "differences of rows are multiples of one number"
        return None

    def _ratios(self, a: Whole, b: Whole, others: list[Whole]) -> bool:
        x = self._values

        def mixes() -> list[Array]:
            return [x[other] for other in others]

        if self._step:
            return recurring_ratio(x[a], x[b], mixes, self._step)
        good = x != 0
        log = np.full(len(x), np.nan)
        log[good] = np.log(np.abs(x[good]))
        both = good[a] & good[b]

        def chance() -> list[Array]:
            made = [log[other] - log[a] for other in others]
            return [one[np.isfinite(one)] for one in made]

        least = float(np.min(np.abs(x[np.isfinite(x) & good]), initial=np.inf))
        close = max(2.0 ** (3 - self._bits), 8e-16 * float(np.nanmax(np.abs(log), initial=1.0)))
        return bool(np.isfinite(least)) and recurring((log[b] - log[a])[both], chance, close, step=False)

    def _anywhere(self) -> bool:
        """Whether pairs of rows anywhere differ by exact decimals in a column of none."""
        if self._step:
            return False
        places = distinct(self._sample.values).places
        for unit in _DECIMALS:
            close = self._fine / unit + 1e-12
            if 2 * close * len(places) ** 2 > _BY_CHANCE:
                continue
            rest = np.mod(places / unit, 1.0)
            odd = np.flatnonzero((rest > 2 * close) & (rest < 1 - 2 * close))  # decimals are known as such
            odd = odd[np.argsort(rest[odd], kind="stable")]
            alike = (np.diff(rest[odd]) <= close) & (np.abs(np.diff(places[odd])) > 0.5 * unit)
            if np.count_nonzero(alike) >= _FEWEST_PAIRS:
                return not ratios(places)
        return False

    def _round(self, totals: Array, chance: Chance, parts: Collection[int]) -> bool:
        """Whether totals of so many rows, or of groups of such sizes, are round, or one of them recurs."""
        cell = 1.0 if self._step else self._fine * max(parts)
        unit = 0.0 if self._step else cell
        step = 1.0 if self._step else 0.0
        if on_round_numbers(totals, chance, unit, step=step, kept=() if self._broken.differences else parts):
            return True
        return recurring(totals, chance, cell, step=bool(self._step))

    def _totals(self, standing: Standing) -> str | None:
        if not self._sample.whole:  # rows of a group may be missing
            return None
        found = group_totals(self._own, standing, self._mixes, self._cell)
        if found is None:
            return None
        totals, others = found
        sizes = np.unique(np.bincount(standing.group)).tolist()
        parts = [size for size in sizes if 1 < size <= MOST_OF_A_GROUP]
        return "totals of its rows are round" if self._round(totals, lambda: others, parts) else None

    def _blocks(self) -> int | None:
        """Of how many rows totals are round, from the first row on."""
        mixed = [self._own[mix] for mix in self._mixes]
        breaks = self._sample.around.breaks
        for rows, totals, others in block_totals(self._own, mixed, breaks, self._cell):
            if self._round(totals, partial(_given, others), (rows,)):
                return rows
        return None

    def _beside(self, column: Array) -> str | None:
        """What sums with another column, or differences from it, say."""
        x = self._sample.values
        good = np.flatnonzero(np.isfinite(column))
        good = good[:: max(-(-len(good) // _MOST_ROWS), 1)]
        x, z = x[good], column[good]
        if len(z) < _LEAST_ROWS or len(np.unique(z[:256])) < _FEW_VALUES:
            return None
        size = float(np.max(np.abs(z)))
        if not size < 1e6 * float(np.max(np.abs(x))):
            return None  # what is left of the column beside it is rounded away
        common = self._step if self._step and np.all(np.abs(z / self._step - np.rint(z / self._step)) < 1e-6) else 0.0
        if common:
            x, z = np.rint(x / common), np.rint(z / common)
        fine = 0.0 if common else max(self._fine, 4 * float(ulp(np.array([size]), 53)[0]))
        cell = 1.0 if common else fine
        rng = np.random.default_rng(0)
        mixes = [rng.permutation(len(z)) for _ in range(_MIXED)]
        for sign, what in ((1.0, "sums with it"), (-1.0, "differences from it")):
            made = _made(x, sign * z, cell)
            chance = cache(partial(_mixed, x, sign * z, mixes, cell))
            if on_round_numbers(made, chance, fine, step=1.0 if common else 0.0):
                return f"{what} are multiples of one number"
            if recurring(made, chance, cell, step=bool(common)):
                return f"one of the {what} recurs"
        return None


def _given(others: list[Array]) -> list[Array]:
    return others


def _made(x: Array, z: Array, cell: float) -> Array:
    """What two columns add up to, where neither is a copy of the other; equal rows are one piece of evidence."""
    apart = np.abs(x - z) >= _COPIED * cell
    x, z = x[apart], z[apart]
    order = np.lexsort((z, x))
    new = np.concatenate(([True], (np.diff(x[order]) != 0) | (np.diff(z[order]) != 0)))[: len(x)]
    return np.asarray((x + z)[order[new]])


def _mixed(x: Array, z: Array, mixes: list[Whole], cell: float) -> list[Array]:
    return [_made(x, z[mix], cell) for mix in mixes]


def tie_findings(ties: list[Tie]) -> list[Finding]:
    """Those by other columns as one finding, and those by the order of the rows as another."""
    found = []
    if beside := [f"{one.says} ({one.column!r})" for one in ties if one.column is not None]:
        more = f" and {len(beside) - 5} more" if len(beside) > 5 else ""
        says = (
            f"another column ties rows together, or ties each row to itself ({', '.join(beside[:5])}{more}): a fee, a "
            "rate, a whole step or a round total holds at one place only, and shows how far the column moves; drop "
            "that column, and where an exact amount or rate recurs, publish one of such rows alone."
        )
        found.append(Finding(name="copies", values=(), flag="", says=says))
    if inside := [one.says for one in ties if one.column is None]:
        says = (
            f"rows of the table are tied together ({', '.join(inside)}): a fee, a rate, a whole step or a round total "
            "holds at one place only, and shows how far the column moves; shuffle the rows with --shuffle "
            "(shuffle=True), and where an exact amount or rate recurs, publish one of such rows alone."
        )
        found.append(Finding(name="sums", values=(), flag="", says=says))
    return found
