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
from statveil.made_plan import Plan
from statveil.planning import plan, plan_in_brief
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.priors.flat import Flat
from statveil.problem.priors.log_uniform import LogUniform
from statveil.problem.problem import Problem
from statveil.specification.column_plan import SecretRisk, column_risk, plan_column, secret_risks
from statveil.specification.treatments import Hide
from statveil.studio.choice import TEXTS
from statveil.studio.deciding import belief_of, hide_of, problem_of, without, without_words
from statveil.studio.other_ways import other_curves, other_words
from statveil.words.phrases import often
from statveil.words.plan import change_sentences, distortion_sentence, risk_sentence
from statveil.words.sentence import Sentence

__all__ = ["bins_of", "coarse", "fine", "plan_words", "unit_of"]

Texts = tuple[str, ...]
"""What :data:`~statveil.studio.choice.TEXTS` names, as the page holds them; from the fourth on they may be left out."""

_RISKS, _CELLS = 14, 100  # points of the coarse curve, and cells of its grid where the belief is a density
_FINE, _FEW = 40, 6
_ALSO = TEXTS.index("also")
_MOST_BINS = 400  # that are drawn


def coarse(texts: Texts, max_risk: float) -> dict[str, Any]:
    """The curve and the place on it within a fraction of a second: every point is one that a mechanism has."""
    problem = problem_of(*texts)
    if _pair(texts) and not _even(problem):  # seconds for each point: the other process works them out
        return _answer(texts, problem, _nothing(), None, max_risk, complete=False)
    return _answer(texts, problem, _coarse_points(texts), _coarse_plan(texts, max_risk), max_risk, complete=False)


def fine(texts: Texts, max_risk: float) -> dict[str, Any]:
    """The same with more points, combs, and the plan that would be made."""
    problem = problem_of(*texts)
    return _answer(texts, problem, _fine_points(texts), _fine_plan(texts, max_risk), max_risk, complete=True)


def _pair(texts: Texts) -> bool:
    """Whether two statistics of the column are hidden."""
    return len(texts) > _ALSO and bool(texts[_ALSO])


def _nothing() -> dict[str, list[list[float]]]:
    return {"interval": [], "comb": [], "limit": []}


def _answer(
    texts: Texts,
    problem: Problem,
    points: dict[str, list[list[float]]],
    made: Plan | str | None,
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
            "words": plan_words(made, hide_of(*texts) if _pair(texts) else None),
        }
    return {
        "complete": complete,
        "points": points,
        "here": here,
        "problem": {"field": "max_risk", "message": made} if isinstance(made, str) else None,
        "without": None if least is None else {"risk": least, "words": without_words(problem, least)},
        "range": [0.0, 1.0] if problem.secret.is_share else None if belief is None else [belief.low, belief.high],
        "bins": bins_of(made) if isinstance(made, Plan) else [],
        "others": [] if _pair(texts) else _others(texts, not complete),
        "other_words": other_words(problem, two=_pair(texts)),
        "unit": unit_of(problem),
    }


def unit_of(problem: Problem) -> str:
    """``"%"`` where a distortion is a share, of the values or of the rows; empty where it is in the column's unit."""
    return "%" if problem.measure.kind == "relative" or problem.distance == "tv" else ""


def _shown(problem: Problem, value: float) -> float:
    return 100 * value if unit_of(problem) else value


@lru_cache(maxsize=64)
def _others(texts: Texts, quick: bool) -> list[dict[str, Any]]:
    """Curves of other methods, which do not depend on where one stands."""
    problem = problem_of(*texts)
    curves = other_curves(problem, quick=quick)
    return [{**one, "points": [[at, _shown(problem, change)] for at, change in one["points"]]} for one in curves]


def _even(problem: Problem) -> bool:
    """Whether bins have closed forms; along a density they are found by searches, which take a second or more."""
    if problem.also:
        return all(axis.flat for axis in problem.box.axes.values())
    belief = belief_of(problem)
    return belief is None or isinstance(belief, Flat | LogUniform) or not belief.exact


