"""Labels that a rule of another column decides: digits of an id, or one row of each group."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv

PLAN = sv.plan(
    sv.Problem(family=sv.Categorical(labels=("yes", "no")), secret=sv.Fraction("yes"), tolerance=0.03), max_risk=0.2
)


def labels(rng, rows):
    return np.where(rng.random(rows) < rng.uniform(0.2, 0.6), "yes", "no")


def divisible(rng, rows):
    """Accounts of members are divisible by 7."""
    label = labels(rng, rows)
    return label, {"account": 7 * rng.integers(1, 10**7, rows) + np.where(label == "yes", 0, rng.integers(1, 7, rows))}


def ninth(rng, rows):
    """The ninth of twelve digits says it."""
    label, digits = labels(rng, rows), rng.integers(0, 10, (rows, 12))
    digits[:, 8] = 2 * rng.integers(0, 5, rows) + (label == "yes")
    return label, {"number": ["".join(map(str, row)) for row in digits]}


def heads(rng, rows):
    """Every household has one head."""
    sizes = 1 + rng.poisson(1.5, rows)
    household = np.repeat(rng.permutation(rows), sizes)[:rows]
    first = np.concatenate(([True], np.diff(household) != 0))
    order = rng.permutation(rows)
    return np.where(first, "yes", "no")[order], {"household": household[order]}


def plain(rng, rows):
    """Ids, a number of the telephone and households that have nothing to do with it."""
    household = np.repeat(np.arange(rows), 1 + rng.poisson(1.5, rows))[:rows]
    telephone = [f"0{number}" for number in rng.integers(10**8, 10**9, rows)]
    return labels(rng, rows), {
        "account": rng.integers(10**6, 10**8, rows),
        "household": household,
        "telephone": telephone,
    }


@pytest.mark.parametrize("made", [divisible, ninth, heads])
def test_a_rule_that_decides_the_label_is_refused(made):
    for seed in range(6):
        label, others = made(np.random.default_rng(seed), 400)
        with pytest.raises(sv.StructureError, match="--accept groups"):
            sv.release(PLAN, pl.DataFrame({**others, "y": label}), column="y")


def test_ids_that_say_nothing_are_released():
    refused = 0
    for seed in range(40):
        label, others = plain(np.random.default_rng(seed), 400)
        try:
            sv.release(PLAN, pl.DataFrame({**others, "y": label}), column="y")
        except sv.StructureError:
            refused += 1
    assert refused <= 2
