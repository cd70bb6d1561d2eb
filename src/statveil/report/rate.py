"""A simulated rate in words."""

from __future__ import annotations

from dataclasses import replace

from statveil.rounding import rate_up, shown_down, shown_up
from statveil.simulation import Rate, WrongPrior

__all__ = ["describe_rate"]


def describe_rate(found: Rate) -> str:
    """The rate with its interval, which is rounded outwards."""
    wrong = found.wrong_prior
    if wrong is not None:
        return f"{_bounds(wrong)}\n{describe_rate(replace(found, wrong_prior=None))}"
    return (
        f"The best attacker hit in {rate_up(found.rate, 4, times=100)}% of {found.trials:,} trials\n"
        f"({found.confidence:.1%} interval {shown_down(found.low, 5)} to {shown_up(found.high, 5)})"
    )


def _bounds(wrong: WrongPrior) -> str:
    """What no attacker exceeds under another prior than the plan's."""
    far = wrong.distance
    if far is None:
        return "Under the other prior; how far it is from the plan's is not worked out, so no bound follows from that."
    said = wrong.bounds
    return (
        f"Under the other prior no attacker hits more often than {shown_up(wrong.bound)}, the least of three bounds:\n"
        f"  risk + {shown_up(far.total_variation)} = {shown_up(said['total_variation'])}   their total variation\n"
        f"  risk x {shown_up(far.most)} = {shown_up(said['density_ratio'])}   it is nowhere so many times denser\n"
        f"  1 - {shown_down(far.least)} (1 - risk) = {shown_up(said['mixture'])}   it is everywhere at least so dense"
    )
