"""Audits of tables whose rows belong together without a column for it: what a release refuses, an attacker uses."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.verification import LEAKS
from tests.plans import BY_MODE, column_for
from tests.structure.test_rows_that_belong_together import (
    COLUMNS,
    DIFFERENCE,
    RATIO,
    VARIANTS,
    alike,
    grouped,
    pairs,
)

PLANS = {"ratio": RATIO, "difference": DIFFERENCE}


def audited(plan, table, attacker, **options):
    """The verdict on an attacker of a release that accepts every leak; ``None`` where it has nothing to go by."""
    released = sv.release(plan, table, accept=tuple(LEAKS), **options)
    found = sv.audit(plan, table, released, attackers=["bayes", attacker], trials=200, seed=3, **options)
    return {one.attacker: one.verdict for one in found.findings}.get(attacker)


@pytest.mark.parametrize(
    ("kind", "variant"), [("ratio", "partner"), ("ratio", "in the middle"), ("difference", "domain")]
)
def test_pairs_across_two_groups_tell_how_far_they_moved_apart(kind, variant):
    rng = np.random.default_rng(3)
    x, group, part = pairs(rng, 400, kind, 0.0)
    named = VARIANTS[variant](group, rng)
    assert audited(PLANS[kind], pl.DataFrame({"x": x, "part": part, **named}), "paired-rows", column="x") == "leaks"


def test_pairs_across_two_columns_tell_how_far_they_moved_apart():
    rng = np.random.default_rng(3)
    group = grouped(rng, 400, 2)
    one = rng.gamma(6, 3, 400) + 5
    order = np.argsort(group, kind="stable").reshape(-1, 2)
    two = np.empty(400)
    two[order[:, 0]], two[order[:, 1]] = one[order[:, 1]] + 2.3, one[order[:, 0]] + 2.3
    table = pl.DataFrame({"one": one, "two": two, **VARIANTS["partner"](group, rng)})
    assert audited(COLUMNS, table, "paired-rows") == "leaks"


@pytest.mark.parametrize(
    ("mode", "size", "variant"), [("category", 2, "partner"), ("category", 5, "domain"), ("rank", 5, "household")]
)
def test_groups_of_equal_rows_tell_what_was_drawn(mode, size, variant):
    rng = np.random.default_rng(3)
    group = grouped(rng, 1_500, size)
    table = pl.DataFrame({"x": alike(mode, rng, group), **VARIANTS[variant](group, rng)}, strict=False)
    assert audited(BY_MODE[mode], table, "grouped", column="x") == "leaks"


def test_the_same_columns_beside_independent_rows_tell_nothing():
    rng = np.random.default_rng(4)
    _, group, part = pairs(rng, 400, "ratio", 0.0)
    named = VARIANTS["partner"](group, rng) | VARIANTS["domain"](group, rng)
    table = pl.DataFrame({"x": rng.gamma(6, 3, 400) + 5, "part": part, **named})
    released = sv.release(RATIO, table, column="x")
    found = sv.audit(RATIO, table, released, column="x", attackers=["bayes", "paired-rows"], trials=200, seed=3)
    assert not found.leaks
    assert "paired-rows" in found.not_applicable
    counts = pl.DataFrame({"x": column_for("category", rng, 400), **named})
    released = sv.release(BY_MODE["category"], counts, column="x", accept=["few-rows"])
    assert not sv.audit(
        BY_MODE["category"], counts, released, column="x", attackers="grouped", trials=200, seed=3
    ).leaks
