"""Generated stand-ins for the paper's data sets, for when the real files are not at hand.

The shapes were chosen by fitting simple families to public extracts of the real data, with rounded parameters. A
stand-in has the size, centre, spread and skew of the extract and the lattice of its values, and no real record.
"""

from __future__ import annotations

import numpy as np

from statveil.datasets.dataset import Dataset
from statveil.datasets.salary import OLDER, YOUNGER
from statveil.errors import TableError
from statveil.tables.blocks import Array

__all__ = ["mba_stand_in", "salary_stand_in", "wwt_stand_in"]

_DAYS = 550


def wwt_stand_in(*, seed: int = 0, pages: int = 117_277) -> Dataset:
    """Mean daily views of generated pages.

    A mixture of two lognormals, the mixture with the least BIC on 4,083 real pages: four of five pages are small
    (median 13 views a day), one of five is large and spread over four powers of ten. Mean 359 (extract: 351), median 17
    (17), 0.95-quantile 1,580 (1,880). Every value is a whole number of views divided by 550 days.

    Parameters
    ----------
    seed : int
        The same seed gives the same values.
    pages : int
        How many; the paper has 117,277.
    """
    rng = _generator(seed)
    if pages < 1:
        raise TableError(f"a stand-in needs at least one of its pages; {pages} were asked for.")
    large = rng.random(pages) < 0.2
    level = np.where(large, rng.normal(6.4, 1.45, pages), rng.normal(2.6, 0.75, pages))
    views = np.maximum(1.0, np.rint(np.exp(level) * _DAYS))
    return _dataset("wwt", "Wikipedia Web Traffic", views / _DAYS, "views a day", seed, "two lognormals")


def mba_stand_in(*, seed: int = 0) -> Dataset:
    """Average traffic of 600 generated homes, as many as the extract has; the paper does not say how many it has.

    A gamma distribution of shape 2.2, the best of gamma, lognormal, Weibull and exponential on the averages of 600 real
    homes of all providers (Kolmogorov-Smirnov p = .40). Mean .0484 (extract: .0485), 0.95-quantile .111 (.106).

    Parameters
    ----------
    seed : int
        The same seed gives the same values.
    """
    rng = _generator(seed)
    return _dataset(
        "mba", "Measuring Broadband America", rng.gamma(2.2, 0.022, 600), "GB a measurement (nominal)", seed, "gamma"
    )


def salary_stand_in(*, seed: int = 0) -> Dataset:
    """Salaries of 47 generated people up to 40 and of 102 above, in multiples of 5,000.

    Two normals cut off at 40,000 and 250,000, with means of 94,000 and 160,000 and standard deviations of 21,000 and
    24,000: sizes, means, deviations, ends and lattice of the extract's 149 rows.

    Parameters
    ----------
    seed : int
        The same seed gives the same values.
    """
    rng = _generator(seed)
    salary = np.concatenate([rng.normal(94_000, 21_000, 47), rng.normal(160_000, 24_000, 102)])
    values = np.clip(np.rint(salary / 5_000) * 5_000, 40_000, 250_000)
    groups = (YOUNGER,) * 47 + (OLDER,) * 102
    return _dataset("salary", "Salaries, Master's and PhD", values, "dollars a year", seed, "two normals", groups)


def _generator(seed: int) -> np.random.Generator:
    """The source of randomness, after a look at the seed."""
    if seed < 0:
        raise TableError(f"the seed must be a whole number from 0; {seed} was given.")
    return np.random.default_rng(seed)


def _dataset(
    name: str, label: str, values: Array, unit: str, seed: int, shape: str, groups: tuple[str, ...] = ()
) -> Dataset:
    return Dataset(
        name=name,
        label=f"generated stand-in for {label}",
        values=values,
        unit=unit,
        source=f"drawn from {shape}, seed {seed}; no real record",
        rows_read=len(values),
        rows_kept=len(values),
        is_stand_in=True,
        groups=groups,
    )
