"""Shape(of): a column of any public shape, X = loc + scale Z."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.axis import Axis
from statveil.problem.domain import Param
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.secret import Secret
from statveil.problem.secrets.iqr import Iqr
from statveil.problem.shapes.reading import standard_of
from statveil.problem.shapes.standard import Standard

__all__ = ["Shape"]

_LOCATIONS = {
    "mean": "mean",
    "median": "median",
    "min": "smallest value",
    "max": "largest value",
    "loc": "location: where Z = 0 lies",
}
_SCALES = {"std": "standard deviation", "iqr": "distance of the quartiles", "scale": "scale: the unit of Z"}
_BESIDE = {"mean": "std", "median": "iqr", "loc": "scale", "min": "std", "max": "std"}


class Shape(LocationScale):
    """Columns X = loc + scale Z, where everyone knows the shape Z and nobody its location and scale.

    Parameters
    ----------
    of : str, mapping or sequence
        A continuous distribution of SciPy with its shape arguments, as in ``"lognorm(1)"``; a table of quantiles
        ``{0: 1, 0.5: 3, 1: 20}``; or a public sample. A sample or a table must be public: taken from the private
        column it publishes that column.
    parameters : pair of str, optional
        What the prior is about: one of ``mean``, ``median``, ``min``, ``max``, ``loc`` and one of ``std``, ``iqr``,
        ``scale``. Left out, the names in the prior decide. ``loc`` and ``scale`` are SciPy's.

    Examples
    --------
    >>> import statveil as sv
    >>> prior = sv.Box(median=(20, 60), iqr=(5, 40))
    >>> sv.Problem(family=sv.Shape("lognorm(1)"), prior=prior, secret=sv.Quantile(0.95), tolerance=1).family
    Shape('lognorm(1)', parameters=('median', 'iqr'))
    """

    name: ClassVar[str] = "shape"
    doc: ClassVar[str] = "any public shape that is moved and stretched, written shape:lognorm(1)"
    secrets: ClassVar[tuple[str, ...]] = ("mean", "std", "quantile")
    in_paper: ClassVar[bool] = False
    prefix: ClassVar[str] = ""
    """What the names of all parameters begin with."""

    def __init__(self, of: Any, *, parameters: Sequence[str] | None = None) -> None:
        self.standard: Standard = standard_of(of)
        self._stated = parameters is not None
        place, unit = self._checked(parameters) if parameters is not None else self._default()
        z = self.standard
        low, high = z.support
        self._centre = {"mean": z.mean, "median": z.median, "min": low, "max": high, "loc": 0.0}[place]
        self._unit = {"std": z.std, "iqr": z.iqr, "scale": 1.0}[unit]
        if not (math.isfinite(self._centre) and math.isfinite(self._unit) and self._unit > 0):
            raise ProblemError(self._no_such(place if not math.isfinite(self._centre) else unit))
        self._plain = place, unit
        place, unit = self.prefix + place, self.prefix + unit
        # what other families say once, for all of their members, depends here on the shape and on its parameters
        vars(self).update(
            parameters=(place, unit),
            secrets=self._secrets(),
            quantile_ends=(math.isfinite(low), math.isfinite(high)),
            coordinates={unit: {unit: 1.0}, place: {place: 1.0}},
            location=place,
            shift={place: 1.0},
            loc_form={place: 1.0},
            scale_form={unit: 1.0},
            minimum=place if low == self._centre else None,
            maximum=place if high == self._centre else None,
        )

    def _secrets(self) -> tuple[str, ...]:
        z = self.standard
        left = [("mean", math.isfinite(z.mean)), ("std", math.isfinite(z.std)), ("quantile", True)]
        return tuple(kind for kind, there in left if there)

    def _default(self) -> tuple[str, str]:
        return ("mean", "std") if math.isfinite(self.standard.std) else ("median", "iqr")

    def _checked(self, parameters: Sequence[str]) -> tuple[str, str]:
        given, start = tuple(str(name) for name in parameters), self.prefix
        plain = tuple(name.removeprefix(start) for name in given if name.startswith(start))
        if len(given) != 2 or len(plain) != 2 or plain[0] not in _LOCATIONS or plain[1] not in _SCALES:
            raise ProblemError(
                f"the parameters of a {self.name} are one of {', '.join(start + name for name in _LOCATIONS)} and one "
                f"of {', '.join(start + name for name in _SCALES)}. Got {given!r}; write for example "
                f"parameters=({start + 'median'!r}, {start + 'iqr'!r})."
            )
        return plain[0], plain[1]

    def _no_such(self, what: str) -> str:
        if what == "iqr":
            return (
                f"the quartiles of the shape {self.standard.label} coincide, so its scale cannot be told by 'iqr'; "
                "state the prior in std instead."
            )
        if what in ("min", "max"):
            return (
                f"the shape {self.standard.label} has no {_LOCATIONS[what]}, so no prior can be stated in {what!r}; "
                "state it in median, as in --prior median=LO:HI."
            )
        if math.isfinite(self.standard.mean):
            return (
                f"the shape {self.standard.label} has no finite standard deviation, so no prior can be stated in "
                f"{what!r}; state it in iqr, as in --prior iqr=LO:HI, and hide the mean or a quantile."
            )
        return self._no_mean(f"so no prior can be stated in {what!r}")

    def _no_mean(self, so: str) -> str:
        return (
            f"the shape {self.standard.label} has no finite mean, {so}: any stretch of it has an infinite W1. What is "
            "left is to move it: hide a quantile, such as the median, with a prior of median=LO:HI and "
            "a publicly known iqr=X."
        )

    @classmethod
    def example(cls) -> Shape:
        return cls("lognorm(1)")

    parameters: tuple[str, str]
    """Names of the two parameters."""

    @property
    def label(self) -> str:
        return f"{self.name}:{self.standard.label}"

    @property
    def params(self) -> tuple[Param, ...]:
        (place, unit), (about, wide) = self.parameters, self._plain
        return (
            Param(name=place, typical=(-10.0, 10.0), doc=_LOCATIONS[about]),
            Param(name=unit, low=0.0, typical=(0.5, 5.0), doc=_SCALES[wide]),
        )

    def settings(self) -> dict[str, Any]:
        return {"of": self.standard.to_json(), "parameters": list(self.parameters)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.standard.label!r}, parameters={self.parameters!r})"

    def assumes(self) -> tuple[str, ...]:
        return (
            f"The shape {self.standard.label} was chosen from public knowledge, not from this column, and tells "
            "nothing of where the column lies or how wide it is.",
        )

    def stated_in(self, axes: Mapping[str, Axis]) -> Shape:
        found = self
        if not self._stated:
            places, units = ([n for n in names if self.prefix + n in axes] for names in (_LOCATIONS, _SCALES))
            by_unit = next((n for n, beside in _BESIDE.items() if beside in units[:1]), self._plain[0])
            place = places[0] if places else by_unit
            unit = units[0] if units else (_BESIDE[place] if places else self._plain[1])
            found = type(self)(self.standard, parameters=(self.prefix + place, self.prefix + unit))
        scale = axes.get(found.parameters[1])
        if not math.isfinite(self.standard.mean) and scale is not None and not scale.known:
            raise ProblemError(self._no_mean(f"so its {found.parameters[1]!r} cannot be hidden"))
        return found

    def check_secret(self, secret: Secret) -> None:
        parts = secret.linear(self)
        if parts is not None and not secret.fits(self) and not all(map(math.isfinite, parts)):
            if not math.isfinite(self.standard.mean):
                raise ProblemError(self._no_mean(f"so its {secret.text} cannot be hidden"))
            raise ProblemError(
                f"the {secret.text} of the shape {self.standard.label} is infinite, so there is nothing to hide; hide "
                "its mean or a quantile, such as the median, with a prior of median=LO:HI and iqr=LO:HI."
            )
        super().check_secret(secret)

    # --- the standard variable, in the unit of the parameters ---------------------------------
    @property
    def z_mean(self) -> float:
        return (self.standard.mean - self._centre) / self._unit

    @property
    def z_std(self) -> float:
        return self.standard.std / self._unit

    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        return (self.standard.quantile(alpha) - self._centre) / self._unit

    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        return self.standard.cdf(self._centre + self._unit * np.asarray(z, dtype=np.float64))

    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        return (self.standard.sample(size, rng) - self._centre) / self._unit

    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        # |b| E|Z - x| with the pivot x = -a / b, which stays where it is; |a| where b = 0
        shift, stretch = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            pivot = self._centre - shift * self._unit / stretch
            inside = np.isfinite(pivot)
            moved = np.abs(stretch) / self._unit * self.standard.away(np.where(inside, pivot, self._centre))
        # a pivot beyond all numbers: the shift, and at most what the stretch does about the centre
        return np.where(stretch == 0, np.abs(shift), np.where(inside, moved, np.abs(shift) + moved))

    def z_trimmed(self, share: float) -> float:
        z = self.standard
        if not math.isfinite(z.mean):
            return super().z_trimmed(share)
        # int_0^u Q = u Q(u) - E(Q(u) - Z)^+, whatever bends and jumps Q has, and likewise from above
        low, high = z.quantile(share), z.upper_quantile(share)
        ends = float(share * (low + high) - z.below(low) + z.above(high))
        return ((z.mean - ends) / (1 - 2 * share) - self._centre) / self._unit

    # --- the best direction -------------------------------------------------------------------
    def direction(self, slope: float) -> Form:
        place, unit = self.parameters
        return {place: slope, unit: 1.0}

    def slope_of(self, direction: Form) -> float | None:
        place, unit = self.parameters
        rise = direction.get(unit, 0.0)
        return direction.get(place, 0.0) / rise if rise else None

    def shift_optimum(self, q: float) -> tuple[float | None, float] | None:
        if not math.isfinite(self.standard.mean):
            return None
        if q == self.z_mean:
            return None, 0.5
        pivot, gamma = self.standard.best_pivot(self._centre + self._unit * q)
        return None if pivot is None else (self._centre - pivot) / self._unit, gamma

    def scale_optimum(self) -> tuple[float | None, float] | None:
        return None if math.isinf(self.z_std) else self._stretch_optimum(self.z_std)

    def _stretch_optimum(self, rate: float) -> tuple[float | None, float]:
        """For a secret rate * scale: the stretch about the median moves least; its W1 without the rounding up."""
        z = self.standard
        size = float(z.away(z.median)) - 8 * z.error
        return (self._centre - z.median) / self._unit, size / self._unit / (2 * abs(rate)) * (1 - 1e-15)

    def _optimum(self, secret: Secret) -> tuple[float | None, float] | None:
        parts = secret.linear(self)
        if parts is None or not math.isfinite(self.standard.mean) or not all(map(math.isfinite, parts)):
            return None
        moves, stretches = parts
        if not moves:  # without the standard deviation, which need not exist
            return self._stretch_optimum(stretches)
        found = self.shift_optimum(stretches / moves)
        return None if found is None else (found[0], found[1] / abs(moves))

    # --- what a column is measured by ---------------------------------------------------------
    def measured_place(self) -> Secret:
        from statveil.problem.secrets.quantile import Quantile

        robust = self._plain[0] == "median" or not math.isfinite(self.standard.mean)
        return Quantile(0.5) if robust else super().measured_place()

    def measured_spread(self) -> Secret:
        robust = self._plain[1] == "iqr" or not math.isfinite(self.standard.std)
        return Iqr() if robust else super().measured_spread()
