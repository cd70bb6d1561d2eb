"""Releases of columns: exact in the secret, blind to all but the bin, and honest about what they give away."""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.auditing.game import release_column


def own(secret, values):
    if secret.kind == "quantile":
        return float(np.quantile(values, secret.alpha))
    return float({"mean": np.mean, "std": np.std}[secret.kind](values))


def planned(family, prior, secret, *, known=None, risk=0.2, tolerance=0.5, method="interval", width=None):
    problem = sv.Problem(
        family=family,
        prior=sv.Box(**prior),
        secret=secret,
        tolerance=tolerance,
        known=known if known is not None else sv.Structure(),
    )
    target = {"max_risk": risk} if width is None else {"bin": width}
    return sv.plan(problem, method=method, **target)


CONTINUOUS = {
    "location": (sv.Location(), {"mean": (20, 220)}, None),
    "location from 0": (sv.Location(), {"mean": (20, 220)}, sv.Structure(minimum=0)),
    "gaussian": (sv.Gaussian(), {"mu": (0, 200), "sigma": (1, 51)}, None),
    "gaussian, known sigma": (sv.Gaussian(), {"mu": (0, 200), "sigma": 20}, None),
    "gaussian from 0": (sv.Gaussian(), {"mu": (50, 200), "sigma": (1, 40)}, sv.Structure(minimum=0)),
    "uniform": (sv.Uniform(), {"low": (0, 50), "high": (60, 120)}, None),
    "uniform from 0": (sv.Uniform(), {"low": 0, "high": (60, 120)}, None),
    "exponential": (sv.Exponential(), {"scale": (10, 100)}, None),
    "shifted exponential": (sv.ShiftedExponential(), {"scale": (5, 100), "shift": (0, 50)}, None),
    "exponential from 7": (sv.ShiftedExponential(), {"scale": (5, 100), "shift": 7}, sv.Structure(minimum=7)),
}
SECRETS = (sv.Mean(), sv.Std(), sv.Quantile(0.5), sv.Quantile(0.9))


def draw(name, rng, size=1500):
    """A column of the family, well inside the prior, with noise that no model has."""
    match name:
        case "location" | "location from 0":
            return rng.gamma(3.0, rng.uniform(12, 65), size)
        case "gaussian":
            return rng.normal(rng.uniform(20, 180), rng.uniform(5, 45), size)
        case "gaussian, known sigma":
            return rng.normal(rng.uniform(40, 160), 20, size)
        case "gaussian from 0":
            return np.abs(rng.normal(rng.uniform(90, 180), rng.uniform(5, 25), size))
        case "uniform":
            return rng.uniform(rng.uniform(6, 44), rng.uniform(66, 114), size)
        case "uniform from 0":
            return rng.uniform(0, rng.uniform(66, 114), size)
        case "exponential":
            return rng.exponential(rng.uniform(15, 85), size)
        case "shifted exponential":
            return rng.uniform(12, 38) + rng.exponential(rng.uniform(15, 80), size)
        case _:
            return 7 + rng.exponential(rng.uniform(15, 80), size)


PAIRS = [
    (name, secret)
    for name, (family, prior, known) in CONTINUOUS.items()
    for secret in SECRETS
    if secret.kind in family.secrets and not (name.endswith("known sigma") and secret.kind == "std")
]


