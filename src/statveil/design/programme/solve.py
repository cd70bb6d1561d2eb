"""The best randomised mechanism on a grid of cells, with a proof that there is no better one.

Every mechanism within the distortion budget sends each cell, at random, to runs that hold it. The risk is the sum over
the runs of the most that one window of the secret catches there, which makes the best mechanism a linear programme
(docs/theory.md, the best mechanism on a grid).
"""

from __future__ import annotations

import numpy as np

from statveil.design.cells.branches import check_runs
from statveil.design.cells.cell_grid import Assignment, CellGrid
from statveil.design.programme.assignment import assignment_of, thinned
from statveil.design.programme.certificate import Certificate, lower_bound
from statveil.design.programme.generation import Enough, Progress, with_enough_runs
from statveil.design.programme.rounding import one_release_a_cell
from statveil.design.programme.solution import Solution, check
from statveil.design.programme.solver import optimum
from statveil.design.programme.windows import risk_of
from statveil.errors import ProblemError, StatveilError

__all__ = ["Certificate", "Solution", "check", "lower_bound", "risk_of", "rounded", "solve_programme"]

_MOST_CELLS = 2_000
_ROUNDING = 1e-12
_SPARE = 1e-6
_MORE = 0.01


def solve_programme(grid: CellGrid, *, certify: bool = True, progress: Progress | None = None) -> Solution:
    """The randomised mechanism of least risk on a grid.

    Parameters
    ----------
    grid : CellGrid
        The cells. Fastest where their ends are equally spaced in the secret and a window is a whole number of cells.
    certify : bool
        Whether to prove a lower bound. Without it a search over many budgets is quicker.
    progress : callable, optional
        Is told in words how far it is.
    """
    check_runs(grid)
    if len(grid) > _MOST_CELLS:
        raise ProblemError(
            f"the linear programme works on at most {_MOST_CELLS:,} cells. Got {len(grid):,}; a few hundred are enough."
        )
    found = with_enough_runs(grid, certify, progress)
    if found is None:
        raise StatveilError("the solver found no answer to the linear programme. Use another number of cells.")
    assignment = assignment_of(grid, found.best)
    # one more programme, whose answer has few entries
    sparse = optimum(grid, found.runs, gap=1e-10, sparse=True)
    if sparse is not None:
        thinner = thinned(grid, assignment_of(grid, sparse))
        if risk_of(grid, thinner) <= risk_of(grid, assignment) * (1 + 2 * _SPARE):
            assignment = thinner
    certificate = _certificate(found)
    solution = Solution(
        assignment=assignment,
        risk=min(1.0, risk_of(grid, assignment) * (1 + _ROUNDING)),
        lower_bound=lower_bound(grid, certificate) if certify else 0.0,
        certificate=certificate,
    )
    wrong = check(grid, solution)
    if wrong:
        raise StatveilError(f"the linear programme went wrong: {' '.join(wrong)} Use another number of cells.")
    return solution


def rounded(grid: CellGrid, solution: Solution) -> Assignment | None:
    """An assignment with one release per cell at no more than 1.01 times the risk; ``None`` where none was found."""
    found = one_release_a_cell(grid, solution.assignment, enough=lambda risk: risk <= (1 + 0.3 * _MORE) * solution.risk)
    return found if risk_of(grid, found) <= (1 + _MORE) * solution.risk else None


def _certificate(found: Enough) -> Certificate:
    parts = [part for part in (found.best, found.rest) if part is not None]
    weight = np.concatenate([part.weight for part in parts])
    used = weight > 0
    return Certificate(
        run=np.concatenate([part.windows.run for part in parts])[used],
        start=np.concatenate([part.windows.start for part in parts])[used],
        stop=np.concatenate([part.windows.stop for part in parts])[used],
        weight=weight[used],
    )
