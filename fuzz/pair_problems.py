"""Random problems of two secrets of one column, with a target, and now and then a release before."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from fuzz.problem_parts import Spec, axis_of, rounded
from fuzz.shapes import SHAPES, TABLES

__all__ = ["random_pair"]

_BASES = (None, None, "gaussian", "gaussian", "uniform", "shifted-exponential", "shape", "shape")
_KINDS = ("flat", "flat", "density", "table", "elicited", "heavy", "narrow", "peaks", "lipschitz")


def random_pair(rng: Generator) -> Spec:
    """A statistic that moves with the column and one that stretches with it, in either order."""
    name = _BASES[int(rng.integers(len(_BASES)))]
    base: Spec | None = None if name is None else {"name": name}
    if name == "shape":
        table = TABLES[int(rng.integers(len(TABLES)))]
        of: Any = {"levels": list(table), "values": list(table.values())}
        base = {"name": name, "of": of if rng.random() < 0.25 else str(rng.choice(SHAPES))}
        base["parameters"] = ["mean", "std"]
    places: list[Spec] = [{"kind": "mean"}, {"kind": "mean"}, {"kind": "median"}]
    places.append({"kind": "quantile", "alpha": float(rng.choice([0.05, 0.25, 0.9, rounded(rng.uniform(0.02, 0.98))]))})
    places.append({"kind": "total", "rows": int(rng.choice([10, 300]))})
    place = places[int(rng.integers(len(places)))]
    spread: Spec = {"kind": "iqr" if base is not None and rng.random() < 0.4 else "std"}
    plain = rng.random() < 0.3
    parts: list[Spec] = []
    for secret in (place, spread):
        wide = 10 ** rng.uniform(-1, 1.7) * secret.get("rows", 1)
        low = 10 ** rng.uniform(-1, 1.5) if secret is spread else float(rng.normal()) * wide
        low, high = rounded(low), rounded(low + wide)
        kind = "flat" if plain else str(rng.choice(_KINDS))
        far = (-4.5, -2.5) if kind in ("narrow", "heavy", "peaks") else (-2.7, -0.9)  # else there is nothing to hide
        tolerance = rounded((high - low) * 10 ** rng.uniform(*far))
        parts.append({"secret": secret, "prior": axis_of(kind, low, high, rng), "tolerance": tolerance})
    if rng.random() < 0.3:
        parts.reverse()
    plan, classes = _target(parts, rng), any(part["prior"]["kind"] == "lipschitz" for part in parts)
    spec: Spec = {"family": {"name": "pair", "base": base}, "parts": parts, "plan": plan}
    if rng.random() < 0.35 and not classes and isinstance(plan.get("max_risk"), float) and plan["max_risk"] < 0.85:
        spec["before"] = plan
        more = rounded(min(0.97, plan["max_risk"] + rng.uniform(0.02, 0.5)))
        spec["plan"] = {"max_risk": more} if rng.random() < 0.7 else {"max_risk": [more, more]}
    return spec


def _target(parts: list[Spec], rng: Generator) -> Spec:
    case = rng.random()
    if case < 0.55:
        return {"max_risk": rounded(rng.uniform(0.2, 0.97))}
    if case < 0.75:
        return {"max_risk": [rounded(risk) for risk in rng.uniform(0.2, 0.95, 2)]}
    unit = max(part["tolerance"] / part["secret"].get("rows", 1) for part in parts)
    return {"max_distortion": rounded(unit * 10 ** rng.uniform(0.2, 1.3))}
