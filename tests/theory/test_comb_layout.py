"""Combs on lines against brute force, a linear programme, quadrature and sampling that share no code with them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import linprog

from statveil.errors import ProblemError
from statveil.theory.comb_layout import (
    STRETCH,
    Layout,
    cost,
    knots,
    layout,
    longest_class,
    mean_cost,
    most_teeth,
)
from statveil.theory.comb_optimum import least_cost, least_cost_integral, least_cost_mean
from statveil.theory.risk.combs import (
    line_lengths,
    polygon_comb_extent,
    polygon_comb_risk,
    range_comb_risk,
    simplex_comb_risk,
)
from statveil.theory.risk.polygon import Polygon


# --- the layout in plain words, and an attacker who tries every window ---------------------------------
def blocks_of(length, teeth, extent, window):
    """(start, length, spacing) of every block, spacing 0 for an interval, as docs/theory.md puts it."""
    n = math.floor(length / (teeth * window))
    if n == 0 and length <= extent:
        return [(0.0, length, 0.0)]
    if n >= 1 and length <= n * teeth * extent / (teeth - 1):
        return [(i * length / n, length / n, length / (n * teeth)) for i in range(n)]
    if n >= 1 and length - n * extent < (n + 1) * window:
        w = extent / (teeth - 1)
        whole = [(i * teeth * w, teeth * w, w) for i in range(n)]
        return [*whole, (n * teeth * w, length - n * teeth * w, 0.0)]
    b = length / (n + 1)
    return [(i * b, b, 0.0 if b <= extent else window) for i in range(n + 1)]


def most_inside(points, reach):
    """Largest number of sorted points in one closed window: it may start at a point."""
    return max(int(np.searchsorted(points, p + reach, side="right")) - i for i, p in enumerate(points))


def attacked(length, teeth, extent, window, reach, *, residues=60):
    """What the best closed windows catch, class by class; and how exact that is."""
    total = slack = 0.0
    for start, size, spacing in blocks_of(length, teeth, extent, window):
        if spacing == 0:
            points = start + size * (np.arange(400) + 0.5) / 400
            total += most_inside(points, reach) * size / 400
            slack += 1.01 * size / 400
            continue
        for i in range(residues):
            comb = np.arange(start + spacing * (i + 0.5) / residues, start + size, spacing)
            total += most_inside(comb, reach) * spacing / residues
        slack += 1.01 * spacing / residues
    return total, slack


@st.composite
def combs(draw, *, most=12):
    """A number of teeth, an extent and a window: anywhere, or with no room between the teeth."""
    window = draw(st.floats(0.1, 3.0))
    teeth = draw(st.integers(2, most))
    room = draw(st.sampled_from([0.0, 0.0, 1e-9, 0.3, 0.999]) | st.floats(0, 0.9999))
    return teeth, (teeth - 1 + room) * window, window


@st.composite
def lines(draw, comb, *, most=6.0):
    """A length: anywhere up to a few blocks, at a knot of the layout, or tiny."""
    teeth, extent, window = comb
    n = draw(st.integers(0, math.ceil(most)))
    at = [
        (n + 1) * teeth * window,
        n * teeth * extent / (teeth - 1),
        n * extent + (n + 1) * window,
        (n + 1) * extent,
        1e-9 * window,
    ]
    anywhere = st.floats(0.001, most).map(lambda x: x * teeth * window)
    length = draw(st.sampled_from(at).map(lambda x: x if x > 0 else window) | anywhere)
    return length * draw(st.sampled_from([1.0, 1.0, 1 + 1e-7, 1 - 1e-7]))


@st.composite
def combs_and_lines(draw, **options):
    comb = draw(combs(**options))
    return comb, draw(lines(comb))


# --- cost ----------------------------------------------------------------------------------------------
@given(combs_and_lines(most=6), st.sampled_from([0.3, 0.77, 1 / STRETCH, 1.41, 1.999, 2.31, 4.7, 20.0]))
@example(((2, 1.0, 1.0), 3.3), 1 / STRETCH)
@example(((3, 2.5, 1.0), 3.7499), 1.2)  # spacing 1.2499: a window holds one tooth, just
@example(((3, 2.5, 1.0), 3.7499), 1.3)  # and two
def test_cost_is_what_the_best_closed_windows_catch(case, ratio):
    (teeth, extent, window), length = case
    reach = ratio * window
    caught, slack = attacked(length, teeth, extent, window, reach)
    for _, _, spacing in blocks_of(length, teeth, extent, window):  # rounding decides at a whole number of spacings
        assume(spacing == 0 or abs(reach / spacing - round(reach / spacing)) > 1e-6 or round(reach / spacing) == 0)
    near = 1e-5 * (1 + length)  # a length at a knot may fall into either case
    assert cost(length, teeth, extent, window, reach) == pytest.approx(caught, abs=slack + near)


def test_a_window_of_whole_spacings_holds_both_ends():
    # 12 long, four teeth 1 apart, closed window 2: three teeth, three quarters
    assert cost(12.0, 4, 3.0, 1.0, 2.0) == pytest.approx(9.0)
    assert cost(12.0, 4, 3.0, 1.0, 2.0 - 1e-12) == pytest.approx(9.0)  # against ourselves
    assert cost(12.0, 4, 3.0, 1.0, 2.0 - 1e-6) == pytest.approx(6.0)


@given(combs_and_lines(most=30), st.floats(1e-3, 50))
def test_no_layout_lets_more_than_a_line_be_caught_or_less_than_a_tooth_of_each(case, ratio):
    (teeth, extent, window), length = case
    caught = float(cost(length, teeth, extent, window, ratio * window))
    assert caught <= length
    least = length / teeth if ratio >= 1 else length / teeth * ratio
    assert caught >= min(least, length) * (1 - 2e-9)


@given(combs_and_lines(most=8), st.floats(0.01, 30), st.floats(0, 3))
def test_a_larger_tolerance_never_catches_less(case, ratio, more):
    (teeth, extent, window), length = case
    small, large = ratio * window, ratio * (1 + more) * window
    rule = (teeth, extent, window)
    assert cost(length, *rule, small) <= cost(length, *rule, large) * (1 + 1e-12)


def test_with_one_tooth_the_whole_line_is_caught_at_any_tolerance():
    lengths = np.array([0.0, 1e-12, 0.3, 7.0, 1e5])
    for reach in (1e-6, 0.5, 1e9):
        np.testing.assert_array_equal(cost(lengths, 1, 0.4, 1.0, reach), lengths)
    assert longest_class(0.0, 1e5, 1, 0.4, 1.0) == 0


# --- layout --------------------------------------------------------------------------------------------
@given(combs_and_lines(most=60))
@example(((2, 1.0, 1.0), 2e5))
@example(((50, 49.0, 1.0), 1e5 + 0.3))
def test_blocks_fill_the_line_and_keep_to_spacing_and_extent(case):
    (teeth, extent, window), length = case
    found = layout(length, teeth, extent, window)
    assert found.count * found.block + found.rest == pytest.approx(length, rel=1e-12)
    assert found.rest < window * (1 + 1e-9)
    if found.spacing == 0:
        assert found.block <= extent * (1 + 1e-9)
        return
    assert found.spacing >= window * (1 - 2e-9)
    most = math.ceil(found.block / found.spacing * (1 - 1e-12))
    assert most <= teeth
    assert (most - 1) * found.spacing <= extent * (1 + 2e-9)


@given(combs_and_lines(most=20))
def test_layout_by_array_is_layout_one_by_one(case):
    (teeth, extent, window), length = case
    lengths = length * np.array([0.0, 0.2, 0.7, 1.0, 3.1, 17.0])
    together = layout(lengths, teeth, extent, window)
    for i, one in enumerate(lengths):
        alone = layout(float(one), teeth, extent, window)
        assert [float(getattr(alone, name)) for name in Layout.__slots__] == [
            float(getattr(together, name)[i]) for name in Layout.__slots__
        ]


def test_most_teeth_is_not_decided_by_rounding():
    for k in range(2, 200):
        window = 2 * STRETCH / 3
        assert most_teeth((k - 1) * window, window) == k
        assert most_teeth((k - 1) * window * (1 - 1e-6), window) == k - 1


@pytest.mark.parametrize(
    ("teeth", "extent", "window"), [(0, 1.0, 1.0), (3, 1.9, 1.0), (2, 1.0, 0.0), (2, math.nan, 1.0)]
)
def test_teeth_that_do_not_fit_are_refused(teeth, extent, window):
    with pytest.raises(ProblemError, match="do not fit into the extent"):
        layout(3.0, teeth, extent, window)


# --- the optimum F -------------------------------------------------------------------------------------
def formula(length, extent, window):
    """F of docs/theory.md, with K = floor(E/c) + 1: teeth may be exactly a window apart."""
    k = math.floor(extent / window + 1e-9) + 1
    n = math.floor(length / (k * window))
    return min((n + 1) * window, max(length / k, length - n * extent))


@given(combs_and_lines(most=40))
@example(((2, 1.0, 1.0), 199_999.7))
def test_against_the_stated_tolerance_the_layout_costs_the_optimum(case):
    (teeth, extent, window), length = case
    caught = float(cost(length, teeth, extent, window, window / STRETCH))
    assert caught == pytest.approx(formula(length, extent, window), rel=2.1e-6)
    assert caught <= formula(length, extent, window) * (1 + 1e-8)  # the stretch only ever costs the spacing itself
    assert least_cost(length, extent, window) == pytest.approx(formula(length, extent, window), rel=1e-8)


def grid_optimum(points, held, extent):
    """Least caught over ALL randomised mechanisms: a window holds ``held`` points, a release reaches ``extent``."""
    runs = sorted({(max(r, 0), min(r + extent, points - 1)) for r in range(-extent, points)})
    index = {pair: j for j, pair in enumerate((k, i) for k, (a, b) in enumerate(runs) for i in range(a, b + 1))}
    size = len(index) + len(runs)
    each = sparse.lil_matrix((points, size))
    for (_, i), j in index.items():
        each[i, j] = 1
    rows = []
    for k, (a, b) in enumerate(runs):
        for first in range(a, b + 1):
            row = sparse.lil_matrix((1, size))
            for i in range(first, min(first + held - 1, b) + 1):
                row[0, index[k, i]] = 1
            row[0, len(index) + k] = -1
            rows.append(row)
    found = linprog(
        np.concatenate([np.zeros(len(index)), np.ones(len(runs))]),
        A_ub=sparse.vstack(rows).tocsr(),
        b_ub=np.zeros(len(rows)),
        A_eq=each.tocsr(),
        b_eq=np.ones(points),
        method="highs",
    )
    return float(found.fun)


@pytest.mark.parametrize(
    ("points", "held", "extent"),
    [(7, 2, 4), (23, 3, 6), (23, 3, 8), (17, 4, 5), (26, 2, 9), (12, 2, 2), (11, 1, 3), (6, 3, 9), (20, 4, 9)],
)
def test_no_randomised_mechanism_on_a_grid_beats_the_layout(points, held, extent):
    teeth = extent // held + 1
    ours = float(cost(points, teeth, float(extent), float(held), held * (1 - 1e-8)))
    assert ours == pytest.approx(grid_optimum(points, held, extent), rel=1e-7)


@given(combs(most=12), st.floats(0.01, 80), st.floats(0, 2))
def test_a_larger_extent_never_costs_more(comb, blocks, more):
    teeth, extent, window = comb
    length, wider = blocks * window, extent * (1 + more)
    small = least_cost(length, extent, window)
    assert least_cost(length, wider, window) <= small * (1 + 1e-8)
    ours = cost(length, most_teeth(wider, window), wider, window, window / STRETCH)
    assert ours <= cost(length, teeth, extent, window, window / STRETCH) * (1 + 2e-6)


# --- knots and integrals -------------------------------------------------------------------------------
@given(combs(most=7), st.floats(0, 5), st.floats(0.01, 30), st.sampled_from([0.2, 1 / STRETCH, 1.7, 2.6, 3.9, 9.0]))
@example((6, 5.5, 1.0), 0.0, 30.0, 4.5)  # equal blocks are intervals that a window catches whole, or not
@example((3, 2.9, 1.0), 0.0, 30.0, 1.2)  # even blocks of spacings from 1 to 1.45: a window holds two teeth, or one
@example((6, 5.0, 1.0), 0.0, 30.0, 5.5)
def test_cost_is_linear_between_knots(comb, start, more, ratio):
    teeth, extent, window = comb
    rule = (teeth, extent, window, ratio * window)
    at = knots(start * window, (start + more) * window, *rule)
    assert at[0] == start * window
    assert at[-1] == (start + more) * window
    left, width = at[:-1], np.diff(at)
    wide = width > 1e-6 * window
    left, width = left[wide], width[wide]
    early, middle, late = (cost(left + share * width, *rule) for share in (0.01, 0.5, 0.99))
    np.testing.assert_allclose(0.5 * (early + late), middle, rtol=1e-10, atol=1e-10 * window)


@given(combs(most=7), st.floats(0, 5), st.floats(0.01, 12), st.sampled_from([0.2, 1 / STRETCH, 1.7, 2.6, 9.0]))
def test_mean_cost_against_a_fine_sum(comb, start, more, ratio):
    teeth, extent, window = comb
    rule = (teeth, extent, window, ratio * window)
    low, high = start * window, (start + more) * window
    fine = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
    caught = cost(fine, *rule)
    jumps = len(knots(low, high, *rule)) * float(caught.max()) / 200_000  # one jump inside one step, or a kink
    assert mean_cost(low, high, *rule) == pytest.approx(float(caught.mean()), rel=1e-9, abs=jumps)


@given(combs(most=9), st.floats(0.001, 60))
@example((1, 0.3, 1.0), 12.34)
@example((2, 1.0, 1.0), 100_000.7)
@example((3, 2.02, 1.0), 1234.5)  # blocks are even throughout from some number of them on
def test_the_integral_of_the_optimum_against_its_own_knots(comb, blocks):
    teeth, extent, window = comb
    length = blocks * window
    n = np.arange(math.ceil(length / (teeth * window)) + 1)
    at = np.concatenate([n * teeth * window, n * extent + (n + 1) * window, [0.0, length]])
    if teeth > 1:
        at = np.concatenate([at, n * teeth * extent / (teeth - 1)])
    at = np.unique(at[at <= length])
    middles = 0.5 * (at[1:] + at[:-1])
    sums = math.fsum(np.diff(at) * [formula(m, extent, window) for m in middles])
    assert least_cost_integral(length, extent, window) == pytest.approx(sums, rel=1e-8, abs=1e-14)


@given(combs(most=9), st.floats(0.0, 60), st.floats(0.0, 60))
def test_the_mean_of_the_optimum_is_the_mean_cost_against_the_stated_tolerance(comb, one, two):
    teeth, extent, window = comb
    low, high = sorted((one * window, two * window))
    exact = mean_cost(low, high, teeth, extent, window, window / STRETCH)
    assert least_cost_mean(high, low, extent, window) == pytest.approx(exact, rel=3e-6, abs=1e-12)


def test_a_hundred_thousand_blocks():
    rule = (2, 1.3, 1.0)
    length = 2.0e5 + 0.77
    # with spacings up to 1.3, four blocks on all lengths can be cut evenly: half of every line is caught
    exact = 0.5 * (length**2 - 64) / 2 / (length - 8)
    assert mean_cost(8.0, length, *rule, 1 / STRETCH) == pytest.approx(exact, rel=1e-10)
    # no room at all: n whole blocks and up to a window more, then a window a block
    tight = (2, 1.0, 1.0)
    n = np.arange(100_000)
    whole = math.fsum(n + 0.5) + math.fsum(n + 1.0)
    assert mean_cost(0.0, 2.0e5, *tight, 1 / STRETCH) == pytest.approx(whole / 2e5, rel=2e-6)


def test_too_many_pieces_are_refused_with_a_way_out():
    with pytest.raises(ProblemError, match=r"pieces, more than .* Use a larger tolerance"):
        mean_cost(0.0, 1e8, 2, 1.0, 1.0, 1.0)


@given(combs(most=7), st.floats(0, 20), st.floats(0, 20))
def test_longest_class_is_the_largest_over_all_lengths(comb, one, two):
    teeth, extent, window = comb
    low, high = sorted((one * window, two * window))
    widest = 0.0
    for length in np.linspace(low, high, 300):
        for _, size, spacing in blocks_of(float(length), teeth, extent, window):
            reach = size if spacing == 0 else (math.ceil(size / spacing * (1 - 1e-9)) - 1) * spacing
            widest = max(widest, reach)
    found = longest_class(low, high, teeth, extent, window)
    assert widest * (1 - 1e-8) <= found <= extent * (1 + 1e-8)
    assert found <= widest * (1 + 1e-8) + (high - low) / 299 + window * (high > low)


def test_longest_class_of_one_line():
    assert longest_class(5.0, 5.0, 11, 10.0, 1.0) == pytest.approx(5.0)  # one interval
    assert longest_class(23.0, 23.0, 4, 3.0, 1.0) == pytest.approx(3.0)  # six blocks with classes of 4 and of 3 teeth
    assert longest_class(24.0, 24.0, 4, 3.9, 1.0) == pytest.approx(3.0)  # six even blocks of spacing 1
    assert longest_class(26.0, 26.0, 4, 3.9, 1.0) == pytest.approx(3 * 26 / 24)


# --- risk ----------------------------------------------------------------------------------------------
def test_a_range_that_the_teeth_divide_has_risk_one_in_k():
    for k in range(2, 40):
        window = 2.0 * STRETCH
        length = 7 * k * window * 1.01
        assert range_comb_risk(length, k, (k - 1) * window * 1.02, window, 2.0) == pytest.approx(1 / k, rel=1e-12)


def optimum_integral(length, extent, window):
    n = int(length / window) + 2
    k = math.floor(extent / window + 1e-9) + 1
    at = [0.0, length]
    for i in range(n):
        at += [i * k * window, i * extent + (i + 1) * window]
        at += [i * k * extent / (k - 1)] if k > 1 else []
    at = sorted(x for x in at if x <= length)
    return math.fsum((b - a) * formula((a + b) / 2, extent, window) for a, b in pairwise(at))


@given(
    st.floats(3, 60),
    st.floats(3, 60),
    st.floats(0.05, 5),
    st.sampled_from([-1.0, 1.0]),
    st.floats(0.2, 2.0),
    st.floats(1.0, 9.0),
)
def test_box_against_the_formula_of_the_theory(a_side, b_side, slope, sign, gain, ratio):
    # direction (a, b) = (slope, 1), secret of slope g' along it, window c in the secret
    window, direction = 2.0, (sign * slope, 1.0)
    lam = min(a_side / slope, b_side)
    longest = lam * gain
    extent = ratio * window
    flat = abs(a_side - b_side * slope) * formula(longest, extent, window)
    corners = 2 * slope * lam / longest * optimum_integral(longest, extent, window)
    expected = (flat + corners) / (gain * a_side * b_side)
    box = Polygon(np.array([[5.0, 1.0], [5.0 + a_side, 1.0], [5.0 + a_side, 1.0 + b_side], [5.0, 1.0 + b_side]]))
    rule = (most_teeth(extent, window), extent / gain, window / gain)
    found = polygon_comb_risk(box, direction, (0.0, 1.0), *rule, window / gain / STRETCH)
    assert found == pytest.approx(expected, rel=3e-6)


@given(st.floats(5, 200), st.floats(-4, 4), st.floats(1.0, 9.0))
def test_triangle_against_the_formula_of_the_theory(side, slope, ratio):
    assume(abs(slope) > 0.01)
    window = 2.0
    longest = side / (1 + abs(slope)) if slope < 0 else side / max(1.0, slope)
    extent = ratio * window
    expected = 2 / longest**2 * optimum_integral(longest, extent, window)
    triangle = Polygon(np.array([[0.0, 0.0], [side, side], [0.0, side]]))  # low <= high
    rule = (most_teeth(extent, window), extent, window)
    found = polygon_comb_risk(triangle, (slope, 1.0), (0.0, 1.0), *rule, window / STRETCH)
    assert found == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize("reach", [0.4, 1.0 / STRETCH, 1.6, 2.5, 7.0])
@pytest.mark.parametrize("direction", [(1.0, 0.0), (1.0, 0.7), (1.0, -3.0)])
def test_polygon_risk_against_points_drawn_at_random(direction, reach):
    # a point is uniform on its line, so the risk is the mean of what is caught of its line
    corners = np.array([[0.0, 0.0], [30.0, 2.0], [34.0, 20.0], [12.0, 26.0], [1.0, 14.0]])
    rule = (4, 3.4, 1.0)
    rng = np.random.default_rng(5)
    points = rng.random((400_000, 2)) * corners.max(axis=0)
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1)
    depth = np.einsum("pij,ij->pi", points[:, None, :] - corners, normals)
    inside = np.all(depth > 0, axis=1)
    depth = depth[inside]
    rate = normals @ np.array(direction)
    with np.errstate(divide="ignore"):
        steps = -depth / rate
    ahead = np.where(rate < 0, steps, np.inf).min(axis=1)
    back = np.where(rate > 0, steps, -np.inf).max(axis=1)
    length = ahead - back
    share = cost(length, *rule, reach) / length
    found = polygon_comb_risk(Polygon(corners), direction, (1.0, 0.0), *rule, reach)
    assert found == pytest.approx(share.mean(), abs=5 * share.std() / math.sqrt(len(share)) + 1e-9)
    width, start, stop = line_lengths(Polygon(corners), direction, (1.0, 0.0))
    assert max(start.max(), stop.max()) == pytest.approx(length.max(), rel=5e-3)
    assert polygon_comb_extent(Polygon(corners), direction, (1.0, 0.0), *rule) == pytest.approx(3.4)
    assert math.fsum(0.5 * width * (start + stop)) == pytest.approx(Polygon(corners).area)


@pytest.mark.parametrize("categories", [2, 3, 4, 9, 40])
@pytest.mark.parametrize("reach", [0.02, 0.05 / STRETCH, 0.08, 0.3])
def test_simplex_risk_against_shares_drawn_at_random(categories, reach):
    rng = np.random.default_rng(7)
    raw = rng.standard_exponential((200_000, categories))
    shares = raw / raw.sum(axis=1, keepdims=True)
    others = shares[:, 1:] + shares[:, :1] / (categories - 1)  # where the share is 0
    length = (categories - 1) * others.min(axis=1)
    rule = (4, 0.17, 0.05)
    caught = cost(length, *rule, reach) / length
    found = simplex_comb_risk(categories, *rule, reach)
    assert found == pytest.approx(caught.mean(), abs=5 * caught.std() / math.sqrt(len(caught)) + 1e-9)


@pytest.mark.parametrize("categories", [3, 5, 30])
def test_simplex_risk_against_quadrature_over_lines(categories):
    rule = (3, 0.11, 0.05, 0.07)
    at = knots(0.0, 1.0, *rule)

    def part(length):
        density = (categories - 1) * (categories - 2) * (1 - length) ** (categories - 3)
        return float(cost(length, *rule)) * density

    total = math.fsum(quad(part, a, b)[0] for a, b in pairwise(at))
    assert simplex_comb_risk(categories, *rule) == pytest.approx(total, rel=1e-9)


def test_two_categories_are_one_line():
    assert simplex_comb_risk(2, 5, 0.4, 0.1, 0.1 / STRETCH) == pytest.approx(0.2)
