"""A release specification: what happens to every column, as one public TOML file made before looking at the data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from statveil.errors import FileError, cannot, unknown_name
from statveil.small_file import read_small
from statveil.specification.checks import check_columns, in_order
from statveil.specification.lines import Path
from statveil.specification.placed import PlacedError
from statveil.specification.reading import fields_of, parsed, placed_in
from statveil.specification.treatments import Budget, Derive, Drop, HiddenSecret, Hide, Keep, Link, Treatment
from statveil.specification.writing import content, toml

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
    origin: tuple[str, Mapping[Path, int]] | None = field(default=None, compare=False, repr=False)
    """The name of the file and the line of each key, for errors that are found later; ``None`` if it was not read."""

    def __post_init__(self) -> None:
        if self.others not in OTHERS:
            raise PlacedError(unknown_name("treatment of other columns", str(self.others), OTHERS), ("others",))
        object.__setattr__(self, "columns", dict(self.columns))
        check_columns(self.columns, self.others, self.budget)

    def __hash__(self) -> int:
        return hash(self.to_toml())

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
        found = ((name, self.columns[name]) for name in in_order(self.columns))
        return {name: one for name, one in found if isinstance(one, Derive)}

    @classmethod
    def from_toml(cls, text: str, *, source: str = "the specification") -> Specification:
        """The specification that a TOML text states; one sentence with the line where it states none.

        Examples
        --------
        >>> spec = Specification.from_toml('''
        ... [columns.wage]
        ... hide = "mean"
        ... prior = "10:50"
        ... tolerance = "5%"
        ... max_risk = 0.2
        ... [columns.lwage]
        ... derive = "log(wage)"
        ... ''')
        >>> sorted(spec.derived["lwage"].expression.columns)
        ['wage']
        """
        data, lines = parsed(text, source)
        try:
            return cls(**fields_of(data), origin=(source, lines))
        except PlacedError as error:
            raise placed_in(error, source, lines) from None

    @classmethod
    def from_json(cls, data: Any) -> Specification:
        """The specification that :meth:`to_json` wrote."""
        return cls(**fields_of(data))

    def to_json(self) -> dict[str, Any]:
        """The same content as the TOML file has, as a JSON object."""
        return content(self.columns, shuffle=self.shuffle, others=self.others, budget=self.budget)

    def to_toml(self) -> str:
        """The text of a specification file; reading it gives the same specification."""
        return toml(self.to_json())


def load_specification(path: str | os.PathLike[str]) -> Specification:
    """Read a specification file."""
    try:
        text = read_small(path)
    except UnicodeDecodeError:
        raise FileError(f"{path} is not a specification (not UTF-8 text).") from None
    except OSError as error:
        raise cannot(f"read {path}", error) from None
    return Specification.from_toml(text, source=str(path))
