"""Distances between two members of a family: the closed form where there is one, else numerical.

The numerical routines need nothing but the distribution function (and the quantiles, to know where to
look), so a new family has both distances before anyone has derived a formula. They also check the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.numeric import zoomed
from statveil.problem.family import Family

__all__ = ["KINDS", "distance", "numerical_tv", "numerical_w1", "tv", "w1"]

KINDS = ("w1", "tv", "log-w1", "left-out")
"""Names of the distances; a family of logarithms has its W1 there, a number of rows what is left out of them."""

_CHUNK = 1 << 17
_LEVELS = np.concatenate(
    [[1e-13, 1e-9, 1e-6, 1e-4, 1e-3], np.linspace(0.01, 0.99, 25), [1 - 1e-3, 1 - 1e-4, 1 - 1e-6, 1 - 1e-9, 1 - 1e-13]]
)


@runtime_checkable
class _Counted(Protocol):
    """A discrete family that says where its counts end."""

    def support_top(self, params: Mapping[str, ArrayLike]) -> int: ...


def distance(family: Family, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike], kind: str) -> NDArray[np.float64]:
    """Distance of the named kind between two members: ``"w1"``, ``"tv"``, or ``"log-w1"``, W1 of the logarithms.

    >>> from statveil.problem.families.poisson import Poisson
    >>> float(distance(Poisson(), {"rate": 2.0}, {"rate": 5.0}, "w1"))
    3.0
    """
    if kind not in KINDS:
        raise ProblemError(unknown_name("distance", str(kind), KINDS))
    if kind not in family.distances:
        raise ProblemError(
            f"the distance {kind!r} makes no sense for the family {family.name!r}. "
            f"Allowed: {', '.join(family.distances)}."
        )
    return tv(family, a, b) if kind == "tv" else w1(family, a, b)


def w1(family: Family, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    """Wasserstein-1 distance; arrays of parameters are allowed where the family has a closed form."""
    closed = family.w1(a, b)
    return np.asarray(numerical_w1(family, _scalars(a), _scalars(b)) if closed is None else closed, dtype=np.float64)


def tv(family: Family, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    """Total variation distance; arrays of parameters are allowed where the family has a closed form."""
    closed = family.tv(a, b)
    return np.asarray(numerical_tv(family, _scalars(a), _scalars(b)) if closed is None else closed, dtype=np.float64)


def numerical_w1(family: Family, a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """W1 as the area between the two distribution functions (Vallender), without any closed form."""
    if family.discrete:
        return math.fsum(float(np.abs(family.cdf(k, a) - family.cdf(k, b)).sum()) for k in _counts(family, a, b))
    knots = _knots(family, a, b)
    if knots.size < 2:
        return 0.0

    def gap(x: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(family.cdf(x, a) - family.cdf(x, b))

    from scipy.optimize import brentq

    cuts = _with_tails(gap, knots)
    # |gap| has a kink where the functions cross: split there, so that every piece is smooth.
    fine = _refined(cuts, 16)
    values = gap(fine)
    turns = np.flatnonzero(values[:-1] * values[1:] < 0)
    crossings = [brentq(lambda x: float(gap(x)), fine[i], fine[i + 1], xtol=1e-300, rtol=1e-15) for i in turns]
    return _integral(lambda x: np.abs(gap(x)), np.unique(np.concatenate([cuts, crossings])))


def numerical_tv(family: Family, a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Total variation: half the sum of the gaps of the shares, or half the total rise and fall of F_a - F_b."""
    if family.discrete:
        return 0.5 * math.fsum(float(np.abs(family.pmf(k, a) - family.pmf(k, b)).sum()) for k in _counts(family, a, b))
    knots = _knots(family, a, b)
    if knots.size < 2:
        return 0.0

    def gap(x: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(family.cdf(x, a) - family.cdf(x, b))

    # Between its extrema F_a - F_b is monotone, and at an extremum it is flat: an error of the place is
    # an error of second order in the value.
    grid = _refined(knots, 64)
    values = gap(grid)
    rising = np.diff(values) > 0
    turns = 1 + np.flatnonzero(rising[:-1] != rising[1:])
    extrema = [_extreme(gap, grid[i - 1], grid[i + 1], 1.0 if rising[i - 1] else -1.0) for i in turns]
    return 0.5 * float(np.abs(np.diff(np.concatenate([[0.0], extrema, [0.0]]))).sum())


def _extreme(gap: Callable[[ArrayLike], NDArray[np.float64]], low: float, high: float, sign: float) -> float:
    """Largest (sign 1) or smallest (sign -1) value in a bracket."""
    return sign * zoomed(lambda x: sign * gap(x), low, high, rounds=24)[2]


def _with_tails(gap: Callable[[ArrayLike], NDArray[np.float64]], knots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add to the knots, on either side, ever wider steps until the gap is lost in rounding."""
    width = float(knots[-1] - knots[0])
    out = [knots]
    for end, sign in ((float(knots[0]), -1.0), (float(knots[-1]), 1.0)):
        for power in range(60):
            if abs(float(gap(end))) < 1e-15:
                break
            end += sign * width * 2.0 ** (power - 4)
            out.append(np.array([end]))
    return np.unique(np.concatenate(out))


def _integral(f: Callable[[NDArray[np.float64]], NDArray[np.float64]], cuts: NDArray[np.float64]) -> float:
    """Integral over consecutive pieces: ten Gauss points each, halved until both halves agree with the whole."""
    nodes, weights = np.polynomial.legendre.leggauss(10)

    def rule(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        half = 0.5 * (right - left)
        return np.asarray(half * (f(0.5 * (left + right) + half * nodes[:, None]).T @ weights))

    left, right = cuts[:-1], cuts[1:]
    whole = rule(left, right)
    total = float(whole.sum())
    done = []
    for _ in range(50):
        middle = 0.5 * (left + right)
        one, two = rule(left, middle), rule(middle, right)
        open_ = np.abs(one + two - whole) > 1e-13 * total + 1e-15 * (right - left)
        done.extend((one + two)[~open_].tolist())
        if not np.any(open_):
            return math.fsum(done)
        left, right = (np.concatenate(x) for x in ((left[open_], middle[open_]), (middle[open_], right[open_])))
        whole = np.concatenate([one[open_], two[open_]])
    return math.fsum([*done, *whole.tolist()])


def _scalars(params: Mapping[str, ArrayLike]) -> dict[str, float]:
    """Parameters as numbers, for the numerical routines."""
    for name, value in params.items():
        if np.ndim(value):
            raise ProblemError(
                f"this family has no closed form of the distance, so every parameter must be one number. "
                f"Got an array for {name!r}; call once for each value."
            )
    return {name: float(np.asarray(value, dtype=np.float64)) for name, value in params.items()}


def _counts(family: Family, a: Mapping[str, float], b: Mapping[str, float]) -> Iterator[NDArray[np.float64]]:
    """All counts that matter under ``a`` or ``b``, in pieces that fit into memory."""
    if not isinstance(family, _Counted):
        raise ProblemError(f"the discrete family {family.name!r} does not say where its counts end (support_top).")
    top = max(family.support_top(a), family.support_top(b))
    for start in range(0, top + 1, _CHUNK):
        yield np.arange(start, min(start + _CHUNK, top + 1), dtype=np.float64)


def _knots(family: Family, a: Mapping[str, float], b: Mapping[str, float]) -> NDArray[np.float64]:
    """Quantiles of both members, with the finite ends of their supports: where the functions bend."""
    levels = np.concatenate([[0.0], _LEVELS, [1.0]])
    with np.errstate(invalid="ignore", divide="ignore"):
        both = np.concatenate([family.quantile(levels, a), family.quantile(levels, b)])
    return np.unique(both[np.isfinite(both)])


def _refined(knots: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Add ``parts - 1`` points between each two knots."""
    steps = np.arange(parts) / parts
    inner = knots[:-1, None] + np.diff(knots)[:, None] * steps
    return np.append(inner.ravel(), knots[-1])
