"""Which of the two a file is: the plan of one column, or a specification or its plans, for a whole table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from statveil.errors import FileError
from statveil.small_file import read_small

if TYPE_CHECKING:
    from statveil.specification.planned import TablePlan

__all__ = ["table_plan_of"]


def table_plan_of(path: str) -> TablePlan | None:
    """The plans of a specification, or of a file of plans; ``None`` for the plan of one column."""
    if Path(path).suffix.lower() == ".toml":
        from statveil.specification.planned import plan_specification
        from statveil.specification.specification import load_specification

        return plan_specification(load_specification(path))
    try:
        data = json.loads(read_small(path))
    except (OSError, ValueError, RecursionError, FileError):
        return None  # which is said where the plan is read
    from statveil.specification.planned import FORMAT

    if not isinstance(data, dict) or data.get("format") != FORMAT:
        return None
    from statveil.specification.plans_file import load_table_plan

    return load_table_plan(path)
