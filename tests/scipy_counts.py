"""The families of counts as SciPy has them."""

from __future__ import annotations

from typing import Any

from scipy import stats

from statveil.problem.families.binomial import Binomial
from statveil.problem.families.geometric import Geometric
from statveil.problem.families.negative_binomial import NegativeBinomial
from statveil.problem.ordinal import Ordinal


def reference(family: Ordinal, theta: Any) -> Any:
    """The same distribution from scipy.stats."""
    if isinstance(family, Geometric):
        return stats.geom(theta, loc=-1)
    if isinstance(family, Binomial):
        return stats.binom(family.trials, theta)
    if isinstance(family, NegativeBinomial):
        return stats.nbinom(family.size, family.size / (family.size + theta))
    return stats.poisson(theta)
