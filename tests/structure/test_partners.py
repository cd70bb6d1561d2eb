"""Columns that tell another by a bound, a surface, a rate or a limit of both, and what linked columns leave.

Each attack is played on releases that are forced through (a positive control: it hits nearly always), and the release
itself refuses them; the same columns with their rows in another order are released.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.tables.structure.others.partner_search import bounds

ROWS = 1_000
HIDE = '[columns.{}]\nhide = "mean"\nprior = "100:200"\ntolerance = 1\nmax_risk = 0.2\n'
X, Y = HIDE.format("x"), HIDE.format("y")
FORCED = X + 'accept = ["copies", "rough", "digits"]\n'


def keep(name):
    return f"[columns.{name}]\nkeep = true\n"


def link(name, factor):
    return f'[columns.{name}]\nlink = "x"\nfactor = {factor}\n'


def hidden(rng):
    z = rng.standard_normal(ROWS)
    return rng.uniform(110, 190) + 20 * (z - z.mean()) / z.std()


def planned(text):
    return sv.plan_specification(sv.Specification.from_toml(text))


def return_kept(rng):
    x, rate = hidden(rng), rng.normal(0, 0.05, ROWS)
    return {"x": x, "y": x * (1 + rate), "rate": np.round(100 * rate, 2)}


def tax_of_two_rates(rng):
    x, rate = hidden(rng), rng.choice([0.07, 0.19, 0.3], ROWS)
    return {"x": x, "y": rate * x, "rate": rate}


def index_of_two(rng):
    x, y = hidden(rng), hidden(rng)
    return {"x": x, "y": y, "index": (x - y) / (x + y)}


def larger_of_two(rng):
    x, y = hidden(rng), hidden(rng)
    return {"x": x, "y": y, "flag": x > y}


def bounded(rng):
    x = hidden(rng)
    return {"x": x, "most": x + rng.exponential(40, ROWS)}


def softly_bounded(rng):
    x = hidden(rng)
    return {"x": x, "least": x - rng.gamma(2, 15, ROWS)}


TELLING = {
    "another factor": (X + link("y", 1), lambda rng: {"x": (x := hidden(rng)), "y": 1.2 * x}),
    "a rounded factor": (X + link("y", 1.19), lambda rng: {"x": (x := hidden(rng)), "y": 1.2 * x}),
    "a return": (X + link("y", 1) + keep("rate"), return_kept),
    "a rate": (X + link("y", 0.2) + keep("rate"), tax_of_two_rates),
    "an index of two hidden": (X + Y + keep("index"), index_of_two),
    "a flag for the larger": (X + Y + keep("flag"), larger_of_two),
    "a bound": (X + keep("most"), bounded),
    "a soft bound": (X + keep("least"), softly_bounded),
    "a bound that is hidden too": (X + HIDE.format("most"), bounded),
    "empty above a limit": (
        X + link("y", 1),
        lambda rng: {"x": (x := hidden(rng)), "y": pl.Series(np.where(x < 150, np.nan, x + 9)).fill_nan(None)},
    ),
}


@pytest.mark.parametrize("name", TELLING)
def test_what_tells_a_hidden_column_is_refused(name):
    text, table = TELLING[name]
    plans = planned(text)
    for seed in range(3):
        with pytest.raises(sv.StructureError, match="tell"):
            sv.release(plans, pl.DataFrame(table(np.random.default_rng(seed))))


@pytest.mark.parametrize("name", ["a return", "a flag for the larger", "a bound", "a soft bound"])
def test_the_same_columns_in_another_order_are_released(name):
    text, table = TELLING[name]
    plans, other = planned(text), {"a return": "rate", "a flag for the larger": "flag"}.get(name)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        frame = pl.DataFrame(table(rng))
        moved = other or next(column for column in ("most", "least") if column in frame.columns)
        frame = frame.with_columns(pl.Series(moved, rng.permutation(frame[moved].to_numpy())))
        assert len(sv.release(plans, frame)) == ROWS


def test_a_link_of_the_right_factor_with_an_independent_rest_is_released():
    plans = planned(X + link("y", 1.2))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = hidden(rng)
        released = sv.release(plans, pl.DataFrame({"x": x, "y": 1.2 * x + rng.normal(0, 3, ROWS)}))
        assert abs(released["x"].mean() - x.mean()) > 1e-6


@pytest.mark.parametrize("rest", ["whole numbers", "kept", "continuous"])
def test_a_stretched_column_takes_only_its_multiples_along(rest):
    """What lies between a fare and its total is stretched too: whole tips, or tips that are kept, tell by how much."""
    rng = np.random.default_rng(5)
    x = 150 * np.exp(0.4 * rng.standard_normal(ROWS))
    x *= 150 / x.mean()
    tip = {"whole numbers": rng.integers(1, 40, ROWS), "kept": rng.gamma(2, 10, ROWS), "continuous": rng.random(ROWS)}[
        rest
    ]
    text = X + 'known = "min=0"\n' + link("y", 1) + (keep("tip") if rest == "kept" else "[columns.tip]\ndrop = true\n")
    with pytest.raises(sv.StructureError, match="is not 1 times 'x' in every row"):
        sv.release(planned(text), pl.DataFrame({"x": x, "y": x + tip, "tip": tip}))
    multiple = planned(X + 'known = "min=0"\n' + link("y", 0.19))
    released = sv.release(multiple, pl.DataFrame({"x": x, "y": 0.19 * x}))
    assert np.allclose(released["y"], 0.19 * released["x"], rtol=1e-6)


def _mean_by_factor(table):
    """An attacker who knows that y is 1.2 times x: a shift by b leaves 1.2 (x - b) = y - b."""
    slope, start = np.polyfit(table["x"], table["y"], 1)
    return table["x"].mean() - start / (1 - slope)


def _mean_by_bound(table):
    return table["x"].mean() + (table["most"] - table["x"]).min()


@pytest.mark.parametrize(("name", "attack"), [("another factor", _mean_by_factor), ("a bound", _mean_by_bound)])
def test_forced_through_they_tell_the_mean(name, attack):
    text, table = TELLING[name]
    plans = planned(text.replace(X, FORCED))
    hits = 0
    for seed in range(12):
        frame = pl.DataFrame(table(np.random.default_rng(seed)))
        hits += abs(attack(sv.release(plans, frame)) - frame["x"].mean()) <= 1
    assert hits >= 11  # stated: 0.2


def test_a_column_that_is_larger_anyway_is_no_bound():
    rng = np.random.default_rng(1)
    x = rng.normal(100, 10, 500)
    assert not bounds(x, rng.normal(400, 10, 500))  # far above
    assert not bounds(x, 200 + x + rng.normal(0, 5, 500))  # goes with it, and never comes near
    assert not bounds(x, rng.normal(105, 10, 500))  # as often below
    assert not bounds(x, np.full(500, 140.0))  # one number for all rows
    assert bounds(x, x + rng.exponential(5, 500))
    assert bounds(x, np.where(rng.random(500) < 0.005, x - 1, x + rng.exponential(5, 500)))  # but for typing errors
