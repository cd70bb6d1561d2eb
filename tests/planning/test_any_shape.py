"""Problems without a family: the prior on the statistic itself, any shape, tolerances as shares."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import statveil as sv
from statveil.auditing.game import release_column
from statveil.errors import ColumnError, ProblemError, TargetError
from statveil.problem.column_numbers import InMemory
from statveil.problem.priors.logged import Logged

RISKS = st.floats(0.05, 0.6)


FIVE = sv.Relative(0.05)


def problem(secret=None, prior=(100, 250), tolerance=FIVE, **known):
    return sv.Problem(
        secret=secret or sv.Mean(),
        prior=prior,
        tolerance=tolerance,
        known=sv.Structure(**known) if known else sv.Structure(),
    )


def ends_of(belief, count, rng):
    return belief.ppf(rng.random(count))


def best_attack(released, position, half):
    """How often the best guess hits that knows the release: sorted positions of each release, the fullest window."""
    hits = 0
    order = np.lexsort((position, released))
    released, position = released[order], position[order]
    for group in np.split(position, np.flatnonzero(np.diff(released)) + 1):
        hits += int(np.max(np.searchsorted(group, group + 2 * half, side="right") - np.arange(len(group))))
    return hits / len(position)


def played(plan, size=200_000, seed=1):
    """The best attacker in the statistic's own unit: a window of a share goes from a guess / (1 + r) to / (1 - r)."""
    rng = np.random.default_rng(seed)
    value = ends_of(plan.problem.family.belief, size, rng)
    released = plan.apply(value=value).secret
    close = plan.problem.closeness
    if isinstance(close, sv.Relative):
        return best_attack(released, np.log(value), 0.5 * math.log((1 + close.share) / (1 - close.share)))
    return best_attack(released, value, close)


# --- closed forms -------------------------------------------------------------------------------
@given(st.floats(0.5, 4.0), st.floats(0.005, 0.2), st.floats(1.05, 3.0))
@settings(max_examples=60)
def test_uniform_in_the_logarithm(length, share, ratio):
    """(floor(l/s) Lambda + min(Lambda, rest)) / l, for bins of ratio e^s (theory, relative tolerance)."""
    window = math.log((1 + share) / (1 - share))
    width = window * ratio
    if width >= length:
        return
    asked = math.tanh(width / 2)
    plan = sv.plan(
        problem(prior=sv.LogUniform(10, 10 * math.exp(length)), tolerance=sv.Relative(share)),
        max_distortion=sv.Relative(asked),
        method="interval",
    )
    width = plan.mechanism.bins.width
    assert width <= window * ratio * (1 + 1e-9)
    whole = math.floor(length / width + 1e-9)
    rest = max(length - whole * width, 0.0)
    assert plan.risk == pytest.approx((whole * window + min(window, rest)) / length, rel=1e-9)
    assert plan.risk_kind == "exact"
    assert plan.distortion <= asked * (1 + 1e-12)


@given(st.floats(1.2, 30.0), st.floats(0.005, 0.2), st.floats(1.05, 4.0))
@settings(max_examples=60)
def test_uniform_with_a_share(ratio, share, wider):
    """Sum of min(B - A, kappa B) over bins laid from the top, kappa = 2 r / (1 + r)."""
    low, high, window = 20.0, 20.0 * ratio, math.log((1 + share) / (1 - share))
    if wider * window >= math.log(ratio):
        return
    plan = sv.plan(
        problem(prior=(low, high), tolerance=sv.Relative(share)),
        max_distortion=sv.Relative(math.tanh(wider * window / 2)),
        method="interval",
    )
    tops = high * np.exp(-plan.mechanism.bins.width * np.arange(plan.mechanism.bins.count))
    bottoms = np.maximum(tops * math.exp(-plan.mechanism.bins.width), low)
    kappa = 2 * share / (1 + share)
    assert plan.risk == pytest.approx(np.minimum(tops - bottoms, kappa * tops).sum() / (high - low), rel=1e-9)
    assert plan.risk_kind == "exact"


@pytest.mark.parametrize("teeth", [2, 3, 5])
@pytest.mark.parametrize("share", [0.02, 0.1])
def test_combs_attain_the_limit(teeth, share):
    """tanh((K - 1) artanh r), and (1 - x) / (1 - x^K) for a uniform prior (theory, relative tolerance)."""
    window, blocks = 2 * math.atanh(share), 4
    high = 100 * math.exp(window * teeth * blocks)
    x = (1 - share) / (1 + share)
    for prior, risk in (((100, high), (1 - x) / (1 - x**teeth)), (sv.LogUniform(100, high), 1 / teeth)):
        plan = sv.plan(problem(prior=prior, tolerance=sv.Relative(share)), max_risk=risk * (1 + 1e-6), method="comb")
        assert plan.distortion == pytest.approx(math.tanh((teeth - 1) * math.atanh(share)), rel=1e-6)
        bound = sv.limits(plan.problem, max_risk=1 / teeth).lower_bound
        assert bound == pytest.approx(math.tanh((teeth - 1) * math.atanh(share)), rel=1e-9)
        rate = sv.simulate(plan, trials=40_000, seed=1)
        assert rate.low <= plan.risk <= rate.high


