"""The answer that a moving slider waits for: the same guarantee as the plan's, and none of the long searches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from statveil import planning
from statveil.planning import plan, plan_in_brief
from statveil.studio import tradeoff
from statveil.studio.deciding import problem_of

BELIEFS = ("10:80", "between(20,40,0.9)", "1:100~normal(30,10)")


@pytest.mark.parametrize("tolerance", ["5%", "1"])
@pytest.mark.parametrize("prior", BELIEFS)
def test_a_plan_in_brief_is_the_plan_without_its_comparisons(prior, tolerance):
    problem = problem_of("mean", prior, tolerance, "min=0")
    options = {"method": "interval"} if prior == BELIEFS[0] else {"method": "dynamic", "grid": 60}
    whole = plan(problem, max_risk=0.4, **options)
    brief = plan_in_brief(problem, max_risk=0.4, **options)
    assert brief == replace(whole, optimum=None, optimum_kind=None, published_bound=None)


@pytest.mark.parametrize("tolerance", ["5%", "5"])
@pytest.mark.parametrize("prior", BELIEFS)
def test_the_coarse_answer_never_searches_for_the_optimum(prior, tolerance, monkeypatch):
    """For a normal belief and a tolerance in units that alone took three seconds."""

    def searched(*given, **options):
        raise AssertionError("a search that nobody waits for")

    monkeypatch.setattr(planning, "least_possible", searched)
    monkeypatch.setattr(planning, "published_bound", searched)
    tradeoff._coarse_plan.cache_clear()
    said = tradeoff.coarse(("mean", prior, tolerance, "min=0", ""), 0.75)
    assert said["problem"] is None
    assert said["here"]["risk"] <= 0.75
    assert said["here"]["words"]
