"""Risk and distortion of any mechanism; each mechanism's own file registers how they are accounted for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from statveil.errors import ProblemError
from statveil.mechanisms.mechanism import Mechanism
from statveil.problem.problem import Problem

__all__ = ["KINDS", "Risk", "accounted_distortion", "accounted_risk", "distortion", "risk"]


KINDS = ("exact", "numerical", "upper bound")
"""How a risk is obtained: in closed form, up to rounding; by quadrature or a search for the best window, with its error
estimate added; or as a proven bound that the truth may lie below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """P(best attacker hits), never below the truth; lower is better.

    ``kind`` says how the value was obtained (:data:`KINDS`); ``margin`` is the share of it by which it was rounded up
    beyond its error estimate.
    """

    value: float
    kind: str
    margin: float = 0.0


def risk(problem: Problem, mechanism: Mechanism, *, tolerance: float | None = None, quick: bool = False) -> Risk:
    """Risk of a mechanism against an attacker with this tolerance (the problem's, if none is given).

    ``quick`` spends fewer quadrature nodes on non-uniform priors of two parameters: for comparing
    candidates, never for a reported risk.
    """
    found = accounted_risk(mechanism, problem, problem.tolerance if tolerance is None else tolerance, quick)
    if problem.family.widened:
        return Risk(value=found.value, kind="upper bound", margin=found.margin)
    return found


def distortion(problem: Problem, mechanism: Mechanism) -> float:
    """Largest distance between an original and its release, over every parameter the prior allows."""
    return accounted_distortion(mechanism, problem)


@singledispatch
def accounted_risk(mechanism: Mechanism, problem: Problem, eps: float, quick: bool) -> Risk:
    """Risk against a tolerance; registered for each mechanism."""
    raise ProblemError(f"no accounting for the mechanism {mechanism.kind!r}.")


@singledispatch
def accounted_distortion(mechanism: Mechanism, problem: Problem) -> float:
    """Largest distance; registered for each mechanism."""
    raise ProblemError(f"no accounting for the mechanism {mechanism.kind!r}.")
