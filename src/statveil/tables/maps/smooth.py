"""The scaled shape with its details smoothed away, drawn anew and given out by rank.

Rows are first blurred by more than half a period of the step or of the heaps, in proportion to the mean. Then a
quantile function of few numbers is fitted to the sorted rows by least squares, without ever going down: it is straight
between fixed levels, each of which halves what is left of its tail. Both are in proportion to the column, so smoothing
and scaling can be swapped, and nothing of the smoothing tells the scale. The released rows are random draws from the
scaled shape: one from each n-th part of it, so that long tails are met as well as by the shape itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from statveil.tables.blocks import BLOCK, GROUP, Array, Blocks, Part, by_parts, changed, made
from statveil.tables.maps.build import Job
from statveil.tables.maps.column_map import ColumnMap, stream
from statveil.tables.maps.lattice import on_lattice
from statveil.tables.maps.rank import Rank, prepare_rank
from statveil.tables.maps.whole_steps import (
    Floors,
    among,
    beyond_bound,
    cannot_reach,
    exact_total,
    first_free,
    nothing_moves,
)

__all__ = ["Shape", "Smooth", "prepare", "prepare_smooth"]

_DRAWS, _BLUR = 0x58, 0x59  # purposes of the random streams
_LARGEST = 2**53  # above it a float64 cannot tell neighbouring whole numbers apart
_WIDTH = 0.8  # of the blur, in periods after scaling: a wave of the period keeps a thousandth at a factor of 4/3
_FEWEST = 16  # rows beyond the outermost level, so that no number of the shape is about a single row


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shape:
    """A quantile function that is straight between the levels 2**-j and 1 - 2**-j, j = 1, ..., ``halvings``.

    Values start at 0, where the lower tail ends.

    Parameters
    ----------
    halvings
        Of either tail.
    start, rises
        The value at the lowest level, and how much it grows from each level to the next.
    """

    halvings: int
    start: float
    rises: Array

    def __call__(self, levels: Array) -> Array:
        """The quantiles."""
        place, starts = _places(levels, self.halvings)
        heights = self.start + np.cumsum(self.rises) - self.rises
        values: Array = np.interp(place, starts, heights) + self.rises[-1] * np.maximum(place - starts[-1], 0.0)
        return values

    def drawn_to(self, centre: float, factor: float) -> Shape:
        """The shape with all values closer to the centre, which takes back how much wider a blur made it."""
        start = centre + factor * (self.start - centre)
        return replace(self, start=start, rises=max(factor, 1e-6) * self.rises)


def _places(levels: Array, halvings: int) -> tuple[Array, Array]:
    """The levels counted in halvings from the middle, and where the stretches start on that scale."""
    upper = -np.log2(2 * np.minimum(1 - levels, 0.5))
    # straight in the level itself: the lowest stretch ends at level 0
    ends = np.concatenate([[0.0], 2.0 ** -np.arange(halvings, 0.0, -1.0)])
    lower = np.interp(levels, ends, np.arange(-halvings, 1.0))
    return np.where(levels < 0.5, lower, upper), np.arange(-float(halvings), halvings)


def _sums(ranks: Rank, halvings: int, part: Part) -> list[tuple[int, list[Array]]]:
    """By groups of blocks, the sums of each block, or those of all where the whole group lies in this part.

    For each stretch: rows, how far they are along it, its square, their values, and values times how far. Plain sums
    rather than matrix products, whose last bits may depend on the number of threads.
    """
    groups: dict[int, list[Array]] = {}
    for index, values in part:
        finite = np.isfinite(values)
        place, starts = _places(ranks.block(values, index)[finite], halvings)
        stretch = np.clip(np.floor(place - starts[0]), 0, len(starts) - 1).astype(np.int64)
        along, value = place - starts[stretch], values[finite]
        weights = (np.ones(len(value)), along, along * along, value, along * value)
        held = groups.setdefault(index // GROUP, [])
        held.append(np.array([np.bincount(stretch, weight, minlength=len(starts)) for weight in weights]))
        if len(held) == GROUP:
            held[:] = [_added(held)]
    return list(groups.items())


def _added(sums: Iterable[Array]) -> Array:
    """One after the other: in another order their last bits are others."""
    total: Array | None = None
    for one in sums:
        total = one.copy() if total is None else total + one
    assert total is not None
    return total


def _fitted(blocks: Blocks, ranks: Rank, *, rows: int) -> Shape:
    """The shape nearest to the sorted rows in mean square."""
    from scipy.optimize import nnls  # slow to import, and only this map needs it

    halvings = max(2, math.floor(math.log2(rows / _FEWEST)))
    stretches = 2 * halvings
    groups: dict[int, list[Array]] = {}
    for told in by_parts(blocks, partial(_sums, ranks, halvings)):
        for group, held in told:
            groups.setdefault(group, []).extend(held)
    sums = _added(map(_added, groups.values()))
    size = stretches + 1
    products, moments = np.zeros((size, size)), np.zeros(size)
    for number, (count, part, square, value_sum, part_sum) in enumerate(sums.T):
        before, own = (np.arange(size) <= number).astype(np.float64), np.eye(size)[number + 1]
        products += count * np.outer(before, before) + square * np.outer(own, own)
        products += part * (np.outer(before, own) + np.outer(own, before))
        moments += value_sum * before + part_sum * own
    # Least squares from the sums of products: a root of their matrix takes the place of the rows.
    powers, axes = np.linalg.eigh(products)
    usable = powers > 1e-12 * powers[-1]
    roots, axes = np.sqrt(powers[usable]), axes[:, usable].T
    scale = float(np.abs(moments).max()) or 1.0
    found, _ = nnls(roots[:, None] * axes, axes @ (moments / scale) / roots)
    found *= scale
    # On a level stretch many rows would have one value and step at one factor: at least a millionth of a slope.
    rises = np.maximum(found[1:], 1e-6 * max(float(found[1:].sum()), float(found[0])) / size)
    return Shape(halvings=halvings, start=float(found[0]), rises=rises)


@dataclass(frozen=True, kw_only=True, slots=True)
class Smooth(ColumnMap):
    """Every row but the atoms is released as the draw of its rank."""

    whole: ClassVar[bool] = True  # whole numbers have a step, and with a step draws are put on the lattice

    ranks: Rank
    atoms: tuple[float, ...]
    step: float | None
    coefficient: float
    shape: Shape

    def block(self, values: Array, index: int) -> Array:
        kept = among(values, self.atoms, self.step)
        return np.where(kept, values, self.ranks.block(np.where(kept, np.nan, values), index))

    def coefficients(self) -> dict[str, Any]:
        return {"a": self.coefficient, "start": self.shape.start, "rises": self.shape.rises.tolist()}


class _OfBlock(NamedTuple):
    """What is measured of a block."""

    rows: int
    """That move."""
    finite: int
    mean: float
    squares: float
    """About the block's own mean, as the squares of large values would swallow the variance."""
    kept: float
    own_rows: Array
    beside: Array
    """Of each atom: its rows, and those of a neighbour on average."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Steps:
    """Rows counted in steps from the bound: what is made of a block, wherever it lies."""

    origin: float
    sign: int
    step: float | None
    first: int
    """The first place from the bound that is no atom."""
    atoms: tuple[float, ...]

    def count(self, values: Array) -> Array:
        return self.sign * (values - self.origin) / (self.step or 1.0)

    def moving(self, values: Array, index: int = 0) -> Array:
        """The rows that move; all others are missing."""
        rows = np.where(among(values, self.atoms, self.step), np.nan, self.count(values))
        return rows if self.step is None else np.floor(rows + 0.5)

    def blurred(
        self, values: Array, index: int, *, width: float, fill: tuple[tuple[float, float], ...], seed: int
    ) -> Array:
        """The rows that the shape is fitted to: without a gap at an atom, which would be found again, scaled."""
        rows, draws = self.moving(values), stream(seed, _BLUR, index)
        noise, chance = draws.standard_normal(len(rows)), draws.random(len(rows))
        for atom, share in fill:
            rows = np.where(among(values, (atom,), self.step) & (chance < share), self.count(values), rows)
        return np.abs(rows + width * noise)

    def measured(self, part: Part) -> list[_OfBlock]:
        """The blocks of a part."""
        return [self._of_block(values) for _, values in part]

    def _of_block(self, values: Array) -> _OfBlock:
        moving, places = self.moving(values), np.floor(self.count(np.array(self.atoms)) + 0.5)
        known = moving[np.isfinite(moving)]
        still = values[np.isfinite(values) & ~np.isfinite(moving)]
        own_rows, beside = np.zeros(len(places)), np.zeros(len(places))
        if self.step is not None:
            own_rows += [among(still, (atom,), self.step).sum() for atom in self.atoms]
            beside += [(np.abs(known - place) == 1).sum() / 2 for place in places]
        if len(known) and known.min() < 0:
            raise beyond_bound()
        mean = float(known.mean()) if len(known) else 0.0
        return _OfBlock(
            rows=len(known),
            finite=len(known) + len(still),
            mean=mean,
            squares=float(((known - mean) ** 2).sum()),
            kept=float(self.count(still).sum()),
            own_rows=own_rows,
            beside=beside,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Column:
    """The totals of the rows that move, counted in steps from the bound."""

    rows: int
    finite: int
    mean: float
    variance: float
    kept: float
    """Steps of the atoms, which stay."""
    fill: tuple[tuple[float, float], ...]
    """Atoms among the other rows, each with the share of its rows that its neighbours lead to expect."""

    @classmethod
    def of(cls, blocks: Blocks, steps: _Steps) -> _Column:
        """From one pass."""
        rows, finite, mean, squares, kept = 0, 0, 0.0, 0.0, 0.0
        places = np.floor(steps.count(np.array(steps.atoms)) + 0.5)
        own_rows, beside = np.zeros(len(places)), np.zeros(len(places))
        for one in (block for part in by_parts(blocks, steps.measured) for block in part):
            finite += one.finite
            kept += one.kept
            own_rows += one.own_rows
            beside += one.beside
            if not one.rows:
                continue
            before = rows
            rows += one.rows
            squares += one.squares + (one.mean - mean) ** 2 * before * one.rows / rows
            mean += (one.mean - mean) * one.rows / rows
        if not rows:
            raise nothing_moves()
        shares = np.minimum(1.0, beside / np.maximum(own_rows, 1.0)).tolist()
        fill = [
            (atom, share)
            for atom, place, share in zip(steps.atoms, places, shares, strict=True)
            if share and place > steps.first
        ]
        return cls(rows=rows, finite=finite, mean=mean, variance=squares / rows, kept=kept, fill=tuple(fill))


def _drawn(shape: Shape, *, rows: int, seed: int) -> Callable[[int], Array]:
    """Draws from a shape by blocks of ranks: the i-th from the i-th of as many equal parts as there are rows.

    Independent draws would miss long tails by more and hide little more than the blur and the few numbers already do.
    """

    def block(number: int) -> Array:
        ranks = np.arange(number * BLOCK, min((number + 1) * BLOCK, rows))
        inside = stream(seed, _DRAWS, number).uniform(2.0**-32, 1.0 - 2.0**-32, len(ranks))  # off the ends 0 and 1
        return shape((ranks + inside) / rows)

    return block


def prepare_smooth(
    blocks: Blocks,
    *,
    about: float,
    step: float | None,
    mean: float,
    atoms: tuple[float, ...],
    seed: int,
    heaps: tuple[float, ...] = (),
) -> Smooth:
    """The map that draws the column anew from its smoothed shape, scaled from a bound to a mean.

    Parameters
    ----------
    blocks
        The column, already verified. Rows that are not finite do not count.
    about
        The declared bound: a minimum if the released mean is not below it, else a maximum.
    step
        Of the lattice, from ``about``; the mean is then met to half a step divided by the rows, else exactly.
    mean
        Mean of the released column, atoms and all.
    atoms
        Declared frequent values. Their rows stay; the others stay beyond the atoms at the bound, as 1, 2, ... if 0 is
        an atom.
    seed
        128 secret bits.
    heaps
        Declared favourite multiples. The longest period sets the blur, so it should be well below the mean.

    Raises
    ------
    ColumnError
        No row that may move, or a mean that the column cannot be given.
    """
    sign = 1 if mean >= about else -1
    first = 0 if step is None else first_free(atoms, about=about, step=step, sign=sign)
    steps = _Steps(origin=about, sign=sign, step=step, first=first, atoms=atoms)
    column = _Column.of(blocks, steps)

    target = column.finite * float(steps.count(np.array([mean]))[0]) - column.kept
    wanted = math.floor(target + 0.5)
    if not abs(target) < _LARGEST or (wanted < column.rows * first if step else target < 0):
        raise cannot_reach()
    if target > 0 and column.mean == 0:
        raise cannot_reach()  # every row is at the bound: there is no shape to scale

    period = max((*heaps, step or 0.0)) / (step or 1.0)
    width = _WIDTH * period
    # In proportion to the column, so that it tells nothing of its scale: period and released mean are public. Wider
    # than the mean there would be no shape left.
    released_mean = target / column.rows
    width = column.mean * (width / released_mean if width < released_mean else 1.0 if width else 0.0)

    blurred = changed(blocks, partial(steps.blurred, width=width, fill=column.fill, seed=seed))
    levels = prepare_rank(blurred, quantile=_same, seed=seed)
    shape = _fitted(blurred, levels, rows=int(levels.starts[-1]))
    if width:
        shape = shape.drawn_to(column.mean, math.sqrt(column.variance / (column.variance + width**2)))
    levels.forget()
    del levels

    rows = column.rows
    block = _drawn(shape, rows=rows, seed=seed)
    drawn = made(block, -(-rows // BLOCK), blocks)
    floors = Floors(lift=0.5, least=float(first))
    weight = math.fsum(total for part in by_parts(drawn, _totals) for total in part)
    if wanted == rows * first if step else target == 0:
        coefficient = 0.0
    elif step is None:
        coefficient = target / weight
    else:
        coefficient = exact_total(drawn, floors, wanted=wanted, rows=rows, weight=weight)

    def released(ranks: Array) -> Array:
        """Of a block of ranks, told by its first (i - 1/2) / n."""
        values = block(round(float(ranks[0]) * rows - 0.5) // BLOCK)
        if step is None:
            return about + sign * values * coefficient
        return on_lattice(sign * np.floor(floors.numbers(values, coefficient)), step, about)

    ranked = prepare_rank(changed(blocks, steps.moving), quantile=released, seed=seed)
    return Smooth(ranks=ranked, atoms=atoms, step=step, coefficient=coefficient, shape=shape)


def _same(levels: Array) -> Array:
    return levels


def _totals(part: Part) -> list[float]:
    return [float(block.sum()) for _, block in part]


def prepare(job: Job) -> Smooth:
    """Steps, heaps and atoms above the declared bound, with the released mean."""
    known, mean = job.plan.problem.known, job.ends[1] / (job.plan.problem.secret.times_mean or 1.0)
    return prepare_smooth(
        job.blocks,
        about=job.bound,
        step=known.step,
        mean=mean,
        atoms=known.atoms,
        seed=job.seed,
        heaps=known.heaps,
    )
