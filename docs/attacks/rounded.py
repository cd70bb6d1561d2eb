"""Columns that a public rule made of round numbers, and their twins of numbers that are not round."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

import statveil as sv
from attacks.guessing import column_of
from attacks.lattices import Lattice, lattice_guess
from attacks.variants import Belief, Floats, NoTableError, Variant, inside, planned

__all__ = ["known_of", "on_lattice", "plan_of", "rounded_rule"]


def known_of(rng: np.random.Generator, values: Floats, decimals: int | None, *, positive: bool) -> sv.Structure:
    """What a holder declares: nothing, a bound at 0, or the step of the digits as an inspection proposes it."""
    step = None if decimals is None else 10.0**-decimals
    bound = positive and (rng.random() < 0.5 or float(values.min()) < 0.25 * float(values.mean()))
    if bound:
        return sv.Structure(minimum=0, step=step)
    return sv.Structure(step=step)


def rounded_rule(
    rng: np.random.Generator,
    name: str,
    forward: Callable[[Floats], Floats],
    originals: Floats,
    every: Floats,
    held: Belief,
    *,
    decimals: int | None,
    share: float,
    positive: bool,
) -> Variant:
    """A column that a public rule made of round numbers, and its twin of numbers that are not round.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the draws come from.
    name : str
        The family of the variant.
    forward : callable
        The rule, without the rounding at its end.
    originals : array
        What the rows were before the rule, in two columns: round numbers, and what they were rounded from.
    every : array
        All round numbers that there can be.
    held : Belief
        The prior.
    decimals : int or None
        The decimals of the column.
    share : float
        The share of the rows that follow the rule; the others were written in the column's own unit.
    positive : bool
        Whether no value is below 0.
    """
    count = len(originals)
    follows = rng.random(count) < share
    values = np.where(follows, forward(originals[:, 0]), forward(originals[:, 1]))
    plain = forward(originals[:, 1])
    if decimals is not None:
        values, plain = np.round(values, decimals), np.round(plain, decimals)
    if not (np.isfinite(values).all() and np.isfinite(plain).all()):
        raise NoTableError("not finite")
    plan = plan_of(rng, held, values, plain, decimals, positive=positive)
    made = forward(every)
    rule = Lattice.of(made, decimals, share)
    if len(rule.places) < 10:
        raise NoTableError("too few places")
    return on_lattice(rng, name, plan, held, rule, values, plain)


def plan_of(
    rng: np.random.Generator, held: Belief, values: Floats, plain: Floats, decimals: int | None, *, positive: bool
) -> sv.Plan:
    """A plan of a column, whose statistic lies inside the belief as that of its twin does."""
    inside(held, values)
    inside(held, plain)
    return planned(held, known_of(rng, values, decimals, positive=positive))


def on_lattice(
    rng: np.random.Generator, family: str, plan: sv.Plan, held: Belief, rule: Lattice, values: Floats, plain: Floats
) -> Variant:
    """A column that a rule made, its twin, and somebody who has the rule."""
    truth, tolerance = inside(held, values)
    attacker = np.random.default_rng(int(rng.integers(2**32)))
    return Variant(
        family=family,
        plan=plan,
        table=pl.DataFrame({"x": values}),
        twin=pl.DataFrame({"x": plain}),
        truth=truth,
        tolerance=tolerance,
        attack=lambda table: lattice_guess(attacker, plan, held, rule, column_of(table)),
    )
