"""The columns beside an attacked one that are not kept: in every trial they are released again, as the table's were.

What an attacker sees of a table depends on the trial: a linked column moves as the attacked one does, a derived one is
worked out of it. Another hidden column stays as it was released, which assumes that its secret says nothing about the
attacked one; unless it holds the same in another form, in which case it follows and is released anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from statveil.auditing.game import release_column
from statveil.auditing.sampling import Places
from statveil.auditing.view import Companion, Knowledge
from statveil.made_plan import Plan
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.changes import Changes, Derived, Labels
from statveil.tables.groups import Masks
from statveil.tables.linking import linked_map
from statveil.tables.preparing import Prepared
from statveil.tables.series import ColumnType
from statveil.tables.structure.others.ties import Tie

__all__ = ["Partner", "Scene", "array_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partner:
    """A column that is moved: hidden under a plan of its own, or moving along with a hidden one.

    Parameters
    ----------
    original, released : array
        Its rows before and after; numbers of categories for a column of categories.
    plan : Plan, optional
        Its own, if it is hidden.
    labels : sequence of str, optional
        Its categories.
    factor, offset : float, float
        If it moves along with the attacked column: how many of its units one unit of that is, and the place of its
        lattice.
    bits : int
        Precision of its numbers.
    parts : pair of array, optional
        The rows of the two groups that its secret compares.
    ties : tuple of Tie
        As of :class:`Companion`.
    """

    original: Array
    released: Array
    plan: Plan | None = None
    labels: Labels = None
    factor: float | None = None
    offset: float = 0.0
    bits: int = 53
    parts: Masks | None = None
    ties: tuple[Tie, ...] = ()

    @property
    def follows(self) -> bool:
        """Whether its rows depend on the attacked column's."""
        return self.factor is not None or (self.plan is not None and bool(self.ties))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """What stands beside the attacked column of a released table, but for the columns that are kept.

    Parameters
    ----------
    column : str
        The attacked column.
    labels : sequence of str, optional
        Its categories.
    partners : mapping of str to Partner
        Columns that are moved.
    derived : mapping of str to Derived
        Columns that are worked out of released ones.
    last : mapping of str to array
        The derived columns as they were released.
    texts : mapping of str to list of str
        The texts of the original column of the same name, for derived columns of text: their numbers are its places.
    kept : mapping of str to series
        Kept columns that derived ones need.
    seeming : Knowledge
        What the originals of all these say of the attacked column.
    """

    column: str
    labels: Labels
    partners: Mapping[str, Partner]
    derived: Mapping[str, Derived]
    last: Mapping[str, Array]
    texts: Mapping[str, list[str]]
    kept: Mapping[str, pl.Series]
    seeming: Knowledge

    @property
    def originals(self) -> dict[str, Array]:
        """The partners that follow the attacked column where that is redrawn."""
        return {name: one.original for name, one in self.partners.items() if one.follows}

    @property
    def ties(self) -> tuple[Tie, ...]:
        """What ties them to it."""
        names = {*self.originals}
        return tuple(tie for tie in self.seeming.ties if names & {*tie.columns})

    @property
    def joint(self) -> bool:
        """Whether another hidden column holds the same: then both places in their bins are drawn, by one draw."""
        return any(one.plan is not None and one.follows for one in self.partners.values())

    @property
    def moving(self) -> set[str]:
        """The columns that are not the same in all trials."""
        names = {self.column, *self.originals}
        for name, one in self.derived.items():
            if names & {*one.needs}:
                names.add(name)
        return names

    def as_released(self) -> dict[str, Companion]:
        """The columns of the released table itself."""
        found = {name: _companion(one, one.released) for name, one in self.partners.items()}
        return found | self._worked_out(self.last)

    def companions(
        self, rows: Places, released: Array, prepared: Prepared, moved: Mapping[str, Array], *, seed: int
    ) -> dict[str, Companion]:
        """The columns of a trial.

        Parameters
        ----------
        rows : array
            Its rows.
        released : array
            The attacked column as the trial released it, by ``prepared``.
        moved : mapping of str to array
            Other columns before their release, where they followed the attacked one or are kept.
        seed : int
            For columns that are released anew.
        """
        found = {
            name: _companion(one, self._again(name, one, rows, prepared, moved, seed))
            for name, one in self.partners.items()
        }
        if not self.derived:
            return found
        columns: dict[Any, pl.Series] = {name: self._kept(name, rows, moved) for name in self.kept}
        columns |= {name: _series(one.column, self.partners[name].labels) for name, one in found.items()}
        columns[self.column] = _series(released, self.labels)
        made = Changes(derived=self.derived).worked_out(columns)
        return found | self._worked_out({name: array_of(one, self.texts.get(name)) for name, one in made.items()})

    def _worked_out(self, columns: Mapping[str, Array | None]) -> dict[str, Companion]:
        moving = self.moving
        return {
            name: Companion(column=one, fixed=name not in moving) for name, one in columns.items() if one is not None
        }

    def _again(
        self, name: str, one: Partner, rows: Places, prepared: Prepared, moved: Mapping[str, Array], seed: int
    ) -> Array:
        if not one.follows:
            return one.released[rows]
        before = moved.get(name, one.original[rows])
        if one.factor is None:
            assert one.plan is not None
            parts = None if one.parts is None else (one.parts[0][rows], one.parts[1][rows])
            return release_column(one.plan, before, bits=one.bits, seed=seed, parts=parts)[0]
        column_map = linked_map(
            prepared.column_map,
            column=name,
            type=ColumnType(kind="float", name="float", bits=one.bits),
            factor=one.factor,
            offset=one.offset,
            seed=seed,
        )
        return np.concatenate([column_map.block(block, index) for index, block in enumerate(blocks_of(before)())])

    def _kept(self, name: str, rows: Places, moved: Mapping[str, Array]) -> pl.Series:
        column = self.kept[name]
        if name in moved and column.dtype.is_numeric():
            return _series(moved[name], None)
        return column.gather(rows)


def _companion(one: Partner, column: Array) -> Companion:
    return Companion(column=column, plan=one.plan, factor=one.factor, ties=one.ties, fixed=not one.follows)


def _series(values: Array, labels: Labels) -> pl.Series:
    """Numbers as derived columns read them; categories as their texts."""
    if labels is None:
        return pl.Series(values).fill_nan(None)
    return pl.Series([None if np.isnan(code) else labels[int(code)] for code in values], dtype=pl.String)


def array_of(column: pl.Series, texts: list[str] | None = None) -> Array | None:
    """A column as attackers read it: numbers, 1 and 0, or the place of each text in a list; ``None`` for all else.

    >>> array_of(pl.Series([True, None, False])).tolist(), array_of(pl.Series(["b", "c"]), ["a", "b"]).tolist()
    ([1.0, nan, 0.0], [1.0, nan])
    """
    column = column.alias("")  # the engine takes a name such as ``^a.*$`` for a pattern
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return np.asarray(column.cast(pl.Float64).fill_null(np.nan).to_numpy(allow_copy=True), dtype=np.float64)
    if texts is None or column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    places = {text: float(place) for place, text in enumerate(texts)}
    return np.array([places.get(text, np.nan) for text in column.cast(pl.String).to_list()], dtype=np.float64)
