"""Numbers of groups: the released column is moved back until its groups have the numbers that another column says."""

from __future__ import annotations

from typing import ClassVar

from statveil.auditing.attackers.links import MovedBack

__all__ = ["GroupNumbers"]


class GroupNumbers(MovedBack):
    """Uses the links that are called so."""

    name: ClassVar[str] = "group-numbers"
    doc: ClassVar[str] = "what another column says of groups: shares above a limit, quantiles, spreads, tiers, flags"