@pytest.mark.parametrize(("name", "secret"), PAIRS, ids=lambda value: getattr(value, "label", value))
def test_the_released_statistic_is_the_plans_and_the_structure_stays(name, secret):
    family, prior, known = CONTINUOUS[name]
    # the search for a direction of two parameters under a bound takes seconds, and is not the subject
    width = 12.0 if name == "gaussian from 0" else None
    plan = planned(family, prior, secret, known=known, width=width)
    rng = np.random.default_rng(len(name))
    for _ in range(3):
        values = draw(name, rng)
        done = sv.release(plan, values, accept=["bounds"], details=True)
        wanted = float(plan.apply(**done.record["estimates"]["parameters"]).secret)
        # a column that is moved is blurred by a share of the tolerance, a stretched one beyond its seventh digit
        blur = 5 * 2.0**-10 * plan.problem.tolerance if plan.mode == "shift" else 0.0
        assert own(secret, done.table) == pytest.approx(wanted, rel=1e-6, abs=blur)
        assert done.record["estimates"]["secret"] == pytest.approx(own(secret, values), rel=1e-12)
        order = np.argsort(values)
        least = -2 * blur if plan.mode == "shift" else -2e-6 * np.abs(done.table).max()
        assert np.all(np.diff(done.table[order]) >= least), "an affine map keeps the order"
        if known is not None and known.minimum is not None:
            assert done.table.min() >= known.minimum
            with_bound = np.concatenate([[known.minimum], values])
            assert sv.release(plan, with_bound)[0] == known.minimum


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), share=st.floats(0.05, 0.95), other=st.floats(0.05, 0.95))
def test_two_tables_in_one_bin_that_differ_by_a_shift_give_the_same_release(seed, share, other):
    plan = planned(sv.Location(), {"mean": (0, 200)}, sv.Mean())
    shape = np.random.default_rng(seed).gamma(2.0, 30.0, 400)
    low = plan.bin * np.random.default_rng(seed + 1).integers(5, 30)
    one, two = (shape - shape.mean() + low + plan.bin * part for part in (share, other))
    blur = 10 * 2.0**-10 * plan.problem.tolerance  # each is blurred by itself
    assert np.allclose(*(sv.release(plan, table, accept=["bounds"]) for table in (one, two)), rtol=0, atol=blur)


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), share=st.floats(0.05, 0.95), other=st.floats(0.05, 0.95))
@pytest.mark.parametrize("secret", [sv.Mean(), sv.Quantile(0.9), sv.Std()], ids=lambda secret: secret.label)
@pytest.mark.heavy(1)
def test_two_tables_in_one_bin_that_differ_by_a_factor_give_the_same_release(secret, seed, share, other):
    plan = planned(sv.Exponential(), {"scale": (10, 100)}, secret)
    shape = np.random.default_rng(seed).exponential(1.0, 400)
    unit = float(plan.problem.secret_of({"scale": 1.0}))
    low = 10 + plan.bin * np.random.default_rng(seed + 1).integers(1, int(80 / plan.bin))
    one, two = (shape / own(secret, shape) * unit * (low + plan.bin * part) for part in (share, other))
    assert np.allclose(sv.release(plan, one), sv.release(plan, two), rtol=2e-6, atol=0)  # each is blurred by itself


@cache
def plan_of_two_parameters():
    return planned(sv.Gaussian(), {"mu": (0, 200), "sigma": (1, 51)}, sv.Quantile(0.95))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), share=st.floats(0.05, 0.95), other=st.floats(0.05, 0.95))
def test_two_tables_on_one_line_of_parameters_give_the_same_release(seed, share, other):
    plan = plan_of_two_parameters()
    rng = np.random.default_rng(seed)
    shape = rng.normal(size=400)
    mechanism = plan.mechanism
    start, stop = mechanism.bins.span(mechanism.bins.first + rng.integers(2, mechanism.bins.count - 2))
    anchor = {"mu": rng.uniform(60, 140), "sigma": rng.uniform(15, 35)}
    at = sum(mechanism.coordinate.get(key, 0.0) * value for key, value in anchor.items())
    tables = []
    for part in (share, other):
        move = float(start + part * (stop - start)) - at
        place = {key: value + mechanism.direction.get(key, 0.0) * move for key, value in anchor.items()}
        # the same shape with the parameters of `place`, as the release itself will estimate them
        level = place["mu"] + place["sigma"] * float(plan.problem.family.z_quantile(0.95))
        tables.append(level + (shape - np.quantile(shape, 0.95)) * place["sigma"] / shape.std())
    try:
        one, two = (sv.release(plan, table, accept=["bounds"]) for table in tables)
    except sv.ColumnError:
        return  # the line left the prior
    assert np.allclose(one, two, rtol=2e-6, atol=2e-6 * max(np.abs(table).max() for table in tables))