def test_the_limit_beside_a_step_counts_the_shortest_windows():
    """Absolute W1 of the mean, prior from lo up: above lo (e^((k-1) Lambda) - 1) / 2 (theory, relative tolerance)."""
    plan = sv.plan(problem(prior=(60, 250), step=0.01), max_risk=0.25)
    assert plan.risk_kind == "upper bound"
    assert plan.lower_bound == pytest.approx(60 * (math.exp(3 * 2 * math.atanh(0.05)) - 1) / 2, rel=1e-9)
    assert plan.optimum is None
    least = sv.limits(plan.problem, max_distortion=plan.lower_bound * 1.001).lower_bound
    assert least == pytest.approx(0.25)


@pytest.mark.parametrize("method", ["interval", "comb"])
@pytest.mark.parametrize("known", [{"minimum": 10}, {"maximum": 120}])
@pytest.mark.parametrize("secret", [sv.Mean(), sv.Quantile(0.9)])
def test_no_release_passes_a_bound_other_than_0(secret, known, method):
    """Releases below their class would lie beyond the bound, and the column would be turned over."""
    plan = sv.plan(
        problem(secret, prior=(10.4, 110), tolerance=sv.Relative(0.02), **known), max_risk=0.1, method=method
    )
    value = np.linspace(10.4, 110, 5_001)
    released = plan.apply(value=value).secret
    assert np.all((released > 10.39) & (released < 110.01))
    share = np.abs(released / value - 1)
    if secret == sv.Quantile(0.9):
        share = np.abs(released - value) / np.abs(value - (known.get("minimum") or known["maximum"]))
    assert share.max() <= plan.distortion * (1 + 1e-9)
    rate = sv.simulate(plan, trials=20_000, seed=2)
    assert rate.low <= plan.risk


def test_the_limit_of_a_distortion():
    found = sv.limits(problem(), max_distortion=sv.Relative(0.2))
    assert found.lower_bound == 1 / math.ceil(math.atanh(0.2) / math.atanh(0.05))
    assert found.distortion_kind == "relative"


CASES = {
    "share, uniform": ((100, 250), sv.Relative(0.05), {"minimum": 0}),
    "share, log": (sv.LogUniform(100, 900), sv.Relative(0.05), {"minimum": 0}),
    "share, density": (sv.Density("lognormal", [5.2, 0.4], low=60, high=600), sv.Relative(0.05), {}),
    "share, elicited": (sv.Elicited(100, 250, 0.9), sv.Relative(0.04), {}),
    "unit, log": (sv.LogUniform(100, 900), 12.0, {"minimum": 0}),
    "unit, uniform": ((100, 250), 4.0, {}),
    "share, steps": ((100, 250), sv.Relative(0.03), {"step": 1}),
}


