"""Risk against distortion of one column, from its texts alone: a coarse curve at once, a finer one a little later.

Nothing here, nor anything it loads, can read a table (a contract of the imports).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from statveil.accounting import distortion, risk
from statveil.design.frontier import frontier
from statveil.design.methods import choose
from statveil.design.target import MaxRisk
from statveil.errors import StatveilError, TargetError
from statveil.planning import Plan, plan
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.log_uniform import LogUniform
from statveil.problem.problem import Problem
from statveil.studio.deciding import belief_of, problem_of, without, without_words
from statveil.words.plan import change_sentences, distortion_sentence, risk_sentence

__all__ = ["bins_of", "coarse", "fine", "plan_words", "unit_of"]

Texts = tuple[str, str, str, str, str]
"""Secret, prior, tolerance, known and shape, as the page holds them."""

_RISKS, _CELLS = 14, 100  # points of the coarse curve, and cells of its grid where the belief is a density
_FINE = 40
_MOST_BINS = 400  # that are drawn


def coarse(texts: Texts, max_risk: float) -> dict[str, Any]:
    """The curve and the place on it within a fraction of a second: every point is one that a mechanism has."""
    problem = problem_of(*texts)
    return _answer(problem, _coarse_points(texts), _coarse_plan(texts, max_risk), max_risk, complete=False)


def fine(texts: Texts, max_risk: float) -> dict[str, Any]:
    """The same with more points, combs, and the plan that would be made."""
    problem = problem_of(*texts)
    return _answer(problem, _fine_points(texts), _fine_plan(texts, max_risk), max_risk, complete=True)


def _answer(
    problem: Problem,
    points: dict[str, list[list[float]]],
    made: Plan | str,
    max_risk: float,
    *,
    complete: bool,
) -> dict[str, Any]:
    least = without(problem)
    belief = belief_of(problem)
    here = None
    if isinstance(made, Plan):
        here = {
            "risk": made.risk,
            "risk_kind": made.risk_kind,
            "distortion": _shown(problem, made.distortion),
            "max_risk": max_risk,
            "words": plan_words(made),
        }
    return {
        "complete": complete,
        "points": points,
        "here": here,
        "problem": None if here is not None else {"field": "max_risk", "message": made},
        "without": None if least is None else {"risk": least, "words": without_words(problem, least)},
        "range": None if belief is None else [belief.low, belief.high],
        "bins": bins_of(made) if isinstance(made, Plan) else [],
        "alternatives": _alternatives(problem, least),
        "unit": unit_of(problem),
    }


def unit_of(problem: Problem) -> str:
    """``"%"`` where a distortion is a share; empty where it is in the column's own unit."""
    return "%" if problem.measure.kind == "relative" else ""


def _shown(problem: Problem, value: float) -> float:
    return 100 * value if unit_of(problem) else value


def _even(problem: Problem) -> bool:
    """Whether bins have closed forms; along a density they are found by searches, which take a second or more."""
    belief = belief_of(problem)
    return belief is None or isinstance(belief, Flat | LogUniform) or not belief.exact


@lru_cache(maxsize=64)
def _coarse_points(texts: Texts) -> dict[str, list[list[float]]]:
    problem = problem_of(*texts)
    if _even(problem):
        found = []
        for goal in np.geomspace(max(1e-3, 1.02 * (without(problem) or 0.0)), 0.9, _RISKS):
            try:
                chosen = choose(problem, MaxRisk(float(min(goal, 0.95))), method="interval")
            except StatveilError:
                continue
            at = problem.measure.stated(distortion(problem, chosen.mechanism))
            found.append({"risk": risk(problem, chosen.mechanism).value, "distortion": at})
    else:
        found = frontier(problem, methods=["dynamic"], grid=_CELLS, points=_FINE).points
    return {"interval": _pairs(problem, found), "comb": [], "limit": _limits(problem, found)}