def test_the_best_guess_from_a_released_table_is_as_good_as_the_plan_says():
    plan = planned(sv.Location(), {"mean": (0, 200)}, sv.Mean(), tolerance=1.0)
    rng = np.random.default_rng(8)
    hits, trials = 0, 800
    shape = rng.gamma(2.0, 30.0, 60)
    for trial in range(trials):
        values = shape + rng.uniform(0, 200) - shape.mean()
        released, _ = release_column(plan, values, bits=53, seed=trial)
        hits += abs(released.mean() - values.mean()) <= plan.problem.tolerance
    half = 3.3 * math.sqrt(plan.risk * (1 - plan.risk) / trials)
    assert abs(hits / trials - plan.risk) <= half


# --- counts, lattices, categories ---------------------------------------------------------------
def test_whole_steps_keep_the_lattice_the_type_and_the_statistic_modulo_the_step():
    plan = planned(sv.Location(), {"mean": (0, 200)}, sv.Mean(), known=sv.Structure(step=1))
    values = np.round(np.random.default_rng(0).normal(93, 12, 3000)).astype(np.int32)
    done = sv.release(plan, values, details=True)
    move = np.unique(done.table.astype(int) - values)
    assert done.table.dtype == np.int32
    assert len(move) == 1
    assert done.table.mean() == pytest.approx(done.record["released"]["secret"], rel=1e-9)
    assert (done.table.mean() - values.mean()) % 1 == pytest.approx(0, abs=1e-9)


def test_decimal_steps_come_back_as_clean_decimals_that_do_not_tell_the_move():
    rng = np.random.default_rng(1)
    plan = planned(sv.Location(), {"mean": (0, 60)}, sv.Mean(), known=sv.Structure(step=0.01))
    values = np.round(rng.gamma(5, 4, 2000), 2)
    released = sv.release(plan, values, accept=["bounds"])
    assert np.array_equal(released, np.round(released, 2)), "every value is the float nearest to two decimals"
    shifted = np.round(rng.gamma(5, 4, 2000), 2) * 0 + 0.003 + values  # a lattice with an offset
    again = sv.release(plan, np.round(shifted, 3), accept=["bounds"])
    assert np.array_equal(again, np.round(again, 3))


def test_moves_keep_declared_heaps_in_place():
    rng = np.random.default_rng(2)
    values = np.round(rng.normal(300, 60, 4000))
    heaped = np.where(rng.random(4000) < 0.4, np.round(values / 5) * 5, values)
    known = sv.Structure(step=1)
    plain = planned(sv.Location(), {"mean": (0, 600)}, sv.Mean(), known=known)
    with pytest.raises(sv.StructureError, match="heaps=5"):
        sv.release(plain, heaped)
    plan = planned(sv.Location(), {"mean": (0, 600)}, sv.Mean(), known=sv.Structure(step=1, heaps=(5,)))
    released = sv.release(plan, heaped)
    assert np.count_nonzero(released % 5 == 0) == np.count_nonzero(heaped % 5 == 0)
    assert np.unique(released - heaped)[0] % 5 == 0


@pytest.mark.parametrize(
    ("family", "prior", "values"),
    [
        (sv.Poisson(), "rate", np.random.default_rng(0).poisson(30, 3001)),
        (sv.Geometric(), "p", np.random.default_rng(1).geometric(0.2, 3001) - 1),
    ],
    ids=["poisson", "geometric"],
)
def test_units_give_valid_counts_whose_mean_is_the_nearest_multiple(family, prior, values):
    name = family.params[0].name
    plan = planned(family, {name: (5, 60) if prior == "rate" else (0.05, 0.8)}, sv.Mean(), method="dynamic", risk=0.6)
    assert plan.mode == "unit"
    done = sv.release(plan, values, details=True)
    assert done.table.dtype == values.dtype
    assert done.table.min() >= 0
    wanted = done.record["released"]["secret"]
    assert abs(done.table.mean() - wanted) <= 0.5 / len(values) + 1e-12


