"""Flags for a limit that another column says: moved back until every row is on its side again."""

from __future__ import annotations

from typing import ClassVar

from statveil.auditing.attackers.links import MovedBack

__all__ = ["Limits"]


class Limits(MovedBack):
    """Uses the links that are called so."""

    name: ClassVar[str] = "limits"
    doc: ClassVar[str] = "flags and classes for a limit by the labels of another column, or along a curve over one"
