"""The scaled shape with its details smoothed away, drawn anew and given out by rank.

Rows are first blurred by more than half a period of the step or of the heaps, in proportion to the mean. Then a
quantile function of few numbers is fitted to the sorted rows by least squares, without ever going down: it is straight
between fixed levels, each of which halves what is left of its tail. Both are in proportion to the column, so smoothing
and scaling can be swapped, and nothing of the smoothing tells the scale. The released rows are random draws from the
scaled shape: one from each n-th part of it, so that long tails are met as well as by the shape itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from statveil.tables.blocks import BLOCK, Array, Blocks
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


def _fitted(blocks: Blocks, ranks: Rank, *, rows: int) -> Shape:
    """The shape nearest to the sorted rows in mean square."""
    from scipy.optimize import nnls  # slow to import, and only this map needs it

    halvings = max(2, math.floor(math.log2(rows / _FEWEST)))
    stretches = 2 * halvings
    # For each stretch: rows, how far they are along it, its square, their values, and values times how far. Plain sums
    # rather than matrix products, whose last bits may depend on the number of threads.
    sums = np.zeros((5, stretches))
    for index, values in enumerate(blocks()):
        finite = np.isfinite(values)
        place, starts = _places(ranks.block(values, index)[finite], halvings)
        stretch = np.clip(np.floor(place - starts[0]), 0, stretches - 1).astype(np.int64)
        along, value = place - starts[stretch], values[finite]
        weights = (np.ones(len(value)), along, along * along, value, along * value)
        sums += [np.bincount(stretch, weight, minlength=stretches) for weight in weights]
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Column:
    """The rows that move, counted in steps from the bound, with the totals that one pass gives."""

    blocks: Blocks
    origin: float
    sign: int
    step: float | None
    first: int
    """The first place from the bound that is no atom."""
    atoms: tuple[float, ...]
    rows: int = 0
    finite: int = 0
    mean: float = 0.0
    variance: float = 0.0
    kept: float = 0.0
    """Steps of the atoms, which stay."""
    fill: tuple[tuple[float, float], ...] = ()
    """Atoms among the other rows, each with the share of its rows that its neighbours lead to expect."""

    def steps(self, values: Array) -> Array:
        return self.sign * (values - self.origin) / (self.step or 1.0)

    def parts(self) -> Iterator[Array]:
        """In blocks; rows that do not move are missing."""
        for values in self.blocks():
            rows = np.where(among(values, self.atoms, self.step), np.nan, self.steps(values))
            yield rows if self.step is None else np.floor(rows + 0.5)

    def blurred(self, width: float, seed: int) -> Iterator[Array]:
        """The rows that the shape is fitted to: without a gap at an atom, which would be found again, scaled."""
        for index, (values, rows) in enumerate(zip(self.blocks(), self.parts(), strict=True)):
            draws = stream(seed, _BLUR, index)
            noise, chance = draws.standard_normal(len(rows)), draws.random(len(rows))
            for atom, share in self.fill:
                rows = np.where(among(values, (atom,), self.step) & (chance < share), self.steps(values), rows)
            yield np.abs(rows + width * noise)

    def measured(self) -> _Column:
        """The same column with its totals."""
        rows, finite, mean, squares, kept = 0, 0, 0.0, 0.0, 0.0
        places = np.floor(self.steps(np.array(self.atoms)) + 0.5)
        own_rows, beside = np.zeros(len(places)), np.zeros(len(places))
        for values, moving in zip(self.blocks(), self.parts(), strict=True):
            known = moving[np.isfinite(moving)]
            still = values[np.isfinite(values) & ~np.isfinite(moving)]
            finite += len(known) + len(still)
            kept += float(self.steps(still).sum())
            if self.step is not None:
                own_rows += [among(still, (atom,), self.step).sum() for atom in self.atoms]
                beside += [(np.abs(known - place) == 1).sum() / 2 for place in places]
            if not len(known):
                continue
            if known.min() < 0:
                raise beyond_bound()
            # block by block, as the squares of large values would swallow the variance
            own, before = float(known.mean()), rows
            rows += len(known)
            squares += float(((known - own) ** 2).sum()) + (own - mean) ** 2 * before * len(known) / rows
            mean += (own - mean) * len(known) / rows
        if not rows:
            raise nothing_moves()
        shares = np.minimum(1.0, beside / np.maximum(own_rows, 1.0)).tolist()
        fill = [
            (atom, share)
            for atom, place, share in zip(self.atoms, places, shares, strict=True)
            if share and place > self.first
        ]
        return replace(self, rows=rows, finite=finite, mean=mean, variance=squares / rows, kept=kept, fill=tuple(fill))


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
    column = _Column(blocks=blocks, origin=about, sign=sign, step=step, first=first, atoms=atoms).measured()

    target = column.finite * float(column.steps(np.array([mean]))[0]) - column.kept
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

    def blurred() -> Iterator[Array]:
        return column.blurred(width, seed)

    levels = prepare_rank(blurred, quantile=lambda levels: levels, seed=seed)
    shape = _fitted(blurred, levels, rows=int(levels.starts[-1]))
    if width:
        shape = shape.drawn_to(column.mean, math.sqrt(column.variance / (column.variance + width**2)))
    del levels

    block = _drawn(shape, rows=column.rows, seed=seed)
    numbers = range(-(-column.rows // BLOCK))
    floors = Floors(lift=0.5, least=float(first))
    weight = math.fsum(float(block(number).sum()) for number in numbers)
    if wanted == column.rows * first if step else target == 0:
        coefficient = 0.0
    elif step is None:
        coefficient = target / weight
    else:
        coefficient = exact_total(
            lambda: (block(number) for number in numbers), floors, wanted=wanted, rows=column.rows, weight=weight
        )

    def released(ranks: Array) -> Array:
        """Of a block of ranks, told by its first (i - 1/2) / n."""
        values = block(round(float(ranks[0]) * column.rows - 0.5) // BLOCK)
        if step is None:
            return about + sign * values * coefficient
        return on_lattice(sign * np.floor(floors.numbers(values, coefficient)), step, about)

    ranked = prepare_rank(column.parts, quantile=released, seed=seed)
    return Smooth(ranks=ranked, atoms=atoms, step=step, coefficient=coefficient, shape=shape)


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
