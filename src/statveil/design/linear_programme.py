"""The best randomised mechanism on a grid of cells, with a proof that there is no better one.

Every mechanism within the distortion budget sends each cell, at random, to runs that hold it. The risk is the sum over
the runs of the most that one window of the secret catches there, which makes the best mechanism a linear programme
(docs/theory.md, the true optimum on a grid). It is solved for some of the runs; others are added as long as its prices
show that mass would cost less there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statveil.design.branches import branches, check_runs
from statveil.design.cell_grid import Assignment, CellGrid
from statveil.design.lp_certificate import Certificate, lower_bound
from statveil.design.lp_rounding import one_release_a_cell
from statveil.design.lp_runs import comb_worth, first_runs
from statveil.design.lp_solver import Caps, Optimum, Priced, optimum, priced
from statveil.design.lp_windows import risk_of, runs_of
from statveil.errors import ProblemError, TargetError
from statveil.numbers import number, positive

__all__ = ["Certificate", "Solution", "check", "lower_bound", "risk_of", "rounded", "solve_programme"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Progress = Callable[[str], None]

_SAVES = 1e-4
"""A run is added if mass costs this share less there; 1e-6 where the solver itself has priced it."""
_SAVES_PRICED = 1e-6
_AT_ONCE = 12
_STALLED = {True: 8, False: 3}
"""After so many rounds without a lower risk the proof, wanted or not, stays as good as it is."""
_ROUNDING = 1e-12
_LEAST = 1e-9
_THRESHOLDS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
_SPARE = 1e-6
_MORE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """An assignment, its risk, and a risk that no assignment is below; the mass of a cell is spread evenly in it."""

    assignment: Assignment
    """A release has the number of the first cell of its run."""
    risk: float
    """Computed from the assignment, not the solver's word."""
    lower_bound: float
    """No randomised mechanism on the grid (that meets the caps) has a lower risk; 0 if it was not asked for."""
    certificate: Certificate
    """What proves it."""

    @property
    def gap(self) -> float:
        """By how much the risk may be above the least possible one."""
        return self.risk - self.lower_bound


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
    limits = _checked(caps)
    best, rest, runs = _with_enough_runs(grid, limits, certify, progress)
    assignment = _assignment(grid, best)
    # one more programme, whose answer has few entries
    sparse = optimum(grid, runs, _tightened(limits), gap=1e-10, sparse=True)
    if sparse is not None:
        thinner = _thinned(grid, limits, _assignment(grid, sparse))
        if _meets(grid, limits, thinner) and risk_of(grid, thinner) <= risk_of(grid, assignment) * (1 + 2 * _SPARE):
            assignment = thinner
    certificate = _certificate(best, rest, limits)
    solution = Solution(
        assignment=assignment,
        risk=min(1.0, risk_of(grid, assignment) * (1 + _ROUNDING)),
        lower_bound=lower_bound(grid, certificate) if certify else 0.0,
        certificate=certificate,
    )
    wrong = check(grid, solution)
    if wrong:
        raise RuntimeError(f"the linear programme went wrong: {' '.join(wrong)} Use another number of cells.")
    return solution


def check(grid: CellGrid, solution: Solution) -> list[str]:
    """What does not hold of a solution: nothing, if the list is empty. Uses no solver."""
    found, certificate = solution.assignment, solution.certificate
    sizes = {len(found.cell), len(found.release), len(found.probability)}
    if len(sizes) > 1 or not len(found.cell) or not 0 <= found.cell.min() <= found.cell.max() < len(grid):
        return ["The entries of the assignment do not name cells of the grid."]
    if not np.all(np.isfinite(found.probability)) or found.probability.min() < 0:
        return ["A probability is negative or not a number."]
    wrong = []
    total = np.bincount(found.cell, found.probability, minlength=len(grid))
    worst = int(np.argmax(np.abs(total - 1)))
    if abs(total[worst] - 1) > _LEAST:
        wrong.append(f"The probabilities of cell {worst} add up to {total[worst]:.9g}, not 1.")
    order = np.argsort(found.release, kind="stable")
    cell, release = found.cell[order], found.release[order]
    opens = np.flatnonzero(np.diff(release, prepend=release[0] - 1))
    low, high = np.minimum.reduceat(cell, opens), np.maximum.reduceat(cell, opens)
    outside = np.flatnonzero(grid.last[low] < high)
    if len(outside):
        at = outside[0]
        wrong.append(f"Release {release[opens[at]]} serves the cells {low[at]} to {high[at]}, which no run holds.")
    risk = risk_of(grid, found)
    if not risk <= solution.risk * (1 + _ROUNDING):
        wrong.append(f"The risk is {risk:.9g}, not {solution.risk:.9g}.")
    if not len(certificate.run) or not 0 <= certificate.run.min() <= certificate.run.max() < len(grid):
        return [*wrong, "The certificate does not name runs of the grid."]
    bound = lower_bound(grid, certificate)
    if not solution.lower_bound <= bound + _ROUNDING:
        wrong.append(f"The certificate proves a lower bound of {bound:.9g}, not {solution.lower_bound:.9g}.")
    if solution.lower_bound > solution.risk * (1 + _LEAST):
        wrong.append(f"The lower bound, {solution.lower_bound:.9g}, is above the risk, {solution.risk:.9g}.")
    for window, cap in certificate.caps:
        reached = risk_of(grid, found, window)
        if not reached <= cap:
            wrong.append(f"The risk for a window of {window:g} is {reached:.9g}, above its cap of {cap:g}.")
    return wrong


