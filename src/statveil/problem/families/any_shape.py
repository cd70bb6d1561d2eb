"""No family at all: the prior is on the secret itself, and the column keeps its shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.axis import Axis
from statveil.problem.domain import Param
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.measure import Measure
from statveil.problem.model import Model
from statveil.problem.priors.logged import logged
from statveil.problem.secret import SECRETS, Secret
from statveil.problem.tolerance import Relative

__all__ = ["VALUE", "AnyShape"]

VALUE = "value"
"""How the secret is called where parameters go by name."""


class AnyShape(LocationScale):
    """What a problem without a family is about: one number, the secret, that a map moves along the column's orbit.

    All rows are shifted, scaled about a bound that stays, or stretched about the column's own centre until the secret
    is the released one. What the map cannot change (the shape) says nothing about the size, by assumption, so the risk
    is that of one parameter (docs/theory.md, orbits).

    Parameters
    ----------
    secret : Secret
        The statistic.
    belief : Axis
        What outsiders believe of it.
    log : bool
        Whether closeness is relative: then the parameter is the logarithm of the secret, with the sign by which its
        belief is dense at the lower end.
    about : float, optional
        The point that stays where it is, if there is one.
    inside : bool
        Whether rows may lie on both sides of that point, as it is a frequent value and no bound.
    between : pair of float, optional
        The two bounds that stay, if both are known.
    closeness : Relative, optional
        The tolerance as it was stated, where it was stated as a share.
    model : Model, optional
        The public shape from which the column is redrawn; no map keeps the column's own then.
    """

    name: ClassVar[str] = "any"
    doc: ClassVar[str] = "any shape: the prior is on the statistic itself"
    secrets: ClassVar[tuple[str, ...]] = ()
    portable: ClassVar[bool] = False  # made from the problem around it
    shapeless: ClassVar[bool] = True

    def __init__(
        self,
        *,
        secret: Secret,
        belief: Axis,
        log: bool = False,
        about: float | None = None,
        inside: bool = False,
        between: tuple[float, float] | None = None,
        closeness: Relative | None = None,
        model: Model | None = None,
    ) -> None:
        self._check_follows(secret)
        self.secret, self.belief, self.log, self.about, self.closeness = secret, belief, log, about, closeness
        self.inside, self.between, self.model = inside, between, model
        self.widened = closeness is not None and not log  # steps are equal in the unit of the column alone
        self.axis, self.sign = logged(belief) if log else (belief, 1.0)
        unit = "ln" if log else VALUE
        self.parameter = unit if self.sign > 0 else "-ln"
        self.coordinates: Mapping[str, Form] = {self.parameter: {self.parameter: 1.0}}  # type: ignore[misc]
        self.location = self.parameter  # type: ignore[misc]
        self.loc_form: Form = {self.parameter: 1.0}  # type: ignore[misc]
        self.shift: Form = {self.parameter: 1.0} if self.moves == "shift" else {}  # type: ignore[misc]

    def _check_follows(self, secret: Secret) -> None:
        """Refuse a secret that does not follow a shift of the rows."""
        if secret.per_shift is None and secret.apart is None:
            portable = {kind: cls.examples()[0] for kind, cls in SECRETS.items() if cls.portable}
            known = sorted(kind for kind, one in portable.items() if one.per_shift is not None or one.apart is not None)
            raise ProblemError(
                f"without a family the secret must follow a shift of the rows whatever their shape, and "
                f"{secret.label!r} does not say how. Allowed: {', '.join(known)}; or state a family."
            )

    # --- what is known of the orbit -----------------------------------------------------------
    @property
    def moves(self) -> str:
        """How rows are moved: ``shift``, ``scale`` about a point that stays, and so on.

        ``stretch`` about the own centre, ``odds`` between bounds, ``model`` where they are redrawn; for a secret of two
        groups as it says itself.
        """
        if self.model is not None:
            return "model"
        if self.secret.apart is not None:
            return self.secret.apart.kind
        if self.between is not None:
            return "odds"
        if self.about is not None:
            return "scale"
        return "shift" if self.secret.per_shift else "stretch"

    def value(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        at = np.asarray(params[self.parameter], dtype=np.float64)
        return np.exp(self.sign * at) if self.log else at

    def position(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return np.asarray(params[self.parameter], dtype=np.float64)

    def coordinate(self, value: ArrayLike) -> NDArray[np.float64]:
        """The parameter of a value of the secret; a value without a logarithm is beyond every range."""
        at = np.asarray(value, dtype=np.float64)
        if not self.log:
            return at
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.sign * np.where(at > 0, np.log(at), -math.inf)

    @property
    def edges(self) -> tuple[float, float]:
        """How far the two ends of the belief lie from what a scaling leaves where it is, in the secret's own unit."""
        fixed = (self.secret.per_shift or 0.0) * (self.about or 0.0)
        return abs(self.belief.low - fixed), abs(self.belief.high - fixed)

    @property
    def away(self) -> tuple[float, float]:
        """The nearer and the farther one of them."""
        return min(self.edges), max(self.edges)

    @property
    def in_rows(self) -> float | None:
        """W1 per unit of the secret, where it does not depend on the shape; an upper bound for a spread."""
        if self.model is not None:  # what is stated is how far the statistic moves, per row
            return 1 / (self.secret.times_mean or self.secret.per_shift or 1.0)
        if self.secret.apart is not None:
            return self.secret.apart.in_rows
        # where all rows move the same way W1 is the change of the mean
        if self.secret.times_mean is not None and not self.inside:
            return 1 / self.secret.times_mean
        if self.moves == "shift":
            return 1 / (self.secret.per_shift or 1.0)
        if self.moves == "stretch":
            return self.secret.most_spread
        return None

    @property
    def measure(self) -> Measure:
        """In which terms its distortions are stated."""
        ends = abs(self.belief.low), abs(self.belief.high)
        least = 0.0 if self.belief.low < 0 < self.belief.high else min(ends)
        rows, (near, far) = self.in_rows, self.away
        own = rows is not None and self.moves != "stretch"  # W1 is the same for every shape
        if self.log:
            # of the statistic; where rows depend on the shape, of their mean distance from the point that stays
            factors = [1.0] if own or not near else [end / away for end, away in zip(ends, self.edges, strict=True)]
            absolute = None if rows is None else rows * max(ends)
            return Measure(
                log=True,
                middle=self._in_the_middle and self.secret.apart is None,
                absolute=absolute,
                relative=max(factors),
                kind="relative",
                least=min(factors),
                part=1.0 if self.secret.apart is None else self.secret.apart.of_logarithm,
            )
        if self.secret.apart is not None:
            return Measure(absolute=1.0)
        if own:
            return Measure(relative=1 / (rows * least) if rows and least else None)
        return Measure(absolute=rows, relative=1 / near, kind="relative", least=1 / far)

    def largest_change(self, stated: float) -> float:
        """By how much at most a release with this distortion changes the secret, in its own unit."""
        inner = self.measure.of_plan(stated)
        if self.log:
            share = math.tanh(inner) if self._shrinks else math.expm1(inner)
            return share * max(abs(self.belief.low), abs(self.belief.high))
        return inner / float(self.z_distance(1.0, 0.0))

    def largest_factor(self, stated: float) -> float:
        """By how much at most the rows are stretched about what stays by a release with this distortion."""
        if self.secret.apart is not None:
            return 1 + stated if self.log else 1.0
        if self.moves not in ("scale", "stretch"):
            return 1.0
        if not self.log:
            return 1 + self.largest_change(stated) / self.away[0]
        share = self.largest_change(stated) / max(abs(self.belief.low), abs(self.belief.high))
        ends = abs(self.belief.low), abs(self.belief.high)
        return 1 + share * max(end / edge for end, edge in zip(ends, self.edges, strict=True))

    def shrunk(self, stated: float) -> float:
        """The factor by which releases lie below the middle of their class, so that both its ends move by one share.

        For a half-length d of the logarithms it is 1 / cosh d, as the harmonic mean 2AB / (A + B) of the ends says.
        """
        return 1 / math.cosh(self.measure.of_plan(stated)) if self._shrinks else 1.0

    def rows_shrunk(self, stated: float) -> float:
        """The factor of all rows of two groups beside the one that moves them apart, so that none moves by more.

        With x the share of a group in the largest change of the logarithm, a group at either end of its class would
        move by e^x - 1 in one direction and by 1 - e^-x in the other; times 1 / cosh x both are tanh x, the least that
        can be. Everyone can work it out from the plan, so it tells nothing.
        """
        return 1 / math.cosh(self.measure.part * self.measure.of_plan(stated)) if self.log else 1.0

    @property
    def _shrinks(self) -> bool:
        """Whether the secret is released below the middle of its class."""
        return self.log and not self._in_the_middle

    def unshrunk(self, params: Mapping[str, ArrayLike], stated: float) -> Mapping[str, ArrayLike]:
        if not self.log:
            return params
        here = self.value(self.secret, params) if self.parameter in params else np.asarray(params[VALUE])
        return {VALUE: np.clip(here / self.shrunk(stated), self.belief.low, self.belief.high)}

    @property
    def _in_the_middle(self) -> bool:
        """Whether a release must not leave its class: it could pass the bound about which the column is scaled.

        Nor does that of two groups: what is shrunk there are the rows.
        """
        if self.model is not None:
            return bool(self.model.known.fixed_points)
        return bool(self.about) or self.between is not None or self.secret.apart is not None

    def tolerated(self, tolerance: float | Relative) -> float:
        """A tolerance in the unit of the parameter, rounded up."""
        if not isinstance(tolerance, Relative):
            return tolerance
        return tolerance.in_logarithm if self.log else tolerance.below(self.belief.high)

    # --- what the theory asks of a family of one parameter -------------------------------------
    @property
    def params(self) -> tuple[Param, ...]:
        typical = (self.axis.low, self.axis.high)
        return (Param(name=self.parameter, typical=typical, doc=f"the {self.secret.label}, in its coordinate"),)

    def settings(self) -> dict[str, Any]:
        closeness = None if self.closeness is None else self.closeness.share
        between = None if self.between is None else list(self.between)
        orbit = {"log": self.log, "about": self.about, "inside": self.inside, "between": between}
        orbit |= {"relative": closeness} | ({} if self.model is None else {"shape": self.model.settings()})
        return {"secret": self.secret.label, "belief": self.belief.to_json(), **orbit}

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyShape) and self.settings() == other.settings()

    def __hash__(self) -> int:
        return hash(str(self.settings()))

    def check_secret(self, secret: Secret) -> None:
        if secret != self.secret:
            raise ProblemError("a problem without a family has one secret, that of its prior; state a new problem.")

    def coefficients(self, secret: Secret) -> Form:
        return {self.parameter: 1.0}

    def closed_gamma(self, secret: Secret) -> float:
        return 0.5 * float(self.z_distance(1.0, 0.0))

    def z_distance(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        unit = 1.0 if self.measure.kind == "relative" or self.in_rows is None else self.in_rows
        return unit * np.abs(np.asarray(a, dtype=np.float64))

    # --- a column of unknown shape has no distribution -----------------------------------------
    def _none(self) -> ProblemError:
        return ProblemError(
            f"a problem without a family knows nothing of the column but its {self.secret.label}; state a family where "
            "a distribution is needed."
        )

    @property
    def z_mean(self) -> float:
        return 0.0

    @property
    def z_std(self) -> float:
        return 1.0

    def z_quantile(self, alpha: ArrayLike) -> NDArray[np.float64]:
        raise self._none()

    def z_cdf(self, z: ArrayLike) -> NDArray[np.float64]:
        raise self._none()

    def z_sample(self, size: int, rng: Generator) -> NDArray[np.float64]:
        raise self._none()

    def mean(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        raise self._none()

    def std(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        raise self._none()
