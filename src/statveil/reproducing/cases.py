"""A concrete problem for every cell of the paper's summary table; the paper prints none, so these are ours."""

from __future__ import annotations

from dataclasses import dataclass

from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.families.binomial import Binomial
from statveil.problem.families.categorical import Categorical
from statveil.problem.families.exponential import Exponential
from statveil.problem.families.gaussian import Gaussian
from statveil.problem.families.geometric import Geometric
from statveil.problem.families.location import Location
from statveil.problem.families.poisson import Poisson
from statveil.problem.families.shifted_exponential import ShiftedExponential
from statveil.problem.families.uniform import Uniform
from statveil.problem.family import Family
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secret import Secret
from statveil.problem.secrets.fraction import Fraction
from statveil.problem.secrets.mean import Mean
from statveil.problem.secrets.quantile import Quantile
from statveil.problem.secrets.std import Std

__all__ = ["Case", "binned_cases", "counting_cases", "prior_text", "problem_text"]

_ALPHA = 0.95
"""Inside the quantiles for which the paper states a factor for the shifted exponential: [.01, .25] and [.75, .99]."""
_WIDE, _SCALES = (0.0, 900.0), (1.0, 46.0)
"""In tolerances: wide enough for the paper's high-precision regime, where bin^2 / (tolerance * range) is small."""
_BIN = 9.0
"""Divides both ranges, and its risk of 2/9 is no 1/k: there a comb loses a tooth to any rest of the range."""

_ANY = "any bin with risk below 1"
_PRECISE = "bin^2 / (tolerance x range) towards 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell of the table.

    Parameters
    ----------
    problem : Problem
        Family, prior, secret and tolerance.
    bin : float, optional
        Bin width of the printed mechanism.
    max_risk : float, optional
        For counts, which have no printed bins: what Algorithm 2 is asked for.
    factor : str
        The paper's "distortion < factor x optimum".
    regime : str
        Where the paper states that factor.
    assumed : bool
        Whether the prior is one that the paper's printed risk is stated for.
    """

    problem: Problem
    bin: float | None = None
    max_risk: float | None = None
    factor: str
    regime: str
    assumed: bool = True

    @property
    def label(self) -> str:
        """Family and secret in words."""
        return problem_text(self.problem)

    def printed(self, cells: int) -> Plan:
        """The paper's mechanism: its bins, or Algorithms 1 and 2 on a grid of so many cells."""
        if self.bin is not None:
            return plan(self.problem, bin=self.bin)
        return plan(self.problem, max_risk=self.max_risk, method="dynamic", grid=cells, release="grid")


def binned_cases() -> list[Case]:
    """The cells with a printed mechanism, and the share of a category, which the paper treats beside the table."""
    wide, scales = _WIDE, _SCALES
    found = [_case(Location(), Box(mean=wide), Mean(), _BIN, "2", _ANY)]
    for secret in (Mean(), Quantile(_ALPHA), Std()):
        mean, std = secret.kind == "mean", secret.kind == "std"
        factor, regime = ("2", _ANY) if mean else ("3", _PRECISE)
        bin = _BIN if mean else 36.0 if std else 20.0
        only = "" if mean or std else ", quantile in [.01, .25] or [.75, .99]"
        found += [
            _case(Gaussian(), Box(mu=wide, sigma=scales), secret, _BIN, factor, regime),
            # on low < high the location depends on the length, which the mechanism for a mean excludes
            _case(Uniform(), Box(low=wide, high=wide), secret, bin, factor, regime, assumed=not mean),
            _case(Exponential(), Box(scale=(1.0, 91.0)), secret, _BIN, "2", _ANY),
            _case(ShiftedExponential(), Box(scale=scales, shift=wide), secret, _BIN, factor, regime + only),
        ]
    share = Problem(family=Categorical(categories=4), secret=Fraction(0), tolerance=0.01)
    return [*found, Case(problem=share, bin=0.1, factor="2 + A", regime="bin = A x tolerance, A above 2")]


def counting_cases() -> list[Case]:
    """Geometric (range and grid step of the paper's own example), binomial and Poisson counts: the nine panels."""
    families = (
        (Geometric(), Box(p=(0.1, 0.9))),
        (Binomial(trials=20), Box(p=(0.1, 0.9))),
        (Poisson(), Box(rate=(1.0, 11.0))),
    )
    secrets: tuple[tuple[Secret, Secret, Secret], ...] = (
        (Mean(), Mean(), Mean()),
        (Std(), Std(), Std()),
        (Fraction(0), Fraction(10), Fraction(5)),
    )
    tolerances = ((0.1, 0.25, 0.25), (0.1, 0.01, 0.05), (0.02, 0.002, 0.01))
    found = []
    for row, sizes in zip(secrets, tolerances, strict=True):
        for (family, prior), secret, tolerance in zip(families, row, sizes, strict=True):
            problem = Problem(family=family, prior=prior, secret=secret, tolerance=tolerance)
            # a share that is near 0 for many parameters is guessed by chance: less than that cannot be asked for
            target = 0.35 if isinstance(family, Binomial) and isinstance(secret, Fraction) else 0.3
            found.append(Case(problem=problem, max_risk=target, factor="none", regime="Algorithms 1 and 2"))
    return found


def problem_text(problem: Problem) -> str:
    """Family and secret in words."""
    return f"{problem.family.name}, {problem.secret.text}"


def prior_text(problem: Problem) -> str:
    """What outsiders believe, in words; every prior here is uniform."""
    if not isinstance(problem.prior, Box):
        return f"uniform over all {len(problem.family.params)} shares"
    ranges = ", ".join(f"{name} {axis.low:g} to {axis.high:g}" for name, axis in problem.box.axes.items())
    trials = f" ({problem.family.trials} trials)" if isinstance(problem.family, Binomial) else ""
    cut = ", low < high" if problem.family.constraints else ""
    return f"uniform: {ranges}{cut}{trials}"


def _case(
    family: Family, prior: Box, secret: Secret, bin: float, factor: str, regime: str, *, assumed: bool = True
) -> Case:
    problem = Problem(family=family, prior=prior, secret=secret, tolerance=1.0)
    return Case(problem=problem, bin=bin, factor=factor, regime=regime, assumed=assumed)
