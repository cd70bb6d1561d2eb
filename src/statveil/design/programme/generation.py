"""The linear programme with as many runs as it takes (column generation)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statveil.design.cells.branches import branches
from statveil.design.cells.cell_grid import CellGrid
from statveil.design.programme.assignment import assignment_of
from statveil.design.programme.runs import comb_worth, first_runs
from statveil.design.programme.solver import Optimum, Priced, optimum, priced
from statveil.design.programme.windows import risk_of, runs_of

__all__ = ["Enough", "Progress", "with_enough_runs"]

Index = NDArray[np.int64]
Progress = Callable[[str], None]

_SAVES = 1e-4
"""A run is added if mass costs this share less there; 1e-6 where the solver itself has priced it."""
_SAVES_PRICED = 1e-6
_AT_ONCE = 12
_LOWER = 1e-6
_STALLED = {True: 8, False: 3}
"""After so many rounds without a lower risk the proof, wanted or not, stays as good as it is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Enough:
    """The programme's answer with enough runs."""

    best: Optimum
    rest: Priced | None
    """What the runs that were left out are worth; ``None`` if there are none, or no proof is wanted."""
    runs: Index
    """The first choice of runs that had the same risk: prices need more runs than the mechanism."""


def with_enough_runs(grid: CellGrid, certify: bool, progress: Progress | None) -> Enough | None:
    """Solve for some of the runs and add others as long as the prices show that mass would cost less there.

    ``None`` where the solver finds no answer. For a secret that only rises or falls the worth of a run's combs tells
    which ones to add; where branches overlap, or for a proof, the solver prices all runs in the end.
    """
    every, runs = runs_of(grid), first_runs(grid)
    in_full = certify or len(branches(grid)) > 1  # combs are not all where two branches overlap
    least, enough, turn, since = np.inf, runs, 0, 0
    while True:  # with more runs each time
        turn += 1
        best = optimum(grid, runs, gap=1e-7)
        if best is None:
            if len(runs) == len(every):
                return None
            runs = every
            continue
        risk = risk_of(grid, assignment_of(grid, best))
        if risk < least * (1 - _LOWER):
            least, enough, since = risk, runs, turn
        if progress is not None:
            progress(f"linear programme, round {turn}: {len(runs)} of {len(every)} releases, risk {risk:.4f}")
        missing = np.setdiff1d(every, runs)
        if not len(missing):
            return Enough(best=best, rest=None, runs=enough)
        saves = comb_worth(grid, best.price, missing) - 1
        wanted = int(np.count_nonzero(saves > _SAVES))
        stalled = turn - since >= _STALLED[certify]
        if wanted and not stalled:
            # the worst of them; their neighbours often stop being worth it
            wanted = min(wanted, max(_AT_ONCE, wanted // 3))
        elif in_full:
            rest = priced(grid, missing, best.price)
            if rest is None:
                runs = every
                continue
            saves = rest.worth - 1
            wanted = int(np.count_nonzero(saves > _SAVES_PRICED))
            if not wanted or stalled:
                return Enough(best=best, rest=rest, runs=enough)
        else:
            return Enough(best=best, rest=None, runs=enough)
        runs = np.union1d(runs, missing[np.argsort(-saves)[:wanted]])