@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize("method", ["interval", "comb", "dynamic", "layered"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.heavy(2)
def test_no_attacker_hits_more_often_than_stated(case, method):
    prior, tolerance, known = CASES[case]
    asked = problem(prior=prior, tolerance=tolerance, **known)
    if known.get("step") and method != "interval":
        with pytest.raises(ProblemError, match="a known step is accounted for by the method 'interval' only"):
            sv.plan(asked, max_risk=0.25, method=method)
        return
    plan = sv.plan(asked, max_risk=0.25, method=method, grid=None if method in ("interval", "comb") else 200)
    assert plan.risk <= 0.25 * (1 + 1e-9)
    rate = sv.simulate(plan, trials=25_000, seed=3)
    assert rate.low <= plan.risk
    if plan.risk_kind != "upper bound":
        assert rate.high >= plan.risk * (1 - 0.03)
    if not plan.randomised and "step" not in known and plan.mechanism.finite:
        rate = played(plan)
        # the best window of each group of draws is a little better than the best of all
        assert rate <= plan.risk + 0.012
    value = ends_of(asked.family.belief, 20_000, np.random.default_rng(5))
    moved = np.abs(plan.apply(value=value, secret_seed=7).secret - value)
    assert np.max(moved) <= plan.largest_move * (1 + 1e-9)
    stated = np.max(moved / value) if plan.problem.measure.kind == "relative" else np.max(moved)
    assert stated <= plan.distortion * (1 + 1e-9)
    assert stated >= 0.9 * plan.distortion


@given(st.floats(0.0, 3.0), st.integers(0, 10_000), st.sampled_from(["interval", "comb"]))
@settings(max_examples=40, deadline=None)
def test_the_bound_of_a_slope_holds_for_every_belief_of_the_class(slope, seed, method):
    """Beliefs whose log-density in the logarithm is a random zigzag of this slope, and the two steepest."""
    asked = problem(prior=sv.LogSlope(100, 1600, slope), tolerance=sv.Relative(0.04))
    plan = sv.plan(asked, max_risk=0.35, method=method)
    assert plan.risk_kind == "upper bound"
    rng = np.random.default_rng(seed)
    h = np.linspace(math.log(100), math.log(1600), 40_001)
    turns = np.sort(rng.uniform(h[0], h[-1], rng.integers(0, 6)))
    way = np.where(np.searchsorted(turns, h) % 2, -slope, slope) * rng.choice([-1.0, 1.0])
    log_density = np.concatenate([[0.0], np.cumsum(way[1:] * np.diff(h))])
    weight = np.exp(log_density - log_density.max())
    window, total = 2 * math.atanh(0.04), 0.0
    # classes of a comb are a continuum: the grid is one of whole parts of its spacing
    spacing = plan.mechanism.window if method == "comb" else window
    h = h[0] + spacing / 64 * (np.arange(int((h[-1] - h[0]) / spacing * 64)) + 0.5)
    weight = np.exp(np.interp(h, np.linspace(math.log(100), math.log(1600), 40_001), log_density - log_density.max()))
    released = plan.apply(value=np.exp(h)).secret
    order = np.lexsort((h, np.round(released, 7)))
    keys, at, mass = np.round(released, 7)[order], h[order], weight[order]
    for part in np.split(np.arange(len(h)), np.flatnonzero(np.diff(keys)) + 1):
        held = np.concatenate([[0.0], np.cumsum(mass[part])])
        stop = np.searchsorted(at[part], at[part] + window * (1 - 1e-9), side="right")
        total += float(np.max(held[stop] - held[:-1]))
    assert total / weight.sum() <= plan.risk * (1 + 5e-3)


def test_the_steepest_belief_attains_the_bound_of_a_slope():
    """Whole bins and the density e^(l h): equality in the lemma."""
    asked = problem(prior=sv.LogSlope(100, 1600, 1.0), tolerance=sv.Relative(0.04))
    plan = sv.plan(asked, max_risk=0.35, method="interval")
    flat = sv.plan(
        problem(prior=(100, 1600), tolerance=sv.Relative(0.04)),
        max_distortion=sv.Relative(plan.distortion),
        method="interval",
    )
    assert plan.risk == pytest.approx(flat.risk, rel=0.02)  # uniform is the slope 1, in bins laid from its top
    assert plan.risk >= flat.risk * (1 - 1e-9)


# --- tables: the orbit statement ----------------------------------------------------------------
def shapes(rng, rows):
    return {
        "normal": rng.normal(0, 1, rows),
        "lognormal": rng.lognormal(0, 0.8, rows),
        "two humps": np.where(rng.random(rows) < 0.3, rng.normal(-3, 0.3, rows), rng.normal(2, 1, rows)),
        "heavy tail": rng.standard_t(2.5, rows),
        "few rows": rng.exponential(1, 12),
    }


SECRETS = {
    "mean": sv.Mean(),
    "median": sv.Median(),
    "quantile": sv.Quantile(0.95),
    "trimmed": sv.TrimmedMean(0.1),
    "min": sv.Minimum(),
    "max": sv.Maximum(),
    "std": sv.Std(),
    "iqr": sv.Iqr(),
}


def given_statistic(column, secret, value, about=None):
    """The column along its orbit, with this statistic."""
    own = secret.of_column(InMemory(column), None)
    if about is not None:
        rate = secret.per_shift
        return about + (column - about) * (value - rate * about) / (own - rate * about)
    if secret.per_shift:
        return column + (value - own) / secret.per_shift
    return column.mean() + (column - column.mean()) * value / own


@pytest.mark.parametrize("shape", ["normal", "lognormal", "two humps", "heavy tail", "few rows"])
@pytest.mark.parametrize("about", [None, 0.0], ids=["moved", "scaled"])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_release_depends_on_the_table_through_shape_and_class_alone(shape, about, secret):
    """Two tables of one shape whose statistics share a class become the same table: nothing else can be learnt.

    The blur of what is only moved has its numbers from the values, so they are others, of the same law.
    """
    rng = np.random.default_rng(len(shape) + len(secret))
    column = shapes(rng, 400)[shape]
    if about is not None:
        column = np.abs(column) + 0.05
    hidden = SECRETS[secret]
    known = {} if about is None else {"minimum": about}
    plan = sv.plan(
        problem(hidden, prior=(100, 250), tolerance=sv.Relative(0.03), **known), max_risk=0.3, method="interval"
    )
    edges = 250 * np.exp(-plan.mechanism.bins.width * np.arange(plan.mechanism.bins.count + 1))
    low, high = max(float(edges[1]), 100.0), float(edges[0])
    tables = []
    for value in (low + 0.01 * (high - low), 0.5 * (low + high), high - 0.01 * (high - low)):
        before = given_statistic(column, hidden, value, about)
        after = sv.release(
            plan,
            before,
            accept=(
                "atoms",
                "step",
                "heaps",
                "ratios",
                "rough",
                "repeats",
                "bounds",
                "codes",
                "filled",
                "transform",
                "digits",
            ),
            seed=1,
        )
        tables.append(np.asarray(after))
        assert hidden.of_column(InMemory(after), None) == pytest.approx(2 * low * high / (low + high), rel=2e-2)
    off = 1e-6 * np.abs(tables[0]).max() + 2 * plan.release_mode.wander(plan.problem)
    if hidden.per_shift or about is not None:
        assert np.abs(tables[1] - tables[0]).max() <= off
        assert np.abs(tables[2] - tables[0]).max() <= off
    else:  # the centre of a stretched column stays where it was
        assert np.abs((tables[1] - tables[1].mean()) - (tables[0] - tables[0].mean())).max() <= off


@pytest.mark.parametrize("shape", ["normal", "lognormal", "two humps", "heavy tail", "few rows"])
def test_the_whole_table_tells_no_more_than_stated(shape):
    """Tables whose size is drawn apart from their shape; the attacker sees all rows and inverts the plan."""
    rng = np.random.default_rng(11)
    hidden = sv.Quantile(0.9)
    plan = sv.plan(
        problem(hidden, prior=(100, 250), tolerance=sv.Relative(0.05), minimum=0), max_risk=0.25, method="interval"
    )
    nodes = np.linspace(100, 250, 20_001)
    outcome = np.round(plan.apply(value=nodes).secret, 6)
    guesses = {}
    for key in np.unique(outcome):
        inside = nodes[outcome == key]
        caught = [np.count_nonzero((inside >= g / 1.05) & (inside <= g / 0.95)) for g in inside]
        guesses[float(key)] = float(inside[int(np.argmax(caught))])
    keys = np.array(list(guesses))
    trials, hits = 400, 0
    for trial in range(trials):
        value = rng.uniform(100, 250)
        column = given_statistic(np.abs(shapes(rng, 60)[shape]) + 0.05, hidden, value, 0.0)
        after, _ = release_column(plan, column, bits=53, seed=trial)
        seen = hidden.of_column(InMemory(after), None)
        guess = guesses[float(keys[np.argmin(np.abs(keys - seen))])]
        hits += abs(guess / value - 1) <= 0.05
    low, high = stats.binomtest(hits, trials).proportion_ci(0.999)
    assert low <= plan.risk <= high


MAPS = [
    ("shift", {}, "mean"),
    ("shift", {}, "quantile"),
    ("scale", {"minimum": 0.0}, "mean"),
    ("scale", {"minimum": 0.0}, "quantile"),
    ("scale", {"minimum": 0.0}, "std"),
    ("scale", {"maximum": 1000.0}, "median"),
    ("affine", {}, "std"),
    ("affine", {}, "iqr"),
]


@pytest.mark.parametrize("tolerance", [3.0, sv.Relative(0.03)], ids=["unit", "share"])
@pytest.mark.parametrize(("mode", "known", "secret"), MAPS)
def test_release_and_read_back(mode, known, secret, tolerance, tmp_path):
    rng = np.random.default_rng(2)
    column = given_statistic(rng.gamma(3.0, 20.0, 3_000) + 1.0, SECRETS[secret], 140.0, 0.0)
    if "maximum" in known:
        column = np.minimum(column, 990.0 - rng.random(3_000))
    asked = problem(SECRETS[secret], prior=(100, 250), tolerance=tolerance, **known)
    plan = sv.plan(asked, max_risk=0.2)
    assert plan.mode == mode
    sv.save_plan(plan, tmp_path / "plan.json")
    assert sv.load_plan(tmp_path / "plan.json") == plan
    pd.DataFrame({"x": column, "k": np.arange(3_000)}).to_parquet(tmp_path / "in.parquet")
    accept = ("bounds",)
    sv.release(plan, tmp_path / "in.parquet", output=tmp_path / "out.parquet", column="x", accept=accept)
    assert sv.verify(tmp_path / "out.parquet", None).ok if False else sv.verify_file(tmp_path / "out.parquet").ok
    after = pd.read_parquet(tmp_path / "out.parquet")["x"].to_numpy()
    own = SECRETS[secret].of_column(InMemory(column), None)
    wanted = float(plan.apply(value=own).secret)
    # a stretched column keeps seven digits, a moved one is blurred by a share of the tolerance
    off = 2e-6 * wanted if mode != "shift" else 1e-8 * wanted + plan.release_mode.wander(plan.problem)
    assert SECRETS[secret].of_column(InMemory(after), None) == pytest.approx(wanted, abs=off)
    w1 = float(np.abs(np.sort(after) - np.sort(column)).mean())
    family = plan.problem.family
    found = plan.to_json()
    if found["distortion_absolute"] is not None:
        assert w1 <= found["distortion_absolute"] * (1 + 1e-6)
    if found["distortion_relative"] is not None:
        centre = {"shift": 0.0, "scale": family.about or 0.0, "affine": SECRETS[secret].centre(InMemory(column))}[mode]
        base = float(np.abs(column - centre).mean()) if mode != "shift" else own
        if mode == "scale" and secret == "mean":
            base = own
        assert w1 <= found["distortion_relative"] * base * (1 + 1e-6)


@pytest.mark.parametrize("method", ["interval", "comb", "dynamic", "layered"])
@pytest.mark.parametrize("prior", [(1, 10), (0.2, 3), (1e-3, 2e-2), (900, 40_000)])
@pytest.mark.parametrize(("secret", "known"), [("std", {}), ("quantile", {"minimum": 0}), ("mean", {"minimum": -1})])
def test_logarithms_of_any_sign(secret, known, prior, method):
    """The logarithm of a statistic about 1 is about 0: nothing may be divided by it."""
    rng, hidden = np.random.default_rng(8), SECRETS[secret]
    value = math.sqrt(prior[0] * prior[1]) * 1.07
    about = known.get("minimum")
    column = given_statistic(rng.gamma(3.0, 1.0, 1_500) + 0.01, hidden, value, about if hidden.per_shift else None)
    plan = sv.plan(
        problem(hidden, prior=prior, tolerance=sv.Relative(0.03), **known),
        max_risk=0.3,
        method=method,
        grid=None if method in ("interval", "comb") else 150,
    )
    after = np.asarray(sv.release(plan, column, accept=("bounds",), seed=4))
    own = hidden.of_column(InMemory(column), None)
    wanted = plan.apply(value=own, secret_seed=4).secret
    assert hidden.of_column(InMemory(after), None) == pytest.approx(float(wanted), rel=1e-6 * (1 + abs(about or 0)))
    assert len(np.unique(after)) > 1_400


def test_what_the_shape_tells_of_the_card(tmp_path):
    rng = np.random.default_rng(3)
    plan = sv.plan(problem(sv.Quantile(0.95), minimum=0), max_risk=0.2)
    column = given_statistic(rng.gamma(3.0, 20.0, 2_000) + 1.0, sv.Quantile(0.95), 140.0, 0.0)
    done = sv.release(plan, pd.DataFrame({"x": column}), column="x", details=True)
    says = json.dumps(done.card)
    assert "within 5 % with probability at most 0.2 (exact)" in says
    assert "The shape of the column tells nothing about its size" in says
    assert done.card["guarantee"]["tolerance"] == 0.05
    assert done.card["guarantee"]["tolerance_kind"] == "relative"
    assert "140" not in says.replace(f"{float(plan.apply(value=140.0).secret):.12g}", "")


@pytest.mark.parametrize("tolerance", [0.5, sv.Relative(0.05)], ids=["unit", "share"])
def test_rows_on_both_sides_of_a_frequent_value_move_both_ways(tolerance):
    """W1 of a scaling about 0 is |a - 1| E|X|, more than the change of the mean."""
    rng = np.random.default_rng(9)
    column = np.concatenate([rng.normal(6, 10, 1_800), np.zeros(200)])
    plan = sv.plan(problem(prior=(2, 14), tolerance=tolerance, atoms=(0,)), max_risk=0.3)
    found = plan.to_json()
    assert (found["distortion_kind"], found["distortion_absolute"]) == ("relative", None)
    after = np.asarray(sv.release(plan, column))
    w1 = float(np.abs(np.sort(after) - np.sort(column)).mean())
    assert w1 > 1.3 * abs(after.mean() - column.mean())
    assert w1 <= plan.distortion * float(np.abs(column).mean()) * (1 + 1e-9)


def test_a_total_is_that_of_its_rows():
    column = np.random.default_rng(4).gamma(3.0, 20.0, 500) + 1.0
    low, high = 0.5 * column.sum(), 2 * column.sum()
    plan = sv.plan(problem(sv.Total(500), prior=(low, high), tolerance=sv.Relative(0.05), minimum=0), max_risk=0.3)
    after = np.asarray(sv.release(plan, column))
    assert after.sum() == pytest.approx(float(plan.apply(value=column.sum()).secret), rel=1e-7)
    with pytest.raises(ColumnError, match="it has 499 rows with a value, and the plan hides the total of 500"):
        sv.release(plan, column[1:])


# --- statistics -----------------------------------------------------------------------------------
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.floats(0.01, 0.49))
def test_trimmed_means_are_those_of_scipy(values, share):
    column = np.array(values)
    found = sv.TrimmedMean(share).of_column(InMemory(column), None)
    assert found == pytest.approx(float(stats.trim_mean(column, share)), abs=1e-6 * max(1.0, np.abs(column).max()))


@given(
    st.lists(st.integers(-50, 50), min_size=5, max_size=40),
    st.sampled_from(sorted(SECRETS)),
    st.floats(0.1, 9),
    st.floats(-40, 40),
)
def test_statistics_follow_the_rows(values, name, factor, offset):
    column, secret = np.array(values, dtype=float), SECRETS[name]
    own = secret.of_column(InMemory(column), None)
    moved = secret.of_column(InMemory(factor * column + offset), None)
    assert moved == pytest.approx(factor * own + secret.per_shift * offset, abs=1e-9 * 1e3)


def test_the_files_engine_measures_the_same_statistics(tmp_path):
    column = np.random.default_rng(6).standard_t(3, 10_001).round(2) + 300
    pd.DataFrame({"x": column}).to_csv(tmp_path / "x.csv", index=False)
    for name, secret in SECRETS.items():
        own = secret.of_column(InMemory(column), None)
        plan = sv.plan(problem(secret, prior=(own / 2, own * 2 + 1), tolerance=sv.Relative(0.02)), max_risk=0.3)
        record = tmp_path / f"{name}.json"
        sv.release_file(
            plan,
            tmp_path / "x.csv",
            tmp_path / f"{name}.csv",
            column="x",
            record=record,
            accept=("step", "rough", "repeats", "heaps", "bounds", "ratios"),
        )
        assert json.loads(record.read_text())["estimates"]["secret"] == pytest.approx(own, rel=1e-12)


# --- one release, all its statistics --------------------------------------------------------------
def test_under_a_shift_all_statistics_of_location_are_hidden_alike():
    plan = sv.plan(problem(prior=(100, 200), tolerance=2.0), max_risk=0.2)
    found = {
        p.secret: (p.risk, p.kind)
        for p in plan.protects(["mean", "median", "quantile:0.99", "total:10", "std"], tolerance=1.0)
    }
    half = plan.risk_profile([1.0])[0][1]
    assert found["mean"] == found["median"] == found["quantile:0.99"] == (pytest.approx(half), "exact")
    assert found["total:10"][0] == pytest.approx(plan.risk_profile([0.1])[0][1])
    assert found["std"] == (1.0, "not hidden")
    assert plan.protects(["quantile:0.9"], tolerance=sv.Relative(0.02))[0].risk is None


def test_under_a_scaling_all_statistics_are_hidden_alike():
    """Simulated: the attacker of the standard deviation, under a plan for a quantile."""
    plan = sv.plan(problem(sv.Quantile(0.95), minimum=0), max_risk=0.2)
    (found,) = plan.protects(["std"])
    assert found.risk == plan.risk
    rng = np.random.default_rng(0)
    value = rng.uniform(100, 250, 100_000)
    # the shape is public in the release: std = 0.4 times the quantile, say
    released = plan.apply(value=value).secret
    assert best_attack(released, np.log(0.4 * value), math.atanh(0.05)) == pytest.approx(found.risk, abs=0.01)


def test_a_family_has_no_such_table():
    plan = sv.plan(
        sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 9), sigma=1), secret=sv.Mean(), tolerance=0.5),
        max_risk=0.4,
    )
    with pytest.raises(ProblemError, match="leave out the family"):
        plan.protects(["median"])


