"""The pieces into which several releases cut one parameter's range, and what is released on each of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch

import numpy as np

from statveil.mechanisms.cells import Cells
from statveil.mechanisms.comb import Comb
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.mechanism import Mechanism
from statveil.mechanisms.partition import Partition
from statveil.numeric import Array, Index
from statveil.problem.axis import Axis
from statveil.problem.location_scale import Form
from statveil.problem.problem import Problem

__all__ = ["Parts", "Refinement", "common_edges", "different", "joined_cells", "parts_of", "refinement"]

_MOST_ENTRIES = 1_000_000
"""Pairs of a piece and a joint release that are told apart; beyond, chance counts as told."""
_LONGEST_FRACTION = 256
_SAME = 2.0**-41
"""Of a spacing: releases are rounded to 2^-40 of it, so what differs by less cannot be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One parameter's range cut into pieces, each with its releases and their probabilities.

    ``spacing`` is infinite on a piece whose points share a release, and otherwise the distance of those that do.
    """

    edges: Array
    choices: tuple[tuple[tuple[int, float], ...], ...]
    spacing: Array

    @property
    def plain(self) -> bool:
        """Whether each release stands for one piece."""
        held = [choice[0][0] for choice in self.choices]
        return all(len(choice) == 1 for choice in self.choices) and len(set(held)) == len(held)


def different(mechanisms: Sequence[Mechanism]) -> list[Mechanism]:
    """The mechanisms, each once: the same release again adds nothing."""
    return list({str(mechanism.to_json()): mechanism for mechanism in mechanisms}.values())


@singledispatch
def parts_of(mechanism: Mechanism, problem: Problem) -> Parts | None:
    """The pieces of a mechanism on the line of a problem with one uncertain parameter; ``None`` where it has none."""
    return None


@parts_of.register
def _(mechanism: Partition, problem: Problem) -> Parts | None:
    (name,) = problem.box.free
    return _plain(np.array(mechanism.edges)) if mechanism.parameter == name else None


@parts_of.register
def _(mechanism: Cells, problem: Problem) -> Parts | None:
    (name,) = problem.box.free
    if mechanism.parameter != name:
        return None
    edges = np.array(mechanism.edges)
    return Parts(edges=edges, choices=mechanism.choices, spacing=np.full(len(edges) - 1, np.inf))


@parts_of.register
def _(mechanism: Interval, problem: Problem) -> Parts | None:
    (name,) = problem.box.free
    if not _own(mechanism.coordinate, name) or not _own(mechanism.direction, name):
        return None
    return _plain(mechanism.bins.edges(), np.inf if mechanism.step is None else mechanism.step)


@parts_of.register
def _(mechanism: Comb, problem: Problem) -> Parts | None:
    (name,) = problem.box.free
    if not _own(mechanism.coordinate, name) or not _own(mechanism.direction, name):
        return None
    low = problem.box.axes[name].low
    here = {other: np.float64(axis.low) for other, axis in problem.box.axes.items()}  # known ones are where they are
    back, ahead = (float(end) for end in mechanism.keep.extent(here, {name: 1.0}))
    start, length = low + back, ahead - back
    found = mechanism.layout(length)
    count, block, rest = int(found.count), float(found.block), float(found.rest)
    edges: Array = np.asarray(start + block * np.arange(count + 1), dtype=np.float64)
    spacing = np.full(count, float(found.spacing) if float(found.spacing) > 0 else np.inf)
    if rest > 0:
        edges = np.append(edges, start + length)
        spacing = np.append(spacing, float(found.spacing) if bool(found.toothed) else np.inf)
    return _plain(edges, spacing)


def _own(form: Form, name: str) -> bool:
    return {key: value for key, value in form.items() if value} == {name: 1.0}


def _plain(edges: Array, spacing: Array | float = np.inf) -> Parts:
    choices = tuple(((i, 1.0),) for i in range(len(edges) - 1))
    return Parts(edges=edges, choices=choices, spacing=np.broadcast_to(spacing, len(choices)).astype(np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """The pieces into which all edges of several mechanisms cut one parameter's range."""

    edges: Array
    parts: tuple[Parts, ...]
    places: tuple[Index, ...]
    """For each mechanism, which of its own pieces holds each piece."""

    @property
    def plain(self) -> bool:
        """Whether each joint release stands for one piece, or for a comb in it."""
        return all(part.plain for part in self.parts)

    @property
    def apart(self) -> Array:
        """How far apart neighbours that share all releases stand on each piece; infinite where all points do."""
        rows = np.stack([part.spacing[place] for part, place in zip(self.parts, self.places, strict=True)])
        if np.isinf(rows).all():
            return np.full(rows.shape[1], np.inf)
        return np.array([_together(column, size) for column, size in zip(rows.T, np.diff(self.edges), strict=True)])

    @property
    def drawn(self) -> int:
        """How many of the mechanisms draw their release."""
        return sum(any(len(choice) > 1 for choice in part.choices) for part in self.parts)


