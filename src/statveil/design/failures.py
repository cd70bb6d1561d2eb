"""What to say when no mechanism of the asked kind meets the target."""

from __future__ import annotations

import math

from statveil.errors import TargetError

__all__ = ["hides_nothing", "unreachable"]


def unreachable(goal: float, least: float, why: str = "with this prior") -> TargetError:
    """No bins reach the risk: the prior (or a forced slope, or a known step) gives too much away."""
    return TargetError(
        f"a risk of {goal:g} cannot be met {why}: the smallest reachable risk is {_up(least)}. Ask for a larger "
        "risk, use a smaller tolerance, or state a wider prior if outsiders know less."
    )


def hides_nothing(goal: float, least: float) -> TargetError:
    """No bins within the distortion are wider than a guess."""
    return TargetError(
        f"a largest distortion of {goal:g} hides nothing: every bin would be no wider than a guess, so the risk is 1. "
        f"Allow more than {_up(least)}, or use a smaller tolerance."
    )


def _up(value: float) -> str:
    """Six digits, rounded up, so that asking for it again succeeds."""
    if value <= 0:
        return "0"
    digits = 5 - math.floor(math.log10(value))
    scaled = math.ceil(value * 10.0**digits - 1e-6) if abs(digits) < 300 else value
    return f"{scaled / 10.0**digits:.6g}" if abs(digits) < 300 else f"{value:.6g}"