# --- statements of plans --------------------------------------------------------------------------
def test_both_distortions_where_both_are_known():
    found = sv.plan(problem(minimum=0), max_risk=0.2).to_json()
    assert (found["tolerance_kind"], found["distortion_kind"]) == ("relative", "relative")
    assert found["distortion"] == found["distortion_relative"]
    assert found["distortion_absolute"] == pytest.approx(found["distortion_relative"] * 250)
    found = sv.plan(problem(tolerance=3.0), max_risk=0.2).to_json()
    assert (found["tolerance_kind"], found["distortion_kind"]) == ("absolute", "absolute")
    assert found["distortion_relative"] == pytest.approx(found["distortion"] / 100)
    found = sv.plan(problem(sv.Quantile(0.9), tolerance=3.0, minimum=0), max_risk=0.2).to_json()
    assert (found["distortion_kind"], found["distortion_absolute"]) == ("relative", None)


def test_the_bound_that_holds_although_the_shape_tells_the_size():
    """phi(s) + 2 phi(l0) with l0 half of the range and a factor of e over it; simulated for beliefs of that kind."""
    plan = sv.plan(
        problem(prior=sv.LogUniform(100, 1600), tolerance=sv.Relative(0.02)), max_risk=0.1, method="interval"
    )
    bound = plan.risk_if_shape_tells
    assert bound is not None
    assert plan.risk < bound < 1
    half, window = 0.5 * math.log(16), 2 * math.atanh(0.02)
    for start in np.linspace(math.log(100), math.log(1600) - half, 9):
        for sign in (-1.0, 1.0):
            h = np.linspace(start, start + half, 20_001)
            weight = np.exp(sign * (h - start) / half)
            released = np.round(plan.apply(value=np.exp(h)).secret, 7)
            total = 0.0
            for key in np.unique(released):
                inside = np.flatnonzero(released == key)
                held = np.concatenate([[0.0], np.cumsum(weight[inside])])
                stop = np.searchsorted(h[inside], h[inside] + window, side="right")
                total += float(np.max(held[stop] - held[:-1]))
            assert total / weight.sum() <= bound * (1 + 1e-3)


