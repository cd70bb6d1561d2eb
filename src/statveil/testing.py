"""Public conformance checks: run them on a family of your own before you trust a plan made with it.

    from statveil.testing import check_family
    check_family(MyFamily())

Each check compares two independent ways to the same number and raises :class:`ConformanceError` with the
difference. :func:`family_checks` gives them one by one, for a parametrised test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from statveil import problem as _problem  # noqa: F401  (fills the registries)
from statveil.auditing.game import release_column
from statveil.errors import ProblemError, TargetError
from statveil.modes import MODES, Mode
from statveil.planning import Plan, plan, simulate
from statveil.problem.column_numbers import InMemory
from statveil.problem.families.categorical import Categorical
from statveil.problem.family import FAMILIES, Family, family_from_json
from statveil.problem.location_scale import LocationScale
from statveil.problem.ordinal import Ordinal
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secret import SECRETS, Secret, secret_from_json
from statveil.tables.blocks import blocks_of
from statveil.tables.estimate import own_statistic
from statveil.tables.measure import measure
from statveil.tables.resolution import grain_of
from statveil.theory.distances import numerical_tv, numerical_w1
from statveil.theory.gamma import gamma

__all__ = [
    "ConformanceError",
    "check_family",
    "check_mode",
    "check_secret",
    "family_checks",
    "registered_families",
    "typical_secrets",
]

_DRAWS = 5
_SAMPLE = 40_000
_TRIALS = 4_000
_COLUMNS, _ROWS = 20, 4_000


class ConformanceError(AssertionError):
    """A family or secret contradicts itself; the message says where and by how much."""


def registered_families() -> list[Family]:
    """A typical member of every registered family."""
    return [FAMILIES[name].example() for name in sorted(FAMILIES)]


def typical_secrets(family: Family) -> list[Secret]:
    """The secrets that the family says it supports, with a few arguments each."""
    return [secret for kind in family.secrets if kind in SECRETS for secret in SECRETS[kind].examples()]


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


def check_secret(family: Family, secret: Secret, *, seed: int = 0) -> None:
    """A secret of a family: accepted, vectorised, the same after JSON, not constant, and measured on columns."""
    family.check_secret(secret)
    _same(secret_from_json(secret.to_json()) == secret, f"{secret!r} changes when written to JSON and back")
    rng = np.random.default_rng(seed)
    points = [_draw(family, rng) for _ in range(_DRAWS)]
    together = secret.of(family, {name: np.array([p[name] for p in points]) for name in points[0]})
    alone = np.array([float(secret.of(family, p)) for p in points])
    _close(together, alone, 1e-12, f"{secret.label} of arrays and of single parameters")
    _same(bool(np.all(np.isfinite(alone))), f"{secret.label} is not finite for typical parameters")
    _same(float(np.ptp(alone)) > 0, f"{secret.label} is the same for every parameter: nothing to hide")
    if isinstance(family, LocationScale):
        _linear_secret(family, secret, points)
    _of_columns(family, secret, points, rng)
    _plans(family, secret, seed)


def _linear_secret(family: LocationScale, secret: Secret, points: list[dict[str, float]]) -> None:
    """The form a loc + b scale that the secret states, against its values."""
    try:
        slopes = family.coefficients(secret)
    except ProblemError as error:
        raise ConformanceError(str(error)) from None
    for a, b in pairwise(points):
        rise = sum(slopes[name] * (b[name] - a[name]) for name in a)
        real = float(secret.of(family, b)) - float(secret.of(family, a))
        _close(rise, real, 1e-9 * max(1.0, abs(real)), f"linear form and values of {secret.label}", absolute=True)


def _of_columns(family: Family, secret: Secret, points: list[dict[str, float]], rng: Generator) -> None:
    """Its value for columns: near that for their parameters, the same in one pass, moved as its linear form says."""
    anchor = secret.anchor
    if isinstance(family, Categorical) or type(anchor).of_column is Secret.of_column:
        return
    for point in points[:2]:
        try:
            columns = [family.sample(point, _ROWS, rng) for _ in range(_COLUMNS)]
        except ProblemError:  # a family that cannot be drawn from
            return
        values = np.array([anchor.of_column(InMemory(column), family) for column in columns])
        spread = float(values.std(ddof=1))
        gap = abs(float(values.mean()) - float(anchor.of(family, point)))
        _same(gap <= 7 * spread / math.sqrt(_COLUMNS), f"{anchor.label} of columns and of their parameters differ")
        column, value = columns[0], float(values[0])
        size = 1e-9 * (abs(value) + spread)
        measured = measure(blocks_of(column), levels=anchor.levels, counted=anchor.counted(family))
        once = anchor.of_column(measured, family)
        _close(once, value, size, f"{anchor.label} of a column in one pass and in memory", absolute=True)
        if isinstance(family, LocationScale) and anchor.linear(family) is not None:
            moved = anchor.of_column(InMemory(2.5 * column + 7), family)
            expected = 2.5 * value + 7 * anchor.shift_rate(family)
            _close(moved, expected, 1e-9 * (7 + abs(expected)), f"{anchor.label} of 2.5 x + 7", absolute=True)


def check_mode(mode: Mode, problem: Problem, column: NDArray[np.float64], *, max_risk: float = 0.3) -> None:
    """A mode, on a problem that it is for and a column under it: chosen, repeatable, and what it says of itself."""
    _same(MODES.get(mode.name) is mode, f"the mode {mode.name!r} is not registered under its name")
    _same(bool(mode.says), f"the mode {mode.name!r} has no description")
    _same(mode.near_line or not (mode.line or mode.whole_steps), f"{mode.name!r}: a line is also nearly one")
    found = plan(problem, max_risk=max_risk)
    _same(found.release_mode is mode, f"the plan has the mode {found.mode!r} instead of {mode.name!r}")
    _same(Plan.from_json(found.to_json()).release_mode is mode, "the plan changes its mode when written and read again")
    gaps = np.concatenate([[np.nan], column, [np.nan]])
    (one, _), (same, _), (other, made) = (release_column(found, gaps, bits=53, seed=seed) for seed in (1, 1, 2))
    _same(np.array_equal(one, same, equal_nan=True), "the same seed does not give the same rows")
    drawn = mode.random or found.randomised
    _same(
        drawn or np.array_equal(one, other, equal_nan=True), "the rows depend on the seed, but the mode is not random"
    )
    _same(bool(np.isnan(other[[0, -1]]).all()), "rows without a value do not stay without one")
    before, after = column, other[1:-1]
    _same(bool(np.isfinite(after).all()), "rows with a value become rows without one")
    if mode.categories or mode.of_model:
        return
    size = 1e-9 * (abs(before).max() + abs(after).max())
    wanted = float(made.facts["released"]["secret"])
    off = abs(own_statistic(problem, InMemory(after)) - wanted)
    _same(
        off <= mode.slack(problem, len(after), float(abs(after).max())) + grain_of(found) + size,
        f"the released statistic is off by {off:.3g}",
    )
    if mode.line:
        factor, start = np.polyfit(before - before.mean(), after, 1)
        _close(start + factor * (before - before.mean()), after, 1e-6 + size, "the rows and one line", absolute=True)
        _same(
            mode.stretches or abs(factor - 1) <= 1e-6, f"the rows are stretched by {factor:.6g}, and 'stretches' is no"
        )


def _plans(family: Family, secret: Secret, seed: int) -> None:
    """A plan on the typical ranges: finite numbers, never below the limit, and never below what an attacker reaches."""
    rng = np.random.default_rng(seed)
    try:
        if isinstance(family, Categorical):
            problem = Problem(family=family, secret=secret, tolerance=0.02)
        else:
            values = [float(secret.of(family, _draw(family, rng))) for _ in range(40)]
            prior = Box(**{param.name: param.typical for param in family.params})
            problem = Problem(family=family, secret=secret, prior=prior, tolerance=0.01 * float(np.ptp(values)))
        try:
            found = plan(problem, max_risk=0.5, grid=None if isinstance(family, Categorical | LocationScale) else 60)
        except TargetError:  # a secret that is nearly the same over most of the range: only its limit can be looked at
            constant = gamma(problem)
            _same(math.isfinite(constant) and constant > 0, f"gamma of {secret.label} must be above 0. Got {constant}")
            return
        numbers = (found.risk, found.distortion, found.gamma, found.lower_bound)
        reached = simulate(found, trials=_TRIALS, seed=seed)
    except ConformanceError:
        raise
    except Exception as error:  # whatever it is: the suite passed it, and a plan cannot be made
        raise ConformanceError(f"no plan can be made for {secret.label}: {error}") from error
    _same(
        all(math.isfinite(x) for x in numbers), f"a plan for {secret.label} has numbers that are not finite: {numbers}"
    )
    _same(found.gamma > 0, f"gamma of {secret.label} must be above 0. Got {found.gamma:g}")
    _same(found.distortion >= found.lower_bound * (1 - 1e-9), f"a plan for {secret.label} distorts less than the limit")
    _same(
        reached.low <= found.risk,
        f"an attacker hits {secret.label} with probability {reached.rate:.4g}, more than the stated {found.risk:.4g}",
    )


# --- the checks, each comparing two ways to the same number -----------------------------------------
def _declarations(family: Family, rng: Generator) -> None:
    names = [param.name for param in family.params]
    _same(len(names) > 0 and len(set(names)) == len(names), f"parameter names must be unique. Got {names}")
    for param in family.params:
        low, high = param.typical
        _same(param.low <= low < high <= param.high, f"the typical range of {param.name!r} leaves its domain")
        _same(bool(param.doc), f"{param.name!r} has no description")
    _same(bool(family.secrets) and bool(family.distances), "a family must name its secrets and distances")
    _same(set(family.distances) <= {"w1", "tv"}, f"unknown distances {family.distances}")


def _json(family: Family, rng: Generator) -> None:
    _same(FAMILIES.get(family.name) is type(family), f"{family.name!r} is not registered under its name")
    try:
        again: Family | None = family_from_json(family.to_json())
    except TypeError:
        again = None
    _same(again == family, f"{family!r} cannot be made from its settings, or changes when written to JSON and back")


def _sampling(family: Family, rng: Generator) -> None:
    params = _draw(family, rng)
    sample = family.sample(params, _SAMPLE, rng)
    _same(sample.shape == (_SAMPLE,), f"sample must give {_SAMPLE} values. Got shape {sample.shape}")
    # Dvoretzky-Kiefer-Wolfowitz: a true sample fails once in 1e9 runs
    allowed = math.sqrt(math.log(2e9) / (2 * _SAMPLE))
    if family.discrete:
        counts = np.arange(int(sample.max()) + 1)
        theory = np.cumsum(family.pmf(counts, params))
        observed = np.searchsorted(np.sort(sample), counts, side="right") / _SAMPLE
    else:
        ordered = np.sort(sample)
        theory, observed = family.cdf(ordered, params), (np.arange(_SAMPLE) + 0.5) / _SAMPLE
    _close(observed, theory, allowed, "the sample's distribution and the cdf", absolute=True)


def _distances(family: Family, rng: Generator) -> None:
    for _ in range(_DRAWS):
        a, b, c = (_draw(family, rng) for _ in range(3))
        for closed, generic, name in ((family.w1, numerical_w1, "w1"), (family.tv, numerical_tv, "tv")):
            if name not in family.distances or closed(a, b) is None:
                continue
            ab, ba, ac, cb = (_value(closed(x, y)) for x, y in ((a, b), (b, a), (a, c), (c, b)))
            _close(ab, generic(family, a, b), 1e-6, f"{name} in closed form and by the generic routine")
            _close(ab, ba, 1e-9, f"{name} in both directions")
            _same(_value(closed(a, a)) <= 1e-12, f"{name} between a member and itself is not 0")
            _same(ab <= (ac + cb) * (1 + 1e-9) + 1e-12, f"{name} breaks the triangle inequality")


def _masses(family: Family, rng: Generator) -> None:
    for _ in range(_DRAWS):
        params = _draw(family, rng)
        top = getattr(family, "support_top", lambda _: 10_000)(params)
        masses = family.pmf(np.arange(top + 1), params)
        _same(bool(np.all(masses >= 0)), "a probability is negative")
        _close(float(masses.sum()), 1.0, 1e-9, "the sum of all probabilities and 1")
        if not isinstance(family, Categorical):
            _close(np.cumsum(masses), family.cdf(np.arange(top + 1), params), 1e-9, "summed probabilities and the cdf")


def _distribution(family: Family, rng: Generator) -> None:
    for _ in range(_DRAWS):
        params = _draw(family, rng)
        alphas = np.linspace(0.01, 0.99, 50)
        x = family.quantile(alphas, params)
        _same(bool(np.all(np.diff(x) >= 0)), "the quantiles do not increase")
        back = family.cdf(x, params)
        if family.discrete:
            _same(bool(np.all(back >= alphas - 1e-9)), "the cdf at a quantile is below its level")
            _same(bool(np.all(family.cdf(x - 1, params) <= alphas + 1e-9)), "a quantile is not the smallest value")
        else:
            _close(back, alphas, 1e-8, "cdf of a quantile and its level")


def _moments(family: Family, rng: Generator) -> None:
    for _ in range(_DRAWS):
        params = _draw(family, rng)
        if family.discrete:
            k = np.arange(getattr(family, "support_top", lambda _: 10_000)(params) + 1)
            mass = family.pmf(k, params)
            mean = float(np.sum(k * mass))
            std = math.sqrt(float(np.sum((k - mean) ** 2 * mass)))
        else:
            mean, std = _quantile_moments(family, params)
        _close(float(family.mean(params)), mean, 1e-5 * max(1.0, std), "the mean and its integral", absolute=True)
        _close(float(family.std(params)), std, 1e-4, "the standard deviation and its integral")


def _quantile_moments(family: Family, params: dict[str, float]) -> tuple[float, float]:
    """Mean and standard deviation as integrals of the quantile function, in a variable that tames the tails."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    edges = np.linspace(-36.0, 36.0, 73)
    t = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * nodes).ravel()
    w = (0.5 * np.diff(edges)[:, None] * weights).ravel()
    share = 1 / (1 + np.exp(-t))
    values = family.quantile(np.clip(share, 1e-16, 1 - 1e-16), params)
    density = share * (1 - share) * w
    mean = float(np.sum(values * density))
    return mean, math.sqrt(float(np.sum((values - mean) ** 2 * density)))


