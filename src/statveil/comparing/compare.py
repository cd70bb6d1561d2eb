"""compare(): our mechanisms beside the alternatives of the paper, on one real column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from statveil.comparing.contender import Contender
from statveil.comparing.noisy import Noisy
from statveil.comparing.points import Comparison, Line
from statveil.comparing.reading import Column, read_column
from statveil.comparing.stated import state
from statveil.comparing.surrogate import measured
from statveil.comparing.sweep import METHODS, Sweep, contenders
from statveil.errors import ProblemError, unknown_name
from statveil.numbers import check_seed
from statveil.problem.family import Family
from statveil.problem.prior import Prior
from statveil.problem.secret import Secret
from statveil.spoken import Progress
from statveil.theory.gamma import gamma

__all__ = ["METHODS", "Comparison", "compare"]

_MOST_POINTS, _MOST_SEEDS, _MOST_TRIALS, _MOST_BINS = 100, 1_000, 100_000, 1_000_000


def compare(
    table: Any,
    *,
    secret: Secret,
    column: Any = None,
    family: Family | None = None,
    prior: Prior | None = None,
    tolerance: float | None = None,
    methods: Collection[str] | None = None,
    seeds: int = 10,
    points: int = 12,
    bins: Sequence[int] = (20, 200, 2_000),
    range: tuple[float, float] | None = None,
    trials: int = 100,
    seed: int | None = None,
    progress: Progress = lambda stage, rows, total: None,
) -> Comparison:
    """Attackers' errors and distortions of our mechanisms and of the alternatives, over a sweep of settings. Private.

    Parameters
    ----------
    table : object or path
        Anything that :func:`release` takes, or a file. It is not modified.
    secret : Secret
        The statistic to hide: mean, quantile or std.
    column : str
        The column; left out for an array, a list or a series.
    family : Family, optional
        Whose bins our mechanism takes; location for the mean, exponential for a quantile (gaussian where a value is
        negative), gaussian for the std by default.
    prior : Prior, optional
        What outsiders believe. Without one a range of the column's order of magnitude stands in, and the notes say so.
    tolerance : float, optional
        A guess within it counts as a hit; 1 % of the width that the prior leaves to the secret by default.
    methods : collection of str, optional
        Some of ``METHODS``; all by default.
    seeds : int
        Realisations of each setting on the column.
    points : int
        Settings of each form of a method.
    bins : sequence of int
        Numbers of bins of the histograms.
    range : pair of float, optional
        Range of the histograms, from public knowledge; round numbers beyond what the prior allows by default. Never
        the column's own ends.
    trials : int
        Redrawn columns on which hits are counted; fewer for long columns.
    seed : int, optional
        To repeat a comparison exactly (but for OpenDP, whose noise has no seed).
    progress : callable, optional
        Called with the rows just released.

    Examples
    --------
    >>> import statveil as sv
    >>> column = np.random.default_rng(1).gamma(2.0, 50.0, 1_000)
    >>> found = sv.compare(column, secret=sv.Mean(), methods=["ours", "ap"], points=3, seeds=3, trials=10, seed=1)
    >>> [round(point["ratio"], 3) for point in found.points if point["method"] == "ours"]
    [1.0, 1.0, 1.0]
    """
    names = _names(methods)
    _check_whole(seeds, "the number of seeds", 1, _MOST_SEEDS)
    _check_whole(points, "the number of points", 2, _MOST_POINTS)
    _check_whole(trials, "the number of trials", 1, _MOST_TRIALS)
    sizes = _bins(bins)
    chosen = int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) if seed is None else check_seed(seed)
    source = read_column(table, column, np.random.default_rng(chosen))
    stated = state(source, secret=secret, family=family, prior=prior, tolerance=tolerance, range=range)
    rows = len(source.values)
    found, left_out = contenders(stated, names, Sweep(points=points, bins=sizes, rows=rows))
    if not found:
        reasons = " ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ProblemError(f"none of the named methods can be compared here. {reasons}")
    before: Counter[tuple[str, str]] = Counter()
    results = []
    for contender in found:
        setting = before[contender.method, contender.form]
        before[contender.method, contender.form] += 1
        results.append(measured(contender, source.values, seed=chosen, setting=setting, seeds=seeds, trials=trials))
        progress(f"comparing, {len(found)} settings", seeds * rows, len(found) * seeds * rows)
    return Comparison(
        column=source.name,
        rows=rows,
        problem=stated.problem,
        range=stated.range,
        points=results,
        # W1 is at least the difference of the means, whatever the columns; other secrets have the family's line
        line=Line(slope=1 / (2 * gamma(stated.problem)), always=stated.problem.secret.bounded_by_w1),
        left_out=left_out,
        notes=(*_about(source), *stated.notes, *_unseeded(found)),
        seeds=seeds,
        seed=chosen,
    )


def _about(column: Column) -> list[str]:
    notes = []
    if column.untouched:
        notes.append(f"{column.untouched:,} rows without a finite value were left out.")
    if column.sampled_from is not None:
        notes.append(
            f"{len(column.values):,} of {column.sampled_from:,} rows were drawn at random. Noise on each row averages "
            "out over more rows, so with all of them it would hide even less."
        )
    return notes


def _unseeded(found: Sequence[Contender]) -> list[str]:
    fresh = dict.fromkeys(one.method for one in found if isinstance(one, Noisy) and not one.mechanism.reproducible)
    return [f"The noise of {name} has no seed: its numbers differ from run to run." for name in fresh]


def _names(methods: Collection[str] | None) -> list[str]:
    if methods is None:
        return list(METHODS)
    wanted = [methods] if isinstance(methods, str) else list(methods)
    for name in wanted:
        if name not in METHODS:
            raise ProblemError(unknown_name("method", str(name), METHODS))
    if not wanted:
        raise ProblemError(f"name at least one method. Allowed: {', '.join(METHODS)}.")
    return [name for name in METHODS if name in wanted]


def _check_whole(value: Any, what: str, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ProblemError(f"{what} must be a whole number from {low} to {high:,}. Got {value!r}.")


def _bins(bins: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(bins) if isinstance(bins, tuple | list) else (bins,)
    for size in sizes:
        _check_whole(size, "a number of bins", 1, _MOST_BINS)
    if not sizes:
        raise ProblemError("give at least one number of bins, such as 20,200,2000.")
    return sizes
