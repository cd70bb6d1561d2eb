"""Whole numbers that were multiplied: the factor is the one under which they are whole again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.lattices import COARSEST, known_lattice, quanta, rows_of
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["LatticeScale"]

_PAIRS = 192  # differences looked at in one pass
_SCANNED = 4_000_000  # waves worked out in one pass, before a scan is given up as too fine
_BEAM = 24  # factors carried from one pass to the next
_FINER = 4.0  # growth of the differences from pass to pass
_SUPPOSED = (100.0, 10.0, 1.0, 0.1, 0.01)  # steps to try where none is known, the largest first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fibre:
    """The candidates in the order of their factors, for values between the nodes."""

    factor: Array
    offset: Array
    secrets: Array
    weights: Array

    @classmethod
    def of(cls, found: Inversion) -> _Fibre | None:
        if found.factor is None or found.offset is None:
            return None
        good = np.isfinite(found.factor) & np.isfinite(found.offset) & (found.factor > 0) & (found.weights > 0)
        factor, place = np.unique(found.factor[good], return_index=True)
        if len(factor) < 2 or factor[-1] / factor[0] - 1 < 1e-9:
            return None  # nothing was scaled
        rest = (part[good][place] for part in (found.offset, found.secrets, found.weights))
        return cls(factor=factor, **dict(zip(("offset", "secrets", "weights"), rest, strict=True)))


class LatticeScale(Attacker):
    """Scans the factors of the bin for the one that makes all rows multiples of the step, coarse to fine."""

    name: ClassVar[str] = "lattice-scale"
    doc: ClassVar[str] = "a column of whole steps after scaling: its greatest common divisor tells the factor"
    remedy: ClassVar[str] = (
        'Declare the step (--known "step=1" for whole numbers): a column without a known bound then moves by whole '
        "steps, one with a known bound is redrawn by rank, and counts from 0 are released unit by unit. Rounding the "
        "release to a few digits does not help."
    )

    def applies(self, view: View) -> bool:
        return view.mode.line and view.mode.stretches and rows_of(view).size > 0

    def attack(self, view: View) -> Posterior | None:
        values = rows_of(view)
        found = inverted(view) if values.size else None
        fibre = None if found is None else _Fibre.of(found)
        if found is None or fibre is None:
            return None if found is None else found.posterior()
        step, anchor = known_lattice(view)
        unit = quanta(values, float(np.abs(fibre.secrets).max() + np.abs(fibre.offset).max()))
        for tried in _SUPPOSED if step is None else (step,):
            posterior = _scan(values, unit, fibre, tried, anchor, stated=step is not None)
            if posterior is not None:
                return posterior
        return found.posterior()


def _scan(values: Array, unit: Array, fibre: _Fibre, step: float, anchor: float, *, stated: bool) -> Posterior | None:
    """The factors under which the rows lie on the lattice; ``None`` where chance could explain them."""
    low, high = float(fibre.factor[0]) * step, float(fibre.factor[-1]) * step
    useful = unit < COARSEST * low
    rows, unit = values[useful], unit[useful]
    if len(rows) < 8 or float(np.ptp(rows)) < low or float(np.abs(rows).max()) > 1e11 * low:
        return None
    frequencies = _by_differences(rows, float(np.median(unit)), 1 / high, 1 / low, least=0.0 if stated else 0.8)
    if frequencies is None:
        return None
    return _by_rows(rows, unit, fibre, frequencies, step, anchor, stated=stated)


def _by_differences(rows: Array, unit: float, low: float, high: float, *, least: float) -> tuple[Array, float] | None:
    """Frequencies (one over a released step) at which differences of rows align, and how sharp they are.

    Differences need no fixed point, and those of neighbours are small, so that a coarse scan finds their common
    divisor; larger and larger differences then sharpen it.
    """
    ordered = np.unique(rows)
    gaps = np.diff(ordered)
    differences = np.sort(gaps[gaps > max(0.4 / high, unit)])[:64]  # smaller ones are rounding, not steps
    if not len(differences):
        return None
    reach = float(differences[-1])
    span = float(ordered[-1] - ordered[0])
    points, width = np.array([(low + high) / 2]), (high - low) / 2
    while True:
        fine = 1 / (8 * reach)
        around = np.arange(-np.ceil(width / fine), np.ceil(width / fine) + 1) * fine
        if len(around) * len(points) * len(differences) > _SCANNED:
            return None
        points = np.unique(np.clip((points[:, None] + around).ravel(), low, high))
        score = np.cos(2 * np.pi * np.outer(points, differences)).mean(axis=1)
        if score.max() < least:
            return None
        points = _peaks(points, score, apart=2 * fine)
        width = 2 * fine
        if reach >= span:
            return points, width
        reach = min(reach * _FINER, span)
        differences = _near(ordered, reach)


def _near(ordered: Array, reach: float) -> Array:
    """Differences of rows, up to ``reach`` and most of them near it."""
    places = np.linspace(0, len(ordered) - 1, min(len(ordered), _PAIRS)).astype(np.intp)
    start = ordered[places]
    stop = ordered[np.searchsorted(ordered, start + reach, side="right") - 1]
    far = stop - start > 0.5 * reach
    return (stop - start)[far] if far.any() else stop - start


def _peaks(points: Array, score: Array, *, apart: float) -> Array:
    """The best points, none of them close to a better one."""
    kept: list[float] = []
    order = np.argsort(-score)[: 8 * _BEAM]
    for place in order[score[order] >= 0.5 * score.max()]:  # rounding weakens all of them alike
        if all(abs(points[place] - other) >= apart for other in kept):
            kept.append(float(points[place]))
        if len(kept) == _BEAM:
            break
    return np.array(kept)


def _by_rows(
    rows: Array, unit: Array, fibre: _Fibre, found: tuple[Array, float], step: float, anchor: float, *, stated: bool
) -> Posterior | None:
    """The frequencies judged by the rows themselves, whose place on the lattice also depends on the offset."""
    places = np.linspace(0, len(rows) - 1, min(len(rows), 4 * _PAIRS)).astype(np.intp)
    some, weight = rows[places], np.sinc(unit[places] / (step * float(fibre.factor.mean())))
    weight = weight / weight.sum()

    def aligned(factor: Array) -> Array:
        offset = np.interp(factor, fibre.factor, fibre.offset)
        return np.asarray(np.cos(2 * np.pi * ((some - offset[:, None]) / factor[:, None] - anchor) / step) @ weight)

    frequencies, width = found
    tried = 0
    factor = 1 / (frequencies * step)
    cycles = max(float(np.abs(some - fibre.offset.mean()).max()), float(np.abs(np.diff(fibre.offset)).sum())) * width
    for fineness in (1.0, 0.1, 0.01):
        half = width * fineness
        count = int(min(400, max(9, 2 * np.ceil(8 * cycles * fineness) + 1)))
        grid = (1 / (factor * step))[:, None] + np.linspace(-half, half, count)
        factors = 1 / (np.maximum(grid, 1e-300) * step)
        inside = (factors >= fibre.factor[0] * (1 - 1e-9)) & (factors <= fibre.factor[-1] * (1 + 1e-9))
        score = np.where(inside, aligned(factors.ravel()).reshape(factors.shape), -1.0)
        best = np.argmax(score, axis=1)
        factor, score = factors[np.arange(len(factor)), best], score.max(axis=1)
        tried += grid.size
    # A score of chance has the size 1 / sqrt(2 rows); all factors that the data could tell apart count as tried.
    told_apart = float(np.abs(some).max()) * (1 / fibre.factor[0] - 1 / fibre.factor[-1]) / step
    evidence = float(score.max()) ** 2 / float(weight @ weight)
    expected = float(np.sinc(unit[places] / (step * float(fibre.factor.mean()))) @ weight)
    if evidence < np.log(tried + 8 * told_apart) + 10 or score.max() < 0.7 * expected:
        return None
    if not stated and (score.max() < 0.98 or len(np.unique(some)) < 20):
        return None
    # Half the factor makes all rows whole as well, and even: among equals the largest factor explains the most.
    close = score > 0.9 * score.max()
    gain = np.where(close, len(some) * (score + np.log(factor)), -np.inf)
    secrets = np.interp(factor, fibre.factor, fibre.secrets)
    return Posterior.of(secrets, np.exp(gain - gain.max()) * np.interp(factor, fibre.factor, fibre.weights))
