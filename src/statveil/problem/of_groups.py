"""Secrets of two groups of rows, which another column of the table names: what they share, and how they are written."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, shortened
from statveil.problem.column_numbers import ColumnNumbers, two_groups
from statveil.problem.family import Family
from statveil.problem.secret import Secret

__all__ = ["OfGroups"]

_KEYS = ("by", "group", "base")


@dataclass(frozen=True, slots=True)
class OfGroups(Secret):
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
    sign: ClassVar[str]
    """What stands between the two labels where people write them."""

    def __post_init__(self) -> None:
        for name in _KEYS:
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

    # --- its value ----------------------------------------------------------------------------
    @abstractmethod
    def of_means(self, group: float, base: float) -> float:
        """The secret of two groups with these means."""

    @abstractmethod
    def moved(
        self, group: float, base: float, share: float, wanted: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The means of the two groups where the secret is the wanted one: their place on the orbit of these two.

        ``share`` is that of the first group's rows among those of both.
        """

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return self.of_means(*two_groups(numbers).means)

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.value(self, params)

    # --- how it is written --------------------------------------------------------------------
    @property
    def label(self) -> str:
        plain = f"{self.by}={self.group}{self.sign}{self.base}"
        if plain.isprintable() and plain == plain.strip() and self._split(plain) == (self.by, self.group, self.base):
            return f"{self.kind}:{plain}"
        written = {name: getattr(self, name) for name in _KEYS}
        return f"{self.kind}:{json.dumps(written, ensure_ascii=False)}"

    @classmethod
    def _split(cls, argument: str) -> tuple[str, ...] | None:
        """Column and labels in the plain form; ``None`` where it is none."""
        by, _, labels = argument.partition("=")
        parts = (by, *labels.split(cls.sign))
        return parts if len(parts) == len(_KEYS) and all(parts) and "=" not in labels else None

    @classmethod
    def parse(cls, argument: str, number: Callable[[str, str], float]) -> Secret:
        as_json = f'{cls.kind}:{{"by": "region", "group": "north", "base": "south"}}'
        if argument.lstrip().startswith("{"):
            try:
                found = json.loads(argument)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict) or sorted(found) != sorted(_KEYS):
                raise ProblemError(
                    f"the groups of a {cls.kind} are a JSON object with the keys {', '.join(_KEYS)}, as in {as_json}. "
                    f"Got {shortened(argument)!r}."
                )
            return cls(**found)
        parts = cls._split(argument)
        if parts is None:
            raise ProblemError(
                f"the groups of a {cls.kind} are written COLUMN=LABEL{cls.sign}LABEL, as in "
                f"{cls.examples()[0].label}, or, where a name or label has one of these signs, as JSON: {as_json}. "
                f"Got {shortened(argument)!r}."
            )
        return cls(*parts)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **{name: getattr(self, name) for name in _KEYS}}
