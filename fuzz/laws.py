"""The families anew: secrets of their parameters and distances between members, with SciPy alone.

A column is X = loc + scale Z in the continuous families, a count in the others. Nothing here comes from statveil.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fuzz.shapes import Standard, standard

__all__ = [
    "COUNTS",
    "CUSTOMS",
    "DOMAINS",
    "FUNCTIONS",
    "PARAMETERS",
    "Custom",
    "distance",
    "loc_scale_of",
    "names_of",
    "secret",
    "width_of",
]

Array = NDArray[np.float64]
Params = Mapping[str, Array]

PARAMETERS = {
    "binomial": ("p",),
    "exponential": ("scale",),
    "gaussian": ("mu", "sigma"),
    "geometric": ("p",),
    "location": ("mean",),
    "negative-binomial": ("mean",),
    "poisson": ("rate",),
    "shifted-exponential": ("scale", "shift"),
    "uniform": ("low", "high"),
    "custom": ("theta",),
}
"""Parameters of each family, in its own order; a public shape and a problem without a family state their own."""

COUNTS = ("binomial", "geometric", "negative-binomial", "poisson")

_INF = math.inf
DOMAINS = {
    "p": (0.0, 1.0),
    "sigma": (0.0, _INF),
    "scale": (0.0, _INF),
    "rate": (0.0, _INF),
    "std": (0.0, _INF),
    "iqr": (0.0, _INF),
}
"""Domains of parameters that are not any real number."""

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "square": lambda x: x * x,
    "log": lambda x: np.log(x),
    "sine": lambda x: np.sin(3 * x),
    "plateau": lambda x: np.maximum(x, 0.5),
    "nearly-constant": lambda x: 1 / (1 + np.exp(-40 * (x - 0.5))),
    "cubic": lambda x: (x - 0.5) ** 3,
    "odds": lambda x: x / (1 - x),
}
"""Secrets of one's own, for parameters between 0 and 1."""


@dataclass(frozen=True, kw_only=True)
class Custom:
    """A family of one's own, with its moments in closed form."""

    domain: tuple[float, float]
    mean: Callable[[Array], Array]
    std: Callable[[Array], Array]
    pmf: Callable[[Array, Array], Array] | None = None
    cdf: Callable[[Array, Array], Array] | None = None
    top: int | None = None
    support: tuple[float, float] | None = None

    def gap(self, one: float, two: float) -> float:
        """W1: these families are ordered, so it is the gap of the means."""
        return float(abs(self.mean(np.array(one)) - self.mean(np.array(two))))


CUSTOMS = {
    "third-failure": Custom(
        domain=(0.2, 0.95),
        mean=lambda p: 3 * (1 - p) / p,
        std=lambda p: np.sqrt(3 * (1 - p)) / p,
        pmf=lambda k, p: 0.5 * (k + 1) * (k + 2) * p**3 * (1 - p) ** k,
        top=220,
    ),
    "power": Custom(
        domain=(0.3, 8.0),
        mean=lambda t: t / (t + 1),
        std=lambda t: np.sqrt(t / (t + 2)) / (t + 1),
        cdf=lambda x, t: np.clip(x, 0.0, 1.0) ** t,
        support=(0.0, 1.0),
    ),
    "rayleigh": Custom(
        domain=(0.5, 4.0),
        mean=lambda t: t * math.sqrt(math.pi) / 2,
        std=lambda t: t * math.sqrt(1 - math.pi / 4),
        cdf=lambda x, t: -np.expm1(-((np.maximum(x, 0.0) / t) ** 2)),
        support=(0.0, 40.0),
    ),
}


def names_of(family: Mapping[str, Any]) -> tuple[str, ...]:
    """The parameters of this family, in its own order."""
    return PARAMETERS[family["name"]] if "parameters" not in family else tuple(family["parameters"])


def _standard(family: Mapping[str, Any]) -> Standard:
    return standard(_Z[family["name"]] if family["name"] in _Z else family["of"])


def _loc_scale(data: Mapping[str, Any], params: Params, spread: float = 1.0) -> tuple[Array, Array]:
    family = data["name"]
    if family == "shape":
        z, (place, unit) = standard(data["of"]), data["parameters"]
        size = {"std": z.std, "iqr": float(z.ppf(0.75) - z.ppf(0.25)), "scale": 1.0}[unit]
        at = {"mean": z.mean, "median": float(z.ppf(0.5)), "min": z.low, "max": z.high, "loc": 0.0}[place]
        scale = params[unit] / size
        return params[place] - scale * at, scale
    if family == "gaussian":
        return params["mu"], params["sigma"]
    if family == "uniform":
        return params["low"], params["high"] - params["low"]
    if family == "exponential":
        return 0.0 * params["scale"], params["scale"]
    if family == "shifted-exponential":
        return params["shift"], params["scale"]
    return params["mean"], spread + 0.0 * params["mean"]


_Z = {"gaussian": "norm", "uniform": "uniform", "exponential": "expon", "shifted-exponential": "expon"}


def _counts(family: Mapping[str, Any], params: Params) -> Any:
    name = family["name"]
    if name == "binomial":
        return stats.binom(family["trials"], params["p"])
    if name == "geometric":
        return stats.geom(params["p"], loc=-1)
    if name == "negative-binomial":
        return stats.nbinom(family["size"], family["size"] / (family["size"] + params["mean"]))
    return stats.poisson(params["rate"])


