"""Two columns are multiplied, each by a number of its own."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.group_scale import GroupScaleMode
from statveil.modes.two_columns import TwoColumnsMode

__all__ = ["ColumnScaleMode"]


class ColumnScaleMode(TwoColumnsMode, GroupScaleMode):
    """a x in one column and b x in the other; 0 stays 0."""

    name: ClassVar[str] = "column-scale"
    says: ClassVar[str] = "multiply one column by one number and a second column by another"
    kept: ClassVar[str] = (
        "Each of the two columns was multiplied by one number, and all of its other ratios are the original's; the "
        "product of the two values of a row is the original's up to a number that the plan tells."
    )
