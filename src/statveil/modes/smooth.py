"""The rows are drawn anew from the smoothed, scaled shape, in the order of the original."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Redrawn

__all__ = ["SmoothMode"]


class SmoothMode(Redrawn):
    """For few steps above one bound, heaps and atoms."""

    name: ClassVar[str] = "smooth"
    says: ClassVar[str] = "draw the smoothed, scaled shape anew, by rank (rows measured, not proven)"
    prepared_in: ClassVar[str] = "statveil.tables.maps.smooth"
    harmless: ClassVar[tuple[str, ...]] = ("rough", "digits", "transform")
    """Small details, which a smooth shape does not have."""
    blur: ClassVar[float] = 0.03
    phases: ClassVar[int] = 8
