"""Secrets that compare two means, of groups of rows or of columns: what they share, and how they are written."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statveil.errors import ProblemError, shortened
from statveil.problem.column_numbers import ColumnNumbers, TwoGroups, two_groups
from statveil.problem.family import Family
from statveil.problem.secret import Secret

__all__ = ["OfTwo"]


@dataclass(frozen=True, slots=True)
class OfTwo(Secret):
    """A statistic that compares two means; what they are the means of is said by a subclass."""

    sign: ClassVar[str]
    """What stands between the two where people write them."""
    keys: ClassVar[tuple[str, ...]]
    """The names that say which two, as in JSON."""
    two: ClassVar[str]
    """What is compared, in words: ``groups`` or ``columns``."""

    # --- its value ----------------------------------------------------------------------------
    @abstractmethod
    def of_means(self, group: float, base: float) -> float:
        """The secret of two with these means."""

    @abstractmethod
    def moved(
        self, group: float, base: float, share: float, wanted: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The two means where the secret is the wanted one: their place on the orbit of these two.

        ``share`` is that of the first one's rows among those of both (:meth:`weighed`).
        """

    def weighed(self, found: TwoGroups) -> TwoGroups:
        """Both with the weights by which they share a move."""
        return found

    def of_column(self, numbers: ColumnNumbers, family: Family) -> float:
        return self.of_means(*two_groups(numbers).means)

    def of(self, family: Family, params: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        return family.value(self, params)

    # --- how it is written --------------------------------------------------------------------
    @property
    @abstractmethod
    def _plain(self) -> str:
        """The plain form, which need not be readable."""

    @classmethod
    @abstractmethod
    def _split(cls, argument: str) -> tuple[str, ...] | None:
        """The parts of the plain form; ``None`` where it is none."""

    @classmethod
    def _not_plain(cls, argument: str) -> str:
        """What else is wrong with an argument in no plain form, as a sentence behind a blank."""
        return ""

    @property
    def label(self) -> str:
        plain, parts = self._plain, tuple(getattr(self, name) for name in self.keys)
        if plain.isprintable() and plain == plain.strip() and self._split(plain) == parts:
            return f"{self.kind}:{plain}"
        return f"{self.kind}:{json.dumps(dict(zip(self.keys, parts, strict=True)), ensure_ascii=False)}"

    @classmethod
    def parse(cls, argument: str, number: Callable[[str, str], float]) -> Self:
        example = cls.examples()[0].to_json()
        as_json = f"{cls.kind}:{json.dumps({name: example[name] for name in cls.keys})}"
        if argument.lstrip().startswith("{"):
            try:
                found = json.loads(argument)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict) or sorted(found) != sorted(cls.keys):
                raise ProblemError(
                    f"the {cls.two} of a {cls.kind} are a JSON object with the keys {', '.join(cls.keys)}, as in "
                    f"{as_json}. Got {shortened(argument)!r}."
                )
            return cls(**found)
        parts = cls._split(argument)
        if parts is None:
            raise ProblemError(
                f"the {cls.two} of a {cls.kind} are written {cls.argument}, as in {cls.examples()[0].label}, or, where "
                f"a name or label has one of these signs, as JSON: {as_json}. Got {shortened(argument)!r}."
                f"{cls._not_plain(argument)}"
            )
        return cls(*parts)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **{name: getattr(self, name) for name in self.keys}}
