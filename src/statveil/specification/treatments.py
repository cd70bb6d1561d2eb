"""What is done with one column: hidden, kept, dropped, moved with another one, or recomputed after the release."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from statveil.design.methods import METHODS
from statveil.design.target import MaxRisk, target
from statveil.errors import ProblemError, StatveilError, unknown_name
from statveil.numbers import number, positive
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.specification.expressions import Expression
from statveil.specification.placed import PlacedError, at
from statveil.spelling import parse_amount, parse_family, parse_known, parse_priors, parse_secret, parse_shape

__all__ = ["Budget", "Derive", "Drop", "HiddenSecret", "Hide", "Keep", "Link", "Treatment"]

DEPENDENCES = ("independent", "comonotone", "worst")
MINIMISED = ("total", "euclidean", "worst")
_MOST_DIGITS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenSecret:
    """One statistic of a column that is hidden, spelled as on the command line."""

    secret: str
    """``mean``, ``quantile:0.9``, ``std`` and so on."""
    prior: tuple[str, ...] = ()
    """``("10:50",)``; with a family one text for each parameter, as in ``("mu=0:100", "sigma=5:10")``."""
    tolerance: str
    """``"5%"`` or ``"0.5"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hide:
    """A column whose statistics are hidden under a plan of its own.

    Examples
    --------
    >>> wage = Hide(secrets=(HiddenSecret(secret="mean", prior=("10:50",), tolerance="5%"),), max_risk=0.2)
    >>> wage.problems[0].secret.label, wage.target
    ('mean', {'max_risk': 0.2})
    """

    secrets: tuple[HiddenSecret, ...]
    known: str | None = None
    """Public structure, as in ``"min=0,step=1"``."""
    max_risk: float | None = None
    max_distortion: float | Relative | None = None
    bin: float | None = None
    """At most one of these three is set: the column's own target. Without one the budget of the table is split."""
    method: str = "auto"
    shape: str | None = None
    family: str | None = None
    trials: int | None = None
    categories: int | None = None
    labels: tuple[str, ...] | None = None
    distance: str = ""
    round_digits: int | None = None
    """Decimals of the released numbers."""
    accept: tuple[str, ...] = ()
    """Leaks that are accepted by name, as in ``("order",)``."""
    group: str | None = None
    """A column whose equal values mark rows that hold one and the same hidden value, as of one person in a panel; they
    are moved together."""
    problems: tuple[Problem, ...] = field(init=False, compare=False, repr=False)
    """What is asked of each secret, in their order."""

    def __post_init__(self) -> None:
        if not self.secrets:
            raise PlacedError('a hidden column needs a statistic to hide, as in hide = "mean".', ("hide",))
        given = {"max_risk": self.max_risk, "max_distortion": self.max_distortion, "bin": self.bin}
        several = [name for name, value in given.items() if value is not None]
        if len(several) > 1:
            raise PlacedError(f"a column has one target. Got {' and '.join(several)}; keep one of them.", (several[1],))
        for name in several:
            with at(name):
                value = given[name]
                target(**{name: value.share if isinstance(value, Relative) else value})
        if self.method not in ("auto", *METHODS):
            raise PlacedError(unknown_name("method", self.method, ["auto", *METHODS]), ("method",))
        digits = self.round_digits
        if digits is not None and not -_MOST_DIGITS <= digits <= _MOST_DIGITS:
            raise PlacedError(
                f"the decimals of the released numbers lie between {-_MOST_DIGITS} and {_MOST_DIGITS}. Got {digits}.",
                ("round",),
            )
        object.__setattr__(self, "problems", tuple(self._problem(i) for i in range(len(self.secrets))))
        labels = [problem.secret.label for problem in self.problems]
        for i, label in enumerate(labels):
            if label in labels[:i]:
                raise PlacedError(f"the secret {label!r} is named twice; keep one of them.", ("hide", i))

    @property
    def target(self) -> dict[str, Any]:
        """The column's own target as ``plan`` takes it; empty where the budget decides."""
        given = {"max_risk": self.max_risk, "max_distortion": self.max_distortion, "bin": self.bin}
        return {name: value for name, value in given.items() if value is not None}

    def _problem(self, place: int) -> Problem:
        one = self.secrets[place]
        with _in_a_file():
            with at("hide", place):
                secret = parse_secret(one.secret)
            if secret.of_table:
                raise PlacedError(
                    f"the {secret.label} of a table are no statistic of a column, and a specification cannot hide them "
                    "yet: release the table under a plan of their own, and its part under the specification.",
                    ("hide", place),
                )
            if secret.of_columns:
                raise PlacedError(
                    f"the {secret.label} is about two columns, and a specification hides one column at a time: release "
                    "the table under a plan of its own ('statveil release', without --spec), or write the two columns "
                    "below each other, with a column of labels, and hide how these groups compare.",
                    ("hide", place),
                )
            settings = {"trials": self.trials, "categories": self.categories, "labels": self.labels}
            stray = [key for key, value in settings.items() if value is not None and self.family is None]
            if stray:
                raise PlacedError(f'{stray[0]!r} is for a family; name it, as in family = "categorical".', (stray[0],))
            with at("family"):
                if self.family is not None and self.shape is not None:
                    raise ProblemError(
                        "'shape' redraws a column without a family; leave out 'family', or write the shape there, as "
                        'in family = "shape:lognorm(1)".'
                    )
                if any("," in label for label in self.labels or ()):
                    raise PlacedError("a label must not contain a comma.", ("labels",))
                labels = None if self.labels is None else ",".join(self.labels)
                family = (
                    None
                    if self.family is None
                    else parse_family(self.family, trials=self.trials, categories=self.categories, labels=labels)
                )
            with at("shape"):
                shape = parse_shape(self.shape)
            with at("known"):
                known = parse_known(self.known)
            with at("hide", place, "prior"):
                prior = parse_priors(one.prior, named=family is not None)
            with at("hide", place, "tolerance"):
                tolerance = parse_amount(one.tolerance, "the tolerance")
                if not isinstance(tolerance, Relative):
                    positive(tolerance, "the tolerance")
            stated: dict[str, Any] = {} if prior is None else {"prior": prior}
            with at("hide", place):
                return Problem(
                    family=family,
                    secret=secret,
                    tolerance=tolerance,
                    known=known,
                    distance=self.distance,
                    shape=shape,
                    **stated,
                )
        raise AssertionError  # the error above is passed on


