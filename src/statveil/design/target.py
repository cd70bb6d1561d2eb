"""What a plan is asked to meet: exactly one of a risk, a distortion, or a bin width."""

from __future__ import annotations

from dataclasses import dataclass

from statveil.errors import ProblemError
from statveil.numbers import number, positive

__all__ = ["BinWidth", "MaxDistortion", "MaxRisk", "Target", "meets", "target"]


@dataclass(frozen=True, slots=True)
class MaxRisk:
    """The best attacker may hit with at most this probability."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", number(self.value, "the largest allowed risk"))
        if not 1e-9 <= self.value < 1:
            raise ProblemError(
                f"the largest allowed risk must be a number between 0 and 1, both excluded. Got {self.value:g}; "
                "0.1 lets the best attacker hit one time in ten."
            )


@dataclass(frozen=True, slots=True)
class MaxDistortion:
    """No release may lie farther than this from its original."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", positive(self.value, "the largest allowed distortion"))


@dataclass(frozen=True, slots=True)
class BinWidth:
    """The paper's mechanism with bins of this width."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", positive(self.value, "the bin width"))


Target = MaxRisk | MaxDistortion | BinWidth


def target(*, max_risk: float | None = None, max_distortion: float | None = None, bin: float | None = None) -> Target:
    """The one target that was given."""
    given = [
        make(value)
        for make, value in ((MaxRisk, max_risk), (MaxDistortion, max_distortion), (BinWidth, bin))
        if value is not None
    ]
    if len(given) != 1:
        raise ProblemError(
            f"give exactly one of max risk, max distortion and bin width. Got {len(given) or 'none'} of them; a max "
            "risk of 0.2, say, lets the best attacker hit one time in five."
        )
    return given[0]


def meets(risk: float, goal: MaxRisk) -> bool:
    """Whether a risk meets the target, where a rounding error of the last digits is no breach."""
    return risk <= goal.value * (1 + 1e-11)
