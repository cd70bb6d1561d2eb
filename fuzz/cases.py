"""Plans that once stated less than the truth, with what they stated: the checker must find every one of them.

``CONTROLS`` holds the mechanisms themselves, so that they stay wrong whatever the library makes of the problem today;
``CASES`` holds the problems, for planning them anew.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CASES", "CONTROLS"]

Json = dict[str, Any]


def _flat(low: float, high: float) -> Json:
    return {"kind": "flat", "low": low, "high": high}


def _density(name: str, args: list[float], low: float, high: float) -> Json:
    return {"kind": "density", "name": name, "args": args, "low": low, "high": high}


CASES: dict[str, Json] = {
    "classes of beliefs on rays": {  # the steepest member was taken for the worst: 0.19922 for 0.20399
        "family": {"name": "gaussian"},
        "plan": {"max_distortion": 0.02199, "method": "interval"},
        "prior": {
            "mu": {"kind": "lipschitz", "low": 1.292, "high": 2.891, "floor": 0.0, "slope": 0.0607877},
            "sigma": {"kind": "lipschitz", "low": 3.115, "high": 3.545, "floor": 1.6064847, "slope": 33.8512},
        },
        "secret": {"kind": "std"},
        "tolerance": 0.004207,
        "known": {"minimum": 1.287},
    },
    "trimmed mean of a table of quantiles": {  # one rule of 400 points over the bends: 0.8922825 for 0.8922871
        "family": {
            "name": "shape",
            "of": {"levels": [0.0, 0.5, 0.9, 1.0], "values": [1.0, 3.0, 8.0, 20.0]},
            "parameters": ["median", "iqr"],
        },
        "prior": {"median": {"kind": "known", "value": 39.27}, "iqr": _flat(0.3346, 0.6461)},
        "secret": {"kind": "trimmed-mean", "share": 0.2489},
        "tolerance": 5.395e-05,
        "plan": {"bin": 0.0009349, "method": "auto"},
    },
    "uniform maximum, flat box": {
        "family": {"name": "uniform"},
        "prior": {"low": _flat(0, 50), "high": _flat(50, 52)},
        "secret": {"kind": "quantile", "alpha": 1.0},
        "tolerance": 0.1,
        "plan": {"max_risk": 0.1},
    },
    "uniform quantile, thin box": {
        "family": {"name": "uniform"},
        "prior": {"low": _flat(0, 6.375), "high": _flat(6.375, 6.497)},
        "secret": {"kind": "quantile", "alpha": 0.95},
        "tolerance": 0.0807,
        "plan": {"max_risk": 0.2},
    },
    "uniform std, thin box": {
        "family": {"name": "uniform"},
        "prior": {"low": _flat(0, 20.4), "high": _flat(22.4, 24.8)},
        "secret": {"kind": "std"},
        "tolerance": 1.21,
        "plan": {"max_risk": 0.4},
    },
    "known minimum, narrow beliefs": {
        "family": {"name": "gaussian"},
        "prior": {
            "mu": _density("gamma", [1.0, -0.09981, 0.139942], -0.09981, 0.5999),
            "sigma": _density("logistic", [13.577568, 0.1197494], 0.1503, 18.26),
        },
        "secret": {"kind": "mean"},
        "tolerance": 0.001401,
        "known": {"minimum": -0.1116},
        "plan": {"bin": 0.01759},
    },
    "uniform, heavy tails, cut box": {
        "family": {"name": "uniform"},
        "prior": {
            "low": _density("t", [1.2, 25.351476, 0.18883757], 21.29, 35.54),
            "high": {"kind": "elicited", "a": 30.2265, "b": 32.6835, "sure": 0.95},
        },
        "secret": {"kind": "quantile", "alpha": 0.25},
        "tolerance": 0.03866,
        "plan": {"bin": 0.1769, "slope": -0.5, "method": "interval"},
    },
    "uniform, comb under two steep densities": {
        "family": {"name": "uniform"},
        "prior": {
            "low": _density("gamma", [1.0, -0.05322, 0.009717], -0.05322, -0.004635),
            "high": _density("gamma", [1.0, -0.004635, 0.013471], -0.004635, 0.06272),
        },
        "secret": {"kind": "quantile", "alpha": 0.95},
        "tolerance": 0.007331,
        "plan": {"max_risk": 0.98, "method": "comb", "robust_to": [0.003665, 0.01466]},
    },
    "known step, means a hair below an edge": {
        "family": {"name": "uniform"},
        "prior": {"low": _flat(4.536, 7.897), "high": _flat(9.323, 23.85)},
        "secret": {"kind": "mean"},
        "tolerance": 0.02791,
        "known": {"step": 0.06773},
        "plan": {"max_risk": 0.3108},
    },
}


def _length_bins(direction: Json, high: float, width: float) -> Json:
    return {
        "kind": "interval",
        "along": "length",
        "coordinate": {"low": -1.0, "high": 1.0},
        "direction": direction,
        "low": 0.0,
        "high": high,
        "origin": 0.0,
        "width": width,
        "step": None,
    }


def _problem(case: str) -> Json:
    spec = CASES[case]
    prior = {"kind": "box", "parameters": spec["prior"]}
    return {**{key: spec[key] for key in ("family", "secret", "tolerance")}, "prior": prior, "distance": "w1"}


CONTROLS: dict[str, Json] = {
    "uniform maximum, flat box": {
        "stated": 0.1,
        "problem": _problem("uniform maximum, flat box"),
        "mechanism": _length_bins({"high": 1.0}, 52.0, 2.0001907348632812),
    },
    "known minimum, narrow beliefs": {
        "stated": 0.6815859,
        "problem": _problem("known minimum, narrow beliefs"),
        "mechanism": {
            "kind": "scaling",
            "about": -0.1116,
            "loc": "mu",
            "scale": "sigma",
            "form": {"mu": 1.0},
            "low": 0.01179,
            "high": 0.7115,
            "origin": 0.01179,
            "width": 0.01759,
        },
    },
    "uniform, heavy tails, cut box": {
        "stated": 0.43241,
        "problem": _problem("uniform, heavy tails, cut box"),
        "mechanism": _length_bins({"low": 1.0, "high": 2.0}, 12.672847304593375, 0.1769),
    },
}
