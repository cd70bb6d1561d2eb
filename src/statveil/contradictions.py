"""Statements of a plan about itself that do not follow from its problem and mechanism."""

from __future__ import annotations

import math
import warnings

import numpy as np

from statveil import accounting
from statveil.baseline import risk_without_release
from statveil.design.methods import METHODS
from statveil.design.treatment import treatment
from statveil.errors import ProblemError, StatveilError
from statveil.made_plan import Plan, tolerated
from statveil.mechanisms.mechanism import Mechanism
from statveil.modes import mode_of
from statveil.published import published_bound
from statveil.theory.gamma import gamma, limit_on_distortion
from statveil.vouched import vouch_for, vouched

__all__ = ["contradictions", "refuse_contradictions"]


def refuse_contradictions(plan: Plan) -> None:
    """An error where a plan's numbers do not follow from its problem and mechanism; asked once of each plan.

    Plans that :func:`statveil.plan` made or that were read from a file are known already.
    """
    if not isinstance(plan, Plan):
        raise ProblemError(f"the first argument must be a plan made by sv.plan. Got {type(plan).__name__}.")
    if vouched(plan):
        return
    if wrong := contradictions(plan):
        raise ProblemError(
            f"the plan was changed after it was made: {'; '.join(wrong)}. Make it anew with statveil.plan()."
        )
    vouch_for(plan)


def contradictions(plan: Plan) -> list[str]:
    """Statements of a plan about itself that do not follow from its problem and mechanism; none for a plan of ours."""
    with np.errstate(all="ignore"), warnings.catch_warnings():  # a plan that someone wrote may hold any number
        warnings.simplefilter("ignore")
        try:
            return _contradictions(plan)
        except StatveilError as error:
            return [str(error).rstrip(".")]
        except (ArithmeticError, AssertionError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
            return ["its mechanism does not fit its problem"]


def _contradictions(plan: Plan) -> list[str]:
    problem, mechanism = plan.problem, plan.mechanism
    found = []
    accounted = accounting.risk(problem, mechanism)
    if not _borne_out(plan.risk, accounted, mechanism):
        found.append("its risk is not that of its mechanism")
    if not _kind_borne_out(plan.risk_kind, accounted):
        found.append("its risk is not of the kind that it says")
    distorted = problem.measure.stated(accounting.distortion(problem, mechanism))
    if abs(distorted - plan.distortion) > 1e-6 * max(plan.distortion, 1e-300):
        found.append("its distortion is not that of its mechanism")
    if not mechanism.covers(problem):
        found.append("its bins do not cover the prior")
    if not mechanism.keeps_shares(problem):
        found.append("it does not move the shares as one whole")
    found += _implausible(plan)
    if plan.robust_to is not None:
        worst = accounting.risk(problem, mechanism, tolerance=tolerated(problem, plan.robust_to[1]))
        stated = plan.robust_risk
        if stated is None or not _borne_out(stated, worst, mechanism) or not plan.risk <= stated <= 1:
            found.append("its risk within the tolerances that it is said to be robust to is another one")
    elif plan.robust_risk is not None:
        found.append("it has a risk within tolerances that it does not name")
    blind = plan.risk_without_release
    # both are rounded up, so a plan states the smaller one of them
    if blind is not None and abs(min(risk_without_release(problem), plan.risk) - blind) > 1e-6 * max(blind, 1e-9):
        found.append("its risk without a release is not that of its problem")
    how = treatment(problem)
    if mode_of(problem, how.kind, mechanism.moves) is not plan.release_mode:
        found.append("its mode does not keep the declared structure")
    if mechanism.step != how.lattice:
        found.append("it does not move by the declared steps")  # guesses would be counted on another lattice
    return found


def _borne_out(stated: float, found: accounting.Risk, mechanism: Mechanism) -> bool:
    """Whether a stated risk is at least the one found; earlier versions may have rounded up by more.

    A comb's target counts as met up to its ``hair``, and quadrature may end in other digits elsewhere, or in an earlier
    version: a risk that lies within the margin by which this one was rounded up is not below the truth.
    """
    below = 1e-9 if found.kind == "exact" else 1e-6
    if mechanism.hair > 1:
        below = max(mechanism.hair - 1 + 1e-9, found.margin)
    return math.isfinite(found.value) and found.value * (1 - below) <= stated + 1e-15


def _kind_borne_out(stated: str, found: accounting.Risk) -> bool:
    """Whether a risk was obtained as it says; plans from before ``numerical`` say ``exact`` for it."""
    return stated in (found.kind, "upper bound") or (stated, found.kind) == ("exact", "numerical")


def _implausible(plan: Plan) -> list[str]:
    """Numbers beside the risk that cannot be: they are for comparison, but readers believe them."""
    found, slack = [], 1 + 1e-6
    constant = gamma(plan.problem)
    if abs(plan.gamma - constant) > 1e-6 * constant:
        found.append("its gamma is not that of its problem")
    # the limit is a step function of the risk, so a hair of it may be a step; this ties the stated risk to the limit
    risks = (min(1.0, plan.risk * hair) for hair in (1 + 1e-5, 1 - 1e-5))
    least, most = (limit_on_distortion(plan.problem, constant, risk) for risk in risks)
    if not least / slack <= plan.lower_bound <= min(most, plan.distortion) * slack:
        found.append("its lower bound is not that of its risk, or above its distortion")
    printed = published_bound(plan.problem, plan.mechanism)
    if (printed is None) != (plan.published_bound is None) or (
        printed is not None
        and plan.published_bound is not None
        and not math.isclose(printed, plan.published_bound, rel_tol=1e-6)
    ):
        found.append("its published bound is not the paper's")
    if plan.optimum is not None and plan.optimum > plan.distortion * slack:
        found.append("it distorts less than its optimum")
    if plan.optimum_kind not in (None, "exact", "grid"):
        found.append("its optimum is of a kind that this version does not know")
    proof = plan.certificate
    if proof is not None and (proof.cells < 1 or not 0 <= proof.least_risk <= plan.risk * slack):
        found.append("its certificate is above its risk")
    if not isinstance(plan.mechanism, METHODS[plan.method].makes):
        found.append("its method does not make such mechanisms")
    return found
