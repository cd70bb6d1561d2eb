"""Comb partitions against every cut of tiny grids, every set partition, and the closed form for even priors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import statveil as sv
from statveil.design.cells.comb_partition import comb_partition
from statveil.design.cells.grid import CellGrid
from statveil.errors import ProblemError
from statveil.theory.one_parameter import line


# --- grids ------------------------------------------------------------------------------------------
def grid_of(mass, ends, last, window):
    """A grid over a line of the secret: cell i has the values between ends[i] and ends[i + 1]."""
    mass, ends = np.array(mass, float) / np.sum(mass), np.array(ends, float)
    low, high = np.minimum(ends[1:], ends[:-1]), np.maximum(ends[1:], ends[:-1])
    return CellGrid(
        edges=np.arange(len(ends), dtype=float),
        mass=mass,
        low=low,
        high=high,
        level=np.full(len(mass), np.nan),  # not used
        window=float(window),
        last=np.array(last, dtype=np.int64),
    )


def even_prior(length, extent, per, window=1.0):
    ends = np.linspace(0, length, round(length * per) + 1)
    last = np.searchsorted(ends, ends[:-1] + extent * (1 + 1e-12), side="right") - 2
    return grid_of(np.ones(len(ends) - 1), ends, last, window)


@st.composite
def grids(draw, most, equal=None):
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mass = rng.choice([0.0, 1.0, 1.0, 5.0], n) * rng.random(n) ** draw(st.sampled_from([0, 1, 4]))
    if mass.sum() == 0:
        mass[rng.integers(n)] = 1.0
    same = draw(st.booleans()) if equal is None else equal
    widths = np.ones(n) if same else rng.choice([0.0, 0.2, 1.0, 1.7], n, p=[0.1, 0.2, 0.5, 0.2])
    ends = np.concatenate([[0.0], np.cumsum(widths * draw(st.sampled_from([1, -1])))])
    last = np.minimum(np.maximum.accumulate(np.arange(n) + rng.integers(0, 1 + draw(st.integers(0, n)), n)), n - 1)
    return grid_of(mass, ends, last, draw(st.sampled_from([0.3, 0.9, 1.0, 1.7, 2.0, 3.0, 50.0])))


# --- risk by brute force, from the definition -----------------------------------------------------------
def caught(grid, cells):
    """Mass of the best closed window among these cells, spread evenly over each."""
    low, high, mass = grid.low[cells], grid.high[cells], grid.mass[cells]
    w = grid.window
    best = 0.0
    for start in [*low, *(high - w)]:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (np.minimum(high, start + w) - np.maximum(low, start)) / (high - low)
        touched = (start <= high + 1e-13) & (low <= start + w + 1e-13)
        best = max(best, float(np.where(high > low, np.clip(share, 0, 1), touched) @ mass))
    return best


def brute_risk(grid, assignment):
    assert sorted(assignment.cell.tolist()) == list(range(len(grid)))  # one release a cell
    total = 0.0
    for r in range(int(assignment.release.max()) + 1):
        cells = np.sort(assignment.cell[assignment.release == r])
        assert len(cells)
        assert cells[-1] <= grid.last[cells[0]]
        total += caught(grid, cells)
    return total


def parted(grid, a, b):
    """Whether no window catches more of two cells than the larger of them, whatever their masses: by trying many."""
    for masses in ((1.0, 1.0), (1.0, 0.999), (0.999, 1.0)):
        two = replace(grid, mass=np.where(np.arange(len(grid)) == a, *np.array([[masses[0]], [masses[1]]])))
        single = max(caught(two, np.array([a])), caught(two, np.array([b])))
        if caught(two, np.array([a, b])) > single + 1e-9:
            return False
    return True


def every_cut(grid):
    """Least cost over all blocks, spacings and cuts, each cost from the definition of a window."""
    n = len(grid)

    def combs(first, stop, s):
        total = 0.0
        for k in range(s):
            teeth = np.arange(first + k, stop, s)
            if not len(teeth):
                continue
            if teeth[-1] > grid.last[teeth[0]]:
                return math.inf
            if not all(parted(grid, a, a + s) for a in teeth[:-1]):
                return math.inf
            total += max(caught(grid, teeth[i : i + 1]) for i in range(len(teeth)))
        return total

    value = [0.0] + [math.inf] * n
    for first in range(n):
        for stop in range(first + 1, n + 1):
            cost = caught(grid, np.arange(first, stop)) if stop - 1 <= grid.last[first] else math.inf
            for s in range(1, stop - first):
                cost = min(cost, combs(first, stop, s))
            value[stop] = min(value[stop], value[first] + cost)
    return value[n]


def every_partition(grid):
    """Least risk of all set partitions of the cells whose parts lie in a run each."""
    n = len(grid)
    cost = {}
    for bits in range(1, 1 << n):
        cells = np.array([i for i in range(n) if bits >> i & 1])
        cost[bits] = caught(grid, cells) if cells[-1] <= grid.last[cells[0]] else math.inf
    value = [0.0] * (1 << n)
    for bits in range(1, 1 << n):
        lowest, rest, best = bits & -bits, bits & (bits - 1), math.inf
        part = rest
        while True:  # every part that holds the lowest cell
            best = min(best, cost[part | lowest] + value[rest & ~part])
            if not part:
                break
            part = (part - 1) & rest
        value[bits] = best
    return value[-1]


# --- exact on tiny grids, true on larger ones ---------------------------------------------------------------
@settings(max_examples=60)
@given(grids(9))
def test_the_best_of_all_cuts_into_blocks_is_found(grid):
    found = comb_partition(grid)
    assert found.risk == pytest.approx(every_cut(grid), abs=1e-9)
    assert brute_risk(grid, found.assignment) <= found.risk + 1e-9


@settings(max_examples=25)
@given(grids(7))
def test_no_set_partition_is_below_the_risk_that_is_said(grid):
    found = comb_partition(grid)
    assert found.risk >= every_partition(grid) - 1e-9
    assert found.risk <= 1 + 1e-12


@given(grids(60))
def test_the_risk_that_is_said_is_never_below_the_truth(grid):
    found = comb_partition(grid)
    assert brute_risk(grid, found.assignment) <= found.risk + 1e-9
    assert found.blocks[0].first == 0
    assert found.blocks[-1].stop == len(grid)
    assert all(a.stop == b.first for a, b in zip(found.blocks, found.blocks[1:], strict=False))
    for block in found.blocks:
        release = found.assignment.release[block.first : block.stop]
        number = np.arange(block.stop - block.first) % block.spacing if block.spacing else 0 * release
        assert np.array_equal(release - release[0], number)


@given(grids(40))
def test_a_falling_secret_is_a_rising_one_seen_from_the_other_side(grid):
    other = replace(grid, low=-grid.high, high=-grid.low)
    assert comb_partition(other).risk == pytest.approx(comb_partition(grid).risk, abs=1e-12)


@given(grids(30))
def test_a_larger_budget_is_never_worse(grid):
    more = replace(grid, last=np.minimum(grid.last + 1, len(grid) - 1))
    wide = replace(more, last=np.full(len(grid), len(grid) - 1))
    risks = [comb_partition(g).risk for g in (grid, more, wide)]
    assert risks[0] >= risks[1] - 1e-9
    assert risks[1] >= risks[2] - 1e-9


# --- even priors: theory.md, section 4 ------------------------------------------------------------------------
def comb_optimum(length, extent):
    """F / L of theory.md in units of the window: the least risk of all randomised mechanisms."""
    teeth = math.ceil(extent - 1e-9)
    n = math.floor(length / teeth + 1e-9)
    return min(n + 1, max(length / teeth, length - n * extent)) / length


@pytest.mark.parametrize(("length", "teeth"), [(40, 10), (40, 8), (24, 2), (30, 5)])
def test_combs_of_an_even_prior_whose_teeth_divide_it(length, teeth):
    per = 10
    found = comb_partition(even_prior(length, teeth - 1 + 1 / per, per))
    assert found.risk == pytest.approx(1 / teeth, abs=1e-9)
    assert all(block.spacing == per for block in found.blocks)


@settings(max_examples=40)
@given(st.floats(4, 20), st.floats(1.1, 9))
def test_combs_of_an_even_prior_are_the_optimum_of_all_mechanisms(length, extent):
    per = 30
    length = round(length * per) / per
    found = comb_partition(even_prior(length, extent, per)).risk
    at_least, at_most = comb_optimum(length, extent), comb_optimum(length, extent - 2 / per)
    assert at_least - 1e-9 <= found
    # spacings are whole numbers of cells: up to a cell a tooth is lost at the end of every block
    assert found <= at_most + math.ceil(length) / (per * length)


# --- known numbers -------------------------------------------------------------------------------------------
def test_the_geometric_mean_at_a_tight_budget():
    problem = sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.2, 0.8)), secret=sv.Mean(), tolerance=0.25)
    found = line(problem)
    means = np.linspace(4.0, 0.25, 301)
    edges = 1 / (1 + means)
    last = found.ruler.farthest(edges, 0.3, on_grid=False)[:-1] - 1
    grid = grid_of(np.diff(edges), means, last, found.window)
    parts = comb_partition(grid)
    assert 0.59 < parts.risk < 0.64  # optimum of all mechanisms about .60; intervals .872
    assert brute_risk(grid, parts.assignment) == pytest.approx(parts.risk, abs=1e-9)


def test_under_a_bell_shaped_prior_and_a_wide_budget_intervals_are_as_good():
    # theory.md: the truncated normal of sd L / 6, L = 40 windows: intervals reach .102 at an extent of 18.4
    ends = np.linspace(-20, 20, 401)
    mass = np.diff(stats.norm.cdf(ends, scale=40 / 6))
    n = len(mass)

    def risk(extent):
        return comb_partition(grid_of(mass, ends, np.minimum(np.arange(n) + round(10 * extent) - 1, n - 1), 1.0)).risk

    assert risk(18.6) <= 0.102
    assert risk(17.0) > 0.102 * 0.98  # combs gain less than one window of 18 here


# --- corner cases -----------------------------------------------------------------------------------------------
def test_one_cell():
    assert comb_partition(grid_of([1.0], [0.0, 4.0], [0], 1.0)).risk == pytest.approx(0.25)
    assert comb_partition(grid_of([1.0], [0.0, 4.0], [0], 9.0)).risk == pytest.approx(1.0)
    assert comb_partition(grid_of([1.0], [2.0, 2.0], [0], 9.0)).risk == pytest.approx(1.0)  # a constant secret


def test_runs_of_single_cells():
    grid = grid_of([1.0, 4.0, 2.0, 3.0], np.arange(5.0), np.arange(4), 0.5)
    assert comb_partition(grid).risk == pytest.approx(0.5)
    assert comb_partition(replace(grid, window=1.0)).risk == pytest.approx(1.0)


def test_cells_without_mass_cost_nothing():
    mass = [0, 0, 1, 0, 0, 0, 1, 0, 0]
    grid = grid_of(mass, np.arange(10.0), np.minimum(np.arange(9) + 4, 8), 1.0)
    assert comb_partition(grid).risk == pytest.approx(0.5)


def test_a_window_longer_than_everything_catches_everything():
    assert comb_partition(even_prior(5, 2, 4, window=6.0)).risk == pytest.approx(1.0)


def test_one_release_for_everything():
    assert comb_partition(even_prior(5, 5, 4)).risk == pytest.approx(0.2)


def test_atoms_a_window_apart_are_caught_together():
    # cells that are single values of the secret: a closed window holds both its ends
    ends = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    grid = grid_of([1, 0, 1, 0, 1], ends, np.full(5, 4), 1.0)
    assert comb_partition(grid).risk == pytest.approx(2 / 3)
    assert comb_partition(replace(grid, window=0.999)).risk == pytest.approx(1 / 3)


def test_a_falling_secret_that_starts_with_an_atom():
    # a cell of the one value 0, then a cell from 0 down to -1.7: both may share a release, or not
    grid = grid_of([5.0, 1.0], [0.0, -0.0, -1.7], [0, 1], 0.3)
    assert comb_partition(grid).risk == pytest.approx(5 / 6 + 0.3 / 1.7 / 6)


# --- what is refused ----------------------------------------------------------------------------------------------
def test_a_secret_that_turns_is_refused():
    grid = grid_of(np.ones(4), [0.0, 1.0, 2.0, 1.0, 0.5], np.full(4, 3), 0.3)
    with pytest.raises(ProblemError, match="only rises or only falls"):
        comb_partition(grid)


def test_too_many_cells_are_refused():
    n = 4001
    with pytest.raises(ProblemError, match="at most 4,000 cells"):
        comb_partition(grid_of(np.ones(n), np.arange(n + 1.0), np.arange(n), 1.0))


def test_a_cell_over_the_budget_is_refused():
    with pytest.raises(ProblemError, match="cell 1 alone"):
        comb_partition(grid_of(np.ones(3), np.arange(4.0), [1, 0, 2], 0.5))
