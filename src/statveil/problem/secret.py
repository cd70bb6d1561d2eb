"""What a secret is: one number of a distribution that must stay hidden."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, unknown_name

if TYPE_CHECKING:
    from statveil.problem.family import Family
    from statveil.problem.location_scale import LocationScale

__all__ = ["SECRETS", "Secret", "secret_from_json"]

SECRETS: dict[str, type[Secret]] = {}
"""Every secret by its kind; filled when the files of ``problem/secrets`` are loaded."""


class Secret(ABC):
    """A summary statistic to hide. Subclasses are frozen values that name their ``kind``."""

    kind: ClassVar[str]
    doc: ClassVar[str]
    portable: ClassVar[bool] = True
    """Whether it can be made from its JSON object: not if it holds a Python function."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            SECRETS[cls.kind] = cls

    @abstractmethod
    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Value of the secret where the family has these parameters."""

    def check(self, family: Family) -> None:  # noqa: B027  (most secrets have nothing more to check)
        """Refuse this secret where it makes no sense for the family (beyond the kind)."""

    def linear(self, family: LocationScale) -> tuple[float, float] | None:
        """The secret of X = loc + scale Z as ``(a, b)``: its value is a loc + b scale; ``None`` where it is not linear.

        A statistic that moves and stretches with the column (quantile, trimmed mean, midrange) is (1, its value
        on Z); one that only stretches (a standard deviation, a range of quantiles) is (0, its value on Z).
        """
        return None

    def moves(self, family: LocationScale) -> bool:
        """Whether the secret changes when the whole column is shifted."""
        parts = self.linear(family)
        return parts is None or parts[0] != 0

    @property
    def label(self) -> str:
        """How people write it: ``mean``, ``quantile:0.95``."""
        return self.kind

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :func:`secret_from_json` makes the same secret."""
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Secret:
        """The secret that :meth:`to_json` wrote."""
        return cls(**{key: value for key, value in data.items() if key != "kind"})


def secret_from_json(data: Mapping[str, Any]) -> Secret:
    """Any secret from its JSON object."""
    kind = data.get("kind")
    if kind not in SECRETS:
        raise ProblemError(unknown_name("secret", str(kind), SECRETS))
    return SECRETS[kind].from_json(data)