def test_rank_depends_on_nothing_but_the_order_of_the_rows():
    plan = planned(sv.Binomial(trials=20), {"p": (0.05, 0.95)}, sv.Mean(), method="dynamic", risk=0.4)
    assert plan.mode == "rank"
    rng = np.random.default_rng(5)
    values = rng.binomial(20, 0.31, 2000)
    released = sv.release(plan, values, seed=1)
    assert set(np.unique(released)) <= set(range(21))
    # another column with the same order and a mean in the same bin
    other = np.sort(rng.binomial(20, 0.31, 2000))
    low = sv.release(plan, values, seed=1, details=True).record["bin"]
    p = other.mean() / 20
    assert low["low"] <= p < low["high"]
    assert np.array_equal(np.sort(released), np.sort(sv.release(plan, other, seed=1, accept=["order"])))


def test_a_model_by_rank_fits_the_declared_bounds_and_step():
    known = sv.Structure(minimum=0, maximum=150, step=5)
    plan = planned(sv.Gaussian(), {"mu": (40, 110), "sigma": (1, 40)}, sv.Mean(), known=known)
    assert plan.mode == "rank"
    values = np.clip(np.round(np.random.default_rng(0).normal(70, 40, 2000) / 5) * 5, 0, 150)
    released = sv.release(plan, values)
    assert released.min() >= 0
    assert released.max() <= 150
    assert np.all(released % 5 == 0)


def test_the_fewest_rows_are_relabelled():
    problem = sv.Problem(family=sv.Categorical(labels=["a", "b", "c"]), secret=sv.Fraction("b"), tolerance=0.02)
    plan = sv.plan(problem, max_risk=0.3)
    labels = np.array(["a", "b", "c"])[np.random.default_rng(0).choice(3, 2001, p=[0.5, 0.2, 0.3])]
    done = sv.release(plan, labels, details=True)
    before, after = (np.array([np.count_nonzero(column == name) for name in "abc"]) for column in (labels, done.table))
    assert np.count_nonzero(done.table != labels) == np.abs(after - before).sum() // 2
    shares = [done.record["released"]["parameters"][name] for name in "abc"]
    assert np.all(np.abs(after - np.array(shares) * 2001) < 1)


