"""A uniformly random part of the rows, in random order: the rows that are kept stay as they are."""

from __future__ import annotations

from typing import ClassVar

from statveil.modes.mode import Mode, Moved
from statveil.problem.families.row_count import RowCount
from statveil.problem.problem import Problem

__all__ = ["SubsetMode"]


class SubsetMode(Mode):
    """Keeps as many rows as the lower end of the bin says, the first in one secret order of the table."""

    name: ClassVar[str] = "subset"
    says: ClassVar[str] = "keep a random part of the rows, in random order"
    random: ClassVar[bool] = True
    nested: ClassVar[bool] = True
    of_table: ClassVar[bool] = True
    structure_shows: ClassVar[bool] = False
    row_tells: ClassVar[bool] = False

    def treats(self, problem: Problem, kind: str, moved: Moved) -> bool:
        return isinstance(problem.family, RowCount)

    def assumes(self, problem: Problem) -> tuple[str, ...]:
        return (
            "The rows are exchangeable, and what they hold says nothing about how many there are: no row number, no id "
            "that counts up, no dates of a known rate, no total, rank or share of the whole table, and no group whose "
            "size everyone knows.",
            "No row says anything of another row: no id of another row, no balance before and after, no total, count "
            "or best of its group, no distance or time to the next one.",
            "Nobody knows which rows the table had: who can tell that a row is missing learns the share that was left "
            "out.",
        )
