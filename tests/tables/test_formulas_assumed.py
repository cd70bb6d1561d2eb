"""That nobody knows a formula behind the values: on the card of modes that keep their details, and asked by inspect."""

from __future__ import annotations

import numpy as np
import pytest

import statveil as sv
from statveil.tables.card import make_card

FORMULA = "Nobody knows a formula by which the values were computed from rounded numbers"


def plan_of(mode: str) -> sv.Plan:
    known = {
        "shift": None,
        "scale": sv.Structure(minimum=0),
        "odds": sv.Structure(minimum=0, maximum=100),
        "lattice": sv.Structure(step=0.1),
        "lattice, heaps alone": sv.Structure(heaps=(5.0,)),
        "jitter": sv.Structure(minimum=0, step=0.1),
        "model": sv.Structure(minimum=0),
    }[mode]
    shape = {"shape": "lognorm(0.5)"} if mode == "model" else {}
    prior = (30, 60) if mode == "odds" else (20, 100)
    made = sv.plan(
        sv.Problem(secret=sv.Mean(), prior=prior, tolerance=1, **({"known": known} if known else {}), **shape),
        max_risk=0.5,
    )
    assert made.mode == mode.split(",")[0]
    return made


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("shift", True),
        ("scale", True),
        ("odds", True),
        ("lattice, heaps alone", True),
        ("lattice", False),  # what it says of rules is about rounded values
        ("jitter", False),
        ("model", False),
    ],
)
def test_the_card_of_a_mode_that_keeps_details_assumes_that_nobody_knows_a_formula(mode, says):
    plan = plan_of(mode)
    lines = make_card(plan, column="x")["assumptions"]
    assert any(line.startswith(FORMULA) for line in lines) == says
    assert any("rule by which the values were made" in line for line in lines) == mode.startswith(("lattice", "jitter"))


def test_the_assumption_depends_on_the_plan_alone():
    plan, rng = plan_of("shift"), np.random.default_rng(1)
    formula = 141 * (rng.integers(90, 300, 400) / 90) ** -1.209 * 0.993 ** rng.integers(20, 90, 400)
    cards = [
        sv.release(plan, column, details=True, seed=1).card["assumptions"]
        for column in (formula, rng.normal(60, 9, 400))
    ]
    assert cards[0] == cards[1]


def test_inspect_asks_of_a_continuous_column_too():
    rng = np.random.default_rng(2)
    continuous, stepped = rng.normal(50, 9, 300), np.round(rng.normal(50, 9, 300), 1)
    asks = "computed by a formula from rounded numbers", "worked out of other round numbers"
    for column, expected in ((continuous, (True, False)), (stepped, (False, True))):
        words = str(sv.inspect(column))
        assert tuple(one in words for one in asks) == expected, words
        assert "add --shape catalogue" in words
