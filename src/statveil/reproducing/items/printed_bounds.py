"""Where the paper's printed risk is below the true one: each case planned, accounted exactly and attacked."""

from __future__ import annotations

from typing import Any, ClassVar

from statveil.made_plan import Plan
from statveil.planning import plan, simulate
from statveil.problem.families.binomial import Binomial
from statveil.problem.families.categorical import Categorical
from statveil.problem.families.location import Location
from statveil.problem.families.uniform import Uniform
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secrets.fraction import Fraction
from statveil.problem.secrets.mean import Mean
from statveil.problem.secrets.quantile import Quantile
from statveil.reproducing.cases import prior_text, problem_text
from statveil.reproducing.item import Item, Work
from statveil.reproducing.results import Claim, Column, Outcome, ResultTable

__all__ = ["PrintedBounds", "printed_errors"]

_COLUMNS = (
    Column(name="problem", meaning="family and secret"),
    Column(name="prior", meaning="what outsiders believe"),
    Column(name="tolerance", meaning="a guess this close is a hit"),
    Column(name="bin", meaning="bin width"),
    Column(
        name="printed_risk", meaning="the printed bound, or the risk that the printed algorithm computes", rounded="up"
    ),
    Column(name="risk", meaning="exact risk", rounded="up"),
    Column(name="simulated", meaning="rate of the best attacker, played"),
    Column(name="simulated_low", meaning="lower end of its 99.9 % interval", rounded="down"),
    Column(name="simulated_high", meaning="upper end of its 99.9 % interval", rounded="up"),
    Column(name="assumed", meaning="whether the paper states the printed risk for this case"),
    Column(name="why", meaning="why the printed risk is too low"),
)


class PrintedBounds(Item):
    """Printed bounds that do not hold."""

    name: ClassVar[str] = "printed-bounds"
    title: ClassVar[str] = "Printed risks that are below the truth"
    source: ClassVar[str] = (
        "Propositions thm:trade-off_mechanism_mean_continuous, thm:upperbound_continuous_quantile_Gaussian_uniform, "
        "thm:upperbound_discrete_general_fraction; Algorithm alg:dp"
    )
    place: ClassVar[int] = 55

    def run(self, work: Work) -> Outcome:
        rows: list[dict[str, Any]] = []
        for i, (found, assumed, why) in enumerate(printed_errors()):
            work.tell(problem_text(found.problem))
            rate = simulate(found, trials=work.sizes.trials, rng=work.rng(self.place, i))
            rows.append(
                {
                    "problem": problem_text(found.problem),
                    "prior": prior_text(found.problem),
                    "tolerance": found.problem.tolerance,
                    "bin": found.bin,
                    "printed_risk": found.published_bound,
                    "risk": found.risk,
                    "simulated": rate.rate,
                    "simulated_low": rate.low,
                    "simulated_high": rate.high,
                    "assumed": assumed,
                    "why": why,
                }
            )
        stated = [row for row in rows if row["assumed"]]
        below = [row for row in stated if row["printed_risk"] < row["simulated_low"]]
        return Outcome(
            tables=(
                ResultTable(
                    name="printed-bounds",
                    caption="Each mechanism is the paper's, with numbers for which the printed risk is too low.",
                    columns=_COLUMNS,
                    rows=rows,
                ),
            ),
            claims=(
                Claim(
                    says="The printed risk is an upper bound on the attacker's success.",
                    holds=not below,
                    evidence=f"in {len(below)} of {len(stated)} cases that it is stated for, the attacker, played for "
                    "real, succeeds more often.",
                ),
            ),
            differs=(
                "Two rows lie outside of what the paper assumes: they are no errors of it, but the printed risk must "
                "not be used there.",
                "statveil states the exact risk instead; `published_bound` of a plan keeps the printed number beside "
                "it, errors included.",
            ),
        )


def printed_errors() -> list[tuple[Plan, bool, str]]:
    """Plans of the paper's mechanisms, whether the printed risk is stated for them, and why it is too low."""
    quantile = Problem(family=Uniform(), prior=Box(low=(0, 10), high=(0, 10)), secret=Quantile(0.51), tolerance=0.25)
    mean = Problem(family=Location(), prior=Box(mean=(0, 10)), secret=Mean(), tolerance=0.5)
    triangle = Problem(family=Uniform(), prior=Box(low=(0, 10), high=(0, 10)), secret=Mean(), tolerance=0.25)
    share = Problem(family=Categorical(categories=10), secret=Fraction(0), tolerance=0.025)
    count = Problem(family=Binomial(trials=20), prior=Box(p=(0.05, 0.95)), secret=Fraction(10), tolerance=0.01)
    return [
        (
            plan(quantile, bin=2.5),
            True,
            "the border has mass bin / width for every slope; the printed one is too small, and the bound fails for "
            "quantiles between 1/2 and 31/48",
        ),
        (
            plan(share, bin=0.1),
            True,
            "every cut piece keeps its lower end, so the best guess wins more at the border; wrong from nine "
            "categories on",
        ),
        (
            plan(count, max_distortion=9.0, method="dynamic", grid=200),
            True,
            "Algorithm 1 looks at one contiguous window; this share turns, and a guess wins on both sides of the peak",
        ),
        (
            plan(mean, bin=3.0),
            False,
            "2 eps / bin is for bins that divide the range; here a rest of 1 is left, which is hit for sure",
        ),
        (
            plan(triangle, bin=2.5),
            False,
            "2 eps / bin is for a location that does not depend on the length; on low < high it does",
        ),
    ]
