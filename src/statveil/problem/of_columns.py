"""Secrets of two columns of one table, which they name themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from statveil.errors import ProblemError, shortened
from statveil.problem.column_numbers import TwoGroups
from statveil.problem.of_two import OfTwo

__all__ = ["OfColumns"]


@dataclass(frozen=True, slots=True)
class OfColumns(OfTwo):
    """A statistic that compares the means of two columns. Both are released, and move apart or together.

    Parameters
    ----------
    column, base : str
        The names of the two columns; the second one is what the first is compared with.
    """

    column: str
    base: str
    keys: ClassVar[tuple[str, ...]] = ("column", "base")
    two: ClassVar[str] = "columns"
    of_columns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for value in self.names:
            if not isinstance(value, str) or not value:
                raise ProblemError(
                    f"the name of a column must be a text that is not empty. Got {shortened(repr(value))}."
                )
        if self.column == self.base:
            raise ProblemError(
                f"the two columns of a {self.kind} must be different ones. Got {shortened(self.column)!r} twice; name "
                "two columns of the table."
            )

    @property
    def names(self) -> tuple[str, str]:
        """Both names, the first one first."""
        return self.column, self.base

    def weighed(self, found: TwoGroups) -> TwoGroups:
        # each column takes half of a move, however many of its rows have a value, so that neither moves by more
        return replace(found, even=True)

    @property
    def _plain(self) -> str:
        return f"{self.column}{self.sign}{self.base}"

    @classmethod
    def _split(cls, argument: str) -> tuple[str, ...] | None:
        parts = tuple(argument.split(cls.sign))
        # with a sign of equality it is meant for groups
        return parts if len(parts) == len(cls.keys) and all(parts) and "=" not in argument else None

    @classmethod
    def _not_plain(cls, argument: str) -> str:
        groups = cls.kind.removeprefix("column-")
        return f" For two groups of rows write {groups}:{shortened(argument)}." if "=" in argument else ""
