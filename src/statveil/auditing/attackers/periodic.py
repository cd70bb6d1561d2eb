"""Traces of the original lattice in a column that lies on its lattice again: heaps, beats and rare counts."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.ndimage import gaussian_filter1d

from statveil.auditing.attacker import Attacker
from statveil.auditing.inversion import Inversion, inverted
from statveil.auditing.lattices import known_lattice, rows_of
from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.tables.blocks import Array

__all__ = ["Periodic"]

_CELLS = 1 << 17  # of the histogram; a longer one is cut, the favourite numbers of the rest tell little more
_PADDED = 8  # spectrum points for one natural width of a peak
_CONCLUSIVE = 8.0  # log likelihood of a peak beyond what the best of all candidates reaches by chance
_COUNTS = 40  # cells from the bound on whose shape is fitted; further out the steps of the shape are too small
_FACTORS = 61  # factors for which the shape is fitted
_ROUGHNESS = (1000.0, 30.0)  # one over the variance of third differences of a log probability
_SHAPES = (("jitter", 0.5, -0.5), ("nearest", 0.0, 0.0), ("floor", 0.0, -0.5))
"""Ways back to the lattice, released = a (k + before) + after on average: a cell's jitter and floor, nearest, floor."""


class Periodic(Attacker):
    """Scans the candidates of the bin for one that explains the ripple of the released histogram."""

    name: ClassVar[str] = "periodic"
    doc: ClassVar[str] = "favourite numbers, beats and the steps of the shape in a re-rounded histogram"
    remedy: ClassVar[str] = (
        'Declare the favourite numbers (--known "heaps=5") or the step (--known "step=1"), so that the column moves by '
        "whole steps or is redrawn by rank; counts of a Poisson or geometric family are released unit by unit."
    )

    def applies(self, view: View) -> bool:
        if not view.mode.near_line or view.mode.whole_steps or not rows_of(view).size:
            return False
        structure = view.knowledge.structure
        return bool(structure.heaps) or _native(rows_of(view), *known_lattice(view)) is not None

    def attack(self, view: View) -> Posterior | None:
        values = view.column[np.isfinite(view.column)]
        found = inverted(view) if values.size else None
        if found is None or found.factor is None or found.offset is None:
            return None if found is None else found.posterior()
        step, anchor = known_lattice(view)
        cell = _native(values, step, anchor)
        heaps = view.knowledge.structure.heaps or view.plan.problem.known.heaps
        if not heaps and cell is None:
            return found.posterior()
        periods = heaps or tuple(cell * times for times in (5.0, 10.0, 100.0) if cell is not None)
        posterior = _ripple(values, found, periods, cell, anchor)
        if posterior is None and cell is not None and view.mode.pinned:
            posterior = _steps_of_shape(values, found, cell, anchor)
        return posterior or found.posterior()


def _native(values: Array, step: float | None, anchor: float) -> float | None:
    """The step on which the released numbers lie again, if they do; 1 is tried where none is known."""
    tried = 1.0 if step is None else step
    place = (values - anchor) / tried
    if float(np.abs(place).max()) > 2.0**40 or float(np.ptp(place)) == 0:
        return None
    return tried if bool((np.abs(place - np.round(place)) < 1e-6).all()) else None


def _usable(found: Inversion) -> tuple[Array, Array, Array, Array]:
    assert found.factor is not None
    assert found.offset is not None
    good = np.isfinite(found.factor) & np.isfinite(found.offset) & (found.factor > 0)
    return found.factor[good], found.offset[good], found.secrets[good], found.weights[good]


def _secrets(secrets: Array, factor: Array, cell: float | None, before: float, after: float) -> Array:
    """Candidates corrected for the way back to the lattice, which moves the mean by ``a before + after``."""
    return secrets - (0.0 if cell is None else cell) * (before + after / factor)


