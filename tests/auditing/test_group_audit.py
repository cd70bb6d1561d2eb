"""Audits of two groups that moved apart: a sound release holds, and each attacker has something that it breaks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.auditing.inversion import inverted
from statveil.auditing.one_group import one_group
from statveil.auditing.view import View
from statveil.tables.verification import LEAKS
from tests.best_possible import none_known

EVERYTHING = tuple(LEAKS)


def planned(**options):
    with none_known():
        return sv.plan(sv.Problem(**options), max_risk=0.2, method="interval")


PLANS = {
    "ratio": planned(
        secret=sv.GroupRatio("region", "north", "south"),
        prior=(0.5, 2.0),
        tolerance=sv.Relative(0.05),
        known=sv.Structure(minimum=0),
    ),
    "difference": planned(secret=sv.GroupDifference("region", "north", "south"), prior=(-10, 10), tolerance=0.5),
}


def table(kind, rows=240):
    rng = np.random.default_rng(3)
    region = rng.choice(["north", "south", "west"], rows, p=[0.35, 0.45, 0.2])
    north = region == "north"
    x = rng.gamma(2.3, 1.7, rows) * np.where(north, 1.31, 1.0)
    if kind == "difference":
        x = rng.normal(103.3, 9.1, rows) + np.where(north, 1.7, 0.0)
    return pl.DataFrame({"region": region, "x": x, "z": rng.normal(size=rows)})


def audited(kind, before, attackers="all", trials=200, **options):
    released = sv.release(PLANS[kind], before, column="x", accept=EVERYTHING)
    return sv.audit(PLANS[kind], before, released, column="x", attackers=attackers, trials=trials, seed=2, **options)


@pytest.mark.parametrize("kind", ["ratio", pytest.param("difference", marks=pytest.mark.slow)])
def test_a_sound_release_holds_against_those_who_know_of_groups(kind):
    found = audited(kind, table(kind), ["plug-in", "bayes", "each-group", "shared-values"])
    assert not found.leaks
    rates = {one.attacker: one.rate for one in found.findings}
    # all of them see the released bin, and nothing more
    assert abs(rates["each-group"] - rates["bayes"]) <= 0.06
    assert abs(rates["shared-values"] - rates["bayes"]) <= 0.06
    assert rates["bayes"] >= rates["prior"]


def both(frame, **columns):
    return frame.with_columns(**columns)


BROKEN = {
    "a logarithm beside it": ("ratio", lambda t: both(t, log=pl.col("x").log()), "each-group"),
    "a copy beside one group": (
        "difference",
        lambda t: both(t, y=pl.when(pl.col("region") == "north").then(2 * pl.col("x")).otherwise(pl.col("z"))),
        "each-group",
    ),
    "a step": ("ratio", lambda t: both(t, x=(pl.col("x") + 0.1).round(1)), "each-group"),
    "a coarse step": ("difference", lambda t: both(t, x=8 * (pl.col("x") / 8).round()), "each-group"),
    "values that did not change": (
        "ratio",
        lambda t: pl.concat([t, t.filter(pl.col("region") == "south").with_columns(region=pl.lit("north"))]),
        "shared-values",
    ),
    "values of a group among the others": (
        "difference",
        lambda t: pl.concat([t, t.filter(pl.col("region") == "south").with_columns(region=pl.lit("west"))]),
        "shared-values",
    ),
}


QUICK = ("a copy beside one group", "values that did not change")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in BROKEN]
)
def test_what_a_release_refuses_is_what_an_attacker_uses(name):
    kind, change, attacker = BROKEN[name]
    before = change(table(kind))
    with pytest.raises(sv.StatveilError, match="--accept"):
        sv.release(PLANS[kind], before, column="x")
    found = audited(kind, before, [attacker])
    assert {one.attacker: one.verdict for one in found.findings}[attacker] == "leaks"


@pytest.mark.slow
def test_a_known_record_tells_its_group_and_with_it_the_secret():
    before = table("ratio")
    row = before["region"].to_list().index("south")
    found = audited("ratio", before, ["each-group"], records=[(row, before["x"][row])])
    assert found.findings[0].rate >= 0.6  # in other trials the known row is one of neither group


@pytest.mark.parametrize("kind", PLANS)
def test_one_group_alone_is_a_line_for_every_candidate(kind):
    """The mean of a group under a candidate is that for which the released rows come from that secret."""
    plan, before = PLANS[kind], table(kind)
    done = sv.release(plan, before, column="x", details=True)
    labels = before["region"].to_numpy()
    view = View(plan=plan, column=done.table["x"].to_numpy(), parts=(labels == "north", labels == "south"))
    own = done.record["estimates"]
    found = inverted(view)
    assert found.secrets.min() <= own["secret"] <= found.secrets.max()
    for place in range(2):
        alone = one_group(view, place)
        at = float(np.interp(own["groups"]["means"][place], alone.means, alone.secrets))
        off = 2 * plan.release_mode.wander(plan.problem)
        assert at == pytest.approx(own["secret"], rel=1e-4, abs=1e-4 + off)
        i = int(np.argmin(np.abs(alone.means - own["groups"]["means"][place])))
        rows = view.parts[place]
        back = (view.column[rows] - alone.view.inversion.offset[i]) / alone.view.inversion.factor[i]
        assert np.allclose(back, before["x"].to_numpy()[rows], rtol=2e-3)


def test_other_releases_are_not_played_against_two_groups():
    plan, before = PLANS["ratio"], table("ratio")
    released = sv.release(plan, before, column="x")
    with pytest.raises(sv.ProblemError, match="statveil compose"):
        sv.audit(plan, before, released, column="x", releases=[(plan, released)])