def secret(family: Mapping[str, Any], wanted: Mapping[str, Any], params: Params) -> Array:
    """The statistic to hide of the members with these parameters."""
    name, kind = family["name"], wanted["kind"]
    if kind == "function":
        (parameter,) = names_of(family)
        return FUNCTIONS[wanted["label"]](params[parameter])
    if name == "any":  # the parameter is the secret, or its logarithm, in which closeness is measured
        (parameter,) = names_of(family)
        return params[parameter]
    if name == "custom":
        own = CUSTOMS[family["label"]]
        return own.mean(params["theta"]) if kind == "mean" else own.std(params["theta"])
    if name in COUNTS:
        law = _counts(family, params)
        if kind == "fraction":
            return np.asarray(law.pmf(int(wanted["category"])), dtype=float)
        return np.asarray(law.mean() if kind == "mean" else law.std(), dtype=float)
    if name == "categorical":
        return params[str(wanted["category"])]
    loc, scale = _loc_scale(family, params)
    if name == "location":
        return loc
    moved, stretched = _linear(_standard(family), wanted)
    return np.asarray(moved * loc + stretched * scale, dtype=float)


def _linear(z: Standard, wanted: Mapping[str, Any]) -> tuple[float, float]:
    """A statistic of loc + scale Z as a sum of so many locations and scales."""
    kind = wanted["kind"]
    if kind == "std":
        return 0.0, z.std
    if kind == "iqr":
        return 0.0, float(z.ppf(0.75) - z.ppf(0.25))
    if kind == "trimmed-mean":
        return 1.0, z.trimmed(wanted["share"])
    if kind in ("median", "quantile"):
        return 1.0, float(z.ppf(wanted.get("alpha", 0.5)))
    rows = float(wanted["rows"]) if kind == "total" else 1.0
    return rows, rows * z.mean


def loc_scale_of(
    family: Mapping[str, Any], place: Mapping[str, Any], spread: Mapping[str, Any], moved: Array, wider: Array
) -> tuple[Array, Array]:
    """By how much loc and scale change where a statistic that moves and one that only stretches change by so much."""
    z = _standard(family)
    rate, reach = _linear(z, place)
    scale = wider / _linear(z, spread)[1]
    return (moved - reach * scale) / rate, scale


def width_of(family: Mapping[str, Any], loc: Array, scale: Array) -> Array:
    """E|loc + scale Z|: W1 between columns whose location and scale differ by so much."""
    if family["name"] == "shape":
        return standard(family["of"]).length(loc, scale)
    return _length(family["name"], loc, scale)


def distance(family: Mapping[str, Any], kind: str, one: Params, two: Params) -> Array:
    """W1 or total variation between members, pair by pair."""
    name = family["name"]
    if name == "categorical":
        return np.asarray(0.5 * sum(np.abs(one[key] - two[key]) for key in one), dtype=float)
    if name == "custom":
        own = CUSTOMS[family["label"]]
        return np.array([own.gap(a, b) for a, b in zip(one["theta"], two["theta"], strict=True)])
    if name in COUNTS:
        a, b = _counts(family, one), _counts(family, two)
        if kind == "w1":  # the members are ordered: all mass moves the same way
            return np.asarray(np.abs(a.mean() - b.mean()), dtype=float)
        top = int(max(np.max(a.isf(1e-13)), np.max(b.isf(1e-13)))) + 2
        return np.array(
            [
                _tv(family, {k: v[i] for k, v in one.items()}, {k: v[i] for k, v in two.items()}, top)
                for i in range(len(next(iter(one.values()))))
            ]
        )
    (la, sa), (lb, sb) = _loc_scale(family, one), _loc_scale(family, two)
    if name == "shape":
        return standard(family["of"]).length(np.asarray(lb - la), np.asarray(sb - sa))
    return _length(name, np.asarray(lb - la), np.asarray(sb - sa))


def _tv(family: Mapping[str, Any], one: Params, two: Params, top: int) -> float:
    k = np.arange(min(top, 2_000_000) + 1)
    return 0.5 * float(np.abs(_counts(family, one).pmf(k) - _counts(family, two).pmf(k)).sum())


def _length(name: str, a: Array, b: Array) -> Array:
    """E|a + b Z|: the quantile functions differ by a + b Q(u), and W1 is the integral of its absolute value."""
    if name == "location":
        return np.abs(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(b != 0, -a / np.where(b == 0, 1.0, b), np.inf)  # a + b z changes sign there
    if name == "gaussian":
        at, height = stats.norm.cdf(root), stats.norm.pdf(root)
        mean, low = 0.0, -height  # E[Z; Z < root]
    elif name == "uniform":
        inner = np.clip(root, 0.0, 1.0)
        at, mean, low = inner, 0.5, 0.5 * inner**2
    else:
        inner = np.maximum(root, 0.0)
        gone = np.exp(-inner)
        reach = np.where(np.isinf(inner), 0.0, inner)
        at, mean, low = 1 - gone, 1.0, 1 - gone * (1 + reach)
    below = a * at + b * low
    whole = a + b * mean
    return np.where(b == 0, np.abs(a), np.abs(whole - 2 * below))
