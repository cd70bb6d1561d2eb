"""Risk of combs under any density: along one parameter, or on lines that sweep two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statveil.numeric import Array
from statveil.theory.comb_layout import layout
from statveil.theory.risk.lines import Caught, Sweep, caught_share
from statveil.theory.risk.teeth_on_lines import best_teeth
from statveil.theory.risk.windows_on_lines import best_windows

__all__ = ["comb_caught", "comb_sweep_risk"]


_MOST_BLOCKS = 6_000_000


def comb_sweep_risk(
    sweep: Sweep,
    teeth: int,
    extent: float,
    window: float,
    attacker: float,
    *,
    inner: Callable[[Array], tuple[Array, Array]],
    mass: float | None = None,
    quick: bool = False,
) -> float:
    """P(hit) on lines that sweep two parameters, rounded up by the error of the quadrature.

    ``inner`` says where the belief's mass begins and ends on each line. ``mass`` is the whole of it, where known: what
    the nodes miss, as of a narrow peak, then counts as hit.
    """
    enter, leave = sweep.chord(np.linspace(float(sweep.knots.min()), float(sweep.knots.max()), 65))
    blocks = max(1.0, float(np.max(leave - enter)) / (teeth * window))

    def on_lines(at: Array) -> Caught:
        return comb_caught(sweep, at, teeth, extent, window, attacker, inner=inner, quick=quick)

    return caught_share(
        sweep, on_lines, mass=mass, quick=quick, most=int(np.clip(_MOST_BLOCKS / blocks, 2_000, 40_000))
    )


def comb_caught(
    sweep: Sweep,
    across: Array,
    teeth: int,
    extent: float,
    window: float,
    attacker: float,
    *,
    inner: Callable[[Array], tuple[Array, Array]],
    quick: bool = False,
) -> Caught:
    """What the best windows catch of each line, and its mass."""
    enter, leave = sweep.chord(across)
    length = np.maximum(leave - enter, 0.0)
    first_mass, last_mass = inner(across)  # the layout is that of the whole line, the mass lies between these
    found = layout(length, teeth, extent, window)
    count = np.where(length > 0, found.count, 0).astype(np.int64)
    # every block of every line, then the rests
    line = np.repeat(np.arange(len(across)), count)
    before = np.repeat(np.cumsum(count) - count, count)
    start = enter[line] + (np.arange(len(line)) - before) * found.block[line]
    held = (start < last_mass[line]) & (start + found.block[line] > first_mass[line])
    comb = found.spacing[line] > 0
    cells = 2 if quick or len(line) > 50 * len(across) else 4
    hit, mass = np.zeros(len(across)), np.zeros(len(across))

    def add(owner: NDArray[np.int64], caught: Caught) -> None:
        np.add.at(hit, owner, caught.hit)
        np.add.at(mass, owner, caught.mass)

    rows = np.flatnonzero(comb & held)
    owner = line[rows]
    add(
        owner,
        best_teeth(
            sweep,
            across[owner],
            start[rows],
            found.block[owner],
            found.spacing[owner],
            attacker,
            cells=cells,
            finer=not quick,
        ),
    )
    rows = np.flatnonzero(~comb & held)
    rest = np.flatnonzero(found.rest > 0)
    owner = np.concatenate([line[rows], rest])
    low = np.concatenate([start[rows], (leave - found.rest)[rest]])
    high = np.concatenate([(start + found.block[line])[rows], leave[rest]])
    low, high = np.maximum(low, first_mass[owner]), np.minimum(high, last_mass[owner])
    some = high > low
    owner, low, high = owner[some], low[some], high[some]
    add(
        owner, best_windows(sweep, across[owner], low, high, attacker, cells=4 if quick else 8, zooms=0 if quick else 3)
    )
    return Caught(hit=hit, mass=mass)