SHAPES = {
    "many steps": (sv.Structure(minimum=0, step=1), (40, 200), "jitter"),
    "few steps": (sv.Structure(minimum=0, step=4), (40, 200), "smooth"),
    "heaps": (sv.Structure(minimum=0, step=1, heaps=(5,)), (40, 200), "smooth"),
    "inner atom": (sv.Structure(minimum=0, step=1, atoms=(0, 60)), (40, 200), "smooth"),
    "zeros": (sv.Structure(minimum=0, step=1, atoms=(0,)), (40, 200), "jitter"),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.filterwarnings("ignore:The smallest or the largest value")
def test_steps_above_a_bound_keep_their_structure_and_hit_the_nearest_mean(name):
    known, prior, mode = SHAPES[name]
    plan = planned(sv.Location(), {"mean": prior}, sv.Mean(), known=known, risk=0.1)
    assert plan.mode == mode
    rng = np.random.default_rng(3)
    values = known.step * np.rint(rng.gamma(2.0, 40.0 / known.step, 3001))
    if known.heaps:
        values = np.where(rng.random(3001) < 0.3, np.round(values / 5) * 5, values)
    for atom in known.atoms:
        values = np.where(rng.random(3001) < 0.1, atom, values)
    done = sv.release(plan, values.astype(np.int64), details=True)
    assert done.table.dtype == np.int64
    assert done.table.min() >= 0
    assert np.all(done.table % known.step == 0)
    assert abs(done.table.mean() - done.record["released"]["secret"]) <= 0.5 * known.step / 3001 + 1e-9
    for atom in known.atoms:
        assert np.all(done.table[values == atom] == atom)
    assert np.array_equal(done.table, sv.release(plan, values.astype(np.int64), record=done.record))


@pytest.mark.parametrize(
    ("known", "prior", "why"),
    [
        (sv.Structure(minimum=0, step=1), (2, 9), "steps of the bound"),
        (sv.Structure(minimum=0, step=1, heaps=(10,)), (40, 200), "heaps of 10"),
        (sv.Structure(minimum=0, maximum=300, step=1), (40, 200), "exactly one bound"),
    ],
)
def test_what_no_map_hides_is_refused_by_the_plan_with_what_can_be_had(known, prior, why):
    with pytest.raises(sv.ProblemError, match=why):
        planned(sv.Location(), {"mean": prior}, sv.Mean(), known=known)


# --- refusals ---------------------------------------------------------------------------------
@pytest.mark.parametrize(("level", "side"), [(-40.0, "below"), (260.0, "above")])
def test_a_column_outside_the_prior_names_the_side_and_never_the_value(level, side):
    plan = planned(sv.Location(), {"mean": (0, 200)}, sv.Mean())
    values = np.random.default_rng(0).normal(level, 3.0, 500)
    with pytest.raises(sv.ColumnError, match=side) as caught:
        sv.release(plan, values)
    text = str(caught.value)
    assert "widening" in text
    assert f"{abs(values.mean()):.3g}"[:3] not in text


STRUCTURES = {
    "step": lambda rng: np.round(rng.normal(100, 20, 900)),
    "step, decimals": lambda rng: np.round(rng.normal(100, 20, 900), 2),
    "heaps": lambda rng: np.where(rng.random(900) < 0.2, np.round(rng.normal(100, 20, 900)), rng.normal(100, 20, 900)),
    "atoms": lambda rng: np.where(rng.random(900) < 0.2, 93.21346813, rng.normal(100, 20, 900)),
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_structure_that_was_not_declared_is_refused_and_can_be_accepted_by_name(kind):
    plan = planned(sv.Gaussian(), {"mu": (0, 200), "sigma": (1, 51)}, sv.Mean())
    values = STRUCTURES[kind](np.random.default_rng(4))
    name = kind.partition(",")[0]
    with pytest.raises(sv.StructureError) as caught:
        sv.release(plan, values)
    text = str(caught.value)
    assert f"--accept {name}" in text
    assert "--known" in text
    done = sv.release(plan, values, accept=[name], details=True)
    assert [leak["name"] for leak in done.card["accepted_leaks"]] == [name]
    # whole numbers are 32-bit numbers, which are smeared over their cells: few different ones do not average out
    # and all values are blurred by a share of the tolerance
    blur = 5 * 2.0**-10 * plan.problem.tolerance
    assert done.table.mean() == pytest.approx(done.record["released"]["secret"], abs=blur)
    with pytest.raises(sv.StructureError, match="unknown leak"):
        sv.release(plan, values, accept=["everything"])


def test_the_card_holds_nothing_computed_from_the_data():
    plan = planned(sv.Location(), {"mean": (0, 200)}, sv.Mean())
    rng = np.random.default_rng(0)
    cards = []
    for _ in range(3):
        values = np.where(rng.random(700) < 0.3, rng.uniform(50, 90), rng.gamma(2.0, 30.0, 700))
        cards.append(json.dumps(sv.release(plan, values, accept=["atoms", "bounds", "filled"], details=True).card))
    assert cards[0] == cards[1] == cards[2]


@pytest.mark.parametrize(
    ("family", "prior", "known", "values", "why"),
    [
        (sv.Exponential(), {"scale": (1, 50)}, None, [3.1, -0.2, 5.7], "below the minimum"),
        (sv.Location(), {"mean": (1, 50)}, sv.Structure(minimum=0), [3.1, -0.2, 5.7], "below the minimum"),
        (sv.Location(), {"mean": (1, 50)}, sv.Structure(maximum=60), [3.1, 61.0, 5.7], "above the maximum"),
        (sv.Location(), {"mean": (1, 50)}, sv.Structure(step=0.5), [3.0, 4.25, 5.5], "off the declared step"),
        (sv.Uniform(), {"low": 0, "high": (1, 50)}, None, [3.1, -0.2, 5.7], "below the minimum"),
    ],
)
def test_a_column_must_have_what_was_declared(family, prior, known, values, why):
    plan = planned(family, prior, sv.Mean(), known=known)
    with pytest.raises(sv.StructureError, match=why):
        sv.release(plan, values)


@pytest.mark.parametrize(
    ("values", "why"), [([1.0, 2.5], "not whole"), ([1, -2], "below the minimum"), ([3, 25], "above the maximum")]
)
def test_counts_must_be_counts(values, why):
    plan = planned(sv.Binomial(trials=20), {"p": (0.05, 0.95)}, sv.Mean(), method="dynamic", risk=0.4)
    with pytest.raises(sv.StructureError, match=why):
        sv.release(plan, values)


def test_a_column_of_counts_that_do_not_follow_the_family_is_refused():
    plan = planned(sv.Poisson(), {sv.Poisson().params[0].name: (5, 60)}, sv.Mean(), method="dynamic", risk=0.4)
    rng = np.random.default_rng(0)
    inflated = np.where(rng.random(3000) < 0.3, 0, rng.poisson(30, 3000))
    with pytest.raises(sv.StructureError, match="--accept"):
        sv.release(plan, inflated)


# --- the last bits ----------------------------------------------------------------------------
def _reachable(released, factor):
    """Share of released 32-bit values that some 32-bit original gives under this factor."""
    guess = (released.astype(np.float64) / factor).astype(np.float32)
    found = np.zeros(len(released), dtype=bool)
    for near in (np.nextafter(guess, -np.inf, dtype=np.float32), guess, np.nextafter(guess, np.inf, dtype=np.float32)):
        found |= (near.astype(np.float64) * factor).astype(np.float32) == released
    return found.mean()


def test_no_factor_explains_the_last_bits_of_a_scaled_column_better_than_another():
    rng = np.random.default_rng(0)
    plan = planned(sv.Exponential(), {"scale": (10, 100)}, sv.Mean())
    values = np.concatenate([[0.0], rng.exponential(12.0, 8000)]).astype(np.float32)
    done = sv.release(plan, values, details=True)
    factor = done.record["coefficients"]["a"]
    assert factor > 1.05
    near = factor * (1 + rng.uniform(1e-4, 1e-3, 30))
    # the control: a plain product is told from all others by its last bits
    plain = (values.astype(np.float64) * factor).astype(np.float32)
    assert _reachable(plain, factor) == 1
    assert max(_reachable(plain, other) for other in near) < 0.99
    shares = [_reachable(done.table, other) for other in near]
    noise = 5 * math.sqrt(0.25 / len(values))
    assert abs(_reachable(done.table, factor) - np.mean(shares)) < noise
    assert done.table.dtype == np.float32
    assert done.table[0] == 0
    assert done.table.min() >= 0


@pytest.mark.parametrize("wide", [False, True])
def test_no_frequency_shows_the_cells_of_32_bit_originals(wide):
    rng = np.random.default_rng(3)
    plan = planned(sv.Exponential(), {"scale": (1, 9)}, sv.Mean(), tolerance=0.01, risk=0.02)
    values = rng.uniform(4.0, 5.0, 60_000).astype(np.float32)
    done = sv.release(plan, values.astype(np.float64) if wide else values, details=True)
    factor, cell = done.record["coefficients"]["a"], float(np.spacing(np.float32(4.5)))

    def power(column):
        phase = 2 * np.pi * column.astype(np.float64) / (factor * cell)
        return abs(np.exp(1j * phase).sum()) ** 2 / len(column)

    assert power(values.astype(np.float64) * factor) > 1000, "the control: the lattice of the originals rings"
    assert power(done.table) < 25, "an exponential variable exceeds 25 once in 7e10"


def test_no_value_near_zero_shows_how_far_it_came():
    rng = np.random.default_rng(1)
    plan = planned(sv.Location(), {"mean": (-50, 50)}, sv.Mean(), tolerance=0.5, risk=0.05)
    values = rng.normal(4.7, 6.0, 20_000)
    done = sv.release(plan, values, details=True)
    grain = done.record["coefficients"]["grain"]
    assert grain > 2 * np.spacing(np.abs(values)).max(), "coarser than the originals' own steps"
    assert np.all(done.table / grain == np.floor(done.table / grain)), "near 0 and far from it alike"


# --- seeds ------------------------------------------------------------------------------------
def test_a_secret_seed_is_drawn_once_kept_and_used_again():
    problem = sv.Problem(family=sv.Categorical(labels=["a", "b"]), secret=sv.Fraction("a"), tolerance=0.02)
    plan = sv.plan(problem, max_risk=0.3)
    labels = ["a" if value < 0.37 else "b" for value in np.random.default_rng(0).random(3000)]
    first = sv.release(plan, labels, details=True)
    assert int(first.record["seed"], 16) >= 2**90
    assert sv.release(plan, labels, record=first.record) == first.table
    assert sv.release(plan, labels) != first.table
    with pytest.raises(sv.FileError, match="another release"):
        sv.release(plan, labels[1:], record=first.record)
    assert "private" in repr(first)
    assert first.record["seed"] not in repr(first)


@pytest.mark.parametrize("digits", [0, 2, -1])
def test_rounding_is_done_last_and_said_on_the_card(digits):
    plan = planned(sv.Location(), {"mean": (0, 200)}, sv.Mean())
    values = np.random.default_rng(0).gamma(2.0, 30.0, 500)
    done = sv.release(plan, values, accept=["bounds"], round_digits=digits, details=True, seed=1)
    exact = sv.release(plan, values, accept=["bounds"], seed=1)
    assert np.array_equal(done.table, np.floor(exact * 10.0**digits + 0.5) / 10.0**digits)
    assert done.card["rounded_to_digits"] == digits
    with pytest.raises(sv.ProblemError, match="continuous"):
        sv.release(
            planned(sv.Location(), {"mean": (0, 200)}, sv.Mean(), known=sv.Structure(step=1)), [1], round_digits=2
        )


def test_a_quantile_that_is_a_declared_frequent_value_is_refused():
    """Whoever knows the frequent values guesses one of them, and the prior says nothing of that."""
    rng = np.random.default_rng(4)
    column = np.where(rng.random(800) < 0.3, 90.0, rng.gamma(4.0, 12.0, 800))
    problem = sv.Problem(
        secret=sv.Quantile(0.8),
        prior=(40, 200),
        tolerance=4.0,
        known=sv.Structure(minimum=0, atoms=(90.0,)),
        shape="catalogue",
    )
    plan = sv.plan(problem, max_risk=0.3)
    assert np.quantile(column, 0.8) == 90
    with pytest.raises(sv.ColumnError, match="one of the frequent values that the plan declares") as refused:
        sv.release(plan, column)
    assert "90" not in str(refused.value)
    assert len(sv.release(plan, column, accept=["atoms"])) == 800
    other = np.where(rng.random(800) < 0.3, 90.0, rng.gamma(40.0, 3.5, 800))
    assert np.quantile(other, 0.8) != 90
    assert len(sv.release(plan, other)) == 800
