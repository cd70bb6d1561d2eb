"""What releases tell whatever is believed, and in other measures than the risk. Decided from the plans alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from statveil.accounting.candidates import Candidates, candidates
from statveil.accounting.inference import Advantage, advantage
from statveil.accounting.joint_tiles import cells_in_all, one_coordinate
from statveil.accounting.leakage import (
    Bits,
    known_line,
    least_window,
    maximal,
    mutual_information,
    prior_free,
    secret_range,
)
from statveil.accounting.telling import Everything, left_open
from statveil.composition import JointRisk, checked, in_common_terms, of_secret, stated_problems
from statveil.errors import ProblemError
from statveil.made_plan import Plan
from statveil.problem.another_prior import another_belief
from statveil.problem.axis import Axis
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.spoken import Spoken
from statveil.theory.separated import of_a_range

__all__ = ["Leakage", "SecretLeakage", "leakage"]

_ROUNDED = 1e-8
"""Bits by which a ratio to the risk without a release may be too small: that is rounded up by parts in a billion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretLeakage:
    """What the releases tell of one secret. Amounts are in bits and never below the truth."""

    secret: str
    tolerance: float
    tolerance_kind: str
    prior_free: Bits
    """By how much at most the chance of a hit rises, over all priors on the range: the paper's Pi'."""
    known_line: Bits | None
    """The same for those who know the line (shape) or residue that a release tells; ``None`` where it tells neither."""
    published: float
    """What publishing the value itself would leak: no release leaks more."""
    maximal: Bits
    """Maximal leakage, of any function of the parameter; at tolerance 0 the secret's own (SML) is the same."""
    min_entropy: Bits | None
    """log2(risk / risk without a release) under the stated prior; ``None`` for a class of priors."""
    mutual_information: Bits | None
    candidates: Candidates | None
    advantage: Advantage | None
    """Of telling two given priors apart."""
    why: str | None
    """Why everything counts as told, where it does."""

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts; an infinite amount is ``null`` with the kind ``"infinite"``."""
        return {
            "secret": self.secret,
            "tolerance": self.tolerance,
            "tolerance_kind": self.tolerance_kind,
            "prior_free_bits": _told(self.prior_free),
            "known_line_bits": _told(self.known_line),
            "published_bits": self.published if math.isfinite(self.published) else None,
            "sml_bits": _told(self.maximal),
            "maximal_bits": _told(self.maximal),
            "min_entropy_bits": _told(self.min_entropy),
            "mutual_information_bits": _told(self.mutual_information),
            "candidates_least": None if self.candidates is None else self.candidates.least,
            "candidates_mean": None if self.candidates is None else self.candidates.mean,
            "certain_share": None if self.candidates is None else self.candidates.certain,
            "advantage": None if self.advantage is None else _advantage(self.advantage),
            "why": self.why,
        }


def _told(bits: Bits | None) -> dict[str, Any] | None:
    if bits is None:
        return None
    finite = math.isfinite(bits.value)
    return {"value": bits.value if finite else None, "kind": bits.kind if finite else "infinite"}


def _advantage(found: Advantage) -> dict[str, Any]:
    return {"value": found.value, "kind": found.kind, "right": found.right}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leakage(Spoken):
    """Leakage of the releases under one plan or several, for each secret that they state."""

    words = "report.leakage:describe_leakage"

    plans: int
    secrets: tuple[SecretLeakage, ...]

    @property
    def bits(self) -> float:
        """The largest prior-free leakage of a secret."""
        return max(each.prior_free.value for each in self.secrets)

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        return {"plans": self.plans, "bits": self.bits, "secrets": [each.to_json() for each in self.secrets]}


def leakage(plans: Plan | Sequence[Plan], *, against: Sequence[Any] = ()) -> Leakage:
    """What all releases of one column under these plans leak: without a prior, and under the one that was stated.

    Parameters
    ----------
    plans : Plan or sequence of Plan
        One plan, or all plans of one column; the same one again adds nothing.
    against : sequence of one or two priors
        Two beliefs to be told apart: the plan's own and one other, or two others. A number is a known value.

    Examples
    --------
    >>> import statveil as sv
    >>> problem = sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1)
    >>> (found,) = leakage(sv.plan(problem, bin=10)).secrets
    >>> round(found.prior_free.value, 3), found.prior_free.kind, round(found.published, 3)
    (3.322, 'exact', 5.644)
    """
    given = checked([plans] if isinstance(plans, Plan) else plans, "leakage")
    if len(against) > 2:
        raise ProblemError(
            f"two priors are told apart: give one to compare with the plan's, or two. Got {len(against)}."
        )
    problems = stated_problems(given)
    return Leakage(plans=len(given), secrets=tuple(_of_secret(each, given, against) for each in problems))


def _of_secret(problem: Problem, plans: Sequence[Plan], against: Sequence[Any]) -> SecretLeakage:
    mechanisms = in_common_terms(problem, plans)
    found = Everything() if isinstance(mechanisms, str) else left_open(problem, mechanisms)
    composed = of_secret(problem, plans)
    whatever, most = prior_free(problem, found), maximal(found)
    # of two coordinates with bins each is believed by itself; a belief that ties them may use all rectangles
    tiled = None if isinstance(mechanisms, str) else one_coordinate(problem, mechanisms)
    alone, there = problem, found
    if tiled is not None and not isinstance(mechanisms, str):
        alone, there = tiled[0], left_open(*tiled)
        most = Bits.of(cells_in_all(mechanisms), "exact")
        whatever = Bits(value=min(whatever.value, most.value), kind="upper bound")
    window = least_window(problem)
    return SecretLeakage(
        secret=composed.secret,
        tolerance=composed.tolerance,
        tolerance_kind=composed.tolerance_kind,
        prior_free=whatever,
        known_line=known_line(problem, found),
        published=math.inf if window is None else math.log2(of_a_range(secret_range(problem), window)),
        maximal=most,
        min_entropy=_min_entropy(problem, composed, whatever),
        mutual_information=mutual_information(alone, there),
        candidates=candidates(alone, there),
        advantage=None if not against else advantage(found, *_two(problem, against)),
        why=mechanisms if isinstance(mechanisms, str) else None,
    )


def _min_entropy(problem: Problem, composed: JointRisk, whatever: Bits) -> Bits | None:
    """log2(risk / risk without a release), which no prior's exceeds; a class of priors has no such number."""
    exact = not isinstance(problem.prior, Box) or all(axis.exact for axis in problem.box.axes.values())
    if not exact or problem.family.widened:
        return None
    bits = composed.leakage
    plain = isinstance(problem.prior, Box) and [problem.box.axes[name].flat for name in problem.box.free] == [True]
    if not plain:
        bits += _ROUNDED  # the risk without a release is rounded up, and divides
    if bits <= whatever.value:
        return Bits(value=max(0.0, bits), kind=composed.risk_kind)
    return Bits(value=whatever.value, kind="upper bound")


def _two(problem: Problem, against: Sequence[Any]) -> tuple[Axis, Axis]:
    """The two beliefs that are told apart: the problem's own is the first, where one is given."""
    found = [another_belief(problem, prior) for prior in against]
    return (problem.box.axes[problem.box.free[0]], found[0]) if len(found) == 1 else (found[0], found[1])