def test_robust_to_a_range_of_shares():
    plan = sv.plan(
        problem(prior=sv.LogUniform(100, 900)), max_risk=0.25, robust_to=(sv.Relative(0.03), sv.Relative(0.08))
    )
    assert plan.robust_to == (0.03, 0.08)
    for tolerance, risk in plan.risk_profile([0.03, 0.05, 0.08]):
        assert risk <= 0.25 * (1 + 1e-7), tolerance  # a comb's hair
    with pytest.raises(ProblemError, match=r"must hold the problem's own, 0\.05"):
        sv.plan(problem(), max_risk=0.25, robust_to=(0.06, 0.08))


def test_a_plan_file_that_was_changed_is_refused(tmp_path):
    plan = sv.plan(problem(minimum=0), max_risk=0.2)
    path = tmp_path / "plan.json"
    for key, value in (
        ("risk", 0.05),
        ("distortion", 0.01),
        ("distortion_relative", 0.01),
        ("tolerance_kind", "absolute"),
        ("risk_if_shape_tells", 0.01),
    ):
        data = json.loads(json.dumps({"format": "statveil-plan", "version": 1, **plan.to_json()}))
        data[key] = value
        path.write_text(json.dumps(data))
        with pytest.raises(sv.PlanFileError):
            sv.load_plan(path)
    data = {"format": "statveil-plan", "version": 1, **plan.to_json()}
    data["problem"] = data["problem"] | {"tolerance": 0.01}
    path.write_text(json.dumps(data))
    with pytest.raises(sv.PlanFileError):
        sv.load_plan(path)


