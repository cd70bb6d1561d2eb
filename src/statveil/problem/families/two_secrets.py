"""Two statistics of one column as its parameters: where it lies, and how wide it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.domain import Param
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.secret import Secret

__all__ = ["TwoSecrets"]


class TwoSecrets(LocationScale):
    """What a problem with two secrets is about: the pair of them, that an affine map of the rows moves anywhere.

    With a public shape X = loc + scale Z the pair is an invertible linear image of (loc, scale). Without one the rows
    move as ``place' + (spread' / spread) (x - place)``, and W1 is bounded over all shapes
    (docs/theory.md, two secrets of one column).

    Parameters
    ----------
    place, spread : Secret
        The statistic that moves with the column, and the one that only stretches with it.
    base : LocationScale, optional
        The family whose shape the column has; ``None`` where it may have any.
    first : str
        Label of the one of the two that was stated first.
    """

    name: ClassVar[str] = "two-secrets"
    doc: ClassVar[str] = "two statistics of one column, moved together"
    secrets: ClassVar[tuple[str, ...]] = ()
    portable: ClassVar[bool] = False  # made from the problem around it

    def __init__(self, *, place: Secret, spread: Secret, base: LocationScale | None, first: str) -> None:
        self.place, self.spread, self.base, self.first = place, spread, base, first
        one, two = place.label, spread.label
        rate, reach, width = self._parts()
        # place = rate loc + reach scale, spread = width scale
        self.loc_form: Form = {one: 1 / rate, two: -reach / (rate * width)}  # type: ignore[misc]
        self.scale_form: Form = {two: 1 / width}  # type: ignore[misc]
        self.coordinates: Mapping[str, Form] = {one: {one: 1.0}, two: {two: 1.0}}  # type: ignore[misc]
        self.location = one  # type: ignore[misc]
        self.shift: Form = {one: rate}  # type: ignore[misc]
        if base is not None:
            self.quantile_ends = base.quantile_ends  # type: ignore[misc]

    def _parts(self) -> tuple[float, float, float]:
        """Place per unit of loc and of scale, and spread per unit of scale."""
        if self.base is None:  # loc and scale are the two statistics themselves
            return self.place.per_shift or 1.0, 0.0, 1.0
        moves, stretches = self.place.linear(self.base), self.spread.linear(self.base)
        assert moves is not None
        assert stretches is not None
        return moves[0], moves[1], stretches[1]

    @property
    def label(self) -> str:
        return "any" if self.base is None else self.base.label

    @property
    def column_text(self) -> str:
        return "a column of any shape" if self.base is None else self.base.column_text

    @property
    def params(self) -> tuple[Param, ...]:
        place = Param(name=self.place.label, typical=(-10.0, 10.0), doc=f"the {self.place.text}")
        spread = Param(name=self.spread.label, low=0.0, typical=(0.5, 5.0), doc=f"the {self.spread.text}")
        return (place, spread) if self.first == self.place.label else (spread, place)

    def settings(self) -> dict[str, Any]:
        base = None if self.base is None else self.base.to_json()
        return {"base": base, "place": self.place.label, "spread": self.spread.label, "first": self.first}

    def assumes(self) -> tuple[str, ...]:
        beside = (
            f"What outsiders believe of its {self.place.label} does not depend on its {self.spread.label}, and the "
            "other way round."
        )
        if self.base is not None:
            return beside, *self.base.assumes()
        return beside, f"The shape of the column tells nothing about its {self.place.label} and {self.spread.label}."

    # --- the two secrets -----------------------------------------------------------------------
    def check_secret(self, secret: Secret) -> None:
        if secret in (self.place, self.spread):
            return
        if self.base is None:
            raise ProblemError(
                f"a problem without a family knows nothing of the column but its {self.place.label} and its "
                f"{self.spread.label}; state a new problem for the {secret.label}."
            )
        self.base.check_secret(secret)

    def coefficients(self, secret: Secret) -> Form:
        for own in (self.place, self.spread):
            if secret == own:
                return {param.name: 1.0 if param.name == own.label else 0.0 for param in self.params}
        return super().coefficients(secret)

    def value(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        if secret in (self.place, self.spread):
            return np.asarray(params[secret.label], dtype=np.float64)
        return super().value(secret, params)

    def position(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return self.value(secret, params)

    def measured_place(self) -> Secret:
        return self.place

    def measured_spread(self) -> Secret:
        return self.spread

    def closed_gamma(self, secret: Secret) -> float | None:
        """That of the shape; of all shapes that of the worst one, as its distortion is stated so."""
        if self.base is not None:
            return self.base.closed_gamma(secret)
        # a shape that lies at its place but for rare rows far away moves as its place does; two values, each with half
        # of the rows, are stretched by the change of their spread, whatever the pivot
        return 0.5 / abs(self.place.per_shift or 1.0) if secret == self.place else 0.5

    # --- the standard variable ------------------------------------------------------------------
    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """E|a + b Z|; without a shape the largest that it can be, or a bound on that."""
        if self.base is not None:
            return self.base.z_distance(a, b)
        one, two = np.abs(np.asarray(a, dtype=np.float64)), np.abs(np.asarray(b, dtype=np.float64))
        if self.place.times_mean is not None:
            return np.hypot(one, two)  # E Z = 0, E Z^2 = 1: Cauchy-Schwarz, attained by two values
        assert self.place.most_away is not None
        return one + self.place.most_away * two

    @property
    def z_mean(self) -> float:
        return 0.0 if self.base is None else self.base.z_mean

    @property
    def z_std(self) -> float:
        return 1.0 if self.base is None else self.base.z_std

    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        if self.base is None:
            raise self._none()
        return self.base.z_quantile(alpha)

    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        if self.base is None:
            raise self._none()
        return self.base.z_cdf(z)

    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        if self.base is None:
            raise self._none()
        return self.base.z_sample(size, rng)

    def z_trimmed(self, share: float) -> float:
        if self.base is None:
            raise self._none()
        return self.base.z_trimmed(share)

    def _none(self) -> ProblemError:
        return ProblemError(
            f"a problem without a family knows nothing of the column but its {self.place.label} and its "
            f"{self.spread.label}; state a family where a distribution is needed."
        )
