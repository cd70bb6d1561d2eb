"""Parts of random problems: beliefs of every kind on a range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

__all__ = ["Spec", "axis_of", "rounded"]

Spec = dict[str, Any]


def rounded(x: float) -> float:
    """Four digits, as people write them."""
    return float(f"{x:.4g}")


def axis_of(kind: str, low: float, high: float, rng: Generator) -> Spec:
    """A belief of this kind on a range."""
    wide = high - low
    if kind in ("flat", "log"):
        return {"kind": kind, "low": low, "high": high}
    if kind == "log-slope":
        return {"kind": kind, "low": low, "high": high, "slope": rounded(10 ** rng.uniform(-1.5, 1))}
    if kind == "table":
        count = int(rng.integers(2, 8))
        inner = np.sort(rng.uniform(low, high, count))
        weights = rng.exponential(size=count + 2) * (rng.random(count + 2) < 0.8)
        weights[int(rng.integers(count + 2))] += 0.5
        return {"kind": "table", "values": [low, *map(float, inner), high], "weights": [float(w) for w in weights]}
    if kind == "lipschitz":
        floor = float(rng.choice([0.0, rng.uniform(0, 1)])) / wide
        slope = 10 ** rng.uniform(-1.5, 1.2) / wide**2
        return {"kind": "lipschitz", "low": low, "high": high, "floor": floor, "slope": slope}
    if kind == "elicited":
        a, b = low + 0.35 * wide, high - 0.35 * wide
        return {"kind": "elicited", "a": a, "b": b, "sure": float(rng.choice([0.5, 0.8, 0.9, 0.95]))}
    if kind == "peaks":
        return _peaks(low, high, rng)
    if kind == "heavy":
        spread = wide * 10 ** rng.uniform(-4, -0.5)
        centre = low + wide * rng.uniform(0.02, 0.98)
        shape = str(rng.choice(["t", "t", "cauchy"]))
        args = [centre, spread] if shape == "cauchy" else [float(rng.choice([1.1, 1.5, 2.0])), centre, spread]
        return {"kind": "density", "name": shape, "args": args, "low": low, "high": high}
    if kind == "narrow":
        args = [low + wide * rng.uniform(0.05, 0.95), wide * 10 ** rng.uniform(-4.5, -2)]
        shape = str(rng.choice(["norm", "laplace", "logistic"]))
        return {"kind": "density", "name": shape, "args": args, "low": low, "high": high}
    shape = str(rng.choice(["norm", "t", "cauchy", "lognorm", "beta", "gamma", "expon", "laplace", "logistic"]))
    centre, spread = low + wide * rng.uniform(-0.1, 1.1), wide * 10 ** rng.uniform(-2.3, 0.3)
    if shape == "t":
        args = [float(rng.choice([1.2, 2.0, 5.0])), centre, spread]
    elif shape == "lognorm":
        args = [float(rng.choice([0.3, 1.0, 2.0])), low - 0.05 * wide, 0.3 * wide]
    elif shape == "beta":
        args = [float(a) for a in rng.choice([1.0, 1.5, 2.0, 8.0, 40.0], 2)] + [low, wide]
    elif shape == "gamma":
        args = [float(rng.choice([1.0, 2.0, 9.0])), low, 0.2 * wide]
    elif shape == "expon":
        args = [low, spread]
    else:
        args = [centre, spread]
    return {"kind": "density", "name": shape, "args": args, "low": low, "high": high}


def _peaks(low: float, high: float, rng: Generator) -> Spec:
    """A table of narrow separate peaks, with nothing or a little between them."""
    wide = high - low
    half = wide * 10 ** rng.uniform(-5, -1.5)
    centres = np.sort(rng.uniform(low + 2 * half, high - 2 * half, int(rng.integers(2, 13))))
    if rng.random() < 0.2:  # even ones, as teeth are
        centres = np.linspace(low, high, len(centres) + 2)[1:-1]
    centres = centres[np.concatenate([[True], np.diff(centres) > 3 * half])]
    floor = float(rng.choice([0.0, 0.0, 10 ** rng.uniform(-4, -1)]))
    tops = rng.uniform(0.3, 1.0, len(centres)) if rng.random() < 0.7 else np.ones(len(centres))
    values, weights = [low], [floor]
    for centre, top in zip(centres, tops, strict=True):
        values += [float(centre - half), float(centre), float(centre + half)]
        weights += [floor, float(top), floor]
    return {"kind": "table", "values": [*values, high], "weights": [*weights, floor]}
