"""Counts along the rows and numbers of windows: moved back until the rows make them again."""

from __future__ import annotations

from typing import ClassVar

from statveil.auditing.attackers.links import MovedBack

__all__ = ["Running"]


class Running(MovedBack):
    """Uses the links that are called so."""

    name: ClassVar[str] = "running"
    doc: ClassVar[str] = "running and rolling counts of rows beyond a limit, ends and middles of the rows around"
