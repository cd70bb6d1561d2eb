"""Numbers that were rounded before a change of units: their cells tell the map, so they are blurred or refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import statveil as sv
from statveil.tables.maps import affine

POUND = 0.45359237
ABOVE_ZERO = sv.Structure(minimum=0)


def planned(prior, known=None, family=None, secret=None, tolerance=2.0):
    problem = sv.Problem(
        family=family or sv.Location(),
        prior=prior,
        secret=secret or sv.Mean(),
        tolerance=tolerance,
        known=known or sv.Structure(),
    )
    return sv.plan(problem, max_risk=0.1)


PLANS = {
    "scale": planned(sv.Box(mean=(400, 1500)), ABOVE_ZERO),
    "affine": planned(sv.Box(mu=(300, 1500), sigma=(40, 900)), family=sv.Gaussian(), secret=sv.Quantile(0.9)),
    "shift": planned(sv.Box(mean=(400, 1500))),
}


def spread_out(mean, rows, rng):
    """Numbers of about this mean, over so many octaves that no common step is found of short ones."""
    made = mean * np.abs(rng.normal(1, 0.25, rows))
    made[: rows // 20] *= 10 ** rng.uniform(-6, -1, rows // 20)
    return made


def digits(values, number):
    return np.array([float(f"{value:.{number}g}") for value in values])


def bits(values):
    return values.astype(np.float32).astype(np.float64)


# --- the attack, and what is done about it ------------------------------------------------------
def gap_scan(released, back, candidates, cells):
    """The candidate under which close neighbours are a whole number of cells apart, by the Fourier sum of the gaps.

    Under a shift the gaps stay as they are, and the places where the cells change tell it.
    """
    scores = []
    for candidate in candidates:
        original = back(released, candidate) / POUND
        width = cells(np.maximum(original, 1e-9))
        gaps = np.diff(original) / width[:-1]
        gaps = gaps[(gaps < 1000) & (width[1:] == width[:-1])]
        scores.append(np.cos(2 * np.pi * gaps).sum() / math.sqrt(max(1, len(gaps))))
    return candidates[int(np.argmax(scores))]


def attacked(mode, rounded, cells, seed):
    """Whether the scan finds the mean of a column of pounds worked out as kilograms, released whatever it shows."""
    rng = np.random.default_rng(seed)
    plan = PLANS[mode]
    x = rounded(spread_out(rng.uniform(450, 1400) / POUND, 1500, rng)) * POUND
    released = np.sort(sv.release(plan, x, accept=["bounds", "digits"]))
    near = released.mean()
    step = 0.25 if mode == "shift" else 0.1 * near / 1000
    guesses = np.arange(near - 0.5 * plan.bin, near + 0.5 * plan.bin, step)
    moved = {"shift": lambda table, to: table + to - near, "scale": lambda table, to: table * to / near}[mode]
    return abs(gap_scan(released, moved, guesses, cells) - x.mean()) <= plan.problem.tolerance


@pytest.mark.parametrize(
    ("mode", "rounded", "cells", "least"),
    [
        ("scale", lambda x: digits(x, 6), lambda x: 10.0 ** (np.floor(np.log10(x)) - 5), 9),
        ("shift", lambda x: digits(x, 6), lambda x: 10.0 ** (np.floor(np.log10(x)) - 5), 4),
        ("shift", bits, lambda x: 2.0 ** (np.floor(np.log2(x)) - 23), 4),  # where a power of two lies among the rows
    ],
    ids=["six digits, scale", "six digits, shift", "32 bits, shift"],
)
def test_what_is_refused_would_be_found_out(mode, rounded, cells, least, monkeypatch):
    """Forced through, the means of at least so many of ten columns are found, at a stated risk of a tenth.

    Cells as fine as these are blurred under a shift; coarser ones are not, and whether they are is not asked.
    """
    if mode == "shift":
        assert sum(attacked(mode, rounded, cells, seed) for seed in range(10)) <= 4, "the blur: chance once in 600"
    monkeypatch.setattr(affine, "blurred_evenly", lambda values, seed, width: values)
    assert sum(attacked(mode, rounded, cells, seed) for seed in range(10)) >= least


@pytest.mark.parametrize("rate", [POUND, np.pi / 2, 0.8473219])
@pytest.mark.parametrize("number", [5, 6, 7, None], ids=["5 digits", "6 digits", "7 digits", "32 bits"])
@pytest.mark.parametrize("mode", list(PLANS))
def test_cells_behind_a_factor_are_refused_or_blurred(mode, number, rate):
    rng = np.random.default_rng(7)
    for rows in (150, 1500):
        free = spread_out(800 / rate, rows, rng)
        column = rate * (bits(free) if number is None else digits(free, number))
        if number is None and mode != "shift":  # as fine as the blur
            assert len(sv.release(PLANS[mode], column, accept=["bounds"])) == rows
        else:
            with pytest.raises(sv.StructureError, match="rounded to a few digits before a change of units"):
                sv.release(PLANS[mode], column, accept=["bounds"])
        assert len(sv.release(PLANS[mode], rate * free, accept=["bounds"])) == rows, "the control: all digits"


@pytest.mark.parametrize("rate", [POUND, 1.609344, 1 / 1.1, 0.8473219])
@pytest.mark.parametrize("rows", [100, 300, 5000])
def test_few_digits_and_cents_over_many_magnitudes_times_a_constant_are_refused(rows, rate):
    """No common step is found where it is 1e-8 of the range or less; values of one size show theirs."""
    rng = np.random.default_rng(rows)
    plan = planned(sv.Box(mean=(1, 1e7)), ABOVE_ZERO)
    wide = rng.lognormal(6, 2.5, rows)
    for numbers in (*(digits(wide, number) for number in (3, 4, 5)), np.rint(100 * wide) / 100):
        with pytest.raises(sv.StructureError, match=r"multiples of"):
            sv.release(plan, rate * numbers)
    assert len(sv.release(plan, rate * wide)) == rows, "the control: all their digits"


def test_a_lattice_that_a_move_rounds_away_is_none():
    """Thirteen decimals of numbers up to 1e9: a moved column keeps 49 bits of the largest."""
    rng = np.random.default_rng(3)
    column = rng.permutation(
        np.concatenate((np.round(rng.uniform(1e-7, 1e-6, 40), 13), rng.uniform(500e6, 1500e6, 400)))
    )
    plan = planned(sv.Box(mean=(100e6, 2e9)), tolerance=1e6)
    assert plan.mode == "shift"
    assert len(sv.release(plan, column, accept=["bounds"])) == 440
