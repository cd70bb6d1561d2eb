"""Columns under a plan that draws row by row, so that other rows tell what was drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import statveil as sv
from attacks.variants import RISKS, Belief, Floats, Ints, NoTableError, belief, inside, log_uniform, shape

__all__ = ["LABELS", "Drawn", "categories", "drawn", "truth_of"]

LABELS = ("A", "B", "C", "D", "E")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A column in a mode that draws row by row, in no order yet."""

    values: NDArray[Any]
    """Numbers, or labels."""
    plan: sv.Plan
    held: Belief
    mode: str
    independent: NDArray[Any]
    """As many rows in no groups."""
    labels: tuple[str, ...] = ()

    @property
    def column(self) -> Floats:
        """The values as numbers; of labels 1 for the one whose share is hidden."""
        if self.mode == "category":
            return np.asarray(self.values == "B", dtype=np.float64)
        return self.values.astype(np.float64)


def drawn(rng: np.random.Generator, count: int, repeats: Ints | None = None) -> Drawn:
    """A column under a plan of one of the modes that draw row by row.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the draws come from.
    count : int
        The number of rows, or of groups of rows.
    repeats : array, optional
        How many rows each group has; all have one value then.
    """
    mode = str(rng.choice(["jitter", "smooth", "model", "rank", "unit", "category", "category"]))
    if mode == "category":
        return categories(rng, count, repeats)
    step = float(rng.choice([1, 1, 0.1, 0.5, 5, 0.01]))
    lowest = {"jitter": (30, 200), "smooth": (4, 20), "model": (4, 25), "rank": (2, 15), "unit": (2, 12)}[mode]
    steps = log_uniform(rng, *lowest)
    spread = log_uniform(rng, 0.3, 1.0)
    if mode == "unit":
        held = belief(rng, steps, deviation=min(steps**-0.5, 1.0), shares=False)
        assert not isinstance(held.tolerance, sv.Relative)
        problem = sv.Problem(
            family=sv.Poisson(),
            secret=sv.Mean(),
            prior=sv.Box(rate=(held.low, held.high)),
            tolerance=max(held.tolerance, 0.1),
        )
        held = Belief(
            low=held.low, high=held.high, truth=held.truth, tolerance=max(held.tolerance, 0.1), risk=held.risk
        )

        def fresh(number: int) -> Floats:
            return rng.poisson(held.truth, number).astype(np.float64)
    elif mode == "rank":
        held = belief(rng, steps * step, deviation=1.0, shares=False)
        problem = sv.Problem(
            family=sv.Exponential(),
            secret=sv.Mean(),
            prior=sv.Box(scale=(held.low, held.high)),
            tolerance=held.tolerance,
            known=sv.Structure(step=step),
        )

        def fresh(number: int) -> Floats:
            return np.asarray(np.floor(rng.exponential(held.truth / step, number) + 0.5) * step)
    else:
        held = belief(rng, steps * step, deviation=spread)
        known = sv.Structure(minimum=0, step=step)
        problem = sv.Problem(
            secret=sv.Mean(),
            prior=(held.low, held.high),
            tolerance=held.tolerance,
            known=known,
            shape="catalogue" if mode == "model" else None,
        )

        kind = int(rng.integers(4))

        def fresh(number: int) -> Floats:
            return np.asarray(np.round(held.truth / step * shape(rng, number, spread=spread, kind=kind)) * step)

    try:
        plan = sv.plan(problem, max_risk=held.risk)
    except sv.StatveilError as error:
        raise NoTableError(str(error)) from error
    values = fresh(count)
    if repeats is not None:
        values = np.repeat(values, repeats)
    independent = fresh(len(values))
    if step < 1:
        values, independent = np.round(values, 2), np.round(independent, 2)
    if step == 1 or mode == "unit":
        values, independent = values.astype(np.int64), independent.astype(np.int64)
    return Drawn(values=values, plan=plan, held=held, mode=plan.mode, independent=independent)


def categories(rng: np.random.Generator, count: int, repeats: Ints | None) -> Drawn:
    """Labels of which the share of one is hidden, every mix of shares equally likely."""
    labels = LABELS[: int(rng.integers(2, 5))]
    held = Belief(low=0.0, high=1.0, truth=0.0, tolerance=float(rng.uniform(0.01, 0.04)), risk=float(rng.choice(RISKS)))
    plan = share_plan(labels, held)
    mix = rng.dirichlet(np.ones(len(labels)))
    values = rng.choice(np.array(labels), count, p=mix)
    if repeats is not None:
        values = np.repeat(values, repeats)
    independent = rng.permutation(values)
    return Drawn(values=values, plan=plan, held=held, mode="category", independent=independent, labels=labels)


def share_plan(labels: Iterable[str], held: Belief) -> sv.Plan:
    """The plan that hides the share of B."""
    try:
        problem = sv.Problem(
            family=sv.Categorical(labels=list(labels)), secret=sv.Fraction("B"), tolerance=held.tolerance
        )
        return sv.plan(problem, max_risk=held.risk)
    except sv.StatveilError as error:
        raise NoTableError(str(error)) from error


def truth_of(given: Drawn) -> tuple[float, float]:
    """The hidden statistic and its tolerance."""
    if given.mode == "category":
        assert not isinstance(given.held.tolerance, sv.Relative)
        return float(np.mean(given.column)), given.held.tolerance
    return inside(given.held, given.column)