def _linear(family: LocationScale, rng: Generator) -> None:
    for _ in range(_DRAWS):
        a, b = _draw(family, rng), _draw(family, rng)
        change = {name: b[name] - a[name] for name in a}
        _close(float(family.length(change)), _value(family.w1(a, b)), 1e-9, "length of a change and W1")
        for secret in typical_secrets(family):
            slopes = family.coefficients(secret)
            rise = sum(slopes[name] * change[name] for name in a)
            real = float(secret.of(family, b)) - float(secret.of(family, a))
            _close(rise, real, 1e-9 * max(1.0, abs(real)), f"linear form and values of {secret.label}", absolute=True)
            least = family.closed_gamma(secret)
            if least is not None and abs(real) > 1e-9:
                ratio = _value(family.w1(a, b)) / (2 * abs(real))
                _same(ratio >= least * (1 - 1e-9), f"gamma of {secret.label} is {least:g}, but a pair has {ratio:g}")


def _directions(family: LocationScale, rng: Generator) -> None:
    for secret in typical_secrets(family):
        slope, least = family.best_slope(secret), family.closed_gamma(secret)
        if slope is None or least is None:
            continue
        direction = family.direction(slope)
        _close(float(family.slope_of(direction) or 0.0), slope, 1e-9, "a slope and the slope of its direction")
        rate = abs(sum(family.coefficients(secret)[name] * change for name, change in direction.items()))
        ratio = float(family.length(direction)) / (2 * rate)
        _close(ratio, least, 1e-9, f"gamma of {secret.label} and the ratio along its best slope")


