"""Whether a release fits a column's budgets: decided from plans alone, so that a refusal tells nothing of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statveil.composition import composed
from statveil.design.target import meets
from statveil.errors import BudgetError, StatveilError
from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.problem import Problem
from statveil.problem.wording import distortion_text
from statveil.rounding import shown_up

__all__ = ["Account", "Counted", "Decision", "Joint", "decide", "joint", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A plan under which a column was released, and what its releases were made of."""

    plan: Plan
    sha256: str
    """The plan's hash, which names it."""
    made: tuple[tuple[str, str], ...] = ()
    """For plans that draw: hash of the output and mark of input and seed of each release, '' where there is none."""

    @property
    def draws(self) -> bool:
        """Whether a release depends on the secret seed too."""
        return self.plan.randomised or self.plan.release_mode.random


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """How often a guess at one secret hits that knows all releases."""

    risk: float
    risk_kind: str
    why: str
    without: float
    """Risk of a guess that never saw a release."""
    certain: float | None = None
    """Share of the values for which one guess is sure to hit; ``None`` where it is not worked out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One secret of a column: joint risk before and after the release, and its budget."""

    secret: str
    before: float
    after: float
    risk_kind: str
    why: str
    budget: float | None
    certain: float | None
    """Share of the values for which one guess is sure to hit after it; ``None`` where it is not worked out."""

    @property
    def fits(self) -> bool:
        """Whether the budget, if there is one, holds after the release."""
        return self.budget is None or meets(self.after, self.budget)

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        return {
            "secret": self.secret,
            "before": self.before,
            "after": self.after,
            "risk_kind": self.risk_kind,
            "budget": self.budget,
            "certain_share": self.certain,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a release would do to the accounts of its column."""

    plan: Plan
    accounts: tuple[Account, ...]
    earlier: tuple[Counted, ...]

    @property
    def allowed(self) -> bool:
        """Whether every budget holds after it."""
        return all(account.fits for account in self.accounts)


_DRAWN_ANEW = "what draws at random may have been released with two draws, for no record shows that they are one"
_UNSTATED = "no plan of this column states a prior and a tolerance for this secret, so its risk is not known"


def joint(counted: Sequence[Counted]) -> dict[str, Joint]:
    """The joint risk of every secret that a plan states, by name; the largest over its priors and tolerances.

    Where it is not known what the releases tell together, everything.
    """
    if not counted:
        return {}
    plans = [each.plan for each in counted]
    if any(_drawn_anew(each) for each in counted) or _apart(counted):
        return _everything(plans, _DRAWN_ANEW)
    try:
        together = composed(plans, counted=False)
    except StatveilError as error:
        return _everything(plans, str(error))
    found: dict[str, Joint] = {}
    for each in together.secrets:  # the worst first
        found.setdefault(
            each.secret,
            Joint(
                risk=each.risk,
                risk_kind=each.risk_kind,
                why=each.why,
                without=each.risk_without_release,
                certain=each.certain,
            ),
        )
    return found


def _everything(plans: Sequence[Plan], why: str) -> dict[str, Joint]:
    told = Joint(risk=1.0, risk_kind="upper bound", why=why, without=1.0)
    return {plan.problem.secret.label: told for plan in plans}


def _drawn_anew(counted: Counted) -> bool:
    """Whether a plan that draws may have been released with two draws: they can be averaged.

    One output, or one mark of input and seed, is one draw.
    """
    outputs, sources = {output for output, _ in counted.made}, {source for _, source in counted.made}
    one = (len(outputs) == 1 and "" not in outputs) or (len(sources) == 1 and "" not in sources)
    return counted.draws and len(counted.made) > 1 and not one


def _apart(counted: Sequence[Counted]) -> bool:
    """Whether two plans that draw rows may have used two streams: rows that were drawn twice are found again."""
    rows = [each for each in counted if each.plan.release_mode.random and not each.plan.release_mode.of_model]
    sources = {source for each in rows for _, source in each.made}
    return len(rows) > 1 and (len(sources) > 1 or "" in sources)


def decide(requested: Counted, earlier: Sequence[Counted], budgets: Mapping[str, float]) -> Decision:
    """The accounts of a column before and after a release under one more plan.

    A budget for a secret that no plan states cannot be kept: with neither prior nor tolerance its risk is not known.
    """
    together, before = _with(requested, earlier), joint(earlier)
    after = before if together == list(earlier) else joint(together)
    unstated = Joint(risk=1.0, risk_kind="upper bound", why=_UNSTATED, without=1.0)
    accounts = []
    for secret in sorted({*after, *budgets}):
        now = after.get(secret, unstated)
        then = before[secret].risk if secret in before else now.without
        accounts.append(
            Account(
                secret=secret,
                before=then,
                after=now.risk,
                risk_kind=now.risk_kind,
                why=now.why,
                budget=budgets.get(secret),
                certain=now.certain,
            )
        )
    return Decision(plan=requested.plan, accounts=tuple(accounts), earlier=tuple(earlier))


def _with(requested: Counted, earlier: Sequence[Counted]) -> list[Counted]:
    """All plans with the one that is requested, whose releases are those of the same plan and its own."""
    same = next((each for each in earlier if each.sha256 == requested.sha256), None)
    if same is None:
        return [*earlier, requested]
    if not same.draws or set(requested.made) <= set(same.made):
        return list(earlier)
    more = Counted(plan=same.plan, sha256=same.sha256, made=(*same.made, *requested.made))
    return [more if each is same else each for each in earlier]


def refuse(decision: Decision, *, dataset: str, column: str) -> None:
    """An error where a budget would not hold, with what was asked for and what still fits."""
    broken = [account for account in decision.accounts if not account.fits]
    if not broken:
        return
    worst = max(broken, key=lambda account: account.after - (account.budget or 0.0))
    budgets = {account.secret: account.budget for account in decision.accounts if account.budget is not None}
    asked = decision.plan
    raise BudgetError(
        f"the budget of {column!r} of {dataset!r} does not allow this release: the joint risk of its {worst.secret} is "
        f"{shown_up(worst.before)} before and would be {shown_up(worst.after)} after ({worst.risk_kind}: "
        f"{worst.why.rstrip('.')}), its budget is {worst.budget:g}; requested alone: risk {shown_up(asked.risk)}, "
        f"distortion {distortion_text(asked.problem, asked.distortion)}; {_what_fits(decision, budgets)}."
    )


def _what_fits(decision: Decision, budgets: Mapping[str, float]) -> str:
    """The least distortion within the budgets, and how to get it."""
    problem, earlier = decision.plan.problem, decision.earlier
    goal = budgets.get(problem.secret.label)
    found = None if goal is None else _least(problem, goal, earlier, budgets)
    if found is not None:
        how = "--max-risk" if not earlier else "--after the earlier plans, --max-risk"
        said = distortion_text(problem, found.distortion)
        return f"the least distortion known that still fits is {said} ('statveil plan' with {how} {goal:g})"
    again = [each.plan for each in earlier if each.plan.problem == problem and not each.draws]
    if again and _fits(again[0], earlier, budgets):
        least = min(again, key=lambda one: one.distortion)
        said = distortion_text(problem, least.distortion)
        return f"nothing is known to fit but an earlier plan again, the least distortion of which is {said}"
    return "no distortion is known that still fits"


def _least(problem: Problem, goal: float, earlier: Sequence[Counted], budgets: Mapping[str, float]) -> Plan | None:
    """The best next plan under the budget, if there is a way to find it."""
    try:
        found = plan(problem, max_risk=goal, after=[each.plan for each in earlier])
    except StatveilError:
        return None
    return found if _fits(found, earlier, budgets) else None


def _fits(next_plan: Plan, earlier: Sequence[Counted], budgets: Mapping[str, float]) -> bool:
    requested = Counted(plan=next_plan, sha256="")
    return decide(requested, earlier, budgets).allowed
