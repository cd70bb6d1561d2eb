"""A distribution of SciPy, cut to a range."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.problem.axis import Axis, check_finite_range, turning_points

__all__ = ["Density", "in_scipys_terms"]

_ALIASES = {"normal": "norm", "lognormal": "lognorm", "exponential": "expon", "student": "t"}
_FORMS = {
    "norm": "normal(M,S), mean and standard deviation",
    "lognorm": "lognormal(M,S), mean and standard deviation of the logarithm; or SciPy's lognorm(s,loc,scale)",
    "expon": "exponential(S), the mean; or exponential(FROM,S)",
    "t": "student(DF,M,S)",
    "beta": "beta(A,B,LO,LENGTH), shapes, lower end and length",
    "gamma": "gamma(A,FROM,S), shape, lower end and scale",
    "uniform": "uniform(LO,LENGTH)",
}
"""How people write the usual ones."""
_SLOW = ("levy_stable", "studentized_range")


@dataclass(frozen=True, init=False)
class Density(Axis):
    """A continuous distribution of :mod:`scipy.stats`, truncated to ``[low, high]``.

    Parameters
    ----------
    name : str or frozen distribution
        ``"normal"``, ``"lognormal"`` or any continuous name of SciPy; or a frozen distribution.
    args : sequence of float
        Its arguments in SciPy's order: for ``normal`` the mean and the standard deviation. Beside SciPy's,
        ``lognormal`` takes the mean and the standard deviation of the logarithm, and ``exponential`` the mean alone.
    low, high : float
        The range to which it is cut.
    """

    name: str
    args: tuple[float, ...]
    low: float
    high: float
    kind: ClassVar[str] = "density"

    def __init__(self, name: Any, args: Sequence[float] = (), *, low: float, high: float) -> None:
        if hasattr(name, "dist"):  # a frozen distribution: take it apart, so that it can be written to JSON
            shapes, location, scale = name.dist._parse_args(*name.args, **name.kwds)
            name, args = name.dist.name, (*map(float, shapes), float(location), float(scale))
        known, given = in_scipys_terms(str(name), tuple(float(a) for a in args))
        object.__setattr__(self, "name", known)
        object.__setattr__(self, "args", given)
        low, high = check_finite_range("a density", low, high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        self._check()

    def _check(self) -> None:
        """Refuse a density without mass in the range, or one that its distribution function contradicts."""
        low, high = self.low, self.high
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._check_stretched()
            mass = abs(self._tail(high) - self._tail(low))
            if not (math.isfinite(mass) and mass > 1e-12):
                raise ProblemError(
                    f"the density {self.label} has no mass between {low:g} and {high:g}; "
                    "choose arguments that put it there, or another range."
                )
            # the density, integrated between its own quantiles, must give the mass between them
            spots = np.concatenate([np.linspace(low, high, 1001), np.clip(self._frozen.support(), low, high)])
            bounded = bool(np.all(np.isfinite(self._frozen.pdf(spots))))
            levels = 1 / (1 + np.exp(-np.linspace(-18.0, 18.0, 145)))
            cuts = self.ppf(levels)
            nodes, weights = np.polynomial.legendre.leggauss(12)
            half = 0.5 * np.diff(cuts)
            x = 0.5 * (cuts[1:] + cuts[:-1])[:, None] + half[:, None] * nodes
            parts = half * (self.pdf(x) * weights).sum(axis=1)
        if not (bounded and np.all(np.diff(cuts) >= 0) and np.all(np.abs(parts - np.diff(levels)) <= 1e-4)):
            raise ProblemError(
                f"the density {self.label} is infinite, jumps, or is no density between {low:g} and {high:g}; "
                "narrow the range, or state it as a table of values."
            )

    def _check_stretched(self) -> None:
        """Refuse beta(2,3) on 0:100: it lies between 0 and 1, which is hardly what was meant."""
        start, stop = self._frozen.support()
        shapes_only = len(self.args) == self._frozen.dist.numargs
        if shapes_only and math.isfinite(stop - start) and (self.low < start or stop < self.high):
            width = self.high - self.low
            raise ProblemError(
                f"the density {self.label} lies between {start:g} and {stop:g}, not on all of {self.low:g}:"
                f"{self.high:g}. Write {self.name}({','.join(f'{a:g}' for a in (*self.args, self.low, width))}) to "
                f"stretch it over the range, or state a range between {start:g} and {stop:g}."
            )

    @property
    def label(self) -> str:
        """The density as people write it."""
        return f"{self.name}({','.join(f'{a:g}' for a in self.args)})"

    @cached_property
    def _frozen(self) -> Any:
        from scipy import stats

        found = getattr(stats, self.name, None)
        if not isinstance(found, stats.rv_continuous):
            names = [n for n, d in vars(stats).items() if isinstance(d, stats.rv_continuous)]
            raise ProblemError(unknown_name("density", self.name, sorted([*names, *_ALIASES, "between", "lipschitz"])))
        if self.name in _SLOW:
            raise ProblemError(f"SciPy's {self.name} is too slow to plan with; state it as a table of values.")
        shapes = f"{found.shapes}, " if found.shapes else ""
        # a distribution without shapes must state where and how wide it is: normal(M,S), never normal(M)
        usable = len(self.args) in ((2,) if not found.numargs else (found.numargs, found.numargs + 2))
        if usable:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frozen = found(*self.args)
                usable = bool(np.isfinite(frozen.cdf(0.0)))
        if not usable:
            usual = f"Write {_FORMS[self.name]}. " if self.name in _FORMS else ""
            raise ProblemError(
                f"the density {self.label} does not accept these arguments. Got {list(self.args)}. {usual}"
                f"SciPy's {self.name} takes {shapes}loc, scale (scale above 0)."
            )
        return frozen

    @cached_property
    def _upper(self) -> bool:
        """Whether the range lies in the upper tail, where differences of the cdf would cancel."""
        return bool(self._frozen.cdf(self.low) > 0.5)

    def _tail(self, x: ArrayLike) -> NDArray[np.float64]:
        """Mass below ``x``, or minus the mass above it: differences of either are masses between."""
        if self.name == "norm":
            from scipy.special import ndtr

            below = -ndtr(-self._from_centre(x)) if self._upper else ndtr(self._from_centre(x))
        else:
            below = -self._frozen.sf(x) if self._upper else self._frozen.cdf(x)
        return np.asarray(below, dtype=np.float64)

    def _height(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The density on the whole line."""
        if self.name != "norm":
            return np.asarray(self._frozen.pdf(x), dtype=np.float64)
        return np.asarray(np.exp(-(self._from_centre(x) ** 2) / 2.0) / math.sqrt(2 * math.pi) / self.args[1])

    def _from_centre(self, x: ArrayLike) -> NDArray[np.float64]:
        """Standard deviations from the centre of a normal density, whose formulas SciPy has too, behind many checks."""
        return (np.asarray(x, dtype=np.float64) - self.args[0]) / self.args[1]

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self._tail(self.low)), float(self._tail(self.high))

    @cached_property
    def _turns(self) -> NDArray[np.float64]:
        ends = np.clip(self._frozen.support(), self.low, self.high)
        with np.errstate(all="ignore"):
            return np.unique(np.concatenate([turning_points(self), ends]))

    @cached_property
    def _landmarks(self) -> NDArray[np.float64]:
        return super().landmarks

    @property
    def turns(self) -> NDArray[np.float64]:
        return self._turns

    @property
    def landmarks(self) -> NDArray[np.float64]:
        return self._landmarks

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        below, above = self._ends
        inside = (at >= self.low) & (at <= self.high)
        return np.where(inside, self._height(at) / (above - below), 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        below, above = self._ends
        at = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
        return np.clip((self._tail(at) - below) / (above - below), 0.0, 1.0)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        below, above = self._ends
        inner = below + (above - below) * np.asarray(u, dtype=np.float64)
        found = self._frozen.isf(-inner) if self._upper else self._frozen.ppf(inner)
        return np.clip(np.asarray(found, dtype=np.float64), self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "args": list(self.args), "low": self.low, "high": self.high}


def in_scipys_terms(name: str, args: tuple[float, ...]) -> tuple[str, tuple[float, ...]]:
    """SciPy's name and arguments of a density as people write it: ``lognormal(M,S)``, ``exponential(S)``."""
    if name == "lognormal" and len(args) == 2:
        return "lognorm", (args[1], 0.0, math.exp(min(args[0], 700.0)))
    if name == "exponential" and len(args) == 1:
        return "expon", (0.0, args[0])
    return _ALIASES.get(name, name), args
