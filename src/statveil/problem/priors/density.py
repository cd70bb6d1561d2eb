"""A distribution of SciPy, cut to a range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.problem.axis import Axis, check_finite_range

__all__ = ["Density"]

_ALIASES = {"normal": "norm", "lognormal": "lognorm", "exponential": "expon", "student": "t"}


@dataclass(frozen=True, init=False)
class Density(Axis):
    """A continuous distribution of :mod:`scipy.stats`, truncated to ``[low, high]``.

    Parameters
    ----------
    name : str or frozen distribution
        ``"normal"``, ``"lognormal"`` or any continuous name of SciPy; or a frozen distribution.
    args : sequence of float
        Its arguments in SciPy's order: for ``normal`` the mean and the standard deviation.
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
        object.__setattr__(self, "name", _ALIASES.get(str(name), str(name)))
        object.__setattr__(self, "args", tuple(float(a) for a in args))
        low, high = check_finite_range("a density", low, high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        frozen = self._frozen
        mass = float(frozen.cdf(high) - frozen.cdf(low))
        if not (math.isfinite(mass) and mass > 1e-12):
            raise ProblemError(
                f"the density {self.label} has no mass between {low:g} and {high:g}; "
                "choose arguments that put it there, or another range."
            )
        if not np.all(np.isfinite(frozen.pdf(np.linspace(low, high, 1001)))):
            raise ProblemError(
                f"the density {self.label} is infinite somewhere between {low:g} and {high:g}; narrow the range."
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
            raise ProblemError(unknown_name("density", self.name, sorted([*names, *_ALIASES])))
        try:
            frozen = found(*self.args)
            usable = bool(np.isfinite(frozen.cdf(0.0)))
        except TypeError:
            usable = False
        if not usable:
            shapes = f"{found.shapes}, " if found.shapes else ""
            raise ProblemError(
                f"the density {self.label} does not accept these arguments. Got {list(self.args)}; "
                f"SciPy's {self.name} takes {shapes}loc, scale (scale above 0)."
            )
        return frozen

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self._frozen.cdf(self.low)), float(self._frozen.cdf(self.high))

    def pdf(self, x: ArrayLike) -> NDArray[np.float64]:
        at = np.asarray(x, dtype=np.float64)
        below, above = self._ends
        inside = (at >= self.low) & (at <= self.high)
        return np.where(inside, self._frozen.pdf(at) / (above - below), 0.0)

    def cdf(self, x: ArrayLike) -> NDArray[np.float64]:
        below, above = self._ends
        at = np.clip(np.asarray(x, dtype=np.float64), self.low, self.high)
        return np.asarray((self._frozen.cdf(at) - below) / (above - below), dtype=np.float64)

    def ppf(self, u: ArrayLike) -> NDArray[np.float64]:
        below, above = self._ends
        inner = below + (above - below) * np.asarray(u, dtype=np.float64)
        return np.clip(self._frozen.ppf(inner), self.low, self.high)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "args": list(self.args), "low": self.low, "high": self.high}