def _slopes(family: Ordinal, rng: Generator) -> None:
    for _ in range(_DRAWS):
        theta = _draw(family, rng)[family.parameter.name]
        low, high = theta * (1 - 1e-6), theta * (1 + 1e-6)
        for secret in typical_secrets(family):
            ends = [float(secret.of(family, {family.parameter.name: at})) for at in (low, high)]
            rise = (ends[1] - ends[0]) / (high - low)
            scale = max(1.0, abs(rise))
            _close(
                float(family.secret_slope(secret, theta)), rise, 1e-4 * scale, f"slope of {secret.label}", absolute=True
            )


# --- helpers ----------------------------------------------------------------------------------------
def _draw(family: Family, rng: Generator) -> dict[str, float]:
    """Parameters from the typical ranges; shares are normalised."""
    point = {param.name: float(rng.uniform(*param.typical)) for param in family.params}
    if isinstance(family, Categorical):
        total = sum(point.values())
        point = {name: share / total for name, share in point.items()}
    for form in family.constraints:
        if sum(c * point[name] for name, c in form.items()) <= 0:
            raise ProblemError(f"the typical ranges of {family.name!r} break {family.constraint_doc}.")
    return point


def _value(found: object) -> float:
    return float(np.asarray(found))


def _same(holds: bool, message: str) -> None:
    if not holds:
        raise ConformanceError(message)


def _close(a: object, b: object, tolerance: float, what: str, *, absolute: bool = False) -> None:
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    scale = 1.0 if absolute else np.maximum(1.0, np.abs(right))
    gap = float(np.max(np.abs(left - right) / scale))
    if not gap <= tolerance:
        raise ConformanceError(f"{what} differ by {gap:.3g}, more than {tolerance:.3g}")
