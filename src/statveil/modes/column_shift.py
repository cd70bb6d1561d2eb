"""One number is added to a column, and taken away from a second one."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.group_shift import GroupShiftMode
from statveil.modes.two_columns import TwoColumnsMode

__all__ = ["ColumnShiftMode"]


class ColumnShiftMode(TwoColumnsMode, GroupShiftMode):
    """x + a in one column and x - a in the other; the sum of the two values of a row stays."""

    name: ClassVar[str] = "column-shift"
    says: ClassVar[str] = "add a number to one column and take the same number away from a second column"
    kept: ClassVar[str] = (
        "Each of the two columns was shifted by one number, and all differences within it are the original's up to a "
        "hundredth of the tolerance; so is the sum of the two values of a row."
    )
