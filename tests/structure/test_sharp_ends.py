"""Ends that everyone knows and nobody declared: found, asked about, proposed, and put on the card as an assumption."""

import numpy as np
import pytest

import statveil as sv
from statveil.modes import MODES
from statveil.tables.structure.column.bound_search import bounds_shown, partners
from statveil.tables.structure.column.end_search import End, sharp_end, sharp_ends
from statveil.words.caveats import ends_assumed

ROWS = 400


def plan_for(prior, tolerance, known=None):
    problem = sv.Problem(secret=sv.Mean(), prior=prior, tolerance=tolerance, known=known or sv.Structure())
    return sv.plan(problem, max_risk=0.2)


def back_to(end, released):
    """What someone guesses who knows the smallest value: all rows moved alike, and it is that one again."""
    return float(np.mean(released) - (np.min(released) - end))


ENDS = {
    "adults": (lambda rng: np.floor(18 + rng.exponential(22, ROWS)), (25, 70), 1.0, 18.0),
    "tickets": (lambda rng: np.floor(130 + rng.exponential(15, 4 * ROWS)), (132, 190), 0.8, 130.0),
    "deductible": (lambda rng: 250 + rng.exponential(500, 2 * ROWS), (400, 1200), 20.0, 250.0),
    "wages": (lambda rng: np.floor(1241 + 1500 * rng.exponential(1, 4_000)) / 100, (16, 60), 0.8, 12.41),
}


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.heavy(2)
def test_an_end_that_everyone_knows_tells_the_move_and_is_asked_about(name):
    make, prior, tolerance, end = ENDS[name]
    hits = warned = proposed = 0
    for seed in range(10):
        x = make(np.random.default_rng(seed))
        step = {"adults": 1.0, "tickets": 1.0, "wages": 0.01}.get(name)
        plan = plan_for(prior, tolerance, sv.Structure(step=step))
        done = sv.release(plan, x, details=True)
        hits += abs(back_to(end, np.asarray(done.table)) - float(np.mean(x))) <= tolerance
        warned += any("ends sharply" in one for one in done.to_check)
        seen = sv.inspect(x).columns[0]
        proposed += f"min={end:.3g}" in seen.known  # of wages also the round number just below
        assert "min=" not in seen.known or "statveil plan" in seen.command  # what is proposed can be planned
    assert hits == 10  # the attack works
    assert warned >= 8
    assert proposed >= (4 if name == "deductible" else 7)


def test_the_command_that_is_proposed_keeps_the_end():
    x = ENDS["adults"][0](np.random.default_rng(1))
    known = sv.Structure(minimum=18, step=1)
    assert sv.inspect(x).columns[0].known == "min=18,step=1"
    done = sv.release(plan_for((25, 70), 1.0, known), x, details=True)
    assert np.min(np.asarray(done.table)) >= 18
    assert not any("ends sharply" in one for one in done.to_check)


def test_upper_ends_are_found_as_lower_ones():
    grades = np.round(4 - np.random.default_rng(3).exponential(0.5, 1_600), 2)
    assert sharp_ends(grades, 0.01) == (None, End(value=4.0, clear=True))
    assert sharp_ends(-grades, 0.01) == (End(value=-4.0, clear=True), None)
    assert "max=4" in sv.inspect(grades).columns[0].known


def test_a_sharp_end_inside_a_declared_bound_is_asked_about():
    x = np.floor(18 + np.random.default_rng(3).exponential(20, 600))
    done = sv.release(plan_for((25, 70), 1.0, sv.Structure(minimum=0, step=1)), x, details=True)
    assert any("min=18" in one for one in done.to_check)


def test_an_accepted_end_is_not_asked_about_again():
    x = np.floor(18 + np.random.default_rng(3).exponential(20, 600))
    done = sv.release(plan_for((25, 70), 1.0, sv.Structure(step=1)), x, details=True, accept=["bounds"])
    assert not done.to_check


SOFT = {
    "normal": lambda rng, n: rng.normal(size=n),
    "gamma of shape 2": lambda rng, n: rng.gamma(2, 1, n),
    "gamma of shape 3": lambda rng, n: rng.gamma(3, 1, n),
    "lognormal": lambda rng, n: np.exp(0.5 * rng.normal(size=n)),
    "t": lambda rng, n: rng.standard_t(3, n),
    "two clusters": lambda rng, n: np.where(rng.random(n) < 0.2, 0.3 * rng.normal(size=n), 6 + rng.normal(size=n)),
}


