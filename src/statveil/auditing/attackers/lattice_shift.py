"""Whole numbers that were shifted: their common fractional part tells the shift up to whole steps."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["COARSEST", "DECIMAL_STEPS", "LatticeShift", "known_lattice", "quanta", "rows_of"]

DECIMAL_STEPS = tuple(float(f"{lead}e{power}") for power in range(4, -4, -1) for lead in (5, 2, 1))
"""Steps to suppose where none is known, the largest first: the first that fits explains most."""
_ROWS = 100_000  # beyond, every so many-th row: a lattice shows in hundreds
_ENOUGH = 20  # distinct values before a step is believed that nobody stated
_TEETH = 20_000
COARSEST = 0.75  # of a step: a number rounded more coarsely tells nearly nothing about its place on the lattice


def rows_of(view: View) -> Array:
    """Released numbers, at most 100,000 of them spread over the table."""
    values = view.column[np.isfinite(view.column)]
    return values[:: -(-len(values) // _ROWS)] if len(values) else values


def known_lattice(view: View) -> tuple[float | None, float]:
    """The step that everyone knows, if any, and a number that lies on the lattice."""
    structure, declared = view.knowledge.structure, view.plan.problem.known
    points = structure.fixed_points or declared.fixed_points
    return structure.step or declared.step, points[0] if points else 0.0


def quanta(values: Array, size: float) -> Array:
    """How coarsely each released number is written: decimals, significant digits, 32 or 64 bits.

    Parameters
    ----------
    values : array
        Released numbers.
    size : float
        The largest number in the computation that gave them.

    Examples
    --------
    >>> quanta(np.array([1.25, 13.5, 144.75]), 200.0).tolist()
    [0.01, 0.01, 0.01]
    """
    sizes = np.maximum(np.abs(values), np.finfo(float).tiny)
    fine = np.maximum(2.0**-40 * max(size, float(sizes.max())), np.finfo(float).tiny)
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if np.array_equal(single.astype(np.float64), values) and not np.array_equal(values, np.round(values)):
        # twice the spacing: half a unit of jitter before the map, half a unit of rounding after it
        fine = np.maximum(fine, 2.0 * np.spacing(np.abs(single)).astype(np.float64))
    coarse = np.full(len(values), fine) if np.ndim(fine) == 0 else fine
    powers = np.floor(np.log10(sizes) + 1e-12)
    for digits in range(-3, 10):
        if _written(values, np.full(len(values), 10.0**-digits)):
            coarse = np.maximum(coarse, 10.0**-digits)
            break
    for digits in range(3, 10):
        unit = 10.0 ** (powers - digits + 1)
        if _written(values, unit):
            coarse = np.maximum(coarse, unit)
            break
    return np.asarray(coarse, dtype=np.float64)


def _written(values: Array, unit: Array) -> bool:
    """Whether every number is a multiple of its unit, and that this is no accident of the float's own last bits."""
    spacing = np.spacing(np.abs(values))
    if (unit < 256 * spacing).any():
        return False
    return bool((np.abs(np.round(values / unit) * unit - values) <= 4 * spacing).all())


class LatticeShift(Attacker):
    """Reads the shift modulo the step off the fractional parts; the prior weighs what is left."""

    name: ClassVar[str] = "lattice-shift"
    doc: ClassVar[str] = "the fractional parts of a column of whole steps, which tell the shift up to whole steps"
    remedy: ClassVar[str] = (
        'Declare the step (--known "step=1" for whole numbers): the column then moves by whole steps and the plan '
        "accounts for what the steps tell. Rounding the release to the step does not help; much coarser rounding does."
    )

    def applies(self, view: View) -> bool:
        return view.plan.mode in ("shift", "lattice") and rows_of(view).size > 0

    def attack(self, view: View) -> Posterior | None:
        values = rows_of(view)
        found = inverted(view) if values.size else None
        if found is None or found.offset is None:
            return None if found is None else found.posterior()
        step, anchor = known_lattice(view)
        unit = quanta(values, float(np.abs(found.secrets).max() + np.abs(found.offset).max()))
        for tried in DECIMAL_STEPS if step is None else (step,):
            span = _shift_modulo(values - anchor, unit, tried, stated=step is not None)
            if span is not None:
                comb = _thinned if view.plan.mode == "lattice" else _comb
                return comb(view, found, tried, anchor, span) or found.posterior()
        return found.posterior()


def _shift_modulo(values: Array, unit: Array, step: float, *, stated: bool) -> tuple[float, float] | None:
    """Where the shift lies modulo the step; ``None`` where the column does not show it."""
    if float(np.abs(values).max()) > 1e12 * step:
        return None
    useful = unit < COARSEST * step
    if not useful.any():
        # Rounded to the step itself: the shift is lost, but the released numbers are the originals plus whole steps.
        return (-step / 2, step / 2) if stated and (unit <= step * (1 + 1e-9)).all() else None
    values, unit = values[useful], unit[useful]
    wave = np.exp(2j * np.pi * (values / step))
    centre = float(np.angle(wave.mean())) / (2 * np.pi) * step
    gap = np.mod(values - centre + step / 2, step) - step / 2
    low, high = float(np.max(gap - unit / 2)), float(np.min(gap + unit / 2))
    if low <= high:
        if not stated and (high - low > step / 4 or len(np.unique(np.round((values - centre) / step))) < _ENOUGH):
            return None
        return centre + low, centre + high
    # Not exact: some rows are off the lattice (another rounding, wrong entries). Most of them must still agree.
    regular = float(abs(wave.mean()))
    if not stated or regular < 0.5 or len(values) * regular**2 < 20:
        return None
    error = step * np.sqrt((1 - regular) / len(values)) / np.pi
    return centre - error, centre + error


def _comb(view: View, found: Inversion, step: float, anchor: float, span: tuple[float, float]) -> Posterior | None:
    """Candidates a step apart: the statistic of the column put back on its lattice, weighted by the prior."""
    order = np.argsort(found.secrets)
    secrets, weights = found.secrets[order], found.weights[order]
    if not (secrets[-1] - secrets[0]) / step < _TEETH:
        return None
    column = view.column[np.isfinite(view.column)]
    coarse = quanta(column, 0.0) > step * (1 + 1e-9)
    points = []
    for shift in np.linspace(*span, 5) if span[1] - span[0] > 1e-6 * step else [sum(span) / 2]:
        # Putting the rows back undoes their rounding too, so the statistic is exact even where the shift is not.
        place = np.round((column - shift - anchor) / step) * step + anchor
        points.append(released_statistic(replace(view, column=np.where(coarse, column - shift, place))))
    first, last = np.floor((secrets[0] - max(points)) / step), np.ceil((secrets[-1] - min(points)) / step)
    teeth = (np.array(points)[:, None] + np.arange(first, last + 1) * step).ravel()
    teeth = teeth[(teeth >= secrets[0] - 1e-6 * step) & (teeth <= secrets[-1] + 1e-6 * step)]
    return Posterior.of(teeth, np.interp(teeth, secrets, weights))


def _thinned(view: View, found: Inversion, step: float, anchor: float, span: tuple[float, float]) -> Posterior | None:
    """The plan's own comb, thinned where more is known than was declared."""
    assert found.offset is not None
    slack = 1e-9 * step + 1e-12 * float(np.abs(found.secrets).max())
    away = np.mod(found.offset - sum(span) / 2 + step / 2, step) - step / 2
    return found.posterior((np.abs(away) <= (span[1] - span[0]) / 2 + slack).astype(np.float64))
