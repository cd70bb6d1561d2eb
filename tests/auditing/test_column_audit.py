"""Audits of two columns that moved apart: a sound release holds, and what is refused is what an attacker uses."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.auditing.inversion import inverted
from statveil.auditing.one_group import one_group
from statveil.auditing.tables import read_table
from statveil.auditing.view import View
from statveil.tables.verification import LEAKS
from tests.best_possible import none_known

EVERYTHING = tuple(LEAKS)


def planned(**options):
    with none_known():
        return sv.plan(sv.Problem(**options), max_risk=0.2, method="interval")


PLANS = {
    "ratio": planned(
        secret=sv.ColumnRatio("cost", "revenue"),
        prior=(0.5, 2.0),
        tolerance=sv.Relative(0.05),
        known=sv.Structure(minimum=0),
    ),
    "difference": planned(secret=sv.ColumnDifference("cost", "revenue"), prior=(-10, 10), tolerance=0.5),
}


def table(kind, rows=240):
    rng = np.random.default_rng(3)
    cost, revenue = rng.gamma(3.1, 7.3, rows), rng.gamma(4.2, 6.1, rows)
    if kind == "difference":
        cost, revenue = rng.normal(103.3, 9.1, rows), rng.normal(101.9, 12.7, rows)
    return pl.DataFrame({"cost": cost, "revenue": revenue, "z": rng.normal(size=rows)})


def audited(kind, before, attackers, **options):
    done = sv.release(PLANS[kind], before, accept=EVERYTHING, details=True, **options)
    record = done.record if options else None
    return sv.audit(PLANS[kind], before, done.table, attackers=attackers, trials=200, seed=2, record=record)


@pytest.mark.parametrize("kind", ["ratio", pytest.param("difference", marks=pytest.mark.slow)])
def test_a_sound_release_holds(kind):
    found = audited(kind, table(kind), ["plug-in", "bayes", "each-group", "shared-values"])
    assert not found.leaks
    rates = {one.attacker: one.rate for one in found.findings}
    # all of them see the released bin, and nothing more
    assert abs(rates["each-group"] - rates["bayes"]) <= 0.06
    assert abs(rates["shared-values"] - rates["bayes"]) <= 0.06
    assert rates["bayes"] >= rates["prior"]


def with_(frame, **columns):
    return frame.with_columns(**columns)


COST, REVENUE = pl.col("cost"), pl.col("revenue")
BROKEN = {
    "a copy of the second": ("ratio", lambda t: with_(t, c=3 * REVENUE), "each-group"),
    "a logarithm of the first": ("ratio", lambda t: with_(t, c=COST.log()), "each-group"),
    "the margin": ("ratio", lambda t: with_(t, margin=REVENUE - COST), "each-group"),
    "the margin, shifted": ("difference", lambda t: with_(t, margin=REVENUE - COST), "each-group"),
    "a share in per cent": ("ratio", lambda t: with_(t, share=(100 * COST / REVENUE).round()), "each-group"),
    "a flag for a loss": ("ratio", lambda t: with_(t, loss=COST > REVENUE), "each-group"),
    "never above": ("ratio", lambda t: with_(t, cost=REVENUE * (1 - 0.5 * t["z"].abs() / 4)), "each-group"),
    "never above, shifted": ("difference", lambda t: with_(t, cost=REVENUE - t["z"].abs()), "each-group"),
    "some equal": (
        "ratio",
        lambda t: with_(t, cost=pl.when(t["z"] > 1).then(REVENUE).otherwise(COST)),
        "shared-values",
    ),
}
QUICK = ("a copy of the second", "the margin, shifted", "a flag for a loss", "never above", "some equal")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in BROKEN]
)
@pytest.mark.heavy(2)
def test_what_a_release_refuses_is_what_an_attacker_uses(name):
    kind, change, attacker = BROKEN[name]
    before = change(table(kind))
    with pytest.raises(sv.StatveilError, match="--accept"):
        sv.release(PLANS[kind], before)
    found = audited(kind, before, [attacker])
    assert {one.attacker: one.verdict for one in found.findings}[attacker] == "leaks"


@pytest.mark.parametrize("kind", PLANS)
def test_what_lies_between_the_columns_is_a_line_for_every_candidate(kind):
    """Under the true secret the released ratios, or differences, are those of the original in every row."""
    plan, before = PLANS[kind], table(kind)
    done = sv.release(plan, before, details=True)
    read = read_table(done.table, column=None, plan=plan)
    view = View(plan=plan, column=read.column, others=read.others, parts=read.parts)
    own = done.record["estimates"]["secret"]
    assert inverted(view).secrets.min() <= own <= inverted(view).secrets.max()
    alone = one_group(view, 2)
    i = int(np.argmin(np.abs(alone.secrets - own)))
    back = (alone.view.column - alone.view.inversion.offset[i]) / alone.view.inversion.factor[i]
    cost, revenue = before["cost"].to_numpy(), before["revenue"].to_numpy()
    was = cost / revenue if kind == "ratio" else cost - revenue
    assert np.allclose(back, was, rtol=5e-3, atol=5e-3)
    assert len(alone.view.others["z"]) == len(was)


def test_a_shuffled_release_is_attacked_row_by_row_with_its_record():
    before = table("ratio")
    found = audited("ratio", with_(before, loss=COST > REVENUE), ["each-group"], shuffle=True)
    assert found.leaks
    released = sv.release(PLANS["ratio"], before, shuffle=True)
    with pytest.raises(sv.TableError, match="not in the same order"):
        sv.audit(PLANS["ratio"], before, released, attackers=["plug-in"])