@lru_cache(maxsize=64)
def _fine_points(texts: Texts) -> dict[str, list[list[float]]]:
    problem = problem_of(*texts)
    methods = ["interval"] if _even(problem) else ["dynamic"]
    both = {}
    for name, method in (("interval", methods), ("comb", ["comb"])):
        try:
            both[name] = frontier(problem, methods=method, points=_FINE).points
        except StatveilError:  # a known step leaves no combs
            both[name] = []
    return {
        **{name: _pairs(problem, found) for name, found in both.items()},
        "limit": _limits(problem, both["interval"]),
    }


def _pairs(problem: Problem, found: Sequence[dict[str, Any]]) -> list[list[float]]:
    """Points by rising risk, without those that another beats in both."""
    kept: list[list[float]] = []
    for point in sorted(found, key=lambda one: (one["risk"], one["distortion"])):
        at = _shown(problem, point["distortion"])
        if not kept or at < kept[-1][1]:
            kept.append([point["risk"], at])
    return kept


def _limits(problem: Problem, found: Sequence[dict[str, Any]]) -> list[list[float]]:
    """What no mechanism beats (Theorem 1), at the risks of the curve."""
    from statveil.theory.gamma import gamma, limit_on_distortion

    constant = gamma(problem)
    limits = []
    for value in sorted({point["risk"] for point in found if 0 < point["risk"] < 1}):
        bound = problem.measure.bound(limit_on_distortion(problem, constant, value))
        limits.append([value, _shown(problem, bound)])
    return limits


@lru_cache(maxsize=256)
def _coarse_plan(texts: Texts, max_risk: float) -> Plan | str:
    problem = problem_of(*texts)
    options: dict[str, Any] = {"method": "interval"} if _even(problem) else {"method": "dynamic", "grid": _CELLS}
    try:
        return plan(problem, max_risk=max_risk, **options)
    except TargetError as error:
        return str(error)
    except StatveilError:
        return _fine_plan(texts, max_risk)


@lru_cache(maxsize=256)
def _fine_plan(texts: Texts, max_risk: float) -> Plan | str:
    try:
        return plan(problem_of(*texts), max_risk=max_risk)
    except StatveilError as error:
        return str(error)


def plan_words(made: Plan) -> list[str]:
    """What a plan promises and what it costs, for someone who is no statistician."""
    problem, least = made.problem, made.risk_without_release
    said = (
        risk_sentence(problem, made.risk, kind=made.risk_kind, without=least),
        *change_sentences(made),
        distortion_sentence(problem, made.distortion),
    )
    return [*map(str, said), _KINDS[made.risk_kind]]


_KINDS = {
    "exact": "This number is exact.",
    "numerical": "This number was worked out numerically, and rounded up.",
    "upper bound": "This number is an upper bound: the truth may be lower.",
    "simulated": "This number was simulated.",
}


def _alternatives(problem: Problem, least: float | None) -> list[dict[str, Any]]:
    """What else one could do with the column, for comparison."""
    label = problem.secret.plain
    found: list[dict[str, Any]] = [
        {
            "name": "publish as it is",
            "risk": 1.0,
            "distortion": 0.0,
            "words": f"Everyone can work out the {label}.",
        },
        {
            "name": "noise on every row",
            "risk": 1.0,
            "distortion": None,
            "words": f"Independent noise averages out: in a long enough table the {label} can be worked out, however "
            "large the noise is, by whoever knows its law.",
        },
    ]
    if least is not None:
        found.append(
            {"name": "publish nothing", "risk": least, "distortion": None, "words": without_words(problem, least)},
        )
    return found


def bins_of(made: Plan) -> list[float]:
    """Edges between statistics that are released as one, in the unit of the statistic; nothing where they are many."""
    edges, family = made.mechanism.cuts, made.problem.family
    if edges is None or len(edges) > _MOST_BINS + 1 or not isinstance(family, AnyShape):
        return []
    return sorted(np.asarray(family.value(family.secret, {family.parameter: edges})).tolist())
