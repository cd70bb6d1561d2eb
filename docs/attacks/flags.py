"""Tables with another column that tells the hidden one."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import special

import statveil as sv
from attacks.guessing import bin_ends, column_of, middle
from attacks.labels import label_rule
from attacks.row_by_row import categories, truth_of
from attacks.telling import Telling, telling
from attacks.variants import Belief, Table, Variant, belief, inside, log_uniform, planned, rows, shape

__all__ = ["flag"]


def flag_attack(plan: sv.Plan, held: Belief, told: Telling, table: Table) -> float:
    """The statistic under which the rule agrees best with what is published beside the column."""
    assert isinstance(table, pl.DataFrame)
    released = column_of(table)
    mean = float(np.mean(released))
    low, high = bin_ends(plan, held, mean)
    said = told.said(table)
    candidates = np.linspace(low, high, 800)
    likely = np.empty(len(candidates))
    middle_of_step = 0.5 * (plan.problem.known.step or 0) if plan.mode in ("jitter", "smooth") else 0.0
    for index, candidate in enumerate(candidates):
        if plan.mode in ("shift", "lattice"):
            moved = released - mean + candidate
        else:
            moved = (released + middle_of_step) * candidate / mean - middle_of_step
        rule = told.rule(moved, table)
        if told.numeric:
            off = np.abs(said - rule)
            likely[index] = -len(off) * np.log(np.mean(np.minimum(off, np.quantile(off, 0.9))) + 1e-9 * abs(mean))
        else:
            _, left = np.unique(said, return_inverse=True)
            _, right = np.unique(rule, return_inverse=True)
            counts = np.zeros((left.max() + 1, right.max() + 1))
            np.add.at(counts, (left, right), 1.0)
            inside_rows = counts.sum(axis=0, keepdims=True)
            likely[index] = float(
                np.sum(special.xlogy(counts, counts)) - np.sum(special.xlogy(inside_rows, inside_rows))
            )
    return middle(candidates, likely, held.tolerance)


def flag(rng: np.random.Generator) -> Variant:
    """A table with another column that tells the hidden one by a public rule."""
    count = rows(rng)
    if rng.random() < 0.25:
        given = categories(rng, count, None)
        truth, tolerance = truth_of(given)
        kind, columns, counted = label_rule(rng, given.values)
        mixed = rng.permutation(count)
        return Variant(
            family=f"label: {kind}",
            plan=given.plan,
            table=pl.DataFrame({"x": given.values, **columns}),
            twin=pl.DataFrame({"x": given.values[mixed], **columns}),
            truth=truth,
            tolerance=tolerance,
            attack=lambda table: counted(table) if isinstance(table, pl.DataFrame) else np.nan,
        )
    spread = log_uniform(rng, 0.1, 0.8)
    step = [None, None, 1.0, 0.1][rng.integers(4)]
    held = belief(rng, log_uniform(rng, 35, 3000) * (step or 1), deviation=spread)
    values = held.truth * shape(rng, count, spread=spread)
    if step is not None:
        values = np.round(np.round(values / step) * step, 1)
    truth, tolerance = inside(held, values)
    bound = spread > 0.25 or rng.random() < 0.5
    plan = planned(held, sv.Structure(minimum=0 if bound else None, step=step))
    told = telling(rng, values)
    mixed = rng.permutation(count)
    return Variant(
        family=f"{plan.mode}: {told.kind}",
        plan=plan,
        table=pl.DataFrame({"x": values, **told.columns}, strict=False),
        twin=pl.DataFrame({"x": values[mixed], **told.columns}, strict=False),
        truth=truth,
        tolerance=tolerance,
        attack=lambda table: flag_attack(plan, held, told, table),
    )
