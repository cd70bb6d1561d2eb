"""A row keeps only its rank: the i-th smallest of n gets the i-th value of a public shape at the released statistic.

Which shape of a catalogue, how wide, and how many rows lie on declared atoms and heaps is chosen from the column, out
of the few possibilities that :class:`statveil.problem.model.Model` lists. The choice looks at the column only after the
place or size that is to be hidden has been taken out of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from statveil.errors import ColumnError
from statveil.problem.column_numbers import InMemory
from statveil.problem.model import Choice, Model
from statveil.problem.problem import Problem
from statveil.tables.blocks import BLOCK, Array, Blocks, made
from statveil.tables.estimate import measured_for, own_statistic
from statveil.tables.maps.build import Job
from statveil.tables.maps.rank import Rank, inside, prepare_rank
from statveil.tables.sampled_column import sampled_column

__all__ = ["Modelled", "OnSteps", "model_column", "prepare"]

_NODES = 2**16
"""Rows up to which the statistic of a model is solved for on all of them; beyond, some passes over all correct it."""
_PASSES = 3
_CLOSE = 1e-12
_DOUBLINGS = 60
_FARTHEST = 128
"""Of a spread's logarithm: no column is so wide or so narrow."""
_COMPARED = 1024
_GOLDEN = 0.6180339887498949
Column = Callable[[Array], Array]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Modelled(Rank):
    """Ranks with the values of a public shape, and what was chosen for it. Private."""

    whole: ClassVar[bool] = False  # whole numbers become others

    shape: str
    choice: Choice
    misfit: float
    """W1 between the original and the shape at the original's own statistic: what no plan can make smaller."""

    def coefficients(self) -> dict[str, Any]:
        chosen = {"beside": self.choice.beside, "atoms": list(self.choice.atoms), "heaps": list(self.choice.heaps)}
        return {**Rank.coefficients(self), "shape": self.shape, **chosen, "shape_misfit": self.misfit}


class OnSteps(Modelled):
    """The same on the declared step."""

    __slots__ = ()
    whole: ClassVar[bool] = True


def prepare(job: Job) -> Modelled:
    """The shape nearest to the column, at the released statistic."""
    model = job.plan.problem.family.model
    assert model is not None
    sampler, rows = job.sampler, job.rows
    if sampler is None:
        (seen,) = sampled_column(job.blocks)
        sampler, rows = seen.sampler, seen.rows
    offset = _near_zero(job.offset, model)
    target = _on_steps(model, float(job.applied.secret), offset)
    values = np.sort(sampler.values)
    choice = _chosen(model, values, target)
    choice, column = model_column(job.plan.problem, choice, target, rows=rows, offset=offset, like=job.blocks)
    ranked = prepare_rank(job.blocks, quantile=column, seed=job.seed)
    return (Modelled if model.known.step is None else OnSteps)(
        starts=ranked.starts,
        released=ranked.released,
        shape=model.shapes[choice.shape].label,
        choice=choice,
        misfit=_misfit(job, choice, values, offset),
    )


def model_column(
    problem: Problem, choice: Choice, target: float, *, rows: int, offset: float = 0.0, like: Blocks | None = None
) -> tuple[Choice, Column]:
    """The values of all ranks by level, so that the column of ``rows`` rows has the statistic ``target``.

    Those of a long column are gone through by the machines that the column ``like`` lies on, if not here.
    Where heaps are too coarse for the statistic none are kept; nor atoms, where so many rows lie on them that the
    others cannot make up for it.
    """
    model = problem.family.model
    assert model is not None
    plainer = replace(choice, heaps=()), replace(choice, atoms=()), replace(choice, atoms=(), heaps=())
    for one in (choice, *plainer):
        column = _solved(problem, model, one, target, rows, offset, like)
        if column is not None:
            return one, column
    raise ColumnError(
        f"no column of this shape has the released {problem.secret.label} and keeps the declared bounds. Narrow the "
        "prior to what such columns can have, or name another shape (--shape)."
    )


# --- what is chosen from the column -------------------------------------------------------------
def _near_zero(offset: float, model: Model) -> float:
    """Where a lattice without a bound lies; multiples of the step lie at 0."""
    step = model.known.step
    return 0.0 if step is None or abs(offset - step * round(offset / step)) <= 1e-6 * step else offset


def _on_steps(model: Model, value: float, offset: float) -> float:
    """A statistic that is a value of the column is one on its lattice."""
    known, step = model.known, model.known.step
    if step is None or not model.secret.on_steps:
        return value
    anchor = 0.0 if not model.secret.per_shift else known.fixed_points[0] if known.fixed_points else offset
    return anchor + step * round((value - anchor) / step)


def _chosen(model: Model, values: Array, statistic: float) -> Choice:
    """The nearest choice to a sorted sample of the column."""
    known = model.known
    atoms = [float(np.mean(values == atom)) for atom in known.atoms]
    rest = values[~np.isin(values, known.atoms)] if known.atoms else values
    if len(rest) < 2:
        rest = values
    shares = model.allowed_shares(atoms, _heaped(model, rest))
    latent = model.latent(rest)
    levels = (np.arange(_COMPARED) + 0.5) / _COMPARED
    own = np.quantile(latent, levels)
    if model.link in ("free", "between"):
        place = float(np.quantile(latent, 0.5))
        own = own - place
    else:
        place = 0.0
    reach = float(np.abs(own).mean())
    found = []
    for shape in range(len(model.shapes)):
        curve = model.curve(Choice(shape=shape))
        spread = reach / curve.reach
        off = float(np.abs(own - spread * curve.at(levels)).mean())
        found.append((off, shape, spread))
    _, shape, spread = min(found)
    beside = model.allowed_beside(place, spread, statistic) if model.has_beside else 0.0
    return Choice(shape=shape, beside=beside, atoms=shares[0], heaps=shares[1])


