"""A release specification: what happens to every column, as one public TOML file made before looking at the data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from statveil.specification.treatments import Budget, Derive, Drop, HiddenSecret, Hide, Keep, Link, Treatment

__all__ = [
    "OTHERS",
    "Budget",
    "Derive",
    "Drop",
    "HiddenSecret",
    "Hide",
    "Keep",
    "Link",
    "Specification",
    "Treatment",
    "load_specification",
]

OTHERS = ("refuse", "keep", "drop")
"""What may happen to columns of the table that the specification does not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """What is done with each column of a table.

    Attributes
    ----------
    columns : mapping of str to Treatment
        :class:`Hide`, :class:`Keep`, :class:`Drop`, :class:`Link` or :class:`Derive` by column, in the file's order.
    shuffle : bool
        Put the rows in a random order.
    others : str
        What happens to columns that are not named: ``"refuse"`` the table (the default: nothing is published by
        oversight), ``"keep"`` them or ``"drop"`` them.
    budget : Budget, optional
        A joint risk for all hidden statistics.
    """

    columns: Mapping[str, Treatment]
    shuffle: bool = False
    others: str = "refuse"
    budget: Budget | None = None

    @property
    def hidden(self) -> dict[str, Hide]:
        """The hidden columns."""
        return {name: one for name, one in self.columns.items() if isinstance(one, Hide)}

    @property
    def linked(self) -> dict[str, Link]:
        """The columns that move with a hidden one."""
        return {name: one for name, one in self.columns.items() if isinstance(one, Link)}

    @property
    def derived(self) -> dict[str, Derive]:
        """The derived columns, each after those that it uses."""
        return {name: one for name, one in self.columns.items() if isinstance(one, Derive)}  # in order: to come

    @classmethod
    def from_toml(cls, text: str, *, source: str = "the specification") -> Specification:
        """The specification that a TOML text states; one sentence with the line where it states none."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, data: Any) -> Specification:
        """The specification that :meth:`to_json` wrote."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The same content as the TOML file has, as a JSON object."""
        raise NotImplementedError

    def to_toml(self) -> str:
        """The text of a specification file; reading it gives the same specification."""
        raise NotImplementedError


def load_specification(path: str | os.PathLike[str]) -> Specification:
    """Read a specification file."""
    raise NotImplementedError
