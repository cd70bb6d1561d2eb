"""From a plan and the parameters of a column to the map of its rows: what a mode is given, and who is asked."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from statveil.made_plan import Applied, Plan
from statveil.problem.column_numbers import TwoGroups
from statveil.tables.blocks import Blocks
from statveil.tables.estimate import anchor_of
from statveil.tables.groups import GroupRows
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.sampling import Counts
from statveil.tables.structure.reading.sampler import Sampler

__all__ = ["Job", "build_map"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """All that a mode may use to make the map of a column's rows. Private.

    Parameters
    ----------
    plan : Plan
        The plan to realise.
    params, statistic : dict, float
        The column's own parameters, and its own value of the secret.
    applied : Applied
        What the mechanism released for them.
    blocks : function
        A pass over the column.
    offset : float
        Where the column's lattice lies, if a step is declared.
    smear : bool
        Whether values that are 32-bit floats are smeared over their cells.
    seed : int
        The secret seed.
    centre : float
        The point about which a spread is stretched where none is known.
    counts : array, optional
        Rows of each category as they were counted: a column that has others by now is refused.
    groups, measured_groups : GroupRows, TwoGroups, optional
        The rows of the two groups that the secret compares, and what was measured of them.
    sampler, rows : Sampler, int, optional
        Has seen the column, which has so many finite rows.
    """

    plan: Plan
    params: dict[str, float]
    statistic: float
    applied: Applied
    blocks: Blocks
    offset: float
    smear: bool
    seed: int
    centre: float = 0.0
    counts: Counts | None = None
    groups: GroupRows | None = None
    measured_groups: TwoGroups | None = None
    sampler: Sampler | None = None
    rows: int = 0

    @property
    def released(self) -> dict[str, float]:
        """The released parameters."""
        return {name: float(value) for name, value in self.applied.released.items()}

    @property
    def ends(self) -> tuple[float, float]:
        """What the map moves, before and after: the secret, or what stands for it where no row moves by it."""
        problem = self.plan.problem
        if problem.secret.anchor is problem.secret:
            return self.statistic, float(self.applied.secret)
        return anchor_of(problem, self.params), anchor_of(problem, self.released)

    @property
    def smear_seed(self) -> int | None:
        """The seed by which values are smeared over their cells, if they are."""
        return self.seed if self.smear else None

    @property
    def bound(self) -> float:
        """The one declared bound, about which a shape is kept."""
        known = self.plan.problem.known
        about = known.minimum if known.minimum is not None else known.maximum
        assert about is not None
        return about


def build_map(job: Job) -> ColumnMap:
    """The map that gives the column the released parameters, made by the mode or where it says."""
    mode = job.plan.release_mode
    own = getattr(mode, "prepare", None) or import_module(mode.prepared_in).prepare
    prepared = own(job)
    assert isinstance(prepared, ColumnMap)
    return prepared