# --- (i) and (ii): favourite numbers and beats, by Fourier analysis -----------------------------
def _ripple(
    values: Array, found: Inversion, heaps: tuple[float, ...], cell: float | None, anchor: float
) -> Posterior | None:
    """Favourite multiples, and the lattice itself where no jitter hid it; ``None`` where chance could explain it."""
    factor, offset, secrets, weights = _usable(found)
    if not len(factor):
        return None
    width = cell if cell is not None else min(heaps) * float(factor.min()) / 32
    start = float(values.min())
    place = np.round((values - start) / width)
    counts = np.bincount(place[place < _CELLS].astype(np.intp)).astype(np.float64)
    spread = float(values.std()) / width
    shapes = _SHAPES if cell is not None else (("exact", 0.0, 0.0),)
    points, gains, mass = [], [], []
    for heap in (*heaps, *((cell,) if cell is not None else ())):
        period = factor * heap / width
        blur = max(0.6 * float(period.mean()), 3.0)
        if blur > spread / 2:
            continue  # the shape itself changes within a period
        own = heap == cell  # the lattice itself, in the end
        # The local level is what the smooth shape explains. It is taken away three times: once would leave a part of
        # the shape's own curvature, which many rows make significant.
        ripple = counts
        for _ in range(3):
            ripple = ripple - gaussian_filter1d(ripple, blur, mode="reflect")
        size = 1 << int(np.ceil(np.log2(_PADDED * len(counts))))
        middle = len(counts) // 2  # phases counted from the middle turn slowly between points of the spectrum
        spectrum = np.fft.fft(np.concatenate([ripple[middle:], np.zeros(size - len(counts)), ripple[:middle]]))
        noise = np.sqrt(counts.sum() / 2 * max(1.0, float(np.median(np.abs(spectrum) ** 2)) / (0.69 * counts.sum())))
        harmonics = 3 if own else min(8, max(1, int(float(period.min()) / 2.5)))
        for way, before, after in shapes:
            if own and way == "jitter":
                continue  # a jitter of one cell leaves nothing of the lattice itself
            shift = (before * factor + after) * (cell or 0.0)
            gain = np.zeros(len(factor))
            for harmonic in range(1, harmonics + 1):
                turns = harmonic / period
                at = np.mod(turns, 1.0) * size
                left = np.floor(at).astype(np.intp)
                wave = spectrum[left % size] * (1 - at + left) + spectrum[(left + 1) % size] * (at - left)
                phase = turns * (start - offset - factor * anchor - shift + middle * width) / width
                z = np.real(wave * np.exp(-2j * np.pi * phase)) / noise
                if own:  # how strong its beats are is known; favourite numbers of the same frequency differ
                    slow = np.exp(-2 * np.pi**2 * blur**2 * (turns - np.round(turns)) ** 2)
                    strength = np.sinc(turns) * (1 - slow) ** 3 * counts.sum() / noise
                    gain += z * strength - strength**2 / 2
                else:
                    gain += np.maximum(z, 0.0) ** 2 / 2
            told_apart = 8 * (1 + harmonics * len(counts) * float(np.ptp(1 / period)))
            points.append(_secrets(secrets, factor, cell, before, after))
            gains.append(gain - np.log(told_apart) - 0.5 * harmonics)
            mass.append(weights)
    if not gains or max(float(gain.max()) for gain in gains) < _CONCLUSIVE:
        return None
    gain = np.concatenate(gains)
    return Posterior.of(np.concatenate(points), np.exp(gain - gain.max()) * np.concatenate(mass))


# --- counts near the bound: which smooth distribution of whole numbers explains the table -------
def _steps_of_shape(values: Array, found: Inversion, cell: float, anchor: float) -> Posterior | None:
    """Counts rounded to the nearest after scaling: some become rare, some frequent, which no smooth shape explains.

    After a jitter of one cell every factor of the bin has a smooth shape that explains the table equally well, so
    this says nothing there.
    """
    factor, _, secrets, weights = _usable(found)
    place = np.round((values - anchor) / cell)
    if not len(factor) or place.min() < 0 or len(values) < 200 or place.max() < 3:
        return None
    cells = int(min(_COUNTS, place.max() + 2))
    counts = np.bincount(place[place < cells].astype(np.intp), minlength=cells).astype(np.float64)
    tried = np.linspace(float(factor.min()), float(factor.max()), _FACTORS)
    if tried[0] < 0.25 or tried[-1] / tried[0] < 1 + 1e-9:
        return None
    # the factor 1 comes along: it stands for a table that is as smooth as it looks
    evidence = _evidence(counts, np.append(tried, 1.0), int(np.ceil(cells / min(1.0, tried[0]))) + 1)
    if evidence[:-1].max() < evidence[-1] + _CONCLUSIVE:
        return None
    gain = np.interp(factor, tried, evidence[:-1])
    return Posterior.of(secrets, np.exp(gain - gain.max()) * weights)


def _evidence(counts: Array, factors: Array, support: int) -> Array:
    """Log evidence of the counts for each factor, log probabilities having small third differences (Laplace)."""
    image = np.round(factors[:, None, None] * np.arange(support))
    # a few odd rows rule nothing out
    kernel = (image == np.arange(len(counts))[:, None]) * (1 - 1e-4) + 1e-4 / len(counts)
    rough = np.diff(np.eye(support), 3, axis=0)
    smooth = gaussian_filter1d(counts, 1.0, mode="nearest") + 0.1
    where = factors[:, None] * np.arange(support)
    theta = np.log(np.interp(where, np.arange(len(counts)), smooth) * factors[:, None])
    total, rounds = np.full(len(factors), -np.inf), 10
    for precision in _ROUGHNESS:
        penalty = precision * rough.T @ rough + 1e-6 * np.eye(support)
        for _ in range(rounds):  # Fisher scoring, with steps that cannot run away
            slope = kernel * np.exp(theta)[:, None, :]
            level = slope.sum(axis=2) + 1e-9
            weighted = slope / level[:, :, None]
            fisher = np.matmul(weighted.transpose(0, 2, 1), slope) + penalty
            uphill = np.matmul((counts - level)[:, None, :], weighted)[:, 0, :] - theta @ penalty
            move = np.linalg.solve(fisher, uphill[:, :, None])[:, :, 0]
            theta = np.clip(theta + np.clip(move, -1.0, 1.0), -50.0, 50.0)
        fit = (counts * np.log(level) - level).sum(axis=1) - 0.5 * (theta @ penalty * theta).sum(axis=1)
        fit += 0.5 * (support - 3) * np.log(precision) - 0.5 * np.linalg.slogdet(fisher)[1]
        total, rounds = np.logaddexp(total, fit), 5
    return total
