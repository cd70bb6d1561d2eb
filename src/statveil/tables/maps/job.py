"""All that a mode may use to make the map of a column's rows. Private."""

from __future__ import annotations

from dataclasses import dataclass

from statveil.planning import Applied, Plan
from statveil.tables.blocks import Blocks
from statveil.tables.estimate import anchor_of
from statveil.tables.maps.sampling import Counts

__all__ = ["Job"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """What is to be done.

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
    counts : array, optional
        Rows of each category as they were counted: a column that has others by now is refused.
    """

    plan: Plan
    params: dict[str, float]
    statistic: float
    applied: Applied
    blocks: Blocks
    offset: float
    smear: bool
    seed: int
    counts: Counts | None = None

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
