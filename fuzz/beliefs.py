"""What outsiders believe about one parameter, made anew from a plan's JSON with SciPy alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["Belief", "belief", "members", "of_logarithm"]

Array = NDArray[np.float64]

_LEVELS = np.concatenate(
    [10.0 ** np.arange(-10, -2, 1.5), np.linspace(0.005, 0.995, 23), 1 - 10.0 ** np.arange(-2.5, -11, -1.5)]
)


@dataclass(frozen=True, kw_only=True)
class Belief:
    """A density on ``[low, high]``; ``knots`` are where it may bend, and places dense in its mass."""

    low: float
    high: float
    pdf: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    ppf: Callable[[Array], Array]
    knots: Array
    flat: bool = False

    @property
    def known(self) -> bool:
        """Whether there is a single value."""
        return self.high <= self.low

    @property
    def unimodal(self) -> bool:
        """Whether the density rises, then falls, as far as 2,000 points can tell."""
        heights = self.pdf(self._points)
        step = np.sign(np.diff(heights)) * (np.abs(np.diff(heights)) > 1e-12 * heights.max())
        step = step[step != 0]
        return bool(np.all(np.diff(step) <= 0))

    @property
    def log_concave(self) -> bool:
        """Whether the logarithm of the density is concave, as far as 2,000 points can tell."""
        if self.flat:
            return True
        x = self._points
        with np.errstate(divide="ignore"):
            y = np.log(self.pdf(x))
        keep = np.isfinite(y)
        slope = np.diff(y[keep]) / np.diff(x[keep])
        return bool(np.all(np.diff(slope) <= 1e-6 * (1 + np.abs(slope[1:]))))

    @property
    def _points(self) -> Array:
        inner = self.ppf(np.linspace(1e-6, 1 - 1e-6, 1000))
        return np.unique(np.concatenate([inner, np.linspace(self.low, self.high, 1002)[1:-1], self.knots[1:-1]]))


def belief(data: Mapping[str, Any], *, bounds: tuple[float, float] = (-math.inf, math.inf)) -> Belief:
    """The belief that a JSON object of a plan states; ``bounds`` are those of the parameter's domain."""
    kind = data["kind"]
    if kind == "known":
        at = float(data["value"])
        return _made(at, at, lambda x: np.ones(np.shape(x)), lambda x: np.ones(np.shape(x)), lambda u: at + 0 * u, [])
    if kind == "flat":
        low, high = float(data["low"]), float(data["high"])
        wide = high - low
        return Belief(
            low=low,
            high=high,
            pdf=lambda x: np.where((x >= low) & (x <= high), 1 / wide, 0.0),
            cdf=lambda x: np.clip((x - low) / wide, 0.0, 1.0),
            ppf=lambda u: low + wide * u,
            knots=np.array([low, high]),
            flat=True,
        )
    if kind == "table":
        return _table(np.array(data["values"], dtype=float), np.array(data["weights"], dtype=float))
    if kind == "elicited":
        return _elicited(data, bounds)
    if kind == "density":
        return _density(data)
    if kind == "log":
        return _log_steps(np.log([data["low"], data["high"]]), np.zeros(2))
    raise ValueError(f"no single density: {kind}")


def _made(
    low: float,
    high: float,
    pdf: Callable[[Array], Array],
    cdf: Callable[[Array], Array],
    ppf: Callable[[Array], Array],
    bends: list[float],
) -> Belief:
    inner = np.clip(ppf(_LEVELS), low, high)
    more = np.array([x for x in bends if low < x < high])
    knots = np.unique(np.concatenate([[low, high], inner, more]))
    return Belief(low=low, high=high, pdf=pdf, cdf=cdf, ppf=ppf, knots=knots)


def _density(data: Mapping[str, Any]) -> Belief:
    frozen = getattr(stats, data["name"])(*data["args"])
    low, high = float(data["low"]), float(data["high"])
    upper = bool(frozen.cdf(low) > 0.5)  # differences of survival functions do not cancel up there

    def tail(x: Array) -> Array:
        return np.asarray(-frozen.sf(x) if upper else frozen.cdf(x), dtype=float)

    below, whole = float(tail(np.array(low))), float(tail(np.array(high)) - tail(np.array(low)))

    def ppf(u: Array) -> Array:
        inner = below + whole * np.asarray(u)
        return np.asarray(np.clip(frozen.isf(-inner) if upper else frozen.ppf(inner), low, high))

    place = [float(x) for x in frozen.support() if np.isfinite(x)]
    shapes, loc, scale = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
    bends = [*place, float(loc), float(loc + scale * shapes[0]) if len(shapes) else float(loc)]
    return _made(
        low,
        high,
        lambda x: np.where((x >= low) & (x <= high), frozen.pdf(x) / whole, 0.0),
        lambda x: np.clip((tail(np.clip(x, low, high)) - below) / whole, 0.0, 1.0),
        ppf,
        bends,
    )


