"""What the releases of some mechanisms leave open of a secret, in the form in which measures of leakage ask for it.

One of three: pieces of one parameter, each with its joint releases; lines of two parameters, cut into bins; or nothing
that is left open (everything is told, or what is told has no account, which counts as the same).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statveil.accounting.joint import on_parallel_lines
from statveil.accounting.pieces import Refinement, different, joined_cells, refinement
from statveil.mechanisms.cells import Cells
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.scaling import Scaling
from statveil.numeric import Array
from statveil.problem.location_scale import Form
from statveil.problem.prior import Simplex
from statveil.problem.problem import Problem
from statveil.theory.one_parameter import Line, line

__all__ = ["Everything", "Lines", "OnLine", "Rays", "Shares", "left_open"]


@dataclass(frozen=True, kw_only=True)
class OnLine:
    """Pieces of one parameter. ``ways``: the joint release as cells; two where plans may share one chance or not."""

    line: Line
    edges: Array
    apart: Array
    ways: tuple[Cells, ...]
    bound: bool
    """Whether more counts as told than is: chances that are too many, or a piece of the range that is left out."""

    @property
    def combs(self) -> bool:
        """Whether a release gives a residue away somewhere."""
        return bool(np.isfinite(self.apart).any())

    @cached_property
    def image(self) -> tuple[Array, Array]:
        """Lowest and highest secret of each piece."""
        return self.line.curve.images(self.edges)


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Two parameters: bins of one coordinate, cut at ``edges``, on lines in one direction."""

    coordinate: Form
    direction: Form
    edges: Array


@dataclass(frozen=True, kw_only=True)
class Rays:
    """Two parameters: bins of the secret on rays from a known bound."""

    edges: Array


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The share of one category: bins on lines along which all others give way."""

    edges: Array
    alone: bool
    """Whether there are two categories, and one line."""


@dataclass(frozen=True, kw_only=True)
class Everything:
    """Nothing is left open, or what is has no account; ``combs`` where each release leaves teeth open."""

    combs: bool = False


def left_open(problem: Problem, mechanisms: Sequence[Mechanism]) -> OnLine | Lines | Rays | Shares | Everything:
    """What all of these releases together leave open."""
    unequal = different(mechanisms)
    bins = [each for each in unequal if isinstance(each, Interval) and each.step is None]
    if isinstance(problem.prior, Simplex):
        name, _ = problem.share_direction
        if len(bins) < len(unequal) or any(set(each.coordinate) != {name} for each in bins):
            return Everything()
        edges = np.unique(np.concatenate([each.bins.edges() for each in bins]))
        return Shares(edges=edges, alone=len(problem.family.params) == 2)
    if len(problem.box.free) == 1:
        found = refinement(problem, unequal)
        return Everything() if isinstance(found, str) else _on_line(problem, found)
    if len(unequal) == 1 and isinstance(unequal[0], Scaling):
        return Rays(edges=unequal[0].bins.edges())
    if on_parallel_lines(unequal):
        edges = np.unique(np.concatenate([each.bins.edges() for each in bins]))
        return Lines(coordinate=bins[0].coordinate, direction=bins[0].direction, edges=edges)
    return Everything(combs=len(unequal) == 1)


def _on_line(problem: Problem, found: Refinement) -> OnLine | Everything:
    (name,) = problem.box.free
    axis = problem.box.axes[name]
    ways = [joined_cells(name, found, shared) for shared in ((False, True) if found.drawn > 1 else (False,))]
    whole = found.edges[0] == axis.low and found.edges[-1] == axis.high
    return OnLine(
        line=line(problem, exact=False),
        edges=found.edges,
        apart=found.apart,
        ways=tuple(cells for cells, _ in ways),
        bound=not whole or not all(known for _, known in ways),
    )
