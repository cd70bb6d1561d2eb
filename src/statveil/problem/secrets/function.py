"""Any function of the parameter, as a secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError
from statveil.problem.family import Family
from statveil.problem.secret import Secret
from statveil.problem.secrets.mean import Mean

__all__ = ["Function"]


@dataclass(frozen=True)
class Function(Secret):
    """A secret of your own: a Python function of the parameter of a one-parameter family.

    >>> import statveil as sv
    >>> odds = sv.Function(lambda p: p / (1 - p), label="odds")
    >>> float(odds.of(sv.Geometric(), {"p": 0.5}))
    1.0
    """

    function: Callable[[NDArray[np.float64]], ArrayLike]
    label_text: str = "function"
    kind: ClassVar[str] = "function"
    doc: ClassVar[str] = "a Python function of the parameter"
    portable: ClassVar[bool] = False
    rough: ClassVar[bool] = True

    def __init__(self, function: Callable[[NDArray[np.float64]], ArrayLike], *, label: str = "function") -> None:
        if not callable(function):
            raise ProblemError(f"a secret of your own must be a function of the parameter. Got {function!r}.")
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "label_text", str(label))

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        theta = np.asarray(params[family.params[0].name], dtype=np.float64)
        value = np.asarray(self.function(theta))
        if value.dtype.kind not in "biuf" or value.shape not in ((), theta.shape):
            raise ProblemError(
                f"the secret {self.label_text!r} must give one real number for each parameter. Got {value.dtype} of "
                f"shape {value.shape} for parameters of shape {theta.shape}; write it with NumPy functions."
            )
        return np.broadcast_to(value.astype(np.float64), theta.shape)

    @property
    def anchor(self) -> Secret:
        return Mean()  # g is no statistic of rows: it goes by the parameter under which the family has their mean

    def fits(self, family: Family) -> bool:
        return True

    def check(self, family: Family) -> None:
        if len(family.params) != 1:
            raise ProblemError(
                f"a secret of your own is a function of one parameter. Got the family {family.name!r} with "
                f"{len(family.params)}; use one of {', '.join(family.secrets)}."
            )

    @property
    def label(self) -> str:
        return self.label_text

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "label": self.label_text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        raise ProblemError(
            f"the secret {data.get('label')!r} is a Python function, which a file cannot hold; "
            "plan again from Python, or make it a subclass of Secret."
        )