def _elicited(data: Mapping[str, Any], bounds: tuple[float, float]) -> Belief:
    """``sure`` of a normal cut at 4 standard deviations lies between a and b, on the natural scale."""
    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    stretch: Callable[[Array], Array]
    finite = [math.isfinite(end) for end in bounds]
    if all(finite):
        bottom, wide = bounds[0], bounds[1] - bounds[0]
        to, back = (lambda x: _logit((x - bottom) / wide)), (lambda y: bottom + wide * _expit(y))
        stretch = lambda x: wide / ((x - bottom) * (bottom + wide - x))  # noqa: E731  (one of three)
    elif any(finite):  # the distance from the one end
        end, side = (bounds[0], 1.0) if finite[0] else (bounds[1], -1.0)
        to, back = (lambda x: side * np.log(side * (x - end))), (lambda y: end + side * np.exp(side * y))
        stretch = lambda x: 1 / (side * (x - end))  # noqa: E731  (one of three)
    else:
        to, back, stretch = np.asarray, np.asarray, (lambda x: np.ones(np.shape(x)))
    a, b, sure = float(data["a"]), float(data["b"]), float(data["sure"])
    cut = stats.truncnorm(-4, 4)
    middle = 0.5 * (float(to(a)) + float(to(b)))
    sd = 0.5 * (float(to(b)) - float(to(a))) / float(cut.ppf(0.5 + 0.5 * sure))
    low, high = float(back(middle - 4 * sd)), float(back(middle + 4 * sd))

    def z(x: Array) -> Array:
        return np.asarray((to(np.clip(x, low, high)) - middle) / sd)

    return _made(
        low,
        high,
        lambda x: (
            np.where((x >= low) & (x <= high), np.exp(-0.5 * z(x) ** 2) * stretch(np.clip(x, low, high)), 0.0)
            / (sd * math.sqrt(2 * math.pi) * math.erf(4 / math.sqrt(2)))
        ),
        lambda x: np.asarray(cut.cdf(z(x))),
        lambda u: np.clip(back(middle + sd * cut.ppf(u)), low, high),
        [a, b],
    )


def _logit(x: Any) -> Any:
    return np.log(x) - np.log1p(-np.asarray(x))


def _expit(y: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(y)))


