"""What a family of distributions is: parameters with domains, moments, sampling and distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name
from statveil.problem.domain import Param
from statveil.problem.measure import Measure
from statveil.problem.tolerance import Relative

if TYPE_CHECKING:
    from statveil.problem.axis import Axis
    from statveil.problem.column_numbers import ColumnNumbers
    from statveil.problem.model import Model
    from statveil.problem.secret import Secret

__all__ = ["FAMILIES", "Family", "family_from_json"]

FAMILIES: dict[str, type[Family]] = {}
"""Every family by name; filled when the files of ``problem/families`` are loaded."""


class Family(ABC):
    """A parametric family of the column's distribution.

    A subclass in one new file is enough: naming it registers it for the command line and the
    conformance suite. A distance that has a closed form is returned by :meth:`w1` or :meth:`tv`; where
    it is ``None``, the generic routine of :mod:`statveil.theory.distances` serves.
    """

    name: ClassVar[str]
    doc: ClassVar[str]
    secrets: ClassVar[tuple[str, ...]]
    """Kinds of secrets that make sense for this family."""
    distances: ClassVar[tuple[str, ...]] = ("w1",)
    """Distances that make sense, the default first: ``w1`` (Wasserstein-1), ``tv`` (total variation), ``log-w1``."""
    discrete: ClassVar[bool] = False
    quantile_ends: ClassVar[tuple[bool, bool]] = (False, False)
    """Whether the 0-quantile and the 1-quantile are finite and depend on the parameters."""
    constraints: ClassVar[tuple[Mapping[str, float], ...]] = ()
    """Linear forms of the parameters that must be positive, such as high - low."""
    constraint_doc: ClassVar[str] = ""
    portable: ClassVar[bool] = True
    """Whether a member can be made from its JSON object: not if it holds Python functions."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__ and cls.portable:
            FAMILIES[cls.name] = cls

    # --- declarations -------------------------------------------------------------------------
    @property
    @abstractmethod
    def params(self) -> tuple[Param, ...]:
        """The parameters, in their usual order."""

    def settings(self) -> dict[str, Any]:
        """Fixed settings of this member, as keyword arguments of its class."""
        return {}

    @classmethod
    def example(cls) -> Family:
        """A typical member, for lists and for the conformance suite."""
        return cls()

    @property
    def label(self) -> str:
        """How people write it: its name, with what else tells this member from others."""
        return self.name

    @property
    def column_text(self) -> str:
        """What kind of column it is about, in a sentence."""
        return "a column of any shape" if self.shapeless else f"a {self.label} column"

    def stated_in(self, axes: Mapping[str, Axis]) -> Family:
        """The member that has the parameters of these beliefs, where a family has several ways to name them."""
        return self

    methods: ClassVar[tuple[str, ...]] = ()
    """Methods of design that can be asked for, the first one by default; none: all of them."""

    def widen(self, tolerance: float) -> float:
        """A tolerance in the secret's own unit as it is accounted for, where that is another one."""
        return tolerance

    def narrow(self, tolerance: float) -> float:
        """What is accounted for as the tolerance that was meant, for limits that hold from below."""
        return tolerance

    def close_by(self, tolerance: float | Relative) -> Family:
        """The member that knows how closeness was stated, where that matters to it."""
        return self

    def assumes(self) -> tuple[str, ...]:
        """What the card of a release says of this family beside the assumptions of all."""
        return ()

    # --- in which terms closeness and distance are stated -------------------------------------
    redrawn: ClassVar[bool] = False
    """Whether columns are always redrawn from the released model, by rank, as no map of the rows keeps the family."""
    shapeless: ClassVar[bool] = False
    """Whether nothing is said of the column but its secret, so that no column can be drawn from it."""
    model: Model | None = None
    """The public shape from which the column is redrawn, where one was named."""
    takes_ranges: ClassVar[bool] = True
    """Whether something is believed of its parameters; else all of them are equally likely."""
    closeness: Relative | None = None
    """The tolerance as a share of the secret, where it was stated so."""
    log: bool = False
    """Whether the parameter is the logarithm of the secret."""
    widened: bool = False
    """Whether such a share is accounted for by the longest window that it can be."""

    @property
    def measure(self) -> Measure:
        """In which terms distortions are stated."""
        return Measure()

    def value(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The secret in its own unit."""
        return secret.of(self, params)

    def position(self, secret: Secret, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The secret on the scale on which a hit is two tolerances long."""
        return secret.of(self, params)

    def coordinate(self, value: ArrayLike) -> NDArray[np.float64]:
        """A value of the secret on that scale."""
        return np.asarray(value, dtype=np.float64)

    def read(self, secret: Secret, numbers: ColumnNumbers) -> float:
        """A statistic of the rows, on that scale."""
        return secret.of_column(numbers, self)

    def tolerated(self, tolerance: float | Relative) -> float:
        """A tolerance on that scale, rounded up."""
        if isinstance(tolerance, Relative):
            raise ProblemError(
                f"a relative tolerance is for a problem without a family. Got {tolerance} with {self.name!r}; state it "
                "in the unit of the statistic, or leave out the family."
            )
        return tolerance

    @classmethod
    def without_ranges(cls) -> str:
        """What is said where a prior is given to a family that takes none."""
        return (
            f"the family {cls.name!r} takes no prior ranges: every share is as likely as any other; leave out the "
            "prior (--prior)."
        )

    def shrunk(self, stated: float) -> float:
        """The factor by which releases of this distortion lie below the middle of their class."""
        return 1.0

    def unshrunk(self, params: Mapping[str, ArrayLike], stated: float) -> Mapping[str, ArrayLike]:
        """Parameters of a released column, put back to the middle of the class that it stands for."""
        return params

    def largest_change(self, stated: float) -> float | None:
        """By how much a release of this distortion changes the secret at most, where the family knows."""
        return None

    def category_index(self, category: int | str) -> int:
        """Number, counted from 0, of a category given by number or label."""
        raise ProblemError(f"{self.name!r} has no categories; it has the secrets {', '.join(self.secrets)}.")

    # --- the distribution ---------------------------------------------------------------------
    @abstractmethod
    def mean(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Mean of the column."""

    @abstractmethod
    def std(self, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Standard deviation of the column."""

    @abstractmethod
    def quantile(self, alpha: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Smallest x with cdf(x) >= alpha."""

    @abstractmethod
    def cdf(self, x: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """P(X <= x)."""

    def pmf(self, k: ArrayLike, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """P(X = k), for discrete families."""
        raise ProblemError(f"{self.name!r} is continuous: no single value has a share.")

    @abstractmethod
    def sample(self, params: Mapping[str, float], size: int, rng: Generator) -> NDArray[np.float64]:
        """Independent draws of the column."""

    # --- closed forms, or None ----------------------------------------------------------------
    def w1(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64] | None:
        """Wasserstein-1 distance in closed form, or ``None``."""
        return None

    def tv(self, a: Mapping[str, ArrayLike], b: Mapping[str, ArrayLike]) -> NDArray[np.float64] | None:
        """Total variation distance in closed form, or ``None``."""
        return None

    # --- checks and JSON ----------------------------------------------------------------------
    def check_secret(self, secret: Secret) -> None:
        """Refuse a secret that makes no sense here, with the pairs that do."""
        if secret.apart is not None:
            raise ProblemError(
                f"the {secret.kind} of two {secret.apart.parts} is hidden without a family, for one of a whole column "
                f"says nothing of how the two compare. Got {self.name!r}; leave it out, and give the prior of the "
                f"{secret.kind} itself."
            )
        if not secret.fits(self):
            pairs = "; ".join(f"{name}: {', '.join(cls.secrets)}" for name, cls in sorted(FAMILIES.items()))
            raise ProblemError(
                f"the secret {secret.kind!r} makes no sense for the family {self.name!r}. Pairs that do: {pairs}."
            )
        secret.check(self)

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :func:`family_from_json` makes the same family."""
        return {"name": self.name, **self.settings()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Family) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.name, tuple(sorted((k, str(v)) for k, v in self.settings().items()))))

    def __repr__(self) -> str:
        inside = ", ".join(f"{key}={value!r}" for key, value in self.settings().items())
        return f"{type(self).__name__}({inside})"


def family_from_json(data: Mapping[str, Any]) -> Family:
    """Any family from its JSON object."""
    name = data.get("name")
    if name == "custom":
        raise ProblemError(
            f"the family {data.get('label')!r} is made of Python functions, which a file cannot hold; "
            "plan again from Python, or make it a subclass of Family."
        )
    if name not in FAMILIES:
        raise ProblemError(unknown_name("family", str(name), FAMILIES))
    return FAMILIES[name](**{key: value for key, value in data.items() if key != "name"})
