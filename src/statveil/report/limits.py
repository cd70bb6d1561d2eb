"""Limits in words."""

from __future__ import annotations

from statveil.planning import Limits
from statveil.rounding import shown_down

__all__ = ["describe_limits"]


def describe_limits(found: Limits) -> str:
    """What no mechanism beats, rounded down."""
    share = found.distortion_kind == "relative" and found.bound_on == "distortion"
    bound = f"{shown_down(100 * found.lower_bound)} %" if share else shown_down(found.lower_bound)
    if found.bound_on == "distortion":
        says = f"Any mechanism with this risk has a distortion above {bound}."
    else:
        says = f"Any mechanism with this distortion has a risk of at least {bound}."
    return f"{says}\ngamma = {found.gamma:.10g} ({found.distance} per unit of the secret, halved)"