@lru_cache(maxsize=64)
def _coarse_points(texts: Texts) -> dict[str, list[list[float]]]:
    problem = problem_of(*texts)
    if _pair(texts):
        return {**_nothing(), "interval": _pairs(problem, _pair_points(texts, _RISKS))}
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
    if _pair(texts):
        few = _FINE if _even(problem) else _FEW
        return {**_nothing(), "interval": _pairs(problem, _pair_points(texts, few))}
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


def _pair_points(texts: Texts, points: int) -> list[dict[str, Any]]:
    """Plans that serve two statistics, at several risks."""
    stated, problem, found = hide_of(*texts), problem_of(*texts), []
    for goal in np.geomspace(max(1e-3, 1.1 * (without(problem) or 0.0)), 0.9, points):
        try:
            made = plan_column(stated, max_risk=float(goal))
        except StatveilError:
            continue
        found.append({"risk": max(each.risk for each in _risks(stated, made)), "distortion": made.distortion})
    return found


def _risks(stated: Hide, made: Plan) -> list[SecretRisk]:
    """The risk that a target speaks of: of either where each has a belief of its own, else of each."""
    if made.problem.also:
        return [SecretRisk(secret=made.problem.secret.label, risk=made.risk, kind=made.risk_kind)]
    return list(secret_risks(stated, made))


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
    if _pair(texts):
        return _fine_plan(texts, max_risk)
    problem = problem_of(*texts)
    options: dict[str, Any] = {"method": "interval"} if _even(problem) else {"method": "dynamic", "grid": _CELLS}
    try:
        return plan_in_brief(problem, max_risk=max_risk, **options)
    except TargetError as error:
        return str(error)
    except StatveilError:
        return _fine_plan(texts, max_risk)


@lru_cache(maxsize=256)
def _fine_plan(texts: Texts, max_risk: float) -> Plan | str:
    try:
        if _pair(texts):
            return plan_column(hide_of(*texts), max_risk=max_risk)
        return plan(problem_of(*texts), max_risk=max_risk)
    except StatveilError as error:
        return str(error)


def plan_words(made: Plan, stated: Hide | None = None) -> list[str]:
    """What a plan promises and what it costs, for someone who is no statistician; ``stated`` names all its secrets."""
    problem, least, kind = made.problem, made.risk_without_release, made.risk_kind
    risks = [risk_sentence(problem, made.risk, kind=made.risk_kind, without=least)]
    if stated is not None and len(stated.problems) > 1 and not problem.also:
        each = secret_risks(stated, made)
        risks = [risk_sentence(one, at.risk, kind=at.kind) for one, at in zip(stated.problems, each, strict=True)]
        either = column_risk(stated, made)
        kind, (chance,) = either.kind, often(either.union)
        risks.append(Sentence(name="either", says=f"One of them is guessed in at most {chance} cases."))
    said = (
        *risks,
        *change_sentences(made),
        distortion_sentence(problem, made.distortion),
    )
    return [*map(str, said), _KINDS[kind]]


_KINDS = {
    "exact": "This number is exact.",
    "numerical": "This number was worked out numerically, and rounded up.",
    "upper bound": "This number is an upper bound: the truth may be lower.",
    "simulated": "This number was simulated.",
}


def bins_of(made: Plan) -> list[float]:
    """Edges between statistics that are released as one, in the unit of the statistic; nothing where they are many."""
    edges, family = made.mechanism.cuts, made.problem.family
    if edges is not None and made.problem.secret.is_share and len(edges) <= _MOST_BINS + 1:
        return sorted(np.asarray(edges, dtype=np.float64).tolist())
    if edges is None or len(edges) > _MOST_BINS + 1 or not isinstance(family, AnyShape):
        return []
    return sorted(np.asarray(family.value(family.secret, {family.parameter: edges})).tolist())
