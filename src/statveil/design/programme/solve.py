"""The best randomised mechanism on a grid of cells, with a proof that there is no better one.

Every mechanism within the distortion budget sends each cell, at random, to runs that hold it. The risk is the sum over
the runs of the most that one window of the secret catches there, which makes the best mechanism a linear programme
(docs/theory.md, the best mechanism on a grid).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from statveil.design.cells.branches import check_runs
from statveil.design.cells.cell_grid import Assignment, CellGrid
from statveil.design.programme.assignment import assignment_of, meets, thinned
from statveil.design.programme.certificate import Certificate, lower_bound
from statveil.design.programme.generation import Enough, Progress, with_enough_runs
from statveil.design.programme.rounding import one_release_a_cell
from statveil.design.programme.solution import Solution, check
from statveil.design.programme.solver import Caps, optimum
from statveil.design.programme.windows import risk_of
from statveil.errors import ProblemError, StatveilError, TargetError
from statveil.numbers import number, positive
from statveil.rounding import shown_up

__all__ = ["Certificate", "Solution", "check", "lower_bound", "risk_of", "rounded", "solve_programme"]

_MOST_CELLS = 2_000
_ROUNDING = 1e-12
_SPARE = 1e-6
_MORE = 0.01


def solve_programme(
    grid: CellGrid,
    *,
    caps: Mapping[float, float] | None = None,
    certify: bool = True,
    progress: Progress | None = None,
) -> Solution:
    """The randomised mechanism of least risk on a grid.

    Parameters
    ----------
    grid : CellGrid
        The cells. Fastest where their ends are equally spaced in the secret and a window is a whole number of cells.
    caps : mapping of float to float, optional
        The largest risk at other window lengths. Out of reach if the best mechanism has less than a millionth to spare.
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
    limits = _checked(caps)
    tight = tuple((window, cap * (1 - _SPARE)) for window, cap in limits)  # room for the solver's errors
    found = with_enough_runs(grid, tight, certify, progress)
    if found is None:
        raise _out_of_reach(grid, limits)
    assignment = assignment_of(grid, found.best)
    # one more programme, whose answer has few entries
    sparse = optimum(grid, found.runs, tight, gap=1e-10, sparse=True)
    if sparse is not None:
        thinner = thinned(grid, limits, assignment_of(grid, sparse))
        if meets(grid, limits, thinner) and risk_of(grid, thinner) <= risk_of(grid, assignment) * (1 + 2 * _SPARE):
            assignment = thinner
    certificate = _certificate(found, limits)
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
    close = risk_of(grid, found) <= (1 + _MORE) * solution.risk
    return found if close and meets(grid, solution.certificate.caps, found) else None


def _certificate(found: Enough, caps: Caps) -> Certificate:
    parts = [part for part in (found.best, found.rest) if part is not None]
    weight = np.concatenate([part.weight for part in parts])
    used = weight > 0
    return Certificate(
        run=np.concatenate([part.windows.run for part in parts])[used],
        length=np.concatenate([part.windows.length for part in parts])[used],
        start=np.concatenate([part.windows.start for part in parts])[used],
        stop=np.concatenate([part.windows.stop for part in parts])[used],
        weight=weight[used],
        caps=caps,
        prices=tuple(found.best.cap_prices.tolist()),
    )


def _checked(caps: Mapping[float, float] | None) -> Caps:
    found = []
    for window, cap in (caps or {}).items():
        length = positive(window, "the window of a cap")
        risk = number(cap, "the cap on a risk")
        if not 0 < risk <= 1:
            raise ProblemError(f"the cap on a risk must lie above 0 and at most at 1. Got {risk:g}.")
        if risk < 1:
            found.append((length, risk))
    return tuple(found)


def _out_of_reach(grid: CellGrid, limits: Caps) -> StatveilError:
    """Why the programme has no answer: the least risk at each cap's window tells."""
    if not limits:
        return StatveilError("the solver found no answer to the linear programme. Use another number of cells.")
    for window, cap in limits:
        least = solve_programme(replace(grid, window=window)).lower_bound
        if least >= cap * (1 - _SPARE):
            return TargetError(
                f"no mechanism on these cells has a risk of {cap:g} for guesses of length {window:g}: the least is "
                f"{shown_up(least, 4)}. Allow more risk there, or more distortion."
            )
    return TargetError(
        f"each of the caps {', '.join(f'{cap:g} at {window:g}' for window, cap in limits)} can be met, but not all of "
        "them at once. Allow more risk at one of the windows, or more distortion."
    )
