"""Functions of whole numbers with a factor and an addend that nobody says: the attack, its refusal, and what passes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

import statveil as sv
from statveil.tables.structure.column.findings import find_structure
from statveil.tables.structure.column.function_search import find_function, find_logarithm

MADE = {
    "logarithms over a factor": ("logarithms", lambda k: np.log(k) / 1.2345),
    "logarithms of one more": ("logarithms", lambda k: np.log1p(k) / 1.2345),
    "cents of an octave": ("logarithms", lambda k: 1200 * np.log2(k)),
    "base 1.1": ("logarithms", lambda k: np.log(k) / np.log(1.1)),
    "share of the largest logarithm": ("logarithms", lambda k: np.log(k) / np.log(15_000)),
    "standardised logarithms": ("logarithms", lambda k: (np.log1p(k) - 7.123) / 0.4567),
    "falling logarithms": ("logarithms", lambda k: 3.14 - 2.6 * np.log10(k)),
    "mel": ("logarithms", lambda k: 2595 * np.log10(1 + k / 700)),
    "asinh": ("inverse hyperbolic sines", lambda k: 2 + np.arcsinh(k / 100)),
    "asinh of 150": ("inverse hyperbolic sines", lambda k: (np.arcsinh(k / 150) - 3.3) / 0.77),
    "tanh": ("hyperbolic tangents", lambda k: 50 * np.tanh(k / 1000)),
    "standardised roots": ("powers or roots", lambda k: (np.sqrt(k) - 38.1) / 7.77),
    "saturation": ("reciprocals", lambda k: 100 * k / (k + 50)),
    "head loss": ("powers", lambda k: k**1.852),
    "clearance": ("powers", lambda k: 175 * k**-1.154),
    "Box-Cox": ("powers less a constant", lambda k: (k**0.2837 - 1) / 0.2837),
    "Box-Cox below 0": ("powers less a constant", lambda k: (k**-0.17 - 1) / -0.17),
    "Yeo-Johnson, standardised": ("powers less a constant", lambda k: (((k + 1) ** -0.2 - 1) / -0.2 - 3.7) / 0.0871),
}


def drawn(seed: int, rows: int):
    """Numbers whose logarithms are normal, not yet whole; few of several thousand."""
    rng = np.random.default_rng(seed)
    return np.exp(rng.uniform(6.3, 8.0) + rng.normal(0, 0.45, rows))


def named(column) -> str | None:
    values = np.unique(column)
    return find_function(values, 2 * np.spacing(np.abs(values)))


@pytest.mark.parametrize("rows", [120, 300, 2_000])
@pytest.mark.parametrize("kind", MADE)
def test_functions_of_whole_numbers_are_named_whatever_their_factor(kind, rows):
    says, made = MADE[kind]
    found = [named(made(np.rint(drawn(seed, rows)))) for seed in range(8)]
    assert found.count(says) >= 7, found
    assert not any(named(made(drawn(seed, rows))) for seed in range(8)), "the control: the same of any numbers"
    # another search may name them too, and no shift is made either
    assert {one.name for one in find_structure(made(np.rint(drawn(1, rows))))} & {"transform", "ratios", "digits"}


@pytest.mark.parametrize("kind", ["standardised logarithms", "asinh", "head loss", "tanh"])
def test_thirty_rows_are_enough_for_most(kind):
    says, made = MADE[kind]
    assert [named(made(np.rint(drawn(seed, 30)))) for seed in range(10)].count(says) >= 6


@pytest.mark.parametrize(
    "made",
    [
        lambda share: 50 + 10 * ndtri(share),
        lambda share: (np.log(share / (1 - share)) - 0.3) / 0.7,
        lambda share: np.degrees(np.arcsin(np.sqrt(share))),
        lambda share: 3 * np.log(-np.log1p(-share)) + 1,
    ],
    ids=["probits", "log-odds", "angles", "logarithms of logarithms"],
)
def test_functions_of_shares_of_a_thousand_are_named(made):
    share = np.random.default_rng(1).integers(100, 900, 200)
    assert "shares" in (named(made(share / 1000)) or "")


@pytest.mark.parametrize("share", [0.8, 0.9])
def test_some_of_the_rows_are_enough(share):
    found = 0
    for seed in range(10):
        whole = np.random.default_rng(seed).random(400) < share
        u = drawn(seed, 400)
        found += named(np.log(np.where(whole, np.rint(u), u)) / 1.2345 + 0.7) is not None
    assert found >= 8


@pytest.mark.parametrize("rows", [30, 120, 1_000])
@pytest.mark.parametrize("made", [(1.2345, 6), (np.log(1.5), 5), (np.log(1.1), 4), (1.2345, None)])
@pytest.mark.heavy(3)
def test_logarithms_to_any_base_are_found_with_few_digits(made, rows):
    by, decimals = made

    def printed(x):
        return np.round(x, decimals) if decimals else x.astype(np.float32).astype(np.float64)

    found = [{one.name for one in find_structure(printed(np.log(np.rint(drawn(s, rows) / 3)) / by))} for s in range(6)]
    assert sum("transform" in names for names in found) >= 5, found
    free = [{one.name for one in find_structure(printed(np.log(drawn(s, rows) / 3) / by))} for s in range(6)]
    assert not any("transform" in names for names in free), "the control"


def test_smooth_columns_are_functions_of_nothing():
    """300 columns, of which none is refused: neither as they are nor with the digits of six decimals."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        rows = int(rng.choice([12, 30, 60, 120, 400, 2_000]))
        column = (
            rng.normal(50, 10, rows),
            rng.lognormal(3, 1, rows),
            np.log(rng.gamma(9, 300, rows)) / 1.2345,
            rng.random(rows),
            -rng.gamma(2, 30, rows),
        )[seed % 5]
        assert named(column) is None, seed
        values = np.unique(np.round(column, 6))
        assert find_logarithm(values, np.full(len(values), 5.1e-7)) is None, seed
        if seed % 5 < 3 and rows >= 60:
            assert "transform" not in {one.name for one in find_structure(column)}, seed


@pytest.mark.parametrize("kind", ["logarithms over a factor", "asinh"])
def test_who_has_the_function_finds_the_move_and_the_release_is_refused(kind):
    """The attack, on releases in spite of the finding: the move after which the numbers behind are whole again."""
    _, made = MADE[kind]
    back = {"logarithms over a factor": lambda x: np.exp(1.2345 * x), "asinh": lambda x: 100 * np.sinh(x - 2)}[kind]
    low, high = made(np.exp(6.8)), made(np.exp(8.2))
    tolerance = (high - low) / 90
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=(low, high), tolerance=tolerance), max_risk=0.2)
    blur, hits = tolerance / 1024, 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        column = made(np.rint(np.exp(rng.uniform(7.1, 7.9) + rng.normal(0, 0.45, 120))))
        with pytest.raises(sv.StructureError, match="transform"):
            sv.release(plan, column)
        out = np.asarray(sv.release(plan, column, accept=["transform", "atoms", "ratios", "digits"], seed=seed))
        moves = np.arange(-1.02 * plan.distortion, 1.02 * plan.distortion, blur / 2)
        behind = back(out[:, None] - moves)
        cell = (back(out[:, None] - moves + 1e-6) - behind) * 1e6
        fits = np.sum(np.exp(-2 * (np.pi * blur * cell) ** 2) * np.cos(2 * np.pi * behind), axis=0)
        hits += abs(out.mean() - moves[int(np.argmax(fits))] - column.mean()) <= tolerance
    assert hits >= 6  # of 8, at a stated 0.2: what the refusal spares