def _heaped(model: Model, values: Array) -> list[float]:
    """Which share of the rows each heap drew to its multiples, beyond those that lie there anyway."""
    known = model.known
    drawn: list[float] = []
    finer = known.step or 0.0
    for heap in known.heaps:  # from the finest up
        there = np.abs(values - heap * np.round(values / heap)) <= 1e-9 * np.maximum(np.abs(values), heap)
        chance = finer / heap
        drawn.append(max((float(np.mean(there)) - chance) / max(1 - chance, 1e-9), 0.0) if chance < 1 else 0.0)
        finer = heap
    # rows on a coarse heap lie on the finer ones too
    return [max(share - other, 0.0) for share, other in zip(drawn, [*drawn, 0.0][1:], strict=True)]


# --- the shape at the released statistic ----------------------------------------------------------
def _drawn(model: Model, choice: Choice, at: float, rows: int, offset: float) -> Column:
    """Level by level the values of a column: atoms, heaps, step and bounds included."""
    known = model.known
    finish = inside(known, offset)
    shares = np.cumsum(choice.heaps) if any(choice.heaps) else np.zeros(0)

    def column(levels: Array) -> Array:
        values = model.values(choice, at, levels)
        if len(shares):
            # rows that are drawn to a heap lie evenly among all ranks
            turn = np.mod(np.floor(levels * rows) * _GOLDEN, 1.0)
            which = np.searchsorted(shares, turn, side="right")
            for number, heap in enumerate(known.heaps):
                values = np.where(which == number, heap * np.round(values / heap), values)
        return finish(values)

    return column


def _solved(
    problem: Problem, model: Model, choice: Choice, target: float, rows: int, offset: float, like: Blocks | None
) -> Column | None:
    nodes = min(rows, _NODES)
    levels = (np.arange(nodes) + 0.5) / nodes

    def statistic(at: float) -> float:
        values = _drawn(model, choice, at, nodes, offset)(levels)
        return problem.secret.of_column(InMemory(values), problem.family)

    close = _CLOSE * max(abs(target), model.width)
    at = _root(statistic, target, model, close)
    if at is None:
        return None
    if rows > nodes:
        at = _corrected(problem, model, choice, at, target, rows, offset, statistic, like)
    return _drawn(model, choice, at, rows, offset)


def _root(statistic: Callable[[float], float], target: float, model: Model, close: float) -> float | None:
    """Where the statistic is the target: it rises with the place or the spread, in steps where the column has some."""
    from scipy.optimize import brentq

    unit = 1.0 if model.link == "between" else model.width
    start = 0.0 if model.link == "between" else target / (model.secret.per_shift or 1.0)

    def number(part: float) -> float:
        """The place, in units from where it is about; the spread, by its logarithm."""
        return start + unit * part if model.moves_place else unit * math.exp(part)

    def off(part: float) -> float:
        return statistic(number(part)) - target

    low, high = -1.0, 1.0
    ends = off(low), off(high)
    for _ in range(_DOUBLINGS):
        if ends[0] * ends[1] <= 0:
            break
        low, high = 2 * low, 2 * high
        if not model.moves_place and high > _FARTHEST:
            return None
        ends = off(low), off(high)
    else:
        return None
    found = number(brentq(off, low, high, xtol=1e-15, rtol=1e-15, maxiter=300, disp=False))
    grain = (model.known.step or 0.0) + close + 1e-6 * model.width
    return found if abs(statistic(found) - target) <= grain else None


def _corrected(
    problem: Problem,
    model: Model,
    choice: Choice,
    at: float,
    target: float,
    rows: int,
    offset: float,
    statistic: Callable[[float], float],
    like: Blocks | None,
) -> float:
    """The same for a long column: a few passes over all ranks, as some thousand say nearly where to go."""
    unit = 1.0 if model.link == "between" else model.width
    nudge = 1e-3 * unit if model.moves_place else 1e-3 * at
    slope = (statistic(at + nudge) - statistic(at)) / nudge
    best = (math.inf, at)
    for _ in range(_PASSES):
        blocks = made(partial(_ranks, _drawn(model, choice, at, rows, offset), rows), -(-rows // BLOCK), like)
        off = own_statistic(problem, measured_for(problem, blocks)) - target
        best = min(best, (abs(off), at))
        if not slope or abs(off) <= 1e-9 * max(abs(target), model.width):
            break
        at -= off / slope
    return best[1]


def _ranks(column: Column, rows: int, number: int) -> Array:
    """The values of a block of ranks."""
    return column((np.arange(number * BLOCK, min((number + 1) * BLOCK, rows)) + 0.5) / rows)


def _misfit(job: Job, choice: Choice, values: Array, offset: float) -> float:
    """How far the original lies from the shape at its own statistic."""
    try:
        _, column = model_column(job.plan.problem, choice, job.statistic, rows=len(values), offset=offset)
    except ColumnError:
        return math.inf
    return float(np.abs(values - np.sort(column((np.arange(len(values)) + 0.5) / len(values)))).mean())