def refinement(problem: Problem, mechanisms: Sequence[Mechanism]) -> Refinement | str:
    """All edges together on the line of a problem with one uncertain parameter; why not, where there are none."""
    (name,) = problem.box.free
    parts = [parts_of(mechanism, problem) for mechanism in mechanisms]
    found = tuple(part for part in parts if part is not None)
    if len(found) < len(parts):
        return "one of the releases bins another parameter than the one that is uncertain"
    edges = common_edges(found, problem.box.axes[name])
    if len(edges) < 2:
        return "no value has all of these releases: their priors do not meet"
    middle = 0.5 * (edges[:-1] + edges[1:])
    places = tuple(
        np.clip(np.searchsorted(part.edges, middle, side="right") - 1, 0, len(part.choices) - 1) for part in found
    )
    return Refinement(edges=edges, parts=found, places=places)


def common_edges(parts: Sequence[Parts], axis: Axis) -> Array:
    """All edges inside what all of the priors allow, and its ends: where one does not reach nothing was released."""
    low = max([axis.low, *(float(part.edges[0]) for part in parts)])
    high = min([axis.high, *(float(part.edges[-1]) for part in parts)])
    slack = 1e-12 * axis.width  # a rounding error of a range is none
    low = axis.low if low - axis.low <= slack else low
    high = axis.high if axis.high - high <= slack else high
    inner = np.concatenate([part.edges for part in parts])
    ends = [low, high] if low < high else []
    return np.unique(np.concatenate([inner[(inner > low) & (inner < high)], ends]))


def joined_cells(name: str, found: Refinement, shared: bool) -> tuple[Cells, bool]:
    """The joint release as cells, and whether every chance is in it: with too many, which piece it is counts as told.

    ``shared`` draws all releases by one chance, as a common seed does, and else each by its own.
    """
    parts, edges, places = found.parts, found.edges, found.places
    if found.plain:  # each joint release stands for one piece
        return _cells(name, edges, [((piece, 1.0),) for piece in range(len(edges) - 1)], len(edges) - 1), True
    counts = [np.array([len(choice) for choice in part.choices]) for part in parts]
    sizes = np.stack([count[place] for count, place in zip(counts, places, strict=True)])
    known = float(np.prod(sizes, axis=0).sum()) <= _MOST_ENTRIES
    labels: dict[tuple[int, ...], int] = {}
    choices: list[_Choice] = []
    for row in zip(*places, strict=True):
        options = [part.choices[int(place)] for part, place in zip(parts, row, strict=True)]
        if not known:  # which piece it is counts as told
            options = [((int(place), 1.0),) for place in row]
        joint: dict[int, float] = {}
        for releases, share in _by_one_chance(options) if shared else _independent(options):
            label = labels.setdefault(releases, len(labels))
            joint[label] = joint.get(label, 0.0) + share
        total = math.fsum(joint.values())
        choices.append(tuple((label, share / total) for label, share in joint.items()))
    return _cells(name, edges, choices, len(labels)), known


_Choice = tuple[tuple[int, float], ...]


def _cells(name: str, edges: Array, choices: Sequence[_Choice], releases: int) -> Cells:
    released = tuple(float(i) for i in range(releases))
    return Cells(parameter=name, edges=tuple(edges.tolist()), released=released, choices=tuple(choices))


def _independent(options: Sequence[_Choice]) -> Iterator[tuple[tuple[int, ...], float]]:
    for combined in itertools.product(*options):
        yield tuple(release for release, _ in combined), math.prod(share for _, share in combined)


def _by_one_chance(options: Sequence[_Choice]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Each plan takes the choice in which the one number between 0 and 1 falls, as a common seed makes it."""
    ladders = [np.cumsum([share for _, share in choice]) for choice in options]
    rungs = np.unique(np.clip(np.concatenate([[0.0, 1.0], *ladders]), 0.0, 1.0))
    for low, high in itertools.pairwise(rungs.tolist()):
        at = [min(int(np.searchsorted(ladder, 0.5 * (low + high))), len(ladder) - 1) for ladder in ladders]
        yield tuple(choice[i][0] for choice, i in zip(options, at, strict=True)), high - low


def _together(spacing: Array, length: float) -> float:
    """Distance of neighbours that share all releases on a piece: infinite on an interval, the length if there are none.

    Two spacings that are nearly, but not quite, in a ratio of small numbers have no common multiple: what is unequal
    is told, the safe side.
    """
    finite = spacing[np.isfinite(spacing)]
    if not len(finite):
        return math.inf
    found = float(finite[0])
    for other in finite[1:]:
        ratio = Fraction(float(other) / found).limit_denominator(_LONGEST_FRACTION)
        if ratio == 0:
            return length
        # other = p / q found: the common multiple is p found = q other
        one, two = ratio.numerator * found, ratio.denominator * float(other)
        many = max(1.0, length / max(one, two))
        if abs(one - two) * many > _SAME * found or max(one, two) > length:
            return length
        found = max(one, two)
    return found
