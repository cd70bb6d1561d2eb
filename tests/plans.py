"""One plan for each mode and a column that it fits, for tests of whatever holds in every mode."""

from __future__ import annotations

import numpy as np

import statveil as sv
from tests.best_possible import none_known

LABELS = ("red", "green", "blue")


def planned(*, max_risk=0.2, method="auto", **problem):
    with none_known():  # whoever imports this first
        return sv.plan(sv.Problem(**problem), max_risk=max_risk, method=method)


def located(low, high, tolerance=1, **known):
    """A plan for the mean of a column of unknown shape."""
    return planned(
        family=sv.Location(),
        prior=sv.Box(mean=(low, high)),
        secret=sv.Mean(),
        tolerance=tolerance,
        known=sv.Structure(**known),
        method="interval",
    )


def counted(family, low, high, max_risk=0.2):
    prior = sv.Box({family.params[0].name: (low, high)})
    return planned(family=family, prior=prior, secret=sv.Mean(), tolerance=0.3, method="dynamic", max_risk=max_risk)


WIDE = sv.Box(mu=(0, 200), sigma=(1, 51))
BY_MODE = {
    "shift": located(20, 220),
    "affine": planned(family=sv.Gaussian(), prior=WIDE, secret=sv.Quantile(0.9), tolerance=1, method="interval"),
    "scale": located(50, 200, minimum=0),
    "lattice": located(0, 200, step=1),
    "odds": planned(
        secret=sv.Mean(), prior=(20, 80), tolerance=1, known=sv.Structure(minimum=0, maximum=100), method="interval"
    ),
    "model": planned(
        secret=sv.Mean(),
        prior=(50, 200),
        tolerance=1,
        known=sv.Structure(minimum=0, step=1, heaps=(5,)),
        shape="catalogue",
        method="interval",
    ),
    "unit": counted(sv.Poisson(), 2, 30),
    "rank": counted(sv.Binomial(trials=20), 0.1, 0.9),
    "jitter": located(40, 200, minimum=0, step=1),
    "smooth": located(40, 200, minimum=0, step=1, heaps=(5,)),
    "category": planned(family=sv.Categorical(labels=LABELS), secret=sv.Fraction("red"), tolerance=0.03),
}
"""``test_conformance`` holds it against the registry of modes."""


def column_for(mode, rng, rows):
    """A column that the plan of this mode fits."""
    match mode:
        case "scale":
            return rng.gamma(6.0, 18.0, rows)
        case "lattice" | "jitter" | "smooth" | "model":
            return np.rint(rng.normal(103, 9, rows)).astype(np.int64)
        case "odds":  # two humps, which no Beta distribution of this spread has
            return np.where(rng.random(rows) < 0.5, rng.uniform(5, 30, rows), rng.uniform(55, 90, rows))
        case "unit":
            return rng.poisson(8, rows)
        case "rank":
            return rng.binomial(20, 0.4, rows)
        case "category":
            return rng.choice(LABELS, rows, p=[0.55, 0.3, 0.15])
        case _:
            return rng.normal(103, 9, rows)
