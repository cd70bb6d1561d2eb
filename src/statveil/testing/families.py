"""Conformance of a family: every number two ways, and the whole life of a plan for each of its secrets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.problem.families.categorical import Categorical
from statveil.problem.family import FAMILIES, Family, family_from_json
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal
from statveil.testing.comparison import close, drawn, same, typical_secrets
from statveil.testing.secrets import check_secret
from statveil.theory.distances import KINDS, numerical_tv, numerical_w1

__all__ = ["check_family", "family_checks"]

_DRAWS = 5
_SAMPLE = 40_000
_HALVINGS = 40
"""Beyond 2^-40 the level of a quantile near 1 is too rough a number."""


def check_family(family: Family, *, seed: int = 0) -> None:
    """Run every check on a family; raises :class:`ConformanceError` at the first that fails."""
    for _, check in family_checks(family, seed=seed):
        check()


def family_checks(family: Family, *, seed: int = 0) -> Iterator[tuple[str, Callable[[], None]]]:
    """Name and body of every check that applies to the family."""
    checks: list[Callable[[Any, Generator], None]] = [_declarations, _json, _sampling, _distances]
    if family.discrete:
        checks += [_masses]
    if not isinstance(family, Categorical):
        checks += [_distribution, _moments]
    if isinstance(family, LocationScale):
        checks += [_linear, _directions]
    if isinstance(family, Ordinal):
        checks += [_slopes]
    for check in checks:
        yield check.__name__.strip("_"), partial(check, family, np.random.default_rng(seed))
    for secret in typical_secrets(family):
        yield f"secret {secret.label}", partial(check_secret, family, secret, seed=seed)


def _declarations(family: Family, rng: Generator) -> None:
    names = [param.name for param in family.params]
    same(len(names) > 0 and len(set(names)) == len(names), f"parameter names must be unique. Got {names}")
    for param in family.params:
        low, high = param.typical
        same(param.low <= low < high <= param.high, f"the typical range of {param.name!r} leaves its domain")
        same(bool(param.doc), f"{param.name!r} has no description")
    same(bool(family.secrets) and bool(family.distances), "a family must name its secrets and distances")
    same(set(family.distances) <= set(KINDS), f"unknown distances {family.distances}")


def _json(family: Family, rng: Generator) -> None:
    same(FAMILIES.get(family.name) is type(family), f"{family.name!r} is not registered under its name")
    try:
        again: Family | None = family_from_json(family.to_json())
    except TypeError:
        again = None
    same(again == family, f"{family!r} cannot be made from its settings, or changes when written to JSON and back")


def _sampling(family: Family, rng: Generator) -> None:
    params = drawn(family, rng)
    sample = family.sample(params, _SAMPLE, rng)
    same(sample.shape == (_SAMPLE,), f"sample must give {_SAMPLE} values. Got shape {sample.shape}")
    # Dvoretzky-Kiefer-Wolfowitz: a true sample fails once in 1e9 runs
    allowed = math.sqrt(math.log(2e9) / (2 * _SAMPLE))
    if family.discrete:
        counts = np.arange(int(sample.max()) + 1)
        theory = np.cumsum(family.pmf(counts, params))
        observed = np.searchsorted(np.sort(sample), counts, side="right") / _SAMPLE
    else:
        ordered = np.sort(sample)
        theory, observed = family.cdf(ordered, params), (np.arange(_SAMPLE) + 0.5) / _SAMPLE
    close(observed, theory, allowed, "the sample's distribution and the cdf", absolute=True)


def _distances(family: Family, rng: Generator) -> None:
    for _ in range(_DRAWS):
        a, b, c = (drawn(family, rng) for _ in range(3))
        for name in family.distances:
            closed = family.tv if name == "tv" else family.w1
            if closed(a, b) is None:
                continue
            ab, ba, ac, cb = (_value(closed(x, y)) for x, y in ((a, b), (b, a), (a, c), (c, b)))
            generic = numerical_tv if name == "tv" else numerical_w1
            measured: Any = _Logarithms(family) if name == "log-w1" else family
            close(ab, generic(measured, a, b), 1e-6, f"{name} in closed form and by the generic routine")
            close(ab, ba, 1e-9, f"{name} in both directions")
            same(_value(closed(a, a)) <= 1e-12, f"{name} between a member and itself is not 0")
            same(ab <= (ac + cb) * (1 + 1e-9) + 1e-12, f"{name} breaks the triangle inequality")


class _Logarithms:
    """The logarithms of a family's columns, as far as a distance is concerned."""

    discrete = False

    def __init__(self, family: Family) -> None:
        self._family = family

    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self._family.cdf(np.exp(np.asarray(x, dtype=np.float64)), params)

    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return np.log(self._family.quantile(alpha, params))


def _masses(family: Family, rng: Generator) -> None:
    for _ in range(_DRAWS):
        params = drawn(family, rng)
        top = getattr(family, "support_top", lambda _: 10_000)(params)
        masses = family.pmf(np.arange(top + 1), params)
        same(bool(np.all(masses >= 0)), "a probability is negative")
        close(float(masses.sum()), 1.0, 1e-9, "the sum of all probabilities and 1")
        if not isinstance(family, Categorical):
            close(np.cumsum(masses), family.cdf(np.arange(top + 1), params), 1e-9, "summed probabilities and the cdf")


