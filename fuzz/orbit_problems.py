"""Random problems without a family: any statistic, beliefs about it, closeness by distance or by share, any map."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from fuzz.problem_parts import Spec, axis_of, rounded

__all__ = ["random_orbit"]

_SECRETS = ("mean", "mean", "total", "median", "quantile", "trimmed-mean", "min", "max", "std", "iqr")
_METHODS = ("auto", "auto", "interval", "dynamic", "greedy", "comb", "layered", "layered-comb", "optimal")


def random_orbit(rng: Generator) -> Spec:
    """A problem of a statistic alone, with a target."""
    kind = str(rng.choice(_SECRETS))
    secret: Spec = {"kind": kind}
    if kind == "quantile":
        secret["alpha"] = float(rng.choice([0.05, 0.25, 0.5, 0.9, 0.99, rounded(rng.uniform(0.02, 0.98))]))
    elif kind == "trimmed-mean":
        secret["share"] = rounded(rng.uniform(0.01, 0.4))
    elif kind == "total":
        secret["rows"] = int(rng.choice([10, 300, 5000]))
    by_share = bool(rng.random() < 0.5)
    spread = kind in ("std", "iqr")
    low = 10 ** rng.uniform(-1, 2)
    wide = low * 10 ** rng.uniform(-1.2, 1.3)
    if not by_share and not spread and rng.random() < 0.3:
        low -= wide * rng.uniform(0.2, 2)
    times = secret.get("rows", 1)
    known = _known(kind, low, low + wide, by_share, rng)
    low, high = rounded(times * low), rounded(times * (low + wide))
    spec: Spec = {"family": {"name": "any"}, "secret": secret, "plan": {}}
    kinds = ["flat", "flat", "density", "table"]
    if low > 0:
        kinds += ["log", "log", "log-slope", "log-slope", "elicited"]
    chosen = str(rng.choice(kinds))
    if chosen in ("flat", "log") or low > 0:
        spec["prior"] = {"value": axis_of(chosen, low, high, rng)}
    else:
        spec["prior"] = {"value": axis_of(str(rng.choice(["flat", "density", "table"])), low, high, rng)}
    if by_share:
        reach = math.log(high / low)
        spec["tolerance"] = {"share": rounded(math.tanh(reach * 10 ** rng.uniform(-3, -0.5)))}
        half = math.atanh(spec["tolerance"]["share"])
    else:
        reach = high - low
        spec["tolerance"] = rounded(reach * 10 ** rng.uniform(-3.5, -0.5))
        half = spec["tolerance"]
    if known:
        if "step" in known:
            known["step"] = rounded((low * spec["tolerance"]["share"] if by_share else half) / times * known["step"])
        spec["known"] = known
    _target(spec, half, reach, rng)
    return spec


def _known(kind: str, low: float, high: float, by_share: bool, rng: Generator) -> Spec:
    """What everyone knows of such columns, in the unit of a row; the step in tolerances."""
    case, gap = rng.random(), (high - low) * 10 ** rng.uniform(-1.5, 0.7)
    spread = kind in ("std", "iqr")
    if case < 0.4:
        return {}
    if case < 0.62:
        return {"minimum": 0.0 if low > 0 and rng.random() < 0.6 else rounded(rng.normal() if spread else low - gap)}
    if case < 0.68:
        return {"maximum": rounded(5.0 if spread else high + gap)}
    if case < 0.8 and kind in ("mean", "total"):
        return {"minimum": 0.0 if low > 0 and by_share else rounded(low - gap), "maximum": rounded(high + gap)}
    if case < 0.9:
        return {"step": float(rng.choice([0.3, 1.0, 2.0, 5.0]))}
    if case < 0.96:
        return {"atoms": [rounded(low - gap)]}
    return {"minimum": 0.0 if low > 0 else rounded(low - gap), "step": float(rng.choice([0.02, 0.1]))}


def _target(spec: Spec, half: float, reach: float, rng: Generator) -> None:
    plan: Spec = spec["plan"]
    kind, known = spec["prior"]["value"]["kind"], spec.get("known", {})
    plan["method"] = str(rng.choice(_METHODS))
    if kind == "log-slope" or "step" in known:
        plan["method"] = str(rng.choice(["auto", "interval"]))
    blind = min(1.0, 2 * half / reach) * (2.0 if kind in ("flat", "log") else 5.0)
    by_share = isinstance(spec["tolerance"], dict)
    case = rng.random()
    if case < 0.65:
        plan["max_risk"] = rounded(min(0.98, max(blind, 10 ** rng.uniform(-1.3, -0.1))))
    elif rng.random() < (0.9 if by_share else 0.4):
        near = math.tanh(half) if by_share else half / max(abs(x) for x in _ends(spec))
        plan["max_distortion"] = {"share": rounded(min(0.9, near * 10 ** rng.uniform(0.1, 1.3)))}
    else:
        times = spec["secret"].get("rows", 1)
        unit = half * (min(abs(x) for x in _ends(spec)) if by_share else 1.0) / times
        plan["max_distortion"] = rounded(max(1e-9, unit * 10 ** rng.uniform(0.1, 1.3)))
    if plan["method"] not in ("auto", "interval"):
        plan["grid"] = 60 if plan["method"] == "optimal" else int(rng.integers(20, 201))
    if rng.random() < 0.15 and kind != "log-slope" and "step" not in known:
        ends = np.array([0.5, float(rng.choice([1.0, 1.5, 2.0]))]) * (spec["tolerance"]["share"] if by_share else half)
        plan["robust_to"] = [{"share": rounded(min(0.95, x))} if by_share else rounded(x) for x in ends]


def _ends(spec: Spec) -> tuple[float, float]:
    axis = spec["prior"]["value"]
    if axis["kind"] == "table":
        return axis["values"][0], axis["values"][-1]
    if axis["kind"] == "elicited":
        return axis["a"], axis["b"]
    return axis["low"], axis["high"]