def test_forms_of_a_problem():
    one = sv.Problem(secret=sv.Mean(), prior=(100, 250), tolerance=1)
    assert one == sv.Problem(secret=sv.Mean(), prior=sv.Flat(100, 250), tolerance=1)
    assert one == sv.Problem(secret=sv.Mean(), prior={"value": (100, 250)}, tolerance=1)
    assert sv.Problem.from_json(json.loads(json.dumps(one.to_json()))) == one
    share = problem(prior=sv.LogSlope(10, 20, 1.5))
    assert sv.Problem.from_json(json.loads(json.dumps(share.to_json()))) == share
    assert isinstance(problem().box.axes["-ln"], Logged)


WRONG = {
    "share of all": (lambda: sv.Relative(1.0), "between 0 % and 100 %"),
    "reaches 0": (lambda: problem(prior=(0, 10)), "must lie inside its domain (a number above 0)"),
    "reaches the bound": (lambda: problem(prior=(5, 10), tolerance=1.0, minimum=5), "a number above 5"),
    "both sides of an atom": (
        lambda: problem(prior=(-5, 10), tolerance=1.0, atoms=(0,)),
        "the prior lets the mean reach 0, about which the column is scaled",
    ),
    "a spread from 0": (lambda: problem(sv.Std(), prior=(0, 10), tolerance=1.0), "a number above 0"),
    "a family's tolerance": (
        lambda: sv.Problem(
            family=sv.Location(), prior=sv.Box(mean=(1, 9)), secret=sv.Mean(), tolerance=sv.Relative(0.1)
        ),
        "a relative tolerance is for a problem without a family",
    ),
    "no prior": (lambda: sv.Problem(secret=sv.Mean(), tolerance=1), "what outsiders believe of the mean is missing"),
    "a parameter": (lambda: problem(prior=sv.Box(mu=(1, 2))), "the prior is on the mean itself"),
    "known": (lambda: problem(prior=5.0), "publicly known"),
    "a share's statistic": (lambda: problem(sv.Fraction(0), prior=(0.1, 0.4)), "must follow a shift of the rows"),
    "rows of a total": (lambda: sv.Total(0), "a whole number from 1"),
    "share of a trimmed mean": (lambda: sv.TrimmedMean(0.5), "between 0 and 0.5"),
    "no map": (
        lambda: sv.plan(problem(sv.Std(), step=1), max_risk=0.2),
        "no shift or scaling of the column hides its std",
    ),
    "distortion in no unit": (
        lambda: sv.plan(problem(sv.Iqr(), tolerance=2.0), max_distortion=5.0),
        "depends on the shape; state it in per cent",
    ),
    "bins in logarithms": (lambda: sv.plan(problem(), bin=3.0), "bins of one width are for an absolute tolerance"),
    "slope": (lambda: sv.LogSlope(1, 2, -1), "must lie between 0"),
    "log from 0": (lambda: sv.LogUniform(0, 2), "must lie above 0"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_one_sentence(case):
    make, words = WRONG[case]
    with pytest.raises(ProblemError) as error:
        make()
    assert words in str(error.value)


def test_too_little_distortion_is_said_in_its_own_terms():
    with pytest.raises(TargetError, match=r"a largest distortion of 4 % hides nothing.*Allow more than 5(\.0\d+)? %"):
        sv.plan(problem(prior=sv.LogUniform(100, 900)), max_distortion=sv.Relative(0.04))


# --- the command line -----------------------------------------------------------------------------
ASKED = (
    "--secret",
    "quantile:0.95",
    "--prior",
    "100:250",
    "--tolerance",
    "5%",
    "--known",
    "min=0",
    "--max-risk",
    "0.2",
)


def test_the_documented_command(cli, tmp_path):
    code, out, err = cli("plan", *ASKED, "-o", tmp_path / "plan.json")
    assert (code, err) == (0, "")
    assert "Hides the quantile:0.95 of a column of any shape." in out
    assert "within 5 % at most this often (exact)" in out
    assert "the shape of the column tells nothing about its size" in out
    column = given_statistic(np.random.default_rng(3).gamma(3.0, 20.0, 2_000) + 1.0, sv.Quantile(0.95), 140.0, 0.0)
    pd.DataFrame({"ms": column}).to_csv(tmp_path / "in.csv", index=False)
    assert cli("release", tmp_path / "plan.json", tmp_path / "in.csv", tmp_path / "out.csv", "--column", "ms")[0] == 0
    assert cli("verify", tmp_path / "out.csv")[0] == 0
    code, out, _ = cli("apply", tmp_path / "plan.json", "--at", "value=140", "--json")
    released = np.quantile(pd.read_csv(tmp_path / "out.csv")["ms"], 0.95)
    assert json.loads(out)["secret"] == pytest.approx(released, rel=1e-6)
    code, out, _ = cli("simulate", tmp_path / "plan.json", "--trials", "20000", "--json")
    assert (code, abs(json.loads(out)["rate"] - 0.2) < 0.02) == (0, True)


@pytest.mark.parametrize(
    "prior",
    ["100:250~log", "between(120,200,0.9)", "100:250~normal(160,30)", "100:250~slope(1)", "~between(120,200,0.9)"],
)
@pytest.mark.usefixtures("no_optimum")
def test_priors_of_the_statistic(cli, prior):
    asked = ("--secret", "mean", "--prior", prior, "--tolerance", "2%", "--max-risk", "0.3", "--json")
    code, out, err = cli("plan", *asked, "--method", "interval")
    assert (code, err) == (0, "")
    assert json.loads(out)["tolerance_kind"] == "relative"


def test_frontier_and_limits_in_per_cent(cli):
    code, out, _ = cli("frontier", *ASKED[:-2], "--methods", "interval,comb", "--points", "6", "--json")
    points = json.loads(out)["points"]
    assert code == 0
    assert all(0 < point["distortion"] < 1 for point in points)
    for bound in json.loads(out)["lower_bound"]:
        least = sv.limits(
            problem(sv.Quantile(0.95), minimum=0), max_distortion=sv.Relative(bound["distortion"] * (1 - 1e-9))
        )
        assert bound["risk"] <= least.lower_bound * (1 + 1e-9)
    code, out, _ = cli("limits", *ASKED[:-2], "--max-distortion", "20%")
    assert code == 0
    assert "a risk of at least 0.2" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tolerance", "100%"], "between 0 % and 100 %"),
        (["--prior", "0:250"], "a number above 0"),
        (["--secret", "total"], "needs an argument, such as total:1000"),
        (["--prior", "mu=1:2"], "the prior is on the quantile:0.95 itself, without a name"),
        (["--family", "any"], "leave out --family"),
        (["--labels", "a,b"], "are for a family"),
        (["--known", "min=0,max=300"], "Declare exactly one bound" if False else "no shift or scaling"),
    ],
)
def test_bad_options_end_in_one_sentence(cli, options, words):
    asked = dict(zip(ASKED[::2], ASKED[1::2], strict=True)) | dict(zip(options[::2], options[1::2], strict=True))
    code, out, err = cli("plan", *(part for pair in asked.items() for part in pair))
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") <= 1
