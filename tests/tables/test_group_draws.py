"""Panels: modes that draw at random draw once for each group, and the attacker who averages groups learns no more."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.panels import panel_of
from statveil.tables.verification import LEAKS

PERSONS, ROWS_EACH = 900, 6
SAID = {
    "category": 'hide = "fraction:red"\nfamily = "categorical"\nlabels = ["red", "green", "blue"]\ntolerance = 0.02',
    "jitter": 'hide = "mean"\nprior = "50:200"\ntolerance = 2\nknown = "min=0,step=1"',
    "smooth": 'hide = "mean"\nprior = "50:200"\ntolerance = 2\nknown = "min=0,step=10"',
    "unit": 'hide = "mean"\nfamily = "poisson"\nprior = "rate=1:20"\ntolerance = 0.3',
    "rank": 'hide = "mean"\nfamily = "binomial"\ntrials = 10\nprior = "p=0.1:0.9"\ntolerance = 0.1',
}
DRAWN = {
    "category": lambda rng: rng.choice(["red", "green", "blue"], PERSONS, p=[0.2, 0.5, 0.3]),
    "jitter": lambda rng: np.round(rng.gamma(6, 15, PERSONS)).astype(int),
    "smooth": lambda rng: (10 * np.round(rng.gamma(6, 1.5, PERSONS))).astype(int),
    "unit": lambda rng: rng.poisson(7, PERSONS),
    "rank": lambda rng: rng.binomial(10, 0.4, PERSONS),
}


def planned(mode, extra="", head='others = "keep"'):
    text = f'{head}\n[columns.x]\n{SAID[mode]}\nmax_risk = 0.3\naccept = ["few-rows"]\ngroup = "person"\n{extra}'
    return sv.plan_specification(sv.Specification.from_toml(text))


def panel(mode, seed=0):
    rng = np.random.default_rng(seed)
    order = rng.permutation(PERSONS * ROWS_EACH)
    return pl.DataFrame(
        {
            "person": np.repeat(rng.permutation(10**6)[:PERSONS], ROWS_EACH)[order],
            "x": np.repeat(DRAWN[mode](rng), ROWS_EACH)[order],
            "month": np.tile(np.arange(ROWS_EACH), PERSONS)[order],
        }
    )


@pytest.mark.parametrize("mode", SAID)
def test_rows_of_one_group_stay_equal_and_the_statistic_is_the_plans(mode, tmp_path):
    plan, table = planned(mode), panel(mode)
    assert plan.plans["x"].mode == mode
    done = sv.release(plan, table, details=True)
    assert done.table["person"].equals(table["person"])
    assert done.table.group_by("person").agg(pl.col("x").n_unique())["x"].max() == 1
    assert sv.verify(done.table, done.card).ok
    assert done.card["columns"]["x"]["rows"] == len(table)
    assert done.card["columns"]["x"]["group"] == "person"
    # the table of one row for each person, released alone with the same stream, is the same release
    persons = table.unique("person", keep="first", maintain_order=True)
    seed = int(done.record["columns"]["x"]["seed"], 16)
    # with details: what `smooth` makes of the ends, by chance, is a note then and no warning
    alone = sv.release(plan.plans["x"], persons, column="x", seed=seed, accept=list(LEAKS), details=True).table
    shown = done.table.unique("person", keep="first", maintain_order=True)
    assert shown["x"].to_list() == alone["x"].to_list()
    # files too, and in another order
    table.write_csv(tmp_path / "in.csv")
    shuffled = planned(mode, head='others = "keep"\nshuffle = true')
    sv.release_table(shuffled, tmp_path / "in.csv", tmp_path / "out.csv")
    assert sv.verify(tmp_path / "out.csv").ok
    assert pl.read_csv(tmp_path / "out.csv").group_by("person").agg(pl.col("x").n_unique())["x"].max() == 1


def test_names_that_the_engine_takes_for_patterns_are_names():
    plan, table = planned("unit"), panel("unit")
    text = f'others = "keep"\n[columns.x]\n{SAID["unit"]}\nmax_risk = 0.3\naccept = ["few-rows"]\ngroup = "^p.*$"\n'
    odd = sv.plan_specification(sv.Specification.from_toml(text))
    found = sv.release(odd, table.rename({"person": "^p.*$", "month": "^.*$"}), seed=1)
    assert found["x"].equals(sv.release(plan, table, seed=1)["x"])


def test_verify_sees_a_row_that_left_its_group():
    plan, table = planned("jitter"), panel("jitter")
    done = sv.release(plan, table, details=True)
    changed = done.table.with_columns(
        x=pl.when(pl.int_range(pl.len()) == 7).then(pl.col("x") + 1).otherwise(pl.col("x"))
    )
    (wrong,) = [check for check in sv.verify(changed, done.card).checks if not check.ok]
    assert wrong.name == "groups"
    assert "different values" in wrong.says


@pytest.mark.parametrize("mode", ["category", "jitter"])
def test_the_attacker_who_averages_groups_hits_draws_of_rows_and_not_draws_of_groups(mode):
    plan, table = planned(mode), panel(mode)
    done = sv.release(plan, table, details=True)
    by_group = sv.audit(plan, table, done.table, record=done.record, attackers=["grouped"], trials=200, seed=1)
    (found,) = [one for one in by_group["x"].findings if one.attacker == "grouped"]
    assert found.verdict != "leaks"
    assert found.low <= plan.plans["x"].risk
    # positive control: the same column drawn row by row, which a release refuses
    alone = plan.plans["x"]
    with pytest.raises(sv.StatveilError, match="person"):
        sv.release(alone, table, column="x", accept=[name for name in LEAKS if name not in ("groups", "copies")])
    by_row = sv.release(alone, table, column="x", accept=list(LEAKS))
    control = sv.audit(alone, table, by_row, column="x", attackers=["grouped"], trials=200, seed=1)
    (found,) = [one for one in control.findings if one.attacker == "grouped"]
    assert found.verdict == "leaks"
    assert found.rate > 0.6


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.head(len(table) - 1), "different numbers of rows"),
        (
            lambda table: table.with_columns(
                x=pl.when(pl.col("month") == 0).then(pl.col("x") + 1).otherwise(pl.col("x"))
            ),
            "hold different values",
        ),
        (
            lambda table: table.with_columns(person=pl.when(pl.col("month") > 0).then(pl.col("person"))),
            "empty cells",
        ),
    ],
)
def test_groups_that_cannot_be_drawn_as_one_are_refused(change, said):
    with pytest.raises(sv.ColumnError, match=said) as refused:
        sv.release(planned("unit"), change(panel("unit")))
    assert "'person'" in str(refused.value)


def test_what_a_group_cannot_serve_is_refused_before_data_is_read():
    with pytest.raises(sv.ColumnError, match="which is dropped"):
        sv.release(planned("unit", "[columns.person]\ndrop = true\n"), panel("unit"))
    text = (
        'others = "keep"\n[columns.x]\nhide = "quantile:0.9"\nprior = "50:200"\ntolerance = 2\nshape = "lognorm(1)"\n'
        'max_risk = 0.3\ngroup = "person"\n'
    )
    with pytest.raises(sv.ColumnError, match="not quite that of its groups"):
        sv.release(sv.plan_specification(sv.Specification.from_toml(text)), panel("jitter"))
    rows = 'others = "keep"\n[columns.x]\nhide = "rows"\nprior = "50:200"\ntolerance = 2\nmax_risk = 0.3\n'
    with pytest.raises(sv.ProblemError, match="no statistic of a column"):
        sv.Specification.from_toml(rows)


def test_groups_follow_the_rows_into_another_order():
    rng = np.random.default_rng(0)
    keys = rng.permutation(np.repeat(np.arange(50), 3))
    values = np.where(keys < 10, np.nan, keys * 1.5)
    groups = panel_of(values, pl.Series(keys), column="x", group="k")
    order = rng.permutation(len(keys))
    turned = groups.in_order(order)
    assert np.array_equal(turned.spread(turned.values), values[order], equal_nan=True)
    assert np.array_equal(values[order][turned.first], turned.values)
    assert all(turned.first[code] == np.flatnonzero(turned.codes == code)[0] for code in range(len(turned.first)))
    assert groups.rows == np.isfinite(values).sum()
