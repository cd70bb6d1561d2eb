"""Attackers by limits that another column says, by numbers of groups and by counts along the rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import statveil as sv
from statveil.auditing.attackers.group_numbers import GroupNumbers
from statveil.auditing.attackers.limits import Limits
from statveil.auditing.attackers.running import Running
from statveil.auditing.game import Game
from statveil.auditing.knowing import links_of
from statveil.auditing.sampling import rows_of_trial, whole_groups
from statveil.auditing.tables import read_table
from statveil.auditing.view import Knowledge
from statveil.tables.structure.others.aggregate_search import find_aggregates
from statveil.tables.structure.others.limit_search import find_limits
from statveil.tables.structure.others.links import best_cut
from statveil.tables.structure.others.running_search import find_running
from tests.audit_cases import BROKEN, location

pytestmark = pytest.mark.usefixtures("no_optimum")

RNG = np.random.default_rng(5)
ROWS = 1200
X = RNG.lognormal(3.0, 0.5, ROWS)
TEAM = RNG.permutation(np.repeat(np.arange(60.0), 20))
FIRST = np.arange(ROWS) == 0
"""Where a table begins."""


def by_team(made):
    return np.array([made(X[team == TEAM]) for team in range(60)])[TEAM.astype(int)]


def rolling(made, width):
    return np.concatenate((np.full(width - 1, np.nan), made(np.lib.stride_tricks.sliding_window_view(X, width))))


def limit(flag, **beside):
    labels = {"flag": flag.astype(float), "team": TEAM}
    return list(find_limits(X, beside, labels, breaks=FIRST)), labels | beside


def number(told):
    return list(find_aggregates(X, {"told": told}, {"team": TEAM, "told": told})), {"team": TEAM, "told": told}


def running(told):
    return list(find_running(X, {"told": told}, {"team": TEAM}, FIRST)), {"told": told, "team": TEAM}


HEIGHT = RNG.uniform(1, 2, ROWS)
KINDS = {
    "a limit by label": lambda: limit(np.linspace(9, 45, 60)[TEAM.astype(int)] > X),
    "a limit along a curve": lambda: limit(X >= 9 * HEIGHT**2, height=HEIGHT),
    "a limit by the row before": lambda: limit(np.concatenate(([False], X[1:] > 1.3 * X[:-1]))),
    "a share": lambda: number(by_team(lambda x: np.mean(x > 25))),
    "a quantile": lambda: number(by_team(lambda x: np.quantile(x, 0.9))),
    "a deviation": lambda: number(by_team(np.std)),
    "points": lambda: number(by_team(lambda x: np.mean(np.floor(x / 5)))),
    "any above": lambda: number(by_team(lambda x: float(x.max() > 45))),
    "a count": lambda: running(np.cumsum(X > 30).astype(float)),
    "a count by group": lambda: running(
        np.array([np.sum((TEAM[: i + 1] == TEAM[i]) & (X[: i + 1] > 25)) for i in range(ROWS)], dtype=float)
    ),
    "a count of the last rows": lambda: running(rolling(lambda rows: (rows > 25).sum(axis=1), 7)),
    "a largest of the last rows": lambda: running(rolling(lambda rows: rows.max(axis=1), 5)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_fits_the_column_and_nothing_beside_it(kind):
    """The true column fits better than any that was moved by a tenth of its deviation, or stretched, or more."""
    (link, *more), others = KINDS[kind]()
    assert not more
    moved = [link.misfit(X + step * X.std(), others) for step in (-0.5, -0.2, -0.1, 0.1, 0.2, 0.5)]
    if kind != "a deviation":
        assert link.misfit(X, others) < min(moved) - 1e-3
    stretched = [link.misfit(X * factor, others) for factor in (0.7, 0.9, 1.1, 1.4)]
    if kind != "a limit by the row before":  # which is one of ratios
        assert link.misfit(X, others) < min(stretched) - 1e-3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a count of the last rows"])
def test_other_columns_follow_a_redrawn_one(kind):
    """Beside another column the others are what they would have been: then that one fits as the first did."""
    (link,), others = KINDS[kind]()
    fresh = 1.2 * X + 1.5
    there = others | link.moved(X, fresh, others)
    assert link.misfit(fresh, there) <= link.misfit(X, others) + 1e-3
    assert link.misfit(X, there) > link.misfit(fresh, there) + 1e-3


@pytest.mark.parametrize(
    ("search", "seed"), [(search, seed) for search in (limit, number, running) for seed in range(5)]
)
def test_columns_that_have_nothing_to_do_with_it_are_no_links(search, seed):
    rng = np.random.default_rng(seed)
    told = {
        limit: lambda: rng.random(ROWS) < 0.3,
        number: lambda: rng.random(60)[TEAM.astype(int)],
        running: lambda: np.cumsum(rng.random(ROWS) < 0.2).astype(float),
    }[search]()
    assert search(told)[0] == []


@pytest.mark.parametrize("flagged", [True, False])
def test_the_best_cut_is_that_of_all_cuts(flagged):
    rng = np.random.default_rng(3)
    score = np.round(rng.normal(size=60), 1)
    flag = (score > 0.35) ^ (rng.random(60) < 0.1)
    flag = flag if flagged else ~flag
    cut, above = best_cut(score, flag)
    assert above == flagged
    errors = [np.count_nonzero((score > at) != (flag if flagged else ~flag)) for at in np.unique(score)]
    assert np.count_nonzero((score > cut) != (flag if flagged else ~flag)) == min(errors)


def test_groups_that_a_column_speaks_of_are_whole_in_every_trial():
    (link,), others = KINDS["a share"]()
    groups = whole_groups([link], others)
    rows = rows_of_trial(ROWS, round(0.8 * ROWS), np.random.default_rng(1), groups=groups)
    assert set(np.bincount(groups[rows], minlength=60)) == {0, 20}


# --- what tells nothing of where a column was, though it is a link --------------------------------
SOUND = {
    Limits: {"more": np.concatenate(([False], X[1:] > X[:-1] + 2))},
    GroupNumbers: {"team": [f"t{int(i)}" for i in TEAM], "told": by_team(np.std)},
    Running: {"told": rolling(lambda rows: rows.max(axis=1) - rows.min(axis=1), 5)},
}


@pytest.mark.parametrize("attacker", SOUND, ids=lambda attacker: attacker.name)
def test_differences_and_spreads_tell_nothing_of_a_column_that_is_shifted(attacker):
    """The positive controls' counterpart: the attacker has its link and hits as often as the plan says."""
    frame = pl.DataFrame({"x": X, **SOUND[attacker]})
    plan = sv.plan(location(5, 60, 0.5)(), max_risk=0.2)
    table = read_table(frame, column="x", plan=plan)
    links = links_of(table, (), ())
    assert [link.attacker for link in links] == [attacker.name]
    game = Game(plan, table, [attacker()], Knowledge(links=links), np.random.default_rng(4))
    (score,) = game.play(100)
    assert 8 <= score.hits <= 34  # 20 give or take 3 and 3.5 standard errors


@pytest.mark.parametrize("attacker", ["limits", "group-numbers", "running"])
def test_without_these_attackers_the_broken_releases_would_hold(attacker):
    case = next(case for case in BROKEN if case.attackers == (attacker,))
    assert not case.audit(trials=200, attackers=["bayes", "plug-in", "links", "copies", "thresholds"]).leaks
