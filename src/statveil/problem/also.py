"""A second statistic of the same column that must stay hidden too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from statveil.errors import ProblemError
from statveil.numbers import positive
from statveil.problem.axis import Axis, axis_from_json
from statveil.problem.prior import Belief, as_axis
from statveil.problem.secret import Secret, secret_from_json
from statveil.problem.tolerance import Relative

__all__ = ["Also"]


@dataclass(frozen=True, slots=True)
class Also:
    """One more secret of a problem, with its own tolerance and what outsiders believe of it.

    Parameters
    ----------
    secret : Secret
        The statistic.
    prior : Belief, optional
        What an outsider believes of it, whatever they believe of the first secret: a pair for a range, or a density.
        Left out where the prior of the problem already speaks of it, as a box of parameters does.
    tolerance : float
        A guess within this distance counts as a hit, in the unit of the statistic.
    """

    secret: Secret
    prior: Axis | None = field(default=None, hash=False)
    tolerance: float = field(kw_only=True)

    if TYPE_CHECKING:

        def __init__(self, secret: Secret, prior: Belief | None = None, *, tolerance: float) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.secret, Secret):
            raise ProblemError(f"the second secret must be a value such as sv.Std(). Got {self.secret!r}.")
        if isinstance(self.tolerance, Relative):
            raise ProblemError(
                f"two secrets are hidden with tolerances in their own unit. Got {self.tolerance}; state a number."
            )
        object.__setattr__(self, "tolerance", positive(self.tolerance, f"the tolerance of the {self.secret.label}"))
        if self.prior is not None:
            object.__setattr__(self, "prior", as_axis(self.secret.label, self.prior))

    def to_json(self) -> dict[str, Any]:
        """A JSON object from which :meth:`from_json` makes the same."""
        prior = {} if self.prior is None else {"prior": self.prior.to_json()}
        return {"secret": self.secret.to_json(), **prior, "tolerance": self.tolerance}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Also:
        """What :meth:`to_json` wrote."""
        prior = data.get("prior")
        return cls(
            secret_from_json(data["secret"]),
            None if prior is None else axis_from_json(prior),
            tolerance=data["tolerance"],
        )