def rounded(grid: CellGrid, solution: Solution) -> Assignment | None:
    """An assignment with one release a cell at no more than 1.01 times the risk; ``None`` where none was found."""
    found = one_release_a_cell(grid, solution.assignment, enough=lambda risk: risk <= (1 + 0.3 * _MORE) * solution.risk)
    close = risk_of(grid, found) <= (1 + _MORE) * solution.risk
    return found if close and _meets(grid, solution.certificate.caps, found) else None


# --- more and more runs -------------------------------------------------------------------------------
def _with_enough_runs(
    grid: CellGrid, limits: Caps, certify: bool, progress: Progress | None
) -> tuple[Optimum, Priced | None, Index]:
    """The best mechanism with so many runs that no other one helps, what proves that of the others, and runs that do.

    The prices need more runs than the mechanism: the last are the first runs whose best mechanism is no worse.
    """
    every, runs = runs_of(grid), first_runs(grid)
    in_full = certify or bool(limits) or len(branches(grid)) > 1  # combs are not all where two branches overlap
    least, enough, turn, since = np.inf, runs, 0, 0
    while True:  # with more runs each time
        turn += 1
        best = optimum(grid, runs, _tightened(limits), gap=1e-7)
        if best is None:
            if len(runs) == len(every):
                raise _out_of_reach(grid, limits)
            runs = every
            continue
        risk = risk_of(grid, _assignment(grid, best))
        if risk < least * (1 - _SPARE):
            least, enough, since = risk, runs, turn
        if progress is not None:
            progress(f"linear programme, round {turn}: {len(runs)} of {len(every)} releases, risk {risk:.4f}")
        missing = np.setdiff1d(every, runs)
        if not len(missing):
            return best, None, enough
        saves = comb_worth(grid, best.price, missing) - 1 if not limits else np.zeros(len(missing))
        wanted = int(np.count_nonzero(saves > _SAVES))
        stalled = turn - since >= _STALLED[certify]
        if wanted and not stalled:
            # the worst of them; their neighbours often stop being worth it
            wanted = min(wanted, max(_AT_ONCE, wanted // 3))
        elif in_full:
            rest = priced(grid, missing, limits, best.price, best.cap_prices)
            if rest is None:
                runs = every
                continue
            saves = rest.worth - 1
            wanted = int(np.count_nonzero(saves > _SAVES_PRICED))
            if not wanted or stalled:
                return best, rest, enough
        else:
            return best, None, enough
        runs = np.union1d(runs, missing[np.argsort(-saves)[:wanted]])


def _certificate(best: Optimum, rest: Priced | None, limits: Caps) -> Certificate:
    parts = [(best.windows, best.weight)] + ([] if rest is None else [(rest.windows, rest.weight)])
    weight = np.concatenate([weight for _, weight in parts])
    used = weight > 0
    return Certificate(
        run=np.concatenate([rows.run for rows, _ in parts])[used],
        length=np.concatenate([rows.length for rows, _ in parts])[used],
        start=np.concatenate([rows.start for rows, _ in parts])[used],
        stop=np.concatenate([rows.stop for rows, _ in parts])[used],
        weight=weight[used],
        caps=limits,
        prices=tuple(best.cap_prices.tolist()),
    )


# --- from the solver's answer to an assignment ----------------------------------------------------------
def _assignment(grid: CellGrid, best: Optimum) -> Assignment:
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


def _thinned(grid: CellGrid, limits: Caps, found: Assignment) -> Assignment:
    """The same risk with fewer entries: small ones are left out."""
    risk = risk_of(grid, found)
    for least in _THRESHOLDS:
        thinner = _kept(found, least)
        if risk_of(grid, thinner) <= risk * (1 + _SPARE) and _meets(grid, limits, thinner):
            return thinner
    return found


# --- caps -----------------------------------------------------------------------------------------------
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


def _tightened(limits: Caps) -> Caps:
    """Caps with room for the solver's errors."""
    return tuple((window, cap * (1 - _SPARE)) for window, cap in limits)


def _meets(grid: CellGrid, limits: Caps, found: Assignment) -> bool:
    return all(risk_of(grid, found, window) <= cap for window, cap in limits)


def _out_of_reach(grid: CellGrid, limits: Caps) -> Exception:
    """Why the programme has no answer: the least risk at each cap's window tells."""
    if not limits:
        return RuntimeError("the solver found no answer to the linear programme. Use another number of cells.")
    for window, cap in limits:
        least = solve_programme(replace(grid, window=window)).lower_bound
        if least >= cap * (1 - _SPARE):
            return TargetError(
                f"no mechanism on these cells has a risk of {cap:g} for guesses of length {window:g}: the least is "
                f"{least:.4g}. Allow more risk there, or more distortion."
            )
    return TargetError(
        f"each of the caps {', '.join(f'{cap:g} at {window:g}' for window, cap in limits)} can be met, but not all of "
        "them at once. Allow more risk at one of the windows, or more distortion."
    )
