"""Problems without a family: one number, the secret, that a shift, a scaling or an odds map of the rows moves.

What a map cannot change of a column, its shape, tells nothing of the secret, so the truth is that of one parameter: the
secret itself, or its logarithm where a guess counts by a share of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz.beliefs import Belief
from fuzz.layouts import bin_edges
from fuzz.truth_lines import Truth

__all__ = ["as_one_parameter", "moved", "risk_of_shares", "value_of"]

Array = NDArray[np.float64]
Json = Mapping[str, Any]

_CLOSE, _MOST_TEETH = 5e-7, 4e6
_SIGNS = {"value": 0.0, "ln": 1.0, "-ln": -1.0}


def as_one_parameter(plan: Json) -> Json:
    """A plan without a family as one of a family of one parameter, by its JSON; others as they are."""
    problem = plan["problem"]
    if problem["family"] is not None:
        return plan
    mechanism = plan["mechanism"]
    name = str(mechanism.get("parameter") or next(iter(mechanism["coordinate"])))
    sign = _SIGNS[name]
    share = problem["tolerance_kind"] == "relative"
    axis = {"kind": "of", "of": problem["prior"], "sign": sign, "bounds": _bounds(problem)}
    stated: dict[str, Any] = {
        "family": {"name": "any", "parameters": [name], "sign": sign},
        "prior": {"kind": "box", "parameters": {name: axis}},
        "tolerance": _half(problem["tolerance"]) if share and sign else problem["tolerance"],
        "by_share": share and not sign,
    }
    robust = plan["robust_to"]
    if robust is not None and share and sign:
        robust = [_half(end) for end in robust]
    return {**plan, "problem": {**problem, **stated}, "robust_to": robust}


def _half(share: float) -> float:
    """Half a hit in the logarithm: |guess - g| <= share g holds from guess / (1 + share) to guess / (1 - share)."""
    return 0.5 * (math.log1p(share) - math.log1p(-share))


def _per_shift(secret: Json) -> float:
    """What a shift of all rows by 1 does to the statistic."""
    return {"std": 0.0, "iqr": 0.0, "total": float(secret.get("rows", 1))}.get(str(secret["kind"]), 1.0)


def _bounds(problem: Json) -> tuple[float, float]:
    """Where the secret can lie, which decides on the scale of elicited beliefs."""
    known, rate = problem["known"], _per_shift(problem["secret"])
    ends = [-math.inf, math.inf]
    if rate:
        for i, name in enumerate(("minimum", "maximum")):
            ends[i] = ends[i] if known[name] is None else rate * known[name]
    if not rate or problem["tolerance_kind"] == "relative":
        ends[0] = max(ends[0], 0.0)
    return ends[0], ends[1]


def value_of(family: Json, at: Array) -> Array:
    """The secret at a place of the parameter."""
    return np.exp(family["sign"] * at) if family["sign"] else np.asarray(at)


def moved(problem: Json, before: Array, after: Array) -> dict[str, float]:
    """The largest distortions: W1 in the column's unit (``absolute``), and as a share (``relative``).

    A shift moves all rows alike; every map of a mean between bounds moves them the same way, so that W1 is the change
    of the mean. A scaling about a point moves rows by |factor - 1| of their mean distance from it, which is the share;
    the share of the others is that of the statistic. A stretch about the mean moves rows by |factor - 1| E|X - mean|,
    for two equal halves the change of the standard deviation.
    """
    kind, rate, known = problem["secret"]["kind"], _per_shift(problem["secret"]), problem["known"]
    change = np.abs(after - before)
    bounds = [known[name] for name in ("minimum", "maximum") if known[name] is not None]
    inner = [atom for atom in known.get("atoms", []) if atom not in bounds]
    points = bounds if len(bounds) == 1 else inner
    of_mean = kind in ("mean", "total")
    if len(bounds) == 2 or (not points and rate):  # odds, or a shift
        return _largest(change / (rate or 1.0), change / np.abs(before))
    if not points:  # a spread, about the own centre
        found = _largest(change, change / before)
        return found if kind == "std" else {"relative": found["relative"]}
    if of_mean and points == bounds:
        return _largest(change / rate, change / np.abs(before))
    return {"relative": float((change / np.abs(before - rate * points[0])).max())}


def _largest(absolute: Array, relative: Array) -> dict[str, float]:
    return {"absolute": float(absolute.max()), "relative": float(relative.max())}


def risk_of_shares(mechanism: Json, believed: Belief, share: float) -> Truth:
    """Bins of whole steps where a guess counts by a share: for every bin and residue the best guess.

    Between two places at which a tooth enters a bin the teeth are as many; the middle of many small parts of a step
    is the quadrature, and the change with twice as many its error.
    """
    step = float(mechanism["step"])
    edges = bin_edges(mechanism)
    found = [_at_residues(edges, step, believed, share, parts) for parts in (400, 800)]
    parts = 800
    while abs(found[-1] - found[-2]) > _CLOSE and parts * (edges[-1] - edges[0]) / step < _MOST_TEETH:
        parts *= 4
        found.append(_at_residues(edges, step, believed, share, parts))
    return Truth(risk=min(found[-2:]), error=abs(found[-1] - found[-2]))


def _at_residues(edges: Array, step: float, believed: Belief, share: float, parts: int) -> float:
    far = (1 + share) / (1 - share)
    total = 0.0
    for low, high in pairwise(edges):
        count = math.ceil((high - low) / step) + 1
        start = low + step * (np.arange(parts) + 0.5) / parts
        teeth = start[:, None] + step * np.arange(count)
        inside = (teeth < high) & (teeth <= believed.high)
        half = 0.5 * step / parts
        # the belief's mass in the part of a step, not its density: nothing is lost between the parts
        mass = np.where(inside, believed.cdf(np.minimum(teeth + half, high)) - believed.cdf(teeth - half), 0.0)
        below = np.concatenate([np.zeros((parts, 1)), np.cumsum(mass, axis=1)], axis=1)
        # teeth of one step: the last one that the same guess catches
        last = np.floor((teeth * far * (1 - 1e-12) - start[:, None]) / step).astype(np.int64)
        last = np.clip(last, -1, count - 1)
        caught = np.take_along_axis(below, last + 1, axis=1) - below[:, :-1]
        total += float(np.where(inside, caught, 0.0).max(axis=1).sum())
    return total