def _distribution(family: Family, rng: Generator) -> None:
    for _ in range(_DRAWS):
        params = drawn(family, rng)
        alphas = np.linspace(0.01, 0.99, 50)
        x = family.quantile(alphas, params)
        same(bool(np.all(np.diff(x) >= 0)), "the quantiles do not increase")
        back = family.cdf(x, params)
        if family.discrete:
            same(bool(np.all(back >= alphas - 1e-9)), "the cdf at a quantile is below its level")
            same(bool(np.all(family.cdf(x - 1, params) <= alphas + 1e-9)), "a quantile is not the smallest value")
        else:
            close(back, alphas, 1e-8, "cdf of a quantile and its level")


def _moments(family: Family, rng: Generator) -> None:
    if "log-w1" in family.distances:
        return  # it may have none
    for _ in range(_DRAWS):
        params = drawn(family, rng)
        if family.discrete:
            k = np.arange(getattr(family, "support_top", lambda _: 10_000)(params) + 1)
            mass = family.pmf(k, params)
            mean = float(np.sum(k * mass))
            std = math.sqrt(float(np.sum((k - mean) ** 2 * mass)))
        else:
            mean, std = _quantile_moments(family, params)
        size = std if math.isfinite(std) else abs(mean)
        close(float(family.mean(params)), mean, 1e-5 * max(1.0, size), "the mean and its integral", absolute=True)
        if not (math.isinf(std) and math.isinf(float(family.std(params)))):
            close(float(family.std(params)), std, 1e-4, "the standard deviation and its integral")


def _quantile_moments(family: Family, params: dict[str, float]) -> tuple[float, float]:
    """Mean and standard deviation as integrals of the quantile function, with what lies beyond the last levels.

    Each tail is cut at levels that halve, where 1 - level is exact in floating point; what they leave out is the rest
    of a geometric series, for the parts of a regular tail have a ratio. A ratio of 1 or more is an infinite moment.
    """
    nodes, weights = np.polynomial.legendre.leggauss(24)
    edges = 0.5 ** np.arange(1, _HALVINGS + 1)
    width, middle = 0.5 * (edges[:-1] - edges[1:]), 0.5 * (edges[:-1] + edges[1:])
    shares = middle[:, None] + width[:, None] * nodes
    both = [family.quantile(shares, params), family.quantile(1 - shares, params)]

    def moment(power: int, about: float) -> float:
        return sum(_with_rest(width * (((values - about) ** power) @ weights)) for values in both)

    mean = moment(1, 0.0)
    return mean, math.sqrt(moment(2, mean)) if math.isfinite(mean) else math.inf


def _with_rest(parts: NDArray[np.float64]) -> float:
    """Their sum and that of all further ones, which go on as the last ones do."""
    last = float(np.sum(parts[-8:-4])), float(np.sum(parts[-4:]))
    ratio = last[1] / last[0] if last[0] else 0.0
    if ratio >= 0.995:
        return math.copysign(math.inf, last[1])
    return float(np.sum(parts)) + last[1] * ratio / (1 - ratio)


def _linear(family: LocationScale, rng: Generator) -> None:
    for _ in range(_DRAWS):
        a, b = drawn(family, rng), drawn(family, rng)
        change = {name: b[name] - a[name] for name in a}
        close(float(family.length(change)), _value(family.w1(a, b)), 1e-9, "length of a change and W1")
        for secret in typical_secrets(family):
            slopes = family.coefficients(secret)
            rise = sum(slopes[name] * change[name] for name in a)
            real = float(family.position(secret, b)) - float(family.position(secret, a))
            close(rise, real, 1e-9 * max(1.0, abs(real)), f"linear form and values of {secret.label}", absolute=True)
            least = family.closed_gamma(secret)
            if least is not None and abs(real) > 1e-9:
                ratio = _value(family.w1(a, b)) / (2 * abs(real))
                same(ratio >= least * (1 - 1e-9), f"gamma of {secret.label} is {least:g}, but a pair has {ratio:g}")


def _directions(family: LocationScale, rng: Generator) -> None:
    for secret in typical_secrets(family):
        slope, least = family.best_slope(secret), family.closed_gamma(secret)
        if slope is None or least is None:
            continue
        direction = family.direction(slope)
        close(float(family.slope_of(direction) or 0.0), slope, 1e-9, "a slope and the slope of its direction")
        rate = abs(sum(family.coefficients(secret)[name] * change for name, change in direction.items()))
        ratio = float(family.length(direction)) / (2 * rate)
        close(ratio, least, 1e-9, f"gamma of {secret.label} and the ratio along its best slope")


def _slopes(family: Ordinal, rng: Generator) -> None:
    for _ in range(_DRAWS):
        theta = drawn(family, rng)[family.parameter.name]
        low, high = theta * (1 - 1e-6), theta * (1 + 1e-6)
        for secret in typical_secrets(family):
            ends = [float(secret.of(family, {family.parameter.name: at})) for at in (low, high)]
            rise = (ends[1] - ends[0]) / (high - low)
            scale = max(1.0, abs(rise))
            close(
                float(family.secret_slope(secret, theta)), rise, 1e-4 * scale, f"slope of {secret.label}", absolute=True
            )


def _value(found: object) -> float:
    return float(np.asarray(found))
