"""When enough trials were played: intervals that hold for all attackers and all looks together, and what they say."""

from __future__ import annotations

from statveil.simulation import proportion_interval

__all__ = ["ERROR", "LEAST_TRIALS", "MARGIN", "decided", "interval", "looks"]

LEAST_TRIALS = 200
"""Trials below which no rate means anything."""
ERROR = 0.01
"""Chance that any of all intervals, at any look, misses its rate: so often a sound release is said to leak, at most."""
MARGIN = 1.5
"""A release holds when no attacker's rate can be above this many times the claimed risk."""


_GLANCE = 50


def looks(most: int) -> list[int]:
    """After how many trials the rates are looked at: doubling, up to ``most``.

    The first look is for leaks alone, which often show at once.

    >>> looks(2000)
    [50, 200, 400, 800, 2000]
    """
    found = [LEAST_TRIALS]
    while 2 * found[-1] <= most:
        found.append(2 * found[-1])
    if found[-1] < most:
        # a last look shortly after another one says nothing new
        found = [*(found[:-1] if len(found) > 1 and most < 1.5 * found[-1] else found), most]
    return [_GLANCE, *found]


def interval(hits: int, trials: int, *, attackers: int, looks: int) -> tuple[float, float]:
    """Of one rate, so wide that all of them at all looks hold together (Clopper-Pearson and Bonferroni)."""
    return proportion_interval(hits, trials, 1 - 2 * ERROR / (attackers * looks))


def decided(low: float, high: float, claimed: float) -> str:
    """``"leaks"``, ``"holds"`` (up to the upper end) or ``"undecided"``.

    >>> decided(0.126, 0.18, 0.1), decided(0.05, 0.13, 0.1), decided(0.05, 0.2, 0.1)
    ('leaks', 'holds', 'undecided')
    """
    if low > claimed:
        return "leaks"
    return "holds" if high <= min(MARGIN * claimed, 1.0) or claimed >= 1 else "undecided"
