"""What to say when no mechanism of the asked kind meets the target."""

from __future__ import annotations

from statveil.errors import TargetError
from statveil.rounding import shown_up

__all__ = ["hides_nothing", "unreachable"]


def unreachable(goal: float, least: float, why: str = "with this prior") -> TargetError:
    """No bins reach the risk: the prior (or a forced slope, or a known step) gives too much away."""
    return TargetError(
        f"a risk of {goal:g} cannot be met {why}: the smallest reachable risk is {shown_up(least)}. Ask for a larger "
        "risk, use a smaller tolerance, or state a wider prior if outsiders know less."
    )


def hides_nothing(goal: float, least: float) -> TargetError:
    """No bins within the distortion are wider than a guess."""
    return TargetError(
        f"a largest distortion of {goal:g} hides nothing: every bin would be no wider than a guess, so the risk is 1. "
        f"Allow more than {shown_up(least)}, or use a smaller tolerance."
    )
