"""Totals and other numbers of the whole column in cells of another one, and fields that one label alone fills."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv

PLAN = sv.plan(
    sv.Problem(family=sv.Location(), prior=sv.Box(mean=(100, 1000)), secret=sv.Mean(), tolerance=5), max_risk=0.1
)
LABELS = sv.plan(
    sv.Problem(family=sv.Categorical(labels=("A", "B", "C")), secret=sv.Fraction(0), tolerance=0.02), max_risk=0.2
)


def amounts(rng, rows=300):
    return rng.gamma(6, rng.uniform(150, 900) / 6, rows) + 1


def once(x, group, value):
    """A value per group, in its first row."""
    first = np.concatenate(([True], np.diff(group) != 0))
    return np.where(first, value[group], np.nan)


def beside(name, x, rng):
    group = np.sort(rng.integers(0, 80, len(x)))
    total, rows = np.bincount(group, weights=x, minlength=80), np.maximum(np.bincount(group, minlength=80), 1)
    note = np.full(len(x), np.nan)
    match name:
        case "total once per invoice":
            return {"invoice": group, "other": once(x, group, total)}
        case "total at the first row, no invoice":
            return {"other": once(x, group, total)}
        case "average once per invoice":
            return {"invoice": group, "other": once(x, group, total / rows)}
        case "grand total in a cell":
            note[7] = x.sum()
            return {"other": note}
        case "mean in a cell, two decimals":
            note[0] = round(x.mean(), 2)
            return {"other": note}
        case "deviation in all rows":
            return {"other": np.full(len(x), x.std(ddof=1))}
        case "totals of other rows":
            return {"invoice": group, "other": once(x, group, rng.permutation(total) * rng.uniform(0.9, 1.1, 80))}
        case "some number in a cell":
            note[7] = 1.01 * x.sum()
            return {"other": note, "year": np.full(len(x), 2024), "rate": np.full(len(x), 0.175)}
    raise AssertionError(name)


TELL = (
    "total once per invoice", "total at the first row, no invoice", "average once per invoice",
    "grand total in a cell", "mean in a cell, two decimals", "deviation in all rows",
)  # fmt: skip


@pytest.mark.parametrize("name", TELL)
def test_a_total_in_a_cell_is_refused(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = amounts(rng)
        with pytest.raises(sv.StructureError, match=r"'other'.*--accept copies") as refused:
            sv.release(PLAN, pl.DataFrame({"x": x, **beside(name, x, rng)}), column="x", accept=("bounds",))
        assert f"{x.mean():.4g}" not in str(refused.value)


@pytest.mark.parametrize("name", ["totals of other rows", "some number in a cell"])
def test_other_numbers_in_cells_are_released(name):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = amounts(rng)
        table = sv.release(PLAN, pl.DataFrame({"x": x, **beside(name, x, rng)}), column="x", accept=("bounds",))
        assert abs(float(table["x"].mean()) - x.mean()) > 1e-3


def test_shares_of_a_whole_are_refused():
    plan = sv.plan(
        sv.Problem(
            family=sv.Gaussian(), prior=sv.Box(mu=(10, 35), sigma=(3, 25)), secret=sv.Quantile(0.9), tolerance=0.5
        ),
        max_risk=0.1,
    )
    for seed in range(3):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(80), rng.integers(3, 7, 80))
        drawn = rng.gamma(6, size=len(group))
        share = 100 * drawn / np.bincount(group, weights=drawn)[group]
        with pytest.raises(sv.StructureError, match=r"totals by 'group'.*--accept copies"):
            sv.release(plan, pl.DataFrame({"x": share, "group": group}), column="x", accept=("bounds",))
        rounded = pl.DataFrame({"x": np.round(share, 1), "group": group})
        with pytest.raises(sv.StructureError, match=r"totals by 'group'"):
            sv.release(plan, rounded, column="x", accept=("bounds", "step", "heaps", "rough"))
        sv.release(plan, pl.DataFrame({"x": rng.permutation(share), "group": group}), column="x", accept=("bounds",))


# --- categories -----------------------------------------------------------------------------------
FIELDS = {
    "filled for some": lambda of_a, rng: np.where(
        of_a & (rng.random(len(of_a)) < 0.4), rng.normal(size=len(of_a)), np.nan
    ),
    "length": lambda of_a, rng: ["".join(rng.choice(list("abcdefgh"), 7 if one else 6)) for one in of_a],
    "tail": lambda of_a, rng: rng.normal(size=len(of_a)) + np.where(of_a & (rng.random(len(of_a)) < 0.4), 20, 0),
    "below 0": lambda of_a, rng: (
        np.abs(rng.normal(size=len(of_a))) * np.where(of_a & (rng.random(len(of_a)) < 0.4), -1, 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_one_label_fills_is_refused(name):
    rng = np.random.default_rng(1)
    x = rng.choice(["A", "B", "C"], 600, p=[0.4, 0.3, 0.3])
    field = FIELDS[name](x == "A", rng)
    with pytest.raises(sv.StructureError, match=r"'field.*--accept groups"):
        sv.release(LABELS, pl.DataFrame({"x": x, "field": field}), column="x")
    mixed = [field[i] for i in rng.permutation(len(x))]
    sv.release(LABELS, pl.DataFrame({"x": x, "field": mixed}), column="x")


def test_the_count_of_a_label_in_a_cell_is_refused():
    rng = np.random.default_rng(2)
    x = rng.choice(["A", "B", "C"], 600, p=[0.4, 0.3, 0.3])
    count = int(np.count_nonzero(x == "A"))
    for number, told in ((count, True), (count + 7, False)):
        cell = np.full(600, np.nan)
        cell[0] = number
        table = pl.DataFrame({"x": x, "note": cell})
        if told:
            with pytest.raises(sv.StructureError, match=r"'note'.*--accept copies"):
                sv.release(LABELS, table, column="x")
        else:
            sv.release(LABELS, table, column="x")
