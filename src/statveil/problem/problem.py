"""The question: what outsiders believe and know, what to hide, and how close a guess counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.numbers import positive
from statveil.problem.also import Also
from statveil.problem.axis import Axis, axis_from_json
from statveil.problem.consistency import check_structure
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.families.two_secrets import TwoSecrets
from statveil.problem.family import Family, family_from_json
from statveil.problem.location_scale import LocationScale
from statveil.problem.measure import Measure
from statveil.problem.orbit import any_shape
from statveil.problem.pair import pair_of
from statveil.problem.prior import Belief, Box, Prior, Simplex, prior_from_json
from statveil.problem.secret import Secret, secret_from_json
from statveil.problem.structure import Structure
from statveil.problem.support import Support
from statveil.problem.tolerance import Relative

__all__ = ["Problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A privacy problem, stated without any data.

    Parameters
    ----------
    family : Family, optional
        The parametric family of the column's distribution. Left out, the column may have any shape, and the prior is
        on the secret itself.
    prior : Prior, optional
        What an outsider believes about this very column, its own rows, not about a population from which they were
        drawn: without a family of the secret, a pair for a range or a density; with one of its parameters, as a
        :class:`Box` or a mapping. A categorical column takes none: every vector of shares is equally likely.
    secret : Secret
        The statistic to hide.
    tolerance : float or Relative
        A guess within this distance (closed interval) counts as a hit. Without a family also a share of the statistic,
        as in ``sv.Relative(0.05)``; ``tolerance`` is then the same in the unit of the family's parameter.
    known : Structure
        What everyone knows of such columns.
    distance : str, optional
        ``"w1"`` (the default) or ``"tv"`` where the family allows it.
    shape : str or Standard, optional
        Without a family: a public shape from which the column is redrawn by rank, whatever its structure. Its name, as
        in ``"lognorm(1)"``, a table of quantiles, a public sample, or ``"catalogue"`` for the nearest of a dozen.
    also : sequence of Also, optional
        A second secret of the same column: a standard deviation beside a mean, say. The prior is then one on each of
        the two, independent of the other; with a family also a box of its parameters, if each secret is one of them.
    """

    family: Family = None  # type: ignore[assignment]  # filled below
    secret: Secret
    tolerance: float
    prior: Prior = field(default_factory=Simplex)
    known: Structure = field(default_factory=Structure)
    distance: str = ""
    shape: Any = field(default=None, hash=False)  # the family has it too
    also: tuple[Also, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            secret: Secret,
            tolerance: float | Relative,
            family: Family | None = None,
            prior: Prior | Belief | Mapping[str, Belief] = ...,
            known: Structure = ...,
            distance: str = "",
            shape: Any = None,
            also: Sequence[Also] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.secret, Secret):
            raise ProblemError(f"the secret must be a value such as sv.Mean(). Got {self.secret!r}.")
        if isinstance(self.also, Also):
            object.__setattr__(self, "also", (self.also,))
        object.__setattr__(self, "also", tuple(self.also))
        if self.also and not isinstance(self.family, TwoSecrets):
            self._with_a_second()
        elif self.family is None:
            self._without_family()
        elif self.shape is not None and not isinstance(self.family, AnyShape):
            raise ProblemError(
                f"a shape from which the column is redrawn is for problems without a family. Got the family "
                f"{self.family.name!r}; leave one of them out."
            )
        if not isinstance(self.family, Family):
            raise ProblemError(f"the family must be a value such as sv.Gaussian(). Got {self.family!r}.")
        object.__setattr__(self, "family", self.family.close_by(self.tolerance))
        object.__setattr__(self, "tolerance", self.family.tolerated(self.tolerance))
        if isinstance(self.prior, Mapping):  # {"mu": (0, 200)} means what Box(mu=(0, 200)) says
            object.__setattr__(self, "prior", Box(self.prior))
        if isinstance(self.prior, Box):
            object.__setattr__(self, "family", self.family.stated_in(self.prior.axes))
        self.family.check_secret(self.secret)
        if not isinstance(self.prior, Prior):
            raise ProblemError(
                f"the prior must be a value such as sv.Box(mean=(0, 200)). Got {self.prior!r}; give a range, a known "
                "value or a density for each parameter."
            )
        object.__setattr__(self, "tolerance", positive(self.tolerance, "the tolerance"))
        object.__setattr__(self, "distance", self.distance or self.family.distances[0])
        if self.distance not in self.family.distances:
            raise ProblemError(
                f"the family {self.family.name!r} is not measured in {self.distance!r}. "
                f"Allowed: {', '.join(self.family.distances)}."
            )
        if isinstance(self.prior, Simplex) == self.family.takes_ranges:
            raise ProblemError(
                self.family.without_ranges()
                if not self.family.takes_ranges
                else f"the family {self.family.name!r} needs a prior for each of "
                f"{', '.join(p.name for p in self.family.params)}: a range such as "
                f"{self.family.params[0].name}=LO:HI, or what else outsiders believe ('statveil list' shows the forms)."
            )
        if isinstance(self.family, AnyShape):
            return  # all of this was looked at where its belief was put together
        object.__setattr__(self, "prior", self.prior.fit(self.family, self.known))
        self._check_not_constant()
        check_structure(self.family, self.prior, self.known)

    def _with_a_second(self) -> None:
        pair = pair_of(
            family=self.family,
            secret=self.secret,
            prior=self.prior,
            tolerance=self.tolerance,
            also=self.also,
            known=self.known,
            shape=self.shape,
        )
        object.__setattr__(self, "family", pair.family)
        object.__setattr__(self, "prior", pair.prior)
        object.__setattr__(self, "also", (pair.also,))

    @property
    def each(self) -> tuple[Problem, ...]:
        """The problem of each secret alone: itself where there is one."""
        if not self.also:
            return (self,)
        others = (replace(self, secret=one.secret, tolerance=one.tolerance, also=()) for one in self.also)
        return replace(self, also=()), *others

    def _without_family(self) -> None:
        family = any_shape(
            secret=self.secret, prior=self.prior, tolerance=self.tolerance, known=self.known, shape=self.shape
        )
        object.__setattr__(self, "family", family)
        if not isinstance(self.tolerance, Relative):
            stated = positive(self.tolerance, "the tolerance")
            object.__setattr__(self, "tolerance", family.widen(stated))
        object.__setattr__(self, "shape", None if family.model is None else family.model.settings())
        object.__setattr__(self, "prior", Box({family.parameter: family.axis}))

    def _check_not_constant(self) -> None:
        if self.secret.rough:
            return  # looked at where the function is: on the range of its parameter
        if isinstance(self.family, LocationScale) and isinstance(self.prior, Box):
            slopes = self.family.coefficients(self.secret)
            if not any(slopes[name] for name in self.prior.free):
                raise ProblemError(
                    f"the secret {self.secret.label!r} is the same for every parameter that the prior allows, so "
                    f"there is nothing to hide; give {' or '.join(n for n, s in slopes.items() if s)} a range."
                )

    @property
    def box(self) -> Box:
        """The prior as a box of independent beliefs (every family but the categorical)."""
        if not isinstance(self.prior, Box):
            raise ProblemError(f"the family {self.family.name!r} has no box of parameters.")
        return self.prior

    @property
    def support(self) -> Support:
        """Where the parameters can lie."""
        return self.prior.support(self.family)

    @property
    def share_direction(self) -> tuple[str, dict[str, float]]:
        """The hidden share, and the direction in which it grows while all others give way equally."""
        names, number = [param.name for param in self.family.params], self.secret.counted(self.family)
        assert number is not None
        give = -1.0 / (len(names) - 1)
        return names[number], {name: 1.0 if name == names[number] else give for name in names}

    def secret_of(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Value of the secret at these parameters, in its own unit."""
        return self.family.value(self.secret, params)

    def position_of(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The secret at these parameters on the scale on which a hit is two tolerances long."""
        return self.family.position(self.secret, params)

    def position(self, secret: ArrayLike) -> NDArray[np.float64]:
        """A value of the secret on that scale."""
        return self.family.coordinate(secret)

    @property
    def measure(self) -> Measure:
        """In which terms distortions of this problem are stated."""
        return self.family.measure

    def within(self, secret: float) -> float:
        """How far a guess may be off this value of the secret, in its own unit."""
        closeness = self.closeness
        return closeness.share * abs(secret) if isinstance(closeness, Relative) else closeness

    @property
    def closeness(self) -> float | Relative:
        """The tolerance as it was stated."""
        return self.family.narrow(self.tolerance) if self.family.closeness is None else self.family.closeness

    @property
    def least_tolerance(self) -> float:
        """The tolerance in the secret's own unit; a share of it where the secret is least under the prior."""
        if not isinstance(self.closeness, Relative):
            return self.closeness
        ends = [end for axis in self.beliefs for end in (axis.low, axis.high)]
        return self.within(min(ends, key=abs)) if min(ends) > 0 or max(ends) < 0 else 0.0

    @property
    def beliefs(self) -> tuple[Axis, ...]:
        """What is believed of each parameter, in the unit in which it was stated."""
        if isinstance(self.family, AnyShape):
            return (self.family.belief,)
        return tuple(self.box.axes.values())

    def sample(self, size: int, rng: Generator) -> dict[str, NDArray[np.float64]]:
        """Parameters drawn from the prior."""
        return self.prior.sample(self.family, size, rng)

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` makes the same problem."""
        if isinstance(self.family, AnyShape):
            relative = self.family.closeness
            return {
                "family": None,
                "prior": self.family.belief.to_json(),
                "secret": self.secret.to_json(),
                "tolerance": self.closeness if relative is None else relative.share,
                "tolerance_kind": "absolute" if relative is None else "relative",
                "known": self.known.to_json(),
                "distance": self.distance,
                **({} if self.shape is None else {"shape": self.shape}),
            }
        if isinstance(self.family, TwoSecrets):
            base = self.family.base
            return {
                "family": None if base is None else base.to_json(),
                "prior": self.box.axes[self.secret.label].to_json(),
                "secret": self.secret.to_json(),
                "tolerance": self.tolerance,
                "tolerance_kind": "absolute",
                "also": [one.to_json() for one in self.also],
                "known": self.known.to_json(),
                "distance": self.distance,
            }
        relative = self.family.closeness
        return {
            "family": self.family.to_json(),
            "prior": self.prior.to_json(),
            "secret": self.secret.to_json(),
            "tolerance": self.tolerance if relative is None else relative.share,
            **({} if relative is None else {"tolerance_kind": "relative"}),
            "known": self.known.to_json(),
            "distance": self.distance,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Problem:
        """The problem that :meth:`to_json` wrote."""
        kinds: dict[str, Any] = {"absolute": lambda tolerance: tolerance, "relative": Relative}
        stated = data["tolerance_kind"] if data["family"] is None else data.get("tolerance_kind", "absolute")
        if stated not in kinds:
            raise ProblemError("its kind of tolerance is none that this version knows.")
        tolerance = kinds[stated](data["tolerance"])
        if "also" in data:
            return cls(
                family=None if data["family"] is None else family_from_json(data["family"]),
                prior=axis_from_json(data["prior"]),
                secret=secret_from_json(data["secret"]),
                tolerance=tolerance,
                known=Structure.from_json(data["known"]),
                distance=data["distance"],
                also=[Also.from_json(one) for one in data["also"]],
            )
        if data["family"] is None:
            return cls(
                prior=axis_from_json(data["prior"]),
                secret=secret_from_json(data["secret"]),
                tolerance=tolerance,
                known=Structure.from_json(data["known"]),
                distance=data["distance"],
                shape=data.get("shape"),
            )
        return cls(
            family=family_from_json(data["family"]),
            prior=prior_from_json(data["prior"]),
            secret=secret_from_json(data["secret"]),
            tolerance=tolerance,
            known=Structure.from_json(data["known"]),
            distance=data["distance"],
        )
