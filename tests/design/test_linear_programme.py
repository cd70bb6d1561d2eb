"""The linear programme on cells against dense programmes and scans written from scratch here, and against theory."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import statveil as sv
from statveil.design.cells.grid import Assignment, CellGrid
from statveil.design.programme.certificate import Certificate, check, lower_bound, risk_of, runs_of
from statveil.design.programme.matrix import optimum, priced
from statveil.design.programme.solve import comb_worth, first_runs, rounded, solve_programme
from statveil.errors import ProblemError
from statveil.theory.one_parameter import line


# --- grids --------------------------------------------------------------------------------------------
def cells(secret, mass, window, last):
    """A grid whose edges have these values of the secret."""
    secret, mass = np.array(secret, float), np.array(mass, float)
    return CellGrid(
        edges=np.arange(len(secret), dtype=float),
        mass=mass / mass.sum(),
        low=np.minimum(secret[:-1], secret[1:]),
        high=np.maximum(secret[:-1], secret[1:]),
        level=np.ones(len(mass)),
        window=window,
        last=np.array(last),
    )


def even(n, window, size):
    """Equal cells of length and mass 1 (before scaling), runs of one size."""
    return cells(range(n + 1), [1] * n, window, np.minimum(np.arange(n) + size - 1, n - 1))


@st.composite
def small_grids(draw, most=8, whole=False):
    """Few cells; values of the secret are quarters, so that what is exactly one window apart is so in floats too."""
    n = draw(st.integers(1, most))
    shape = draw(st.sampled_from(["rising", "falling", "turning", "any"]))
    # a step of 0 is a secret that is constant on a cell
    steps = np.array(draw(st.lists(st.integers(1 if whole else 0, 6), min_size=n, max_size=n))) / 4
    if whole:
        steps[:] = 1.0
    turn = draw(st.integers(0, n))
    sign = {
        "rising": np.ones(n),
        "falling": -np.ones(n),
        "turning": np.where(np.arange(n) < turn, 1, -1),
        "any": np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))),
    }[shape]
    mass = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(lambda m: sum(m) > 0))
    window = draw(st.integers(1, 4)) if whole else draw(st.integers(1, 16)) / 4
    last = np.maximum.accumulate([draw(st.integers(i, min(n - 1, i + 5))) for i in range(n)])
    return cells(np.concatenate([[0.0], np.cumsum(steps * sign)]), mass, float(window), last)


# --- the same from scratch ------------------------------------------------------------------------------
def share(low, high, start, stop):
    """Share of a cell in a closed window."""
    if high == low:
        return 1.0 if start <= low <= stop else 0.0
    return max(0.0, min(stop, high) - max(start, low)) / (high - low)


def every_window(grid, window, part=slice(None)):
    """Where windows start that start or stop at an end of a cell."""
    ends = [*grid.low[part], *grid.high[part]]
    return sorted({s for e in ends for s in (e, e - window)})


def slow_risk(grid, assignment, window):
    total = 0.0
    for release in set(assignment.release.tolist()):
        own = [k for k in range(len(assignment.cell)) if assignment.release[k] == release]
        total += max(
            sum(
                grid.mass[i] * assignment.probability[k] * share(grid.low[i], grid.high[i], s, s + window)
                for k in own
                for i in [assignment.cell[k]]
            )
            for s in every_window(grid, window)
        )
    return total


def dense_optimum(grid):
    """Least risk by a dense programme over every run and every window."""
    n = len(grid)
    pairs = [(r, i) for r in range(n) for i in range(r, grid.last[r] + 1)]
    width = len(pairs) + n
    cost = np.zeros(width)
    cost[len(pairs) :] = 1.0
    rows = []
    for r in range(n):
        for s in every_window(grid, grid.window, slice(r, grid.last[r] + 1)):
            row = np.zeros(width)
            for k, (run, i) in enumerate(pairs):
                if run == r:
                    row[k] = grid.mass[i] * share(grid.low[i], grid.high[i], s, s + grid.window)
            row[len(pairs) + r] = -1.0
            rows.append(row)
    equal = np.zeros((n, width))
    for k, (_, i) in enumerate(pairs):
        equal[i, k] = 1.0
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=equal, b_eq=np.ones(n), method="highs-ds")
    assert found.status == 0
    return found.fun


def some_assignment(grid, rng, entries=3):
    """Any assignment within the runs."""
    cell, release = [], []
    for i in range(len(grid)):
        runs = [r for r in range(i + 1) if grid.last[r] >= i]
        chosen = rng.choice(runs, size=min(entries, len(runs)), replace=False)
        cell += [i] * len(chosen)
        release += chosen.tolist()
    weight = rng.random(len(cell)) + 1e-3
    total = np.bincount(cell, weight)
    return Assignment(cell=np.array(cell), release=np.array(release), probability=weight / total[cell])


# --- the risk of an assignment ----------------------------------------------------------------------------
@settings(max_examples=150)
@given(small_grids(), st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_the_risk_is_that_of_the_best_window_of_every_release(grid, seed, quarters):
    found = some_assignment(grid, np.random.default_rng(seed))
    assert risk_of(grid, found) == pytest.approx(slow_risk(grid, found, grid.window), abs=1e-9)
    other = replace(grid, window=quarters / 4)
    assert risk_of(other, found) == pytest.approx(slow_risk(grid, found, quarters / 4), abs=1e-9)


@settings(max_examples=50)
@given(small_grids(most=12), st.integers(0, 2**32 - 1))
def test_no_window_anywhere_catches_more_than_the_risk_says(grid, seed):
    rng = np.random.default_rng(seed)
    found = replace(some_assignment(grid, rng, entries=1), release=np.zeros(len(grid), dtype=int))
    starts = rng.uniform(grid.low.min() - grid.window, grid.high.max(), 200)
    most = max(
        sum(grid.mass[i] * share(grid.low[i], grid.high[i], s, s + grid.window) for i in range(len(grid)))
        for s in starts
    )
    assert most <= risk_of(grid, found) + 1e-12


def test_the_risk_of_a_very_large_partition_is_quick_and_right():
    n = 100_000
    grid = even(n, 250.0, 1000)
    found = Assignment(cell=np.arange(n), release=np.arange(n) // 1000, probability=np.ones(n))
    assert risk_of(grid, found) == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6, -3e8])
def test_values_exactly_one_window_apart_are_both_caught_whatever_the_rounding(offset):
    values = offset + np.arange(8) * 0.1  # 0.1 is not a binary number
    grid = replace(cells(range(9), [1] * 8, 0.3, [7] * 8), low=values, high=values)
    one = Assignment(cell=np.arange(8), release=np.zeros(8, dtype=int), probability=np.ones(8))
    assert risk_of(grid, one) >= 0.5 - 1e-12  # four values


# --- the optimum --------------------------------------------------------------------------------------------
@settings(max_examples=120)
@given(small_grids())
def test_the_optimum_is_that_of_a_dense_programme(grid):
    least = dense_optimum(grid)
    found = solve_programme(grid)
    assert check(grid, found) == []
    assert found.lower_bound <= least + 1e-8 <= found.risk + 2e-8
    assert found.risk - found.lower_bound <= 3e-6
    assert found.risk == pytest.approx(least, abs=3e-6)


@pytest.mark.parametrize(("seed", "turns"), [(0, False), (3, True), (26, True)])  # 26: combs miss a run that helps
def test_the_optimum_of_a_grid_on_which_runs_are_added_one_after_another(seed, turns):
    rng = np.random.default_rng(seed)
    n = 32
    turn = int(rng.integers(8, 24)) if turns else 0
    steps = rng.uniform(0.5, 1.5, n) * np.where(np.arange(n) < turn, -1, 1)
    mass = rng.gamma(2.0, size=n)
    grid = cells(np.concatenate([[0.0], np.cumsum(steps)]), mass, 3.3, np.minimum(np.arange(n) + 20, n - 1))
    assert len(first_runs(grid)) < len(runs_of(grid)), "nothing to add"
    said: list[str] = []
    found = solve_programme(grid, progress=said.append)
    least = dense_optimum(grid)
    assert found.lower_bound - 1e-8 <= least <= found.risk + 1e-8
    assert found.risk - found.lower_bound < 3e-6
    assert all(words.startswith("linear programme, round ") for words in said)
    quick = solve_programme(grid, certify=False)
    assert quick.lower_bound == 0.0
    assert check(grid, quick) == []
    assert least - 1e-8 <= quick.risk <= 1.002 * least


@settings(max_examples=200)
@given(st.integers(1, 90), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_every_cell_is_in_a_run_of_the_first_choice(n, longest, seed):
    jumps = np.random.default_rng(seed).integers(0, longest + 1, n) ** 2 // max(1, longest)
    last = np.maximum.accumulate(np.minimum(np.arange(n) + jumps, n - 1))
    grid = replace(even(n, 1.0, 1), last=last)
    runs = first_runs(grid)
    assert {i for r in runs for i in range(r, last[r] + 1)} == set(range(n))
    assert set(runs.tolist()) <= set(runs_of(grid).tolist())
    # leaving out runs that others contain loses nothing
    assert all(any(r <= i and last[r] >= last[i] for r in runs_of(grid)) for i in range(n))


# --- theory: combs on one line (the closed form of the optimum under a uniform density) ----------------------
def best_uniform(length, extent, window):
    teeth = math.ceil(extent / window - 1e-9)
    blocks = math.floor(length / (teeth * window) + 1e-9)
    least = min((blocks + 1) * window, max(length / teeth, length - blocks * extent))
    return (min(length, window) if blocks == 0 and length <= extent else least) / length


@pytest.mark.parametrize(
    ("n", "size", "window"),
    [
        (60, 16, 5),
        (60, 17, 5),
        (60, 11, 5),
        (72, 21, 4),
        (72, 23, 7),
        (90, 31, 6),
        (48, 13, 12),
        (50, 9, 4),
        (40, 40, 9),
    ],
)
def test_the_optimum_under_a_uniform_density_is_that_of_the_best_comb(n, size, window):
    found = solve_programme(even(n, float(window), size))
    # all mechanisms on cells are mechanisms of extent `size`; averaged over cells, one of extent `size - 1` fits
    assert found.risk >= best_uniform(n, size, window) - 1e-9
    assert found.lower_bound <= best_uniform(n, size - 1, window) + 1e-9
    assert found.risk - found.lower_bound < 1e-6


@pytest.mark.parametrize(("teeth", "window"), [(2, 6), (3, 4), (4, 5), (6, 3)])
def test_teeth_that_divide_the_range_have_risk_one_over_their_number(teeth, window):
    n = 3 * teeth * window
    found = solve_programme(even(n, float(window), (teeth - 1) * window + 1))  # the least run that holds the teeth
    assert found.risk == pytest.approx(1 / teeth, abs=1e-6)
    assert found.lower_bound == pytest.approx(1 / teeth, abs=1e-6)
    plain = rounded(even(n, float(window), (teeth - 1) * window + 1), found)
    if plain is not None:
        assert risk_of(even(n, float(window), (teeth - 1) * window + 1), plain) <= 1.01 / teeth + 1e-9


# --- certificates -------------------------------------------------------------------------------------------
@settings(max_examples=150)
@given(small_grids(most=6), st.integers(0, 2**32 - 1))
def test_no_certificate_proves_too_much(grid, seed):
    """Whatever the windows and weights are, also negative, too heavy, too long or not numbers."""
    rng = np.random.default_rng(seed)
    least = dense_optimum(grid)
    size = int(rng.integers(1, 25))
    start = rng.choice(every_window(grid, grid.window), size)
    wild = Certificate(
        run=rng.integers(0, len(grid), size),
        start=start,
        stop=start + grid.window * rng.choice([0.5, 1.0, 1.0, 1.7], size),
        weight=rng.choice([rng.random(size), rng.normal(size=size) * 10, np.full(size, np.nan)]),
    )
    assert lower_bound(grid, wild) <= least + 1e-9


def solved():
    rng = np.random.default_rng(3)
    grid = cells(range(31), rng.gamma(3.0, size=30), 4.0, np.minimum(np.arange(30) + 11, 29))
    return grid, solve_programme(grid)


def altered(solution, **changes):
    return replace(solution, certificate=replace(solution.certificate, **changes))


def test_a_changed_assignment_is_found_out():
    grid, good = solved()
    a = good.assignment
    assert check(grid, good) == []

    def broken(**changes):
        return " ".join(check(grid, replace(good, assignment=replace(a, **changes))))

    assert "add up to" in broken(probability=a.probability * 0.99)
    assert "negative" in broken(probability=np.where(np.arange(len(a.cell)) == 0, -0.1, a.probability))
    assert "not a number" in broken(probability=np.where(np.arange(len(a.cell)) == 0, np.nan, a.probability))
    assert "which no run holds" in broken(release=np.zeros(len(a.release), dtype=int))
    assert "The risk is" in broken(release=a.cell // 10)  # a partition into intervals
    assert "do not name cells" in broken(cell=a.cell + 1)
    assert "do not name cells" in broken(cell=a.cell[:-1])
    assert "The risk is" in " ".join(check(grid, replace(good, risk=good.risk * (1 - 1e-6))))


def test_a_changed_certificate_is_found_out():
    grid, good = solved()
    c = good.certificate
    heaviest = int(np.argmax(c.weight))
    without = np.where(np.arange(len(c.weight)) == heaviest, 0.0, c.weight)
    for bad in (
        replace(good, lower_bound=good.lower_bound + 1e-6),
        altered(good, weight=without),
        altered(good, weight=c.weight * 0.9),
        altered(good, start=c.start + 0.5, stop=c.stop + 0.5),
        altered(good, stop=c.stop + 1.0),  # windows that are too long
        altered(good, run=np.roll(c.run, 40)),
    ):
        assert any("lower bound" in words for words in check(grid, bad)), bad
    assert lower_bound(grid, replace(c, weight=100 * c.weight)) <= good.risk  # too heavy: scaled down
    assert "above the risk" in " ".join(check(grid, replace(good, lower_bound=1.0)))
    assert "does not name runs" in " ".join(check(grid, altered(good, run=c.run + 30)))


# --- what runs are worth ------------------------------------------------------------------------------------
def apart(grid, i, j):
    """Whether no window holds more of two cells than one of them."""
    ends = [(grid.low[k], grid.high[k]) for k in (i, j)]
    return all(
        sum(share(*cell, s, s + grid.window) for cell in ends) <= 1 + 1e-9 for s in every_window(grid, grid.window)
    )


def best_comb(grid, price, run):
    """Largest sum of prices over cells of a run that are apart, by trying all sets of cells."""
    held = range(run, grid.last[run] + 1)
    sets = ([i for k, i in enumerate(held) if bits >> k & 1] for bits in range(1 << len(held)))
    return max(
        sum(price[i] for i in chosen)
        for chosen in sets
        if all(apart(grid, i, j) for k, i in enumerate(chosen) for j in chosen[:k])
    )


@settings(max_examples=60)
@given(small_grids(most=7, whole=True), st.integers(0, 2**32 - 1))
def test_combs_are_all_there_is_where_a_window_is_a_whole_number_of_cells(grid, seed):
    price = np.random.default_rng(seed).random(len(grid))
    runs = runs_of(grid)
    worth = comb_worth(grid, price, runs)
    assert worth == pytest.approx([best_comb(grid, price, r) for r in runs], abs=1e-9)
    assert worth == pytest.approx(priced(grid, runs, price).worth, abs=1e-6)


@settings(max_examples=60)
@given(small_grids(most=7), st.integers(0, 2**32 - 1))
def test_combs_are_never_worth_more_than_the_whole_run(grid, seed):
    price = np.random.default_rng(seed).random(len(grid))
    runs = runs_of(grid)
    assert np.all(comb_worth(grid, price, runs) <= priced(grid, runs, price).worth + 1e-6)


def test_at_the_optimum_no_run_is_worth_more_than_it_costs_and_some_are_worth_that():
    grid = even(24, 3.0, 10)
    best = optimum(grid, runs_of(grid), gap=1e-8)
    worth = priced(grid, runs_of(grid), best.price).worth
    assert worth.max() == pytest.approx(1.0, abs=1e-5)
    found, least = solve_programme(grid), dense_optimum(grid)
    assert found.lower_bound - 1e-8 <= least <= found.risk + 1e-8
    assert found.risk - found.lower_bound < 1e-5


# --- corners ------------------------------------------------------------------------------------------------
def test_one_cell_has_the_share_of_it_that_a_window_holds():
    assert solve_programme(cells([0, 1], [1], 2.0, [0])).risk == 1.0
    found = solve_programme(cells([0, 1], [1], 0.25, [0]))
    assert found.risk == pytest.approx(0.25, abs=1e-9)
    assert found.lower_bound == pytest.approx(0.25, abs=1e-9)


def test_runs_of_single_cells_hide_nothing_but_what_a_window_misses():
    n = 12
    grid = cells(range(n + 1), np.arange(1, n + 1), 1.0, range(n))
    assert solve_programme(grid).risk == pytest.approx(1.0)
    half = solve_programme(replace(grid, window=0.5))
    assert half.risk == pytest.approx(0.5, abs=1e-9)


def test_a_window_longer_than_everything_catches_everything():
    found = solve_programme(even(20, 50.0, 20))
    assert found.risk == 1.0
    assert found.lower_bound == pytest.approx(1.0)


def test_all_cells_in_one_run_are_one_comb_or_one_interval():
    # nothing to choose: one release, risk of the best window
    grid = cells(range(9), [1, 5, 2, 2, 7, 1, 1, 1], 2.0, [7] * 8)
    found = solve_programme(grid)
    assert found.risk == pytest.approx(9 / 20, abs=1e-9)  # the cells of mass 2 and 7
    assert found.lower_bound == pytest.approx(9 / 20, abs=1e-9)


def test_a_constant_secret_cannot_be_hidden():
    grid = replace(even(6, 1.0, 3), low=np.full(6, 2.0), high=np.full(6, 2.0))
    found = solve_programme(grid)
    assert found.risk == pytest.approx(1.0)
    assert found.lower_bound == pytest.approx(1.0)


def test_cells_without_mass_have_a_release_too():
    mass = np.ones(30)
    mass[[0, 7, 8, 29]] = 0.0
    grid = cells(range(31), mass, 3.0, np.minimum(np.arange(30) + 9, 29))
    found = solve_programme(grid)
    assert set(found.assignment.cell.tolist()) == set(range(30))
    assert check(grid, found) == []
    assert found.risk - found.lower_bound < 3e-6


def test_a_cell_over_the_budget_and_too_many_cells_are_refused():
    with pytest.raises(ProblemError, match="wider than the distortion budget"):
        solve_programme(cells(range(4), [1, 1, 1], 1.0, [0, 0, 2]))
    with pytest.raises(ProblemError, match=r"at most 2,000 cells\. Got 2,001"):
        solve_programme(even(2001, 1.0, 5))


def test_scaling_the_secret_changes_nothing():
    grid, good = solved()
    for factor, offset in ((1e-6, 0.0), (1e6, 0.0), (1.0, 1e5), (-1.0, 0.0)):
        ends = factor * grid.low + offset, factor * grid.high + offset
        other = replace(grid, low=np.minimum(*ends), high=np.maximum(*ends), window=abs(factor) * grid.window)
        assert solve_programme(other).risk == pytest.approx(good.risk, abs=2e-6)


# --- one release a cell ---------------------------------------------------------------------------------------
@settings(max_examples=40)
@given(small_grids())
def test_a_rounded_assignment_is_within_a_hundredth_or_is_not_given(grid):
    found = solve_programme(grid, certify=False)
    plain = rounded(grid, found)
    if plain is None:
        return
    assert sorted(plain.cell.tolist()) == list(range(len(grid)))  # one release a cell
    assert slow_risk(grid, plain, grid.window) <= 1.01 * found.risk + 1e-9
    assert check(grid, replace(found, assignment=plain, risk=1.01 * found.risk + 1e-9)) == []


# --- a real problem -------------------------------------------------------------------------------------------
def geometric(n, budget, tolerance=0.25):
    problem = sv.Problem(family=sv.Geometric(), prior=sv.Box(p=(0.2, 0.8)), secret=sv.Mean(), tolerance=tolerance)
    on = line(problem)
    edges = np.linspace(0.2, 0.8, n + 1)
    last = on.ruler.farthest(edges, budget, on_grid=False)[:-1] - 1
    return replace(cells((1 - edges) / edges, np.ones(n), 2 * tolerance, last), edges=edges)


def test_the_mean_of_a_geometric_column():
    """About .60; the best partition into intervals has .872."""
    grid = geometric(240, 0.3)
    found = solve_programme(grid)
    assert 0.595 < found.lower_bound <= found.risk < 0.615
    assert found.risk - found.lower_bound < 2e-6
    assert len(found.assignment.cell) < 3 * len(grid)  # most cells have one release
    plain = rounded(grid, found)
    assert plain is not None
    assert risk_of(grid, plain) <= 1.01 * found.risk


def test_the_mean_of_a_geometric_column_on_few_cells_by_the_dense_programme():
    grid = geometric(36, 0.35, tolerance=0.4)
    assert solve_programme(grid).risk == pytest.approx(dense_optimum(grid), abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0.3, 0.5, 1.0])
def test_finer_cells_agree_on_the_optimum(budget):
    found = [solve_programme(geometric(n, budget)) for n in (200, 400)]
    assert found[1].risk == pytest.approx(found[0].risk, rel=0.02)
    assert all(each.risk - each.lower_bound < 2e-6 for each in found)


def test_the_solver_is_loaded_only_when_it_is_used():
    code = "import sys, statveil.design.programme.solve; sys.exit('scipy.optimize' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