@pytest.mark.parametrize("places", [None, 4, 20, 40])
@pytest.mark.parametrize("name", SOFT)
def test_soft_ends_are_hardly_ever_called_sharp(name, places):
    """Each wherever it may lie, without a step and with so many steps to a standard deviation."""
    rng = np.random.default_rng(11)
    found = 0
    for rows in (40, 100, 300, 1_000):
        for _ in range(150):
            x = SOFT[name](rng, rows)
            size = 10 ** rng.uniform(-1, 2) if places is None else places
            x = x / np.std(x) * size + rng.uniform(100, 1_000)
            x = x if places is None else np.round(x)
            found += sharp_end(x, None if places is None else 1.0) is not None
    assert found <= (0.03 if name == "two clusters" else 0.015) * 4 * 150


# --- bounds that go together -----------------------------------------------------------------------------
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (0, 100)])
def test_a_bound_brings_its_partner(low, high):
    x = low + (high - low) * np.random.default_rng(4).beta(2, 1.3, 800)
    assert partners(x, float(low), None) == (None, high)
    assert partners(x[x < np.quantile(x, 0.3)], float(low), None) == (None, None)
    assert bounds_shown(x, (float(low), None)) == (None, high)


def test_correlations_are_proposed_both_bounds():
    both = 0
    for seed in range(20):
        x = 2 * np.random.default_rng(seed).beta(1.8, 1.2, 1_000) - 1
        both += sv.inspect(x).columns[0].known == "min=-1,max=1"
    assert both >= 18


def test_correlations_above_a_declared_minus_1_are_refused_without_the_1():
    x = 2 * np.random.default_rng(5).beta(1.8, 1.2, 1_000) - 1
    plan = plan_for((-0.6, 0.8), 0.03, sv.Structure(minimum=-1))
    with pytest.raises(sv.StructureError, match=r"max=1\b.*--accept bounds"):
        sv.release(plan, x)


# --- what the card says -----------------------------------------------------------------------------------
PLANNED = {
    "lattice": sv.Structure(step=1),
    "shift": sv.Structure(),
    "scale": sv.Structure(minimum=0),
    "jitter": sv.Structure(minimum=0, step=0.1),
    "smooth": sv.Structure(minimum=0, step=3),
    "odds": sv.Structure(minimum=0, maximum=200),
}
NEITHER = "Nobody knows a smallest or largest value of such columns."
SAID = {
    "lattice": NEITHER,
    "shift": NEITHER,
    **dict.fromkeys(
        ("scale", "jitter", "smooth"), "Nobody knows a largest value of such columns, nor a smallest one above 0."
    ),
    "odds": "Nobody knows a smallest value above 0 or a largest value below 200 of such columns.",
}


@pytest.mark.parametrize("mode", PLANNED)
def test_the_card_assumes_that_nobody_knows_an_end_that_was_not_declared(mode):
    plan = plan_for((40, 120), 2.0, PLANNED[mode])
    assert plan.mode == mode
    assert ends_assumed(plan) == SAID[mode]
    assert "nobody knows" in str(plan)


def test_the_same_words_stand_on_the_card_whatever_the_column():
    plan = plan_for((40, 120), 1.0)
    cards = [
        sv.release(plan, x, details=True).card["assumptions"]
        for x in (np.random.default_rng(6).normal(70, 9, 500), 50 + np.random.default_rng(7).exponential(20, 500))
    ]
    assert cards[0] == cards[1]
    assert sum(line.startswith(NEITHER) for line in cards[0]) == 1


def test_modes_that_redraw_the_column_assume_nothing_of_its_ends():
    problem = sv.Problem(secret=sv.Mean(), prior=(40, 120), tolerance=1.0, shape="catalogue")
    plan = sv.plan(problem, max_risk=0.2)
    assert plan.mode == "model"
    assert not MODES[plan.mode].structure_shows
    assert ends_assumed(plan) == ""


def test_two_sharp_ends_are_both_asked_about_and_one_is_proposed():
    """Between two bounds few statistics can be hidden: the second is for the holder to declare."""
    shifts = np.random.default_rng(4).integers(20, 65, 3_000)
    seen = sv.inspect(shifts.astype(float)).columns[0]
    assert "min=20" in seen.known
    assert "max=" not in seen.known
    assert any("max=64" in one for one in seen.leaks)


@pytest.mark.parametrize(("start", "proposed"), [(30, True), (100, True), (400, False), (1980, False)])
def test_an_end_far_from_0_is_asked_about_and_not_proposed(start, proposed):
    """Five per cent of a year are a century: with the end declared, no plan of the proposed command could be made."""
    x = start + np.floor(np.random.default_rng(4).exponential(20, 2_000))
    for values, known in ((x, f"min={start}"), (-x, f"max={-start}")):
        seen = sv.inspect(values).columns[0]
        assert (known in seen.known) == proposed
        assert any(known in one for one in seen.leaks)
