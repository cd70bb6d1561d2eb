"""Secrets of two groups of rows, which another column of the table names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from statveil.errors import ProblemError, shortened
from statveil.problem.of_two import OfTwo

__all__ = ["OfGroups"]


@dataclass(frozen=True, slots=True)
class OfGroups(OfTwo):
    """A statistic that compares the means of two groups of rows.

    Parameters
    ----------
    by : str
        The column with the labels. It is public, and stays as it is.
    group, base : str
        The two labels, as that column writes them; the second one is what the first is compared with. Numbers and
        true or false are taken as their text.
    """

    by: str
    group: str
    base: str
    keys: ClassVar[tuple[str, ...]] = ("by", "group", "base")
    two: ClassVar[str] = "groups"

    def __post_init__(self) -> None:
        for name in self.keys:
            value = getattr(self, name)
            if isinstance(value, bool):
                value = str(value).lower()
            elif isinstance(value, int):
                value = str(value)
            if not isinstance(value, str) or not value:
                what = "the column of the groups" if name == "by" else "the label of a group"
                raise ProblemError(f"{what} must be a text that is not empty. Got {shortened(repr(value))}.")
            object.__setattr__(self, name, value)
        if self.group == self.base:
            raise ProblemError(
                f"the two groups of a {self.kind} must have different labels. Got {shortened(self.group)!r} twice; "
                f"name two labels of the column {shortened(self.by)!r}."
            )

    @property
    def _plain(self) -> str:
        return f"{self.by}={self.group}{self.sign}{self.base}"

    @classmethod
    def _split(cls, argument: str) -> tuple[str, ...] | None:
        by, _, labels = argument.partition("=")
        parts = (by, *labels.split(cls.sign))
        return parts if len(parts) == len(cls.keys) and all(parts) and "=" not in labels else None

    @classmethod
    def _not_plain(cls, argument: str) -> str:
        both = argument.split(cls.sign)
        if "=" in argument or len(both) != 2 or not all(both):
            return ""
        return f" For two columns write column-{cls.kind}:{shortened(argument)}."