class _in_a_file:  # noqa: N801  (used like a function)
    """Messages that speak of options of the command line speak of keys."""

    _OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, StatveilError):
            said = self._OPTION.sub(
                lambda found: "'" + _KEYS.get(found[1], found[1].replace("-", "_")) + "'", str(error)
            )
            raise PlacedError(said, getattr(error, "place", ())) from None


_KEYS = {"trials-per-draw": "trials"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """A column that is published as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A column that is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A column that moves under the map of a hidden one.

    If ``x`` of the hidden column ``to`` becomes ``m(x)``, then ``y`` of this one becomes ``y + factor * (m(x) - x)``
    where the map is a shift, and ``factor * m(y / factor)`` in general: ``factor`` is how many units of this column
    one unit of the hidden one is (0.19 for a tax of 19 %, 1 for a second clock, 100 for cents beside euros).
    """

    to: str
    factor: float = 1.0

    def __post_init__(self) -> None:
        with at("factor"):
            object.__setattr__(self, "factor", number(self.factor, "the factor of a link"))
            if self.factor == 0:
                raise ProblemError(
                    "the factor of a link is not 0: the column would not move; write keep = true if it tells nothing."
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Derive:
    """A column that is recomputed from *released* columns after the release; the table's own values are not used."""

    expression: Expression


Treatment = Hide | Keep | Drop | Link | Derive


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The risk that any of the hidden statistics is guessed, which is split over the columns without own targets."""

    max_risk: float
    dependence: str = "independent"
    """``"independent"``, ``"comonotone"`` (columns that are copies of one another) or ``"worst"`` (theory 17.2)."""
    minimise: str = "total"
    """``"total"``, ``"euclidean"`` or ``"worst"`` of the columns' distortions."""

    def __post_init__(self) -> None:
        with at("max_risk"):
            object.__setattr__(self, "max_risk", MaxRisk(self.max_risk).value)
        for name, value, allowed in (
            ("dependence", self.dependence, DEPENDENCES),
            ("minimise", self.minimise, MINIMISED),
        ):
            if value not in allowed:
                raise PlacedError(unknown_name(f"{name} of a budget", str(value), allowed), (name,))
