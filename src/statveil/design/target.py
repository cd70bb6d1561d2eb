"""What a plan is asked to meet (a risk, a distortion, or a bin width), whether it does, and what to say if none can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from statveil.errors import ProblemError, TargetError
from statveil.numbers import number, positive
from statveil.rounding import shown_up

__all__ = [
    "CLOSELY",
    "ROUNDED",
    "BinWidth",
    "HidesNothingError",
    "MaxDistortion",
    "MaxRisk",
    "Target",
    "hides_nothing",
    "meets",
    "target",
    "unreachable",
]

ROUNDED = 1 + 1e-11
"""A risk this much above the target differs from it by rounding errors only."""
CLOSELY = 1 + 1e-12
"""The same for one closed form, whose extent is then searched for to the last digits."""


@dataclass(frozen=True, slots=True)
class MaxRisk:
    """The best attacker may hit with at most this probability; of several secrets ``each`` with at most its own."""

    value: float
    each: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", number(self.value, "the largest allowed risk"))
        if not 1e-9 <= self.value < 1:
            raise ProblemError(
                f"the largest allowed risk must be a number between 0 and 1, both excluded. Got {self.value:g}; "
                "0.1 lets the best attacker hit one time in ten."
            )


def each_risk(values: Sequence[float]) -> MaxRisk:
    """A risk for each of several secrets, with that of hitting one of them which these allow.

    >>> each_risk([0.2, 0.5])
    MaxRisk(value=0.6, each=(0.2, 0.5))
    """
    each = tuple(MaxRisk(value).value for value in values)
    missed = 1.0
    for value in each:
        missed *= 1 - value
    return MaxRisk(1 - missed, each)


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


def target(
    *, max_risk: float | Sequence[float] | None = None, max_distortion: float | None = None, bin: float | None = None
) -> Target:
    """The one target that was given."""
    made: list[Target | None] = [
        None if max_risk is None else _risk(max_risk),
        None if max_distortion is None else MaxDistortion(max_distortion),
        None if bin is None else BinWidth(bin),
    ]
    given = [one for one in made if one is not None]
    if len(given) != 1:
        raise ProblemError(
            f"give exactly one of max risk, max distortion and bin width. Got {len(given) or 'none'} of them; a max "
            "risk of 0.2, say, lets the best attacker hit one time in five."
        )
    return given[0]


def _risk(value: float | Sequence[float]) -> MaxRisk:
    return each_risk(value) if isinstance(value, list | tuple) else MaxRisk(value)  # type: ignore[arg-type]


def meets(risk: float, goal: MaxRisk | float, *, within: float = ROUNDED) -> bool:
    """Whether a risk meets the target, where one above it by less than a factor is no breach.

    The factor is that of rounding errors (:data:`ROUNDED`), of those of a single closed form (:data:`CLOSELY`), or a
    mechanism's own (``Mechanism.hair``); 1 where a search must stay on the safe side.
    """
    return risk <= (goal.value if isinstance(goal, MaxRisk) else goal) * within


def unreachable(
    goal: float, least: float, why: str = "with this prior", other: str = "", *, wider: bool = True
) -> TargetError:
    """No bins reach the risk: the prior (or a forced slope, or a known step) gives too much away.

    ``other`` is one more way out, ``wider`` whether a wider prior is.
    """
    ways = "use a smaller tolerance, or state a wider prior if outsiders know less"
    if not wider:
        ways = "or use a smaller tolerance"
    return TargetError(
        f"a risk of {goal:g} cannot be met {why}: the smallest reachable risk is {shown_up(least)}. Ask for a larger "
        f"risk, {ways}.{' ' * bool(other)}{other}"
    )


class HidesNothingError(TargetError):
    """No bins within the distortion are wider than a guess; both numbers are kept, as they may be stated otherwise."""

    def __init__(self, goal: float, least: float, *, share: bool = False) -> None:
        unit = 100 if share else 1
        asked, more = (f"{text}{' %' * share}" for text in (f"{unit * goal:g}", shown_up(unit * least)))
        super().__init__(
            f"a largest distortion of {asked} hides nothing: every bin would be no wider than a guess, so the risk is "
            f"1. Allow more than {more}, or use a smaller tolerance."
        )
        self.goal, self.least = goal, least


def hides_nothing(goal: float, least: float) -> TargetError:
    """No bins within the distortion are wider than a guess."""
    return HidesNothingError(goal, least)
