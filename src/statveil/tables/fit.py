"""How closely each family can describe a column: for private inspection, since it reads the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import statveil.problem.families  # noqa: F401  (fills FAMILIES)
from statveil.problem.family import FAMILIES
from statveil.tables.blocks import Array

__all__ = ["Fit", "fits"]

CLOSE = 0.03
ROUGH = 0.10
"""Kolmogorov distances up to which a fit is called close, or rough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A family with parameters estimated from a column.

    Parameters
    ----------
    family : str
        Its name.
    params : dict
        Simple estimates: moments, or the ends of the column.
    distance : float
        Largest difference between the shares of rows up to x in the column and in the family. It says how far
        apart they are, not how likely: the parameters were fitted to the same rows.
    says : str
        ``close``, ``rough`` or ``poor``.
    """

    family: str
    params: dict[str, float]
    distance: float
    says: str


def fits(sample: Array, *, whole: bool) -> list[Fit]:
    """Every family that can be fitted without further settings, the closest first.

    Parameters
    ----------
    sample : array
        Rows of the column; those that are not finite are ignored.
    whole : bool
        Whether the column holds whole numbers. Then counts are tried as well, and a continuous family is compared
        as if its values had been rounded.
    """
    rows = np.asarray(sample, dtype=np.float64)
    rows = rows[np.isfinite(rows)]
    if len(rows) == 0 or np.min(rows) == np.max(rows):
        return []  # no family here is a single point
    values, counts = np.unique(rows, return_counts=True)
    upper = np.cumsum(counts) / len(rows)
    lower = np.concatenate(([0.0], upper[:-1]))
    found = []
    for name, estimate in _ESTIMATES.items():
        family = FAMILIES[name]()
        if family.discrete and not whole:
            continue
        params = estimate(rows)
        if (
            params is None
            or not all(map(math.isfinite, params.values()))
            or params.get("sigma", params.get("scale")) == 0
        ):
            continue  # a spread too small for a float
        if whole and not family.discrete:
            above, below = family.cdf(values + 0.5, params), family.cdf(values - 0.5, params)
        else:
            # Between two rows the family's share only rises, so its ends decide.
            above, below = family.cdf(values, params), family.cdf(np.nextafter(values, -np.inf), params)
        distance = float(max(np.max(np.abs(above - upper)), np.max(np.abs(below - lower))))
        says = "close" if distance <= CLOSE else "rough" if distance <= ROUGH else "poor"
        found.append(Fit(family=name, params=params, distance=distance, says=says))
    return sorted(found, key=lambda fit: fit.distance)


def _gaussian(rows: Array) -> dict[str, float] | None:
    return {"mu": float(np.mean(rows)), "sigma": float(np.std(rows))}


def _uniform(rows: Array) -> dict[str, float] | None:
    return {"low": float(np.min(rows)), "high": float(np.max(rows))}


def _exponential(rows: Array) -> dict[str, float] | None:
    return {"scale": float(np.mean(rows))} if np.min(rows) >= 0 else None


def _shifted_exponential(rows: Array) -> dict[str, float] | None:
    low = float(np.min(rows))
    return {"scale": float(np.mean(rows - low)), "shift": low}


def _geometric(rows: Array) -> dict[str, float] | None:
    return {"p": 1 / (1 + float(np.mean(rows)))} if np.min(rows) >= 0 else None


def _poisson(rows: Array) -> dict[str, float] | None:
    return {"rate": float(np.mean(rows))} if np.min(rows) >= 0 else None


_ESTIMATES: dict[str, Callable[[Array], dict[str, float] | None]] = {
    "gaussian": _gaussian,
    "uniform": _uniform,
    "exponential": _exponential,
    "shifted-exponential": _shifted_exponential,
    "geometric": _geometric,
    "poisson": _poisson,
}
