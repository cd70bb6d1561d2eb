"""gamma of the count families: the least distance per change of the secret, over all pairs of members.

``gamma = inf (d / 2) / |g1 - g2|`` enters the limits as a lower bound, so a value that is too large makes
them false. A grid of pairs always gives a value that is too large. Under W1 the infimum is one-dimensional
and closed. Under total variation a search proposes a value, and a branch-and-bound proof shows that no
pair lies below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.numeric import Array
from statveil.problem.ordinal import Ordinal
from statveil.problem.secret import Secret
from statveil.rounding import REL_TOL

__all__ = ["CERTIFIED", "ordinal_gamma"]

CERTIFIED = 1e-6
"""No pair of members is lower than the returned gamma by more than this relative amount."""

_LADDER = (CERTIFIED, 1e-5, 1e-4, 1e-2, 0.1, 0.5)  # looser proofs, for ranges where the tight one is too long
_BUDGET = 400_000  # cells a proof may look at
_CONSTANT = 1e200  # a larger ratio means that the secret moves by nothing but underflow
_ROUNDING = 4e-15  # relative error of a distribution function


def ordinal_gamma(family: Ordinal, secret: Secret, low: float, high: float, distance: str) -> float:
    """Infimum of (d/2) / |difference of the secret| over all pairs of members in a range.

    Parameters
    ----------
    family : Ordinal
        Geometric, binomial or Poisson.
    secret : Secret
        Mean, standard deviation, or the fraction of one count.
    low, high : float
        The range of the parameter.
    distance : {"w1", "tv"}
        The distance d.

    Returns
    -------
    float
        Under W1 the closed form. Under total variation the infimum rounded down by a relative 1e-9, after
        a proof that no pair is lower by more than ``CERTIFIED``; where that proof takes too long, the
        largest value below the infimum that could be proven.

    Examples
    --------
    >>> from statveil.problem.families.geometric import Geometric
    >>> from statveil.problem.secrets.mean import Mean
    >>> round(ordinal_gamma(Geometric(), Mean(), 0.1, 0.9, "tv"), 8)
    0.01937102
    """
    if distance not in ("w1", "tv"):
        raise ProblemError(unknown_name("distance", str(distance), ("w1", "tv")))
    family.check_secret(secret)
    low, high = float(low), float(high)
    if low == high:
        raise ProblemError(_nothing_to_hide(family, secret, low, high))
    family.parameter.check_range(low, high)
    found = _w1_gamma(family, secret, low, high) if distance == "w1" else _tv_gamma(_Pairs(family, secret, low, high))
    if not found < _CONSTANT:
        raise ProblemError(_nothing_to_hide(family, secret, low, high))
    return found


def _nothing_to_hide(family: Ordinal, secret: Secret, low: float, high: float) -> str:
    name = family.parameter.name
    return (
        f"the secret {secret.label!r} is the same, in floating point, for every {name!r} from {low:g} to {high:g}, "
        f"so there is nothing to hide. Widen the range of {name!r} or choose another secret."
    )


def _w1_gamma(family: Ordinal, secret: Secret, low: float, high: float) -> float:
    """1/2 inf |mean'| / |secret'| (docs/theory.md, limits).

    W1 is the gap of the means, so by Cauchy's mean value theorem every pair's ratio is a ratio of slopes
    between them. That ratio is least at an end of the range or where it turns.
    """
    inner = [t for t in family.shape_of(secret).w1_turns if low < t < high]
    at = np.array([low, high, *inner])
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratio = np.abs(family.mean_slope(at)) / np.abs(family.secret_slope(secret, at))
    return 0.5 * float(np.min(np.where(np.isnan(ratio), np.inf, ratio)))


# --- total variation ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pairs:
    """All pairs of members in a range, with exact ranges of the slopes over sub-intervals."""

    family: Ordinal
    secret: Secret
    low: float
    high: float

    def ratio(self, a: Array, b: Array) -> Array:
        """TV / (2 |difference of the secret|); on the diagonal its limit, max_k |F_k'| / (2 |g'|)."""
        k = self.family.crossing_count(a, b)
        same = a == b
        top, bottom = self.family.cdf_gap(k, a, b), self.family.secret_gap(self.secret, a, b)
        if np.any(same):
            top = np.where(same, self.family.cdf_slope(k, a), top)
            bottom = np.where(same, self.slope(a), bottom)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.abs(top) / (2 * np.abs(bottom))
        return np.where(np.isnan(ratio), np.inf, ratio)

    def value(self, t: Array) -> Array:
        """Give the secret."""
        return self.secret.of(self.family, self.family.at(t))

    def slope(self, t: Array) -> Array:
        """Give the derivative of the secret."""
        return self.family.secret_slope(self.secret, t)

    def value_range(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Exact range of the secret over intervals: its ends and its peaks."""
        return _range(self.value(low), self.value(high), low, high, self.family.shape_of(self.secret).peaks, self.value)

    def slope_range(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Exact range of the secret's derivative over intervals: its ends and its bends."""
        return _range(self.slope(low), self.slope(high), low, high, self.family.shape_of(self.secret).bends, self.slope)

    def cdf(self, k: Array, t: Array) -> Array:
        """F_k, with the sign that makes it rise in the parameter."""
        return -np.sign(self.family.mean_slope(t)) * self.family.cdf(k, self.family.at(t))

    def steepness(self, k: Array, t: Array) -> Array:
        """Size of the derivative of F_k."""
        return np.abs(self.family.cdf_slope(k, t))

    def steepness_range(self, k: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Exact range of |F_k'| over intervals: it rises and then falls, so it is least at an end."""
        one, two = self.steepness(k, low), self.steepness(k, high)
        most = self.steepness(k, np.clip(self.family.cdf_slope_peak(k), low, high))
        return np.minimum(one, two), np.maximum(most, np.maximum(one, two))

    def least_quotient(self, k: Array, low: Array, high: Array) -> Array:
        """Least |F_k'| / |g'| over intervals, exact: at an end or at an inner minimum."""
        least = np.minimum(self._quotient(k, low), self._quotient(k, high))
        for turn in self.family.shape_of(self.secret).tv_turns(k):
            inside = (low < turn) & (turn < high)
            if np.any(inside):
                least = np.where(inside, np.minimum(least, self._quotient(k, np.where(inside, turn, low))), least)
        return least

    def _quotient(self, k: Array, t: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            quotient = self.steepness(k, t) / np.abs(self.slope(t))
        return np.where(np.isnan(quotient), 0.0, np.minimum(quotient, 1e300))


def _range(
    one: Array, two: Array, low: Array, high: Array, turns: tuple[float, ...], f: Callable[[Array], Array]
) -> tuple[Array, Array]:
    """Range over intervals from the values at their ends and at the turns inside them."""
    least, most = np.minimum(one, two), np.maximum(one, two)
    for turn in turns:
        inside = (low < turn) & (turn < high)
        if np.any(inside):
            at = float(f(np.array([turn]))[0])
            least = np.where(inside, np.minimum(least, at), least)
            most = np.where(inside, np.maximum(most, at), most)
    return least, most


def _tv_gamma(pairs: _Pairs) -> float:
    """Search, then prove; a proof that meets a lower pair sends the search there."""
    best = _search(pairs)
    if not best < _CONSTANT:
        return best
    for tolerance in _LADDER:
        for _ in range(20):
            proven, witness = _prove(pairs, best * (1 - tolerance))
            if witness is None:
                break
            reach = 0.01 * (pairs.high - pairs.low)
            best = min(best, _follow_kinks(pairs, *_polish(pairs, *witness, reach), reach))
        if proven:
            return best * (1 - (REL_TOL if tolerance == CERTIFIED else tolerance))
    raise ProblemError(
        f"no lower bound of gamma could be proven for {pairs.family!r} with {pairs.family.parameter.name!r} from "
        f"{pairs.low:g} to {pairs.high:g}. Narrow the range, or use the distance 'w1'."
    )


def _search(pairs: _Pairs) -> float:
    """Least ratio found: a grid of pairs with its diagonal, each local minimum of it polished."""
    fine = np.geomspace(1e-4, 0.4, 14)
    part = np.unique(np.concatenate([np.linspace(0, 1, 41), fine, 1 - fine]))
    grid = pairs.low + (pairs.high - pairs.low) * part
    grid[-1] = pairs.high
    a, b = np.meshgrid(grid, grid, indexing="ij")
    upper = a <= b
    values = np.full(a.shape, np.inf)
    values[upper] = pairs.ratio(a[upper], b[upper])
    padded = np.pad(values, 1, constant_values=np.inf)
    size = len(grid)
    around = [padded[1 + i : 1 + i + size, 1 + j : 1 + j + size] for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    is_low = np.isfinite(values) & (values <= np.min(around, axis=0))
    places = np.argwhere(is_low)
    least = float(np.min(values))
    if not math.isfinite(least):
        return least
    order = [i for i in np.argsort(values[is_low], kind="stable")[:4] if values[is_low][i] < 1.5 * least]
    reach = 0.03 * (pairs.high - pairs.low)
    polished = [_polish(pairs, float(grid[i]), float(grid[j]), reach) for i, j in places[order]]
    return _follow_kinks(pairs, *min(polished), reach)


def _polish(pairs: _Pairs, a: float, b: float, reach: float) -> tuple[float, float, float]:
    """Least ratio near a pair, and where, by a shrinking window; edges and the diagonal need no care."""
    steps = np.linspace(-1, 1, 11)
    best = float(pairs.ratio(np.array([a]), np.array([b]))[0])
    for _ in range(60):
        one, two = np.meshgrid(
            np.clip(a + reach * steps, pairs.low, pairs.high), np.clip(b + reach * steps, pairs.low, pairs.high)
        )
        values = pairs.ratio(np.minimum(one, two).ravel(), np.maximum(one, two).ravel())
        i = int(np.argmin(values))
        if values[i] < best:
            best, a, b = float(values[i]), float(one.flat[i]), float(two.flat[i])
        reach *= 0.6
    return best, a, b


def _follow_kinks(pairs: _Pairs, best: float, a: float, b: float, reach: float) -> float:
    """Go along the kinks: a window in a and b follows the valley of a kink badly, and minima like to sit there."""
    count = np.floor(pairs.family.crossing(a, b))
    return min([best, *(_along_kink(pairs, m, a, reach) for m in (count, count + 1))])


def _along_kink(pairs: _Pairs, m: Array, a: float, reach: float) -> float:
    """Least ratio near ``a`` over the pairs whose shares cross exactly at the count ``m``."""
    best = math.inf
    for _ in range(30):
        one = np.clip(a + reach * np.linspace(-1, 1, 15), pairs.low, pairs.high)
        low, high = one, np.full(one.shape, pairs.high)
        rising = pairs.family.crossing(low, low) <= m  # k' is monotone in b: one root at most
        reached = rising != (pairs.family.crossing(low, high) < m)
        for _ in range(55):
            middle = 0.5 * (low + high)
            short = (pairs.family.crossing(one, middle) < m) == rising
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        values = np.where(reached, pairs.ratio(one, high), np.inf)
        i = int(np.argmin(values))
        if values[i] < best:
            best, a = float(values[i]), float(one[i])
        reach *= 0.5
    return best


# --- the proof ------------------------------------------------------------------------------------


def _prove(pairs: _Pairs, target: float) -> tuple[bool, tuple[float, float] | None]:
    """Whether every pair has a ratio of at least ``target``; else a pair that has not, if one was met.

    The triangle of pairs is cut into squares on the diagonal and rectangles off it; whatever no bound
    settles is halved.
    """
    squares = np.array([[pairs.low, pairs.high]])
    cells = np.empty((0, 4))
    seen = 0
    while len(squares) or len(cells):
        seen += len(squares) + len(cells)
        if seen > _BUDGET:
            return False, None
        squares = squares[~_local(pairs, target, squares[:, 0], squares[:, 1])]
        cells = cells[~_far(pairs, target, cells)]
        cells = cells[~_local(pairs, target, cells[:, 0], cells[:, 3])]
        cells = cells[~_separable(pairs, target, cells)]
        start, end = squares[:, 0], squares[:, 1]
        middle = 0.5 * (start + end)
        one = np.concatenate([middle, 0.5 * (cells[:, 0] + cells[:, 1])])
        two = np.concatenate([middle, 0.5 * (cells[:, 2] + cells[:, 3])])
        if len(one):
            values = pairs.ratio(one, two)
            worst = int(np.argmin(values))
            if values[worst] < target:
                return False, (float(one[worst]), float(two[worst]))
            if np.any((middle <= start) | (middle >= end)):
                return False, None  # below the spacing of floating point
        squares = np.concatenate([np.stack([start, middle], axis=1), np.stack([middle, end], axis=1)])
        cells = np.concatenate([_quarters(cells), np.stack([start, middle, middle, end], axis=1)])
    return True, None


def _quarters(cells: Array) -> Array:
    a1, b1, a2, b2 = cells.T
    m1, m2 = 0.5 * (a1 + b1), 0.5 * (a2 + b2)
    return np.concatenate(
        [np.stack([x, y, u, v], axis=1) for x, y in ((a1, m1), (m1, b1)) for u, v in ((a2, m2), (m2, b2))]
    )


def _far(pairs: _Pairs, target: float, cells: Array) -> NDArray[np.bool_]:
    """Bound d below by TV of the nearest pair (stochastic order), and |difference of g| above over the cell."""
    a1, b1, a2, b2 = cells.T
    nearest = np.abs(pairs.family.cdf_gap(pairs.family.crossing_count(b1, a2), b1, a2))
    (low1, high1), (low2, high2) = pairs.value_range(a1, b1), pairs.value_range(a2, b2)
    return nearest > 2 * target * np.maximum(high2 - low1, high1 - low2) + _ROUNDING


def _local(pairs: _Pairs, target: float, low: Array, high: Array) -> NDArray[np.bool_]:
    """All pairs inside [low, high]: for any one k the ratio is at least 1/2 min |F_k'| / |g'| (Cauchy)."""
    middle = 0.5 * (low + high)
    centre = pairs.family.crossing_count(middle, middle)
    enough = np.zeros(low.shape, dtype=np.bool_)
    for shift in (0, -1, 1):
        k = np.clip(centre + shift, 0, pairs.family.last_count - 1)
        enough |= pairs.least_quotient(k, low, high) >= 2 * target
    return enough


def _separable(pairs: _Pairs, target: float, cells: Array) -> NDArray[np.bool_]:
    """TV >= G(b) - G(a) for any mixture G of the F_k, so it is enough that psi(b) >= psi(a) on the cell.

    Here psi = G - sign * 2 target g, for both signs. The bound is a minimum over b minus a maximum over a,
    each one-dimensional and exact to second order in the width. The mixture of two neighbours k is what
    makes it tight where the k of the total variation changes: minima like to sit on that kink.
    """
    if not len(cells):
        return np.zeros(0, dtype=np.bool_)
    family = pairs.family
    a1, b1, a2, b2 = cells.T
    ends, m1, m2 = (a1, b1, a2, b2), 0.5 * (a1 + b1), 0.5 * (a2 + b2)
    crossing = family.crossing(m1, m2)
    k = family.crossing_count(m1, m2)
    beside = np.clip(np.where(crossing - k > 0.5, k + 1, k - 1), 0, family.last_count - 1)
    cdfs = [[pairs.cdf(kk, t) for t in ends] for kk in (k, beside)]
    ranges = [[pairs.steepness_range(kk, x, y) for x, y in ((a1, b1), (a2, b2))] for kk in (k, beside)]
    centre = [[pairs.steepness(kk, t) for t in (m1, m2)] for kk in (k, beside)]
    quotients = [[pairs.least_quotient(kk, x, y) for x, y in ((a1, b1), (a2, b2))] for kk in (k, beside)]
    values = [pairs.value(t) for t in ends]
    slopes = [pairs.slope_range(a1, b1), pairs.slope_range(a2, b2)]
    middle_slopes = [pairs.slope(m1), pairs.slope(m2)]
    noise = _ROUNDING * (1 + 2 * target * np.maximum(np.abs(values[0]), np.abs(values[3])))
    settled = np.ones(len(cells), dtype=np.bool_)
    for sign in (1.0, -1.0):
        pull = sign * 2 * target
        # The mixture whose psi is flattest at the centre: least squares in one weight, cut to [0, 1].
        gaps = [centre[0][i] - centre[1][i] for i in (0, 1)]
        rests = [centre[1][i] - pull * middle_slopes[i] for i in (0, 1)]
        scale = gaps[0] ** 2 + gaps[1] ** 2
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            weight = np.clip(-(gaps[0] * rests[0] + gaps[1] * rests[1]) / scale, 0.0, 1.0)
        passed = np.zeros(len(cells), dtype=np.bool_)
        for w in (np.ones(len(cells)), np.where(scale > 0, weight, 1.0)):
            psi = [w * cdfs[0][i] + (1 - w) * cdfs[1][i] - pull * values[i] for i in range(4)]
            rise = []
            for i in (0, 1):
                least = w * ranges[0][i][0] + (1 - w) * ranges[1][i][0]
                most = w * ranges[0][i][1] + (1 - w) * ranges[1][i][1]
                down, up = pull * slopes[i][0 if sign > 0 else 1], pull * slopes[i][1 if sign > 0 else 0]
                # where G' >= 2 target |g'| throughout, psi cannot fall, whatever the two ranges say
                rises = w * quotients[0][i] + (1 - w) * quotients[1][i] >= 2 * target
                rise.append((np.where(rises, np.maximum(least - up, 0.0), least - up), most - down))
            highest = -_least(-psi[0], -psi[1], -rise[0][1], -rise[0][0], b1 - a1)
            passed |= _least(psi[2], psi[3], *rise[1], b2 - a2) - highest >= noise
        settled &= passed
    return settled


def _least(left: Array, right: Array, slow: Array, fast: Array, width: Array) -> Array:
    """Lower bound of a function on an interval from its end values and the range [slow, fast] of its slope."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        meeting = (fast * left - slow * right + slow * fast * width) / (fast - slow)
    return np.where(slow >= 0, left, np.where(fast <= 0, right, np.minimum(meeting, np.minimum(left, right))))
