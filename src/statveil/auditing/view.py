"""All that an attacker may look at: the plan, the released table and stated side knowledge. Never the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from statveil.auditing.relations import Threshold
from statveil.made_plan import Plan
from statveil.modes import Mode
from statveil.problem.column_numbers import InMemory, TwoGroups
from statveil.problem.structure import Structure
from statveil.tables.blocks import Array
from statveil.tables.groups import Masks
from statveil.tables.structure.others.links import Link
from statveil.tables.structure.others.ties import Tie

if TYPE_CHECKING:
    from statveil.auditing.inversion import Inversion

__all__ = ["Companion", "Earlier", "Knowledge", "View"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Earlier:
    """Another release of the same column, under another plan."""

    plan: Plan
    column: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Companion:
    """Another column of a table that was released under a specification, and that is not as it was.

    Parameters
    ----------
    column : array
        Its released rows.
    plan : Plan, optional
        Of a column that is hidden itself.
    factor : float, optional
        Of one that moves along with the audited column: how many of its units one unit of that column is.
    ties : tuple of Tie
        How its original tells the audited column's, if it is hidden itself; how unchanged columns tell its original,
        if it moves along.
    fixed : bool
        Whether it is the same in all trials: who is right by it once is right in all of them, which is no rate.
    """

    column: Array
    plan: Plan | None = None
    factor: float | None = None
    ties: tuple[Tie, ...] = ()
    fixed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Knowledge:
    """What the attacker knows besides the release.

    Parameters
    ----------
    structure : Structure
        Bounds, step, heaps and atoms of the original column. A step is a lattice through 0 (or through a known bound).
    records : tuple of (int, float)
        True values of single rows, by row number from 0.
    releases : tuple of Earlier
        Other releases of the same column.
    patterns : tuple of str
        Kinds of numbers that such a column holds, by their names in :mod:`statveil.auditing.patterns`.
    ties : tuple of Tie
        Other columns, alone or together, that tell the original column, and how.
    thresholds : tuple of Threshold
        Other columns whose values change where the original column passes a known number.
    links : tuple of Link
        Other relations to other columns, which hold for the original column in its place alone.
    seeming : Knowledge, optional
        Ties and thresholds that the originals of columns have which are released otherwise: what an attacker uses who
        takes these for unchanged ones.
    within : tuple of Knowledge
        The same of each of two groups that moved apart.
    """

    structure: Structure = field(default_factory=Structure)
    records: tuple[tuple[int, float], ...] = ()
    releases: tuple[Earlier, ...] = ()
    patterns: tuple[str, ...] = ()
    ties: tuple[Tie, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    links: tuple[Link, ...] = ()
    seeming: Knowledge | None = None
    within: tuple[Knowledge, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """The attacker's view. There is no field for the original, the record or the seed.

    Parameters
    ----------
    plan : Plan
        The published plan.
    column : array
        The released column, NaN where a row has no finite value; numbers of categories for ``category``.
    others : mapping of str to array
        The other numeric columns of the released table that are unchanged, row by row; points in time as seconds.
    groups : mapping of str to array
        The other unchanged columns of text or of true and false, as numbers of the text.
    together : mapping of str to array
        Numbers of groups of rows that the columns name in another way: by parts of their texts, by what other rows they
        name, or two of them together. A row that is in no group has a number of its own.
    companions : mapping of str to Companion
        The columns that are not as they were: hidden too, moved along, or worked out anew.
    knowledge : Knowledge
        Side knowledge.
    parts : pair of array, optional
        The rows of the two groups that the secret compares: their labels are published.
    inversion : Inversion, optional
        What the mechanism leaves open, where that is known of the column already.
    """

    plan: Plan
    column: Array
    others: Mapping[str, Array] = field(default_factory=dict)
    groups: Mapping[str, Array] = field(default_factory=dict)
    together: Mapping[str, Array] = field(default_factory=dict)
    companions: Mapping[str, Companion] = field(default_factory=dict)
    knowledge: Knowledge = field(default_factory=Knowledge)
    parts: Masks | None = None
    inversion: Inversion | None = None

    @property
    def numbers(self) -> InMemory:
        """The released column in plain numbers."""
        groups = None if self.parts is None else TwoGroups.of(self.column, self.parts)
        return InMemory(self.column[np.isfinite(self.column)], groups=groups)

    @property
    def mode(self) -> Mode:
        """What the plan says of the map of the rows: an attacker may assume it."""
        return self.plan.release_mode
