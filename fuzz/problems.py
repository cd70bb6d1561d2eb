"""Random problems and targets, as plain dictionaries that a line of text can hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from fuzz.laws import COUNTS, CUSTOMS, DOMAINS, FUNCTIONS, names_of, secret
from fuzz.orbit_problems import random_orbit
from fuzz.pair_problems import random_pair
from fuzz.problem_parts import Spec, axis_of, rounded
from fuzz.shapes import SHAPES, TABLES

__all__ = ["FAMILIES", "METHODS", "random_spec"]

FAMILIES = (
    "any",
    "binomial",
    "categorical",
    "custom",
    "exponential",
    "gaussian",
    "geometric",
    "location",
    "negative-binomial",
    "pair",
    "poisson",
    "shape",
    "shifted-exponential",
    "uniform",
)
METHODS = ("auto", "interval", "dynamic", "greedy", "comb", "layered", "layered-comb", "optimal")
_TWO = ("gaussian", "shape", "shifted-exponential", "uniform")
_FIRST = tuple(name for name in FAMILIES if name not in ("any", "negative-binomial", "pair", "shape"))
_LATER = (
    "any",
    "any",
    "any",
    "shape",
    "negative-binomial",
    "gaussian",
    "exponential",
    "uniform",
    "shifted-exponential",
)
"""Families that were added later, and those that took more secrets then."""
_SHARE_LATER = 0.45
_SHARE_PAIRS = 0.07
_FIRST_TWO = ("gaussian", "shifted-exponential", "uniform")
_HARD = 1 / 6
_HARD_FAMILIES = (*_FIRST_TWO, *_FIRST_TWO, "location", "exponential", "custom", "poisson", "binomial")


def random_spec(rng: Generator, only: str | None = None, *, hard: bool | None = None) -> Spec:
    """A problem with a target: every family, secret, kind of prior, method; boxes and tolerances of all sizes.

    A sixth of them (``hard``: all, or none) has beliefs that quadrature finds hard: narrow separate peaks, heavy tails
    for every parameter, a narrow density beside a range, tolerances far below the range.
    """
    aside = rng.spawn(1)[0]  # of its own, so that the other problems of a seed stay what they were
    fresh, paired = rng.spawn(1)[0], rng.spawn(1)[0]
    if only == "pair" or (only is None and hard is None and paired.random() < _SHARE_PAIRS):
        return random_pair(paired)
    later = only is None and hard is None and fresh.random() < _SHARE_LATER
    if later:
        only, rng = str(fresh.choice(_LATER)), fresh
    if only == "any":
        return random_orbit(fresh)
    if (
        not later
        and ((aside.random() < _HARD) if hard is None else hard)
        and only not in ("shape", "negative-binomial")
    ):
        return _hard(aside, only)
    name = only or str(rng.choice(_FIRST, p=_weights()))
    spec: Spec = {"family": {"name": name}, "plan": {}}
    if name == "categorical":
        return _categorical(spec, rng)
    if name == "custom":
        spec["family"]["label"] = str(rng.choice(list(CUSTOMS)))
    if name == "binomial":
        spec["family"]["trials"] = int(rng.choice([1, 5, 20, 100, 1000]))
    if name == "negative-binomial":
        spec["family"]["size"] = float(rng.choice([0.3, 1.0, 2.5, 20.0]))
    if name == "shape":
        spec["family"] |= _shape(rng)
    own = _own_secret(name, rng)
    if name == "location" and own is not None:
        spec["family"] |= {"shape": "laplace", "spread": 2.0}
    ranges = _ranges(spec["family"], rng, own)
    free = list(ranges)
    if name in _TWO and rng.random() < 0.25:  # one parameter is publicly known
        still = str(rng.choice(free))
        free.remove(still)
        low, high = ranges[still]
        spec["prior"] = {still: {"kind": "known", "value": rounded(0.5 * (low + high))}}
    else:
        spec["prior"] = {}
    plain = rng.random() < 0.35
    # a class of densities has bounds for equal bins only, beside a plain range or a known value
    kinds = ["flat", "density", "density", "table", "elicited"]
    if name == "custom":
        kinds.remove("elicited")
    lipschitz = name in ("exponential", "gaussian", "location", "shifted-exponential") and rng.random() < 0.12
    for parameter in free:
        low, high = ranges[parameter]
        if lipschitz:
            spec["prior"][parameter] = axis_of(str(rng.choice(["lipschitz", "flat"])), low, high, rng)
        elif plain:
            spec["prior"][parameter] = {"kind": "flat", "low": low, "high": high}
        else:
            spec["prior"][parameter] = axis_of(str(rng.choice(kinds)), low, high, rng)
    spec["prior"] = {parameter: spec["prior"][parameter] for parameter in names_of(spec["family"])}
    reach = _ask(spec, ranges, own, rng, later=later)
    if reach is None:
        return random_spec(rng, only)
    spec["tolerance"] = rounded(reach * 10 ** rng.uniform(-4 if len(free) == 1 else -3, -0.4))
    if name in COUNTS and own is None and rng.random() < 0.35:
        spec["distance"] = "tv"
    _structure(spec, rng)
    _target(spec, rng, reach, len(free))
    return spec


def _shape(rng: Generator) -> Spec:
    """A public shape and what its prior is about."""
    if rng.random() < 0.25:
        table = TABLES[int(rng.integers(len(TABLES)))]
        of: Any = {"levels": list(table), "values": list(table.values())}
    else:
        of = str(rng.choice(SHAPES))
    place = str(rng.choice(["mean", "median", "loc"]))
    return {"of": of, "parameters": [place, str(rng.choice(["std", "iqr", "scale"]))]}


def _ask(spec: Spec, ranges: Any, own: Any, rng: Generator, *, later: bool = False) -> float | None:
    """Give the problem a secret that its prior leaves open, and say how far that reaches; None if none is found."""
    for _ in range(20):
        spec["secret"] = own or _secret(spec["family"]["name"], spec, rng, later=later)
        reach = _reach(spec, ranges)
        if reach > 1e-6:
            return reach
    return None


def _hard(rng: Generator, only: str | None) -> Spec:
    """A problem whose beliefs have most of their mass in few narrow places."""
    name = only if only not in (None, "categorical") else None
    name = name or str(rng.choice(_HARD_FAMILIES))
    spec: Spec = {"family": {"name": name}, "plan": {}, "prior": {}}
    if name == "custom":
        spec["family"]["label"] = str(rng.choice(list(CUSTOMS)))
    if name == "binomial":
        spec["family"]["trials"] = int(rng.choice([5, 20, 100]))
    own = _own_secret(name, rng)
    if name == "location" and own is not None:
        spec["family"] |= {"shape": "laplace", "spread": 2.0}
    ranges = _ranges(spec["family"], rng, own)
    if name == "custom":  # room for the tails of an elicited belief
        low, high = CUSTOMS[spec["family"]["label"]].domain
        ranges["theta"] = (rounded(low + 0.05 * (high - low)), rounded(high - 0.05 * (high - low)))
    kinds = ["peaks", "peaks", "heavy", "narrow"]
    every = ["heavy", "heavy"] if rng.random() < 0.25 else [str(kind) for kind in rng.choice(kinds, 2)]
    if len(ranges) == 2 and rng.random() < 0.5:  # beside a plain range, another density or a known value
        every[int(rng.integers(2))] = str(rng.choice(["flat", "flat", "density", "known"]))
    if name == "custom" and rng.random() < 0.5:
        every = ["elicited"]
    for kind, (parameter, (low, high)) in zip(every, ranges.items(), strict=False):
        value = {"kind": "known", "value": rounded(0.5 * (low + high))}
        spec["prior"][parameter] = value if kind == "known" else axis_of(kind, low, high, rng)
    spec["prior"] = {parameter: spec["prior"][parameter] for parameter in names_of(spec["family"])}
    free = sum(axis["kind"] != "known" for axis in spec["prior"].values())
    reach = _ask(spec, ranges, own, rng)
    if reach is None:
        return _hard(rng, only)
    spec["tolerance"] = rounded(reach * 10 ** rng.uniform(-5 if rng.random() < 0.3 else -3, -0.7))
    if rng.random() < 0.3:
        _structure(spec, rng)
    _target(spec, rng, reach, free)
    plan = spec["plan"]
    if "max_distortion" in plan or rng.random() < 0.3:  # far enough to put several peaks together
        for key in ("max_risk", "bin", "slope"):
            plan.pop(key, None)
        plan["max_distortion"] = rounded(max(1.2 * spec["tolerance"], reach * 10 ** rng.uniform(-1.5, -0.3)))
    elif "bin" in plan:
        plan["bin"] = rounded(reach * 10 ** rng.uniform(-1.5, 0.0))
    elif "max_risk" in plan:
        plan["max_risk"] = rounded(rng.uniform(0.2, 0.95))
    return spec


def _weights() -> list[float]:
    heavy = {"gaussian": 2.0, "uniform": 2.0, "shifted-exponential": 2.0, "custom": 0.6}
    raw = np.array([heavy.get(name, 1.0) for name in _FIRST])
    return [float(x) for x in raw / raw.sum()]


def _categorical(spec: Spec, rng: Generator) -> Spec:
    count = int(rng.choice([2, 3, 4, 5, 10, 30]))
    spec["family"]["labels"] = [f"p{i}" for i in range(count)]
    spec["secret"] = {"kind": "fraction", "category": f"p{rng.integers(count)}"}
    spec["tolerance"] = rounded(10 ** rng.uniform(-3.5, -0.8))
    _target(spec, rng, min(1.0, 3 / count), 1)
    spec["plan"]["method"] = str(
        rng.choice(["auto", "interval"] if "bin" in spec["plan"] else ["auto", "interval", "comb"])
    )
    for numeric in ("grid", "release"):
        spec["plan"].pop(numeric, None)
    return spec


def _own_secret(name: str, rng: Generator) -> Spec | None:
    if name not in _TWO and name != "custom" and rng.random() < 0.2:
        return {"kind": "function", "label": str(rng.choice(list(FUNCTIONS)))}
    return None


def _ranges(family: Spec, rng: Generator, own: Spec | None) -> dict[str, tuple[float, float]]:
    """A range for each parameter, of any aspect ratio."""
    name = family["name"]
    out = {}
    for parameter in names_of(family):
        if name == "custom":
            low, high = CUSTOMS[family["label"]].domain
            ends = np.sort(rng.uniform(low, high, 2))
        elif parameter == "p" or own is not None:
            ends = np.sort(rng.uniform(0.02, 0.98, 2))
        else:
            width = 10 ** rng.uniform(-1.5, 1.5)
            start = (
                10 ** rng.uniform(-1, 1.5)
                if DOMAINS.get(parameter) or name == "negative-binomial"
                else rng.normal() * width
            )
            ends = np.array([start, start + width])
        if ends[1] - ends[0] < 0.02 * max(1.0, abs(ends[1])):
            ends[1] = ends[0] + 0.02 * max(1.0, abs(ends[0]))
        out[parameter] = (rounded(ends[0]), rounded(ends[1]))
    if name == "uniform":
        lower = out["low"]
        width = 10 ** rng.uniform(-1.5, 1.5)
        case = rng.random()
        if case < 0.4:  # a box that the diagonal does not cut, touching it or apart from it
            start = lower[1] + (0.0 if case < 0.2 else abs(rng.normal()) * width)
        else:
            start = lower[0] + rng.uniform(0.1, 1) * (lower[1] - lower[0])
        out["high"] = (rounded(start), rounded(start + width))
    return out


def _secret(name: str, spec: Spec, rng: Generator, *, later: bool = False) -> Spec:
    if later and name in (*_TWO, "exponential") and rng.random() < 0.6:
        return _later_secret(rng)
    if name in ("location",):
        return {"kind": "mean"}
    if name == "custom":
        return {"kind": str(rng.choice(["mean", "std"]))}
    if name in COUNTS:
        kind = str(rng.choice(["mean", "std", "fraction"]))
        tops = {"binomial": min(int(spec["family"].get("trials", 1)), 12), "geometric": 5}
        top = tops.get(name, 15)
        return {"kind": kind, "category": int(rng.integers(top + 1))} if kind == "fraction" else {"kind": kind}
    kind = str(rng.choice(["mean", "std", "quantile"]))
    if kind != "quantile":
        return {"kind": kind}
    alphas = [0.01, 0.1, 0.25, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, rounded(rng.uniform(0.02, 0.98))]
    if name == "uniform":
        alphas += [0.0, 1.0]
    return {"kind": "quantile", "alpha": float(rng.choice(alphas))}


def _later_secret(rng: Generator) -> Spec:
    kind = str(rng.choice(["median", "iqr", "total", "trimmed-mean"]))
    more: Spec = {
        "total": {"rows": int(rng.choice([12, 500]))},
        "trimmed-mean": {"share": rounded(rng.uniform(0.01, 0.4))},
    }
    return {"kind": kind, **more.get(kind, {})}


def _reach(spec: Spec, ranges: dict[str, tuple[float, float]]) -> float:
    """How far the secret goes, roughly: over the corners and a few points in between."""
    names = names_of(spec["family"])
    grids = []
    for name in names:
        axis = spec["prior"][name]
        low, high = ranges[name]
        grids.append(np.array([axis["value"]]) if axis["kind"] == "known" else np.linspace(low, high, 33))
    mesh = np.meshgrid(*grids, indexing="ij")
    params = {name: part.ravel() for name, part in zip(names, mesh, strict=True)}
    if spec["family"]["name"] == "uniform":
        inside = params["high"] > params["low"]
        params = {name: value[inside] for name, value in params.items()}
    value = secret(spec["family"], spec["secret"], params)
    value = value[np.isfinite(value)]
    return float(np.ptp(value)) if len(value) else 0.0


def _structure(spec: Spec, rng: Generator) -> None:
    name = spec["family"]["name"]
    if name in ("gaussian", "location", "shifted-exponential", "uniform") and rng.random() < 0.12:
        spec["known"] = {"step": rounded(spec["tolerance"] * 10 ** rng.uniform(-0.7, 1.0))}
        if rng.random() < 0.3:
            spec["known"]["step"] = 2 * spec["tolerance"]
    elif name in ("gaussian", "location") and rng.random() < 0.25:
        parameter = "mu" if name == "gaussian" else "mean"
        axis = spec["prior"][parameter]
        low = axis.get("low", axis.get("value", axis.get("values", [0])[0] if "values" in axis else None))
        if low is not None:
            spec["known"] = {"minimum": rounded(low - 10 ** rng.uniform(-1, 1) * spec["tolerance"] * 3)}


def _target(spec: Spec, rng: Generator, reach: float, free: int) -> None:
    plan: Spec = spec["plan"]
    eps, name = spec["tolerance"], spec["family"]["name"]
    kinds = {axis["kind"] for axis in spec.get("prior", {}).values()}
    continuous = name in (*_TWO, "exponential", "location", "categorical") and spec["secret"]["kind"] != "function"
    bins_only = "lipschitz" in kinds or "step" in spec.get("known", {}) or (free == 2 and "known" in spec)
    if bins_only or (free == 2 and not continuous):
        methods = ["auto", "interval"]
    elif free == 2:
        methods = ["auto", "interval", "comb", "comb"]
    else:
        methods = [method for method in METHODS if continuous or method != "interval"]
    blind = min(1.0, 2 * eps / reach) * (1.5 if kinds <= {"flat", "known"} else 5.0)  # a guess without the release
    case = rng.random()
    if case < (0.5 if continuous else 0.75):
        plan["max_risk"] = rounded(min(0.98, max(blind, 10 ** rng.uniform(-1.3, -0.1))))
    elif case < 0.8 or not continuous:
        # roughly: half a bin of a few windows, at least a cell of the grid
        plan["max_distortion"] = rounded(eps * 10 ** rng.uniform(0.1, 1.3))
    else:
        plan["bin"] = rounded(eps * 10 ** rng.uniform(0.4, 1.4))
        methods = ["auto", "interval"]
        if free == 2 and "known" not in spec and rng.random() < 0.5:
            plan["slope"] = float(rng.choice([0.0, 1.0, -0.5, rounded(rng.normal())]))
    plan["method"] = str(rng.choice(methods))
    if free == 1 and plan["method"] not in ("auto", "interval"):
        coarsest = float(plan.get("max_distortion", reach))
        fine = round(min(200.0, max(12.0, 3 * reach / max(coarsest, 1e-12))))
        small = plan["method"] == "optimal"
        plan["grid"] = min(60, fine) if small else max(fine, int(rng.integers(12, 121)))
        if rng.random() < 0.15 and name != "categorical":
            plan["release"] = "grid"
    if rng.random() < 0.15 and "bin" not in plan and not bins_only:
        plan["robust_to"] = [rounded(0.5 * eps), rounded(eps * float(rng.choice([1.0, 1.5, 2.0, 3.0])))]