def _table(x: Array, weights: Array) -> Belief:
    mass = np.concatenate([[0.0], np.cumsum(np.diff(x) * (weights[1:] + weights[:-1]) / 2)])
    height, below = weights / mass[-1], mass / mass[-1]
    rise = np.diff(height) / np.diff(x)

    def cdf(at: Array) -> Array:
        at = np.clip(at, x[0], x[-1])
        i = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
        step = at - x[i]
        return np.asarray(np.clip(below[i] + height[i] * step + 0.5 * rise[i] * step**2, 0.0, 1.0))

    def ppf(u: Array) -> Array:
        i = np.clip(np.searchsorted(below, u, side="right") - 1, 0, len(x) - 2)
        rest = np.maximum(u - below[i], 0.0)
        root = np.sqrt(np.maximum(height[i] ** 2 + 2 * rise[i] * rest, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(rest > 0, 2 * rest / (height[i] + root), 0.0)
        return np.asarray(np.clip(x[i] + step, x[i], x[i + 1]))

    return _made(float(x[0]), float(x[-1]), lambda at: np.interp(at, x, height, left=0.0, right=0.0), cdf, ppf, list(x))


def of_logarithm(data: Mapping[str, Any], believed: Belief, sign: float) -> Belief:
    """The belief about ``sign`` ln x where ``data`` states the one about x."""
    low, high = sorted((sign * math.log(believed.low), sign * math.log(believed.high)))
    if data["kind"] == "log":
        return belief({"kind": "flat", "low": low, "high": high})

    def back(at: Array) -> Array:
        return np.asarray(np.clip(np.exp(sign * np.clip(at, low, high)), believed.low, believed.high))

    def ppf(u: Array) -> Array:
        return np.asarray(np.clip(sign * np.log(believed.ppf(u if sign > 0 else 1 - u)), low, high))

    return _made(
        low,
        high,
        lambda at: np.where((at >= low) & (at <= high), believed.pdf(back(at)) * back(at), 0.0),
        lambda at: believed.cdf(back(at)) if sign > 0 else 1 - believed.cdf(back(at)),
        ppf,
        [float(x) for x in sign * np.log(believed.knots)],
    )


def _log_steps(y: Array, heights: Array) -> Belief:
    """x whose logarithm has a density that is e to a broken line through (y, heights)."""
    width, top = np.diff(y), np.exp(heights - heights.max())
    rate = np.diff(heights) / width
    safe = np.where(rate == 0, 1.0, rate)

    def grown(i: Any, step: Array) -> Array:
        return np.asarray(top[i] * np.where(rate[i] == 0, step, np.expm1(safe[i] * step) / safe[i]))

    mass = np.concatenate([[0.0], np.cumsum(grown(np.arange(len(width)), width))])
    low, high = float(np.exp(y[0])), float(np.exp(y[-1]))

    def place(x: Array) -> tuple[Any, Array]:
        at = np.clip(np.log(np.clip(x, low, high)), y[0], y[-1])
        i = np.clip(np.searchsorted(y, at, side="right") - 1, 0, len(width) - 1)
        return i, at - y[i]

    def pdf(x: Array) -> Array:
        i, step = place(x)
        inside = (x >= low) & (x <= high)
        return np.where(inside, top[i] * np.exp(rate[i] * step) / mass[-1] / np.clip(x, low, high), 0.0)

    def cdf(x: Array) -> Array:
        i, step = place(x)
        return np.asarray(np.clip((mass[i] + grown(i, step)) / mass[-1], 0.0, 1.0))

    def ppf(u: Array) -> Array:
        wanted = np.clip(u, 0.0, 1.0) * mass[-1]
        i = np.clip(np.searchsorted(mass, wanted, side="right") - 1, 0, len(width) - 1)
        rest = (wanted - mass[i]) / top[i]
        step = np.where(rate[i] == 0, rest, np.log1p(np.maximum(safe[i] * rest, -1 + 1e-300)) / safe[i])
        return np.asarray(np.clip(np.exp(y[i] + np.clip(step, 0.0, width[i])), low, high))

    return _made(low, high, pdf, cdf, ppf, [float(x) for x in np.exp(y)])


def _log_members(data: Mapping[str, Any], periods: tuple[float, ...]) -> list[Belief]:
    """Densities whose logarithm changes by at most the slope: straight lines, single tents, rows of tents."""
    low, high, slope = math.log(data["low"]), math.log(data["high"]), float(data["slope"])
    shapes = [np.array([low, high])]
    lines = [np.zeros(2)]
    for sign in (1, -1):
        shapes.append(np.array([low, high]))
        lines.append(sign * slope * np.array([0.0, high - low]))
    for share in (0.2, 0.5, 0.8):
        y = np.array([low, low + share * (high - low), high])
        shapes.append(y)
        lines.append(-slope * np.abs(y - y[1]))
    for period in periods:
        if (high - low) / 200 < period < high - low:
            for phase in (0.0, 0.25, 0.5, 0.75):
                turns = np.arange(low + (phase - 1) * period, high + period, 0.5 * period)
                y = np.unique(np.concatenate([[low, high], turns[(turns > low) & (turns < high)]]))
                shapes.append(y)
                lines.append(-slope * np.abs((y - low - phase * period + 0.5 * period) % period - 0.5 * period))
    return [_log_steps(y, line) for y, line in zip(shapes, lines, strict=True)]


def members(data: Mapping[str, Any], *, periods: tuple[float, ...] = ()) -> list[Belief]:
    """Densities of a Lipschitz class: flat, steepest up and down, single tents, rows of tents of these periods."""
    if data["kind"] == "log-slope":
        return _log_members(data, periods)
    low, high, floor, slope = (float(data[key]) for key in ("low", "high", "floor", "slope"))
    wide = high - low
    rest = max(0.0, 1 - floor * wide)
    found = [belief({"kind": "flat", "low": low, "high": high})]
    if slope == 0 or rest <= 0:
        return found
    shapes: list[Callable[[Array], Array]] = []
    for place in (low, high, low + 0.5 * wide, low + 0.3 * wide, low + 0.75 * wide):
        shapes.append(lambda x, p=place: -slope * np.abs(x - p))  # type: ignore[misc]
    for period in periods:
        if wide / 400 < period < wide:
            for phase in (0.0, 0.25, 0.5, 0.75):
                shapes.append(
                    lambda x, p=period, s=phase: -slope * np.abs((x - low - s * p + 0.5 * p) % p - 0.5 * p)  # type: ignore[misc]
                )
    for shape in shapes:
        found.append(_lifted(shape, low, high, floor, rest, [*periods]))
    return found


def _lifted(
    shape: Callable[[Array], Array], low: float, high: float, floor: float, rest: float, periods: list[float]
) -> Belief:
    """max(floor, shape + level) with the level at which the mass is 1: as peaked as the class allows there."""
    grid = [np.linspace(low, high, 4001)]
    for period in periods:
        if period > (high - low) / 400:
            for phase in (0.0, 0.25, 0.5, 0.75):
                start = low + phase * period
                grid.append(np.arange(start - period, high, 0.5 * period))
    x = np.unique(np.clip(np.concatenate([*grid, low + (high - low) * np.array([0.3, 0.75])]), low, high))
    y = shape(x)
    a, b = -float(y.max()), (1 / (high - low)) * 2 + floor - float(y.min())
    for _ in range(200):
        level = 0.5 * (a + b)
        if float(np.trapezoid(np.maximum(y + level - floor, 0.0), x)) > rest:
            b = level
        else:
            a = level
    # interpolating max(floor, .) on the points keeps the slope within the class
    height = np.maximum(y + a, floor)
    rise = np.diff(height) / np.diff(x)
    bends = np.concatenate([[True], np.abs(np.diff(rise)) > 1e-9 * (np.abs(rise).max() + 1e-300), [True]])
    return _table(x[bends], height[bends])
