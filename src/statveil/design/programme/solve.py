"""The best randomised mechanism on a grid of cells, with a proof that there is no better one.

Every mechanism within the distortion budget sends each cell, at random, to runs that hold it. The risk is the sum over
the runs of the most that one window of the secret catches there, which makes the best mechanism a linear programme
(docs/theory.md, the best mechanism on a grid).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from statveil.design.cells.grid import Assignment, CellGrid, branches, check_runs
from statveil.design.programme.certificate import Certificate, Solution, check, lower_bound, reach, risk_of, runs_of
from statveil.design.programme.matrix import Optimum, Priced, optimum, priced
from statveil.design.programme.rounding import one_release_a_cell
from statveil.errors import ProblemError, StatveilError
from statveil.numeric import Array, Index

__all__ = ["Progress", "comb_worth", "first_runs", "rounded", "solve_programme"]

_MOST_CELLS = 2_000
_ROUNDING = 1e-12
_SPARE = 1e-6
_MORE = 0.01
Progress = Callable[[str], None]

_SAVES = 1e-4
"""A run is added if mass costs this share less there; 1e-6 where the solver itself has priced it."""
_SAVES_PRICED = 1e-6
_AT_ONCE = 12
_LOWER = 1e-6
_STALLED = {True: 8, False: 3}
"""After so many rounds without a lower risk the proof, wanted or not, stays as good as it is."""

_PER_RUN = 10
"""How many runs start within the length of one, to begin with; more are added where they help."""
_ALIKE = 1e-9
_LEAST = 1e-9
_THRESHOLDS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_AFFORDABLE = 1e-6
"""Share by which the risk may rise for fewer entries."""


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


def first_runs(grid: CellGrid) -> Index:
    """Some of the runs that no other one contains, spread evenly, so that each cell is in one of them."""
    kept = {0}
    latest = 0
    after: int = int(grid.last[0]) + 1  # the runs 0, after, ... that follow each other hold every cell
    for run in runs_of(grid).tolist():
        if run >= latest + max(1, (int(grid.last[latest]) - latest + 1) // _PER_RUN):
            kept.add(run)
            latest = run
        if after < len(grid) and grid.last[run] >= grid.last[after]:
            kept.add(run)  # run `after`, or one that contains it
            after = int(grid.last[run]) + 1
    return np.array(sorted(kept))


def comb_worth(grid: CellGrid, price: Array, runs: Index) -> Array:
    """Largest sum of prices over cells of each run of which a window catches no more than one.

    With cells i and j whose low ends and high ends are both a window apart, what a window takes of j it has already
    left of i. A run whose worth is above 1 lets the programme send mass there at less than the mass costs now. Exact
    where the window is a whole number of cells, never too large otherwise.
    """
    order = np.lexsort((grid.high, grid.low))
    low, high = grid.low[order], grid.high[order]
    window = reach(grid) * (1 - _ALIKE)
    least_high = np.minimum.accumulate(high[::-1])[::-1]  # of this cell and all above it
    after = np.maximum(np.searchsorted(low, low + window), np.searchsorted(least_high, high + window))
    points = np.flatnonzero(high <= low)
    after[points] = np.maximum(after[points], np.searchsorted(low, low[points] + reach(grid), side="right"))
    best = np.zeros((len(grid) + 1, len(runs)))
    first, stop = np.searchsorted(grid.last[runs], order), np.searchsorted(runs, order, side="right")
    for k in range(len(grid) - 1, -1, -1):
        best[k] = best[k + 1]
        held = slice(first[k], stop[k])  # the runs that hold this cell
        best[k, held] = np.maximum(best[k + 1, held], price[order[k]] + best[after[k], held])
    worth: Array = best[0]
    return worth


def assignment_of(grid: CellGrid, best: Optimum) -> Assignment:
    """The solver's answer, made exact: no negative masses, and probabilities that add up to 1."""
    mass = best.mass.copy()
    cells, first = np.unique(best.cell, return_index=True)
    total = np.bincount(best.cell, mass, minlength=len(grid))
    mass[first[total[cells] <= 0]] = 1.0  # cells without mass go anywhere
    return _kept(Assignment(cell=best.cell, release=best.run, probability=mass), _LEAST)


def _kept(found: Assignment, least: float) -> Assignment:
    """The entries of at least this share of their cell, and the largest of each cell, scaled to add up to 1."""
    total = np.bincount(found.cell, found.probability)
    share = found.probability / total[found.cell]
    largest = np.zeros(len(total))
    np.maximum.at(largest, found.cell, share)
    used = share >= np.minimum(least, largest[found.cell])
    cell, share = found.cell[used], share[used]
    return Assignment(cell=cell, release=found.release[used], probability=share / np.bincount(cell, share)[cell])


def thinned(grid: CellGrid, found: Assignment) -> Assignment:
    """The same risk with fewer entries: small ones are left out."""
    risk = risk_of(grid, found)
    for least in _THRESHOLDS:
        thinner = _kept(found, least)
        if risk_of(grid, thinner) <= risk * (1 + _AFFORDABLE):
            return thinner
    return found
