"""Branches of a grid of cells: stretches over which the secret only rises or only falls."""

from __future__ import annotations

from statveil.design.cells.cell_grid import CellGrid
from statveil.errors import ProblemError

__all__ = ["branches", "check_runs", "rising"]


def check_runs(grid: CellGrid) -> None:
    """Raise an error unless every cell can be released within the budget, and runs are in order."""
    n = len(grid)
    if n == 0:
        raise ProblemError("the grid has no cells; cut the parameter into at least one.")
    alone = 0
    for cell, last in enumerate(grid.last.tolist()):
        if last < cell:
            raise ProblemError(
                f"cell {cell} alone is wider than the distortion budget allows; use more cells or a larger budget."
            )
        if not alone <= last < n:
            raise ProblemError(
                f"the last cells of the runs must not fall and must lie below {n}. Got {last} at cell {cell}."
            )
        alone = last


def branches(grid: CellGrid) -> list[tuple[int, int]]:
    """First cell and end (one past the last cell) of every branch, from left to right."""
    low, high = grid.low.tolist(), grid.high.tolist()
    slack = 1e-12 * max(max(high) - min(low), *(abs(x) for x in (*low, *high)))
    cuts, up, down = [0], True, True
    for i in range(1, len(low)):
        up, down = up and low[i] >= high[i - 1] - slack, down and high[i] <= low[i - 1] + slack
        if not (up or down):
            cuts.append(i)
            up = down = True
    return [*zip(cuts, [*cuts[1:], len(low)], strict=True)]


def rising(grid: CellGrid, what: str) -> bool:
    """Whether the secret rises over the whole grid (or falls, ``False``); an error if it turns."""
    found = branches(grid)
    if len(found) > 1:
        turns = ", ".join(f"{grid.edges[first]:g}" for first, _ in found[1:4]) + (", ..." if len(found) > 4 else "")
        raise ProblemError(
            f"{what} need a secret that only rises or only falls. This one turns {len(found) - 1} times, at {turns}; "
            "state a narrower range, or use intervals."
        )
    return bool(grid.low[-1] + grid.high[-1] >= grid.low[0] + grid.high[0])
