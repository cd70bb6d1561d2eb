"""The paper's metrics of one contender over many seeds, and how often attackers hit."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from statveil.auditing.distances import w1
from statveil.comparing.contender import Contender
from statveil.comparing.stated import statistic
from statveil.comparing.sweep import FORMS, METHODS
from statveil.simulation import proportion_interval
from statveil.tables.blocks import Array

__all__ = ["measured", "stream"]

CONFIDENCE = 0.95
_GOLDEN = (5**0.5 - 1) / 2
_ROUNDING = 1e-12
"""Of the largest value: a column that moved by less did not move, and has no ratio."""


def stream(seed: int, method: str, form: str, setting: int, run: int, *, redrawn: bool = False) -> Generator:
    """Random numbers of one run of one setting: no other method, setting or run changes them."""
    key = (list(METHODS).index(method), FORMS.index(form), setting, run, int(redrawn))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def measured(
    contender: Contender, column: Array, *, seed: int, setting: int, seeds: int, trials: int
) -> dict[str, Any]:
    """One point: errors and distortion of releases of the column, hits on redrawn ones.

    The paper's surrogate privacy is minus the error; its surrogate distortion is W1 between the two columns.
    """
    problem, truth = contender.stated.problem, contender.stated.truth
    random = partial(stream, seed, contender.method, contender.form, setting)
    found, start = [], random(0).random()
    for run in range(seeds):
        # places a golden section apart, from a random start: few runs cover the bins evenly, and each place is uniform
        released = contender.release(column, random(run), (start + run * _GOLDEN) % 1.0)
        error = abs(statistic(problem, released) - truth)
        found.append((error, abs(contender.informed(released) - truth), w1(column, released)))
    error, debiased, moved = np.array(found).T
    hits = contender.attacked(column, trials, random(0, redrawn=True))
    hit_low, hit_high = proportion_interval(hits.hits, hits.trials, CONFIDENCE)
    distance = float(moved.mean())
    still = distance <= _ROUNDING * float(np.abs(column).max())
    return {
        "method": contender.method,
        "form": contender.form,
        "parameter": dict(contender.parameter),
        "error": float(error.mean()),
        "error_low": float(np.quantile(error, 0.1)),
        "error_high": float(np.quantile(error, 0.9)),
        "debiased_error": float(debiased.mean()),
        "distortion": distance,
        "distortion_low": float(np.quantile(moved, 0.1)),
        "distortion_high": float(np.quantile(moved, 0.9)),
        "ratio": None if still else float(error.mean()) / distance,
        "debiased_ratio": None if still else float(debiased.mean()) / distance,
        "hit_rate": hits.hits / hits.trials,
        "hit_low": hit_low,
        "hit_high": hit_high,
        "trials": hits.trials,
        "attacker": hits.attacker,
        "risk": contender.risk,
        "guarantee": contender.guarantee,
        "seeds": seeds,
    }
