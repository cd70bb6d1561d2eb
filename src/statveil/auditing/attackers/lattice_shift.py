"""Whole numbers that were shifted: their common fractional part tells the shift up to whole steps."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted, released_statistic
from statveil.auditing.lattices import COARSEST, DECIMAL_STEPS, known_lattice, quanta, rows_of
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["LatticeShift"]

_ENOUGH = 20  # distinct values before a step is believed that nobody stated
_TEETH = 20_000


class LatticeShift(Attacker):
    """Reads the shift modulo the step off the fractional parts; the prior weighs what is left."""

    name: ClassVar[str] = "lattice-shift"
    doc: ClassVar[str] = "the fractional parts of a column of whole steps, which tell the shift up to whole steps"
    remedy: ClassVar[str] = (
        'Declare the step (--known "step=1" for whole numbers): the column then moves by whole steps and the plan '
        "accounts for what the steps tell. Rounding the release to the step does not help; much coarser rounding does."
    )

    def applies(self, view: View) -> bool:
        return view.mode.line and not view.mode.stretches and rows_of(view).size > 0

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
                comb = _thinned if view.mode.whole_steps else _comb
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
