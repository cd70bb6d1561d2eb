"""A simulated rate in words."""

from __future__ import annotations

from statveil.rounding import shown_down, shown_up
from statveil.simulation import Rate

__all__ = ["describe_rate"]


def describe_rate(found: Rate) -> str:
    """The rate with its interval, which is rounded outwards."""
    return (
        f"The best attacker hit in {found.rate:.4%} of {found.trials:,} trials\n"
        f"({found.confidence:.1%} interval {shown_down(found.low, 5)} to {shown_up(found.high, 5)})"
    )
