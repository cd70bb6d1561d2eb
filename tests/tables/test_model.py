"""Mode ``model``: a column redrawn by rank from a public shape, whatever its structure."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import statveil as sv
from statveil.problem.model import ANYWHERE, FROM_A_BOUND, Choice, model_of
from statveil.tables.maps.model import model_column

pytestmark = [
    pytest.mark.filterwarnings("ignore:The released column lies farther"),
    pytest.mark.filterwarnings("ignore:The smallest or the largest value"),
]
SECRETS = (
    sv.Mean(),
    sv.Quantile(0.9),
    sv.Std(),
    sv.Median(),
    sv.Iqr(),
    sv.Maximum(),
    sv.TrimmedMean(0.1),
    sv.Total(700),
)
KNOWN = (
    sv.Structure(),
    sv.Structure(minimum=0),
    sv.Structure(maximum=500),
    sv.Structure(minimum=0, maximum=400),
    sv.Structure(minimum=0, step=1),
    sv.Structure(step=0.5),
    sv.Structure(minimum=0, step=1, heaps=(5, 10)),
    sv.Structure(minimum=0, step=1, atoms=(0, 20)),
    sv.Structure(minimum=0, maximum=400, step=1, heaps=(5,), atoms=(0, 100)),
)


def own(secret, values):
    """The statistic by means that are not the release's."""
    kinds = {
        "mean": np.mean,
        "std": np.std,
        "median": np.median,
        "max": np.max,
        "iqr": lambda x: np.subtract(*np.quantile(x, [0.75, 0.25])),
        "quantile": lambda x: np.quantile(x, secret.alpha),
        "trimmed-mean": lambda x: stats.trim_mean(x, secret.share),
        "total": np.sum,
    }
    return float(kinds[secret.kind](values))


def planned(secret, prior, known=None, *, shape="catalogue", tolerance=None, max_risk=0.2):
    known = sv.Structure() if known is None else known
    tolerance = (prior[1] - prior[0]) / 40 if tolerance is None else tolerance
    problem = sv.Problem(secret=secret, prior=prior, tolerance=tolerance, known=known, shape=shape)
    return sv.plan(problem, max_risk=max_risk, method="interval")


def fitting(known, rng, rows):
    """Some column with the declared structure: no shape of the catalogue."""
    values = np.where(rng.random(rows) < 0.5, rng.normal(60, 12, rows), rng.gamma(4.0, 30.0, rows))
    values = np.clip(values, known.minimum, 0.8 * (known.maximum or 500))
    if known.step is not None:
        values = known.step * np.round(values / known.step)
    for heap in known.heaps:
        values = np.where(rng.random(rows) < 0.2, heap * np.round(values / heap), values)
    for atom in known.atoms:
        values = np.where(rng.random(rows) < 0.15, atom, values)
    return values


@pytest.mark.parametrize("known", KNOWN, ids=str)
@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret.label)
def test_the_release_has_the_plans_statistic_and_the_declared_structure(secret, known):
    rng = np.random.default_rng(5)
    values = fitting(known, rng, 700)
    level = own(secret, values)
    low, high = (0.7 * level, 1.3 * level)
    if known.maximum == 400 and secret.kind == "max":
        high = 399.0
    plan = planned(secret, (low, high), known)
    assert plan.mode == "model"
    done = sv.release(plan, values, seed=3, details=True)
    step = known.step or 0.0
    slack = 1e-9 * max(abs(level), 1) + (step if secret.kind != "mean" else step / 100)
    assert own(secret, done.table) == pytest.approx(
        done.record["released"]["secret"], abs=slack * 700 ** (secret.kind == "total")
    )
    assert known.minimum is None or done.table.min() >= known.minimum
    assert known.maximum is None or done.table.max() <= known.maximum
    if step:
        assert np.array_equal(done.table, step * np.round(done.table / step))
    if not known.heaps:  # rows that are drawn to a heap may pass their neighbours
        order = np.argsort(values, kind="stable")
        assert np.all(np.diff(done.table[order])[np.diff(values[order]) > 0] >= 0)


@given(
    seed=st.integers(0, 2**32 - 1),
    bends=st.floats(0.2, 5),
    place=st.floats(0.02, 0.98),
    known=st.sampled_from([sv.Structure(minimum=0), sv.Structure(minimum=0, step=0.25)]),
    secret=st.sampled_from([sv.Mean(), sv.Quantile(0.75), sv.Std()]),
)
@settings(max_examples=40, deadline=None)
def test_with_one_public_shape_nothing_but_ranks_and_class_is_released(seed, bends, place, known, secret):
    # two columns with the same order and nothing else in common give the same table, if their statistics share a class
    plan = planned(secret, (40, 200), known, shape="lognorm(1)")
    assert plan.problem.family.model.choices == 1
    rng = np.random.default_rng(seed)
    one = rng.permutation(np.arange(1.0, 201.0))
    two = one**bends
    low = 40 + plan.bin * (1 + int(rng.integers(0, int(160 / plan.bin) - 1)))
    tables = []
    for column, part in ((one, 0.5), (two, place)):
        scaled = column * (low + plan.bin * part) / own(secret, column)
        if known.step is not None:
            scaled = known.step * np.round(scaled / known.step)
            level = own(secret, scaled)
            between = secret.on_steps and level % known.step  # a quantile between two places: a class of its own
            if len(np.unique(scaled)) < 200 or not low < level < low + plan.bin or between:
                return  # ties are put in order at random, and rounding may leave the class
        tables.append(sv.release(plan, scaled, seed=7))
    assert np.array_equal(*tables)


@given(
    seed=st.integers(0, 2**32 - 1),
    factor=st.floats(0.01, 100),
    known=st.sampled_from([sv.Structure(minimum=0), sv.Structure(maximum=0), sv.Structure(minimum=0, atoms=(0,))]),
)
@settings(max_examples=40, deadline=None)
def test_what_is_chosen_from_the_column_does_not_depend_on_its_size(seed, factor, known):
    # atoms and shape are chosen from what a scaling cannot change
    rng = np.random.default_rng(seed)
    values = rng.gamma(rng.uniform(0.5, 30), 1.0, 300) * (-1 if known.maximum == 0 else 1)
    values[: int(rng.integers(0, 200))] = 0
    values = rng.permutation(values)
    found = []
    for column in (values, factor * values):
        level = column.mean()
        prior = tuple(sorted((0.5 * level, 2 * level)))
        record = sv.release(planned(sv.Mean(), prior, known), column, accept=["order"], details=True).record
        found.append({key: record["coefficients"][key] for key in ("shape", "atoms", "heaps", "beside")})
    assert found[0] == found[1]


@pytest.mark.parametrize("known", [*KNOWN, sv.Structure(atoms=(3,)), sv.Structure(heaps=(10,))], ids=str)
@pytest.mark.parametrize("secret", [sv.Mean(), sv.Std()], ids=lambda secret: secret.label)
@pytest.mark.parametrize("shape", ["catalogue", "beta(2,5)"])
def test_every_choice_is_one_of_those_that_are_counted(secret, known, shape):
    model = model_of(shape, secret=secret, known=known, width=100.0)
    spreads = {model.allowed_beside(0.0, spread, 10.0) for spread in 10.0 ** np.linspace(-20, 20, 4001)}
    places = {model.allowed_beside(place, 1.0, 10.0) for place in np.linspace(-50, 50, 4001)}
    beside = (len(spreads) if model.moves_place else len(places)) if model.has_beside else 1
    shares = np.linspace(0, 1, 401)
    atoms = len({model.allowed_shares([share], [])[0] for share in shares}) ** len(known.atoms)
    heaps = len({model.allowed_shares([], [share])[1] for share in shares}) ** len(known.heaps)
    assert (model.choices is None) == (
        (model.link == "free" and secret.kind == "std") or (known.step is not None and not known.fixed_points)
    )
    if model.choices is not None:
        names = 1 if shape != "catalogue" else len(FROM_A_BOUND if model.link in ("above", "below") else ANYWHERE)
        assert model.choices == names * beside * atoms * heaps


def test_shares_of_atoms_never_add_up_to_more_than_all_rows():
    model = model_of("catalogue", secret=sv.Mean(), known=sv.Structure(atoms=(1, 2, 3)), width=1.0)
    for shares in ([0.5, 0.49, 0.01], [0.33, 0.33, 0.34], [0.124, 0.424, 0.452], [1.0, 0.0, 0.0]):
        kept, _ = model.allowed_shares(shares, [])
        assert sum(kept) <= 1 + 1e-12
        assert max(abs(a - b) for a, b in zip(kept, shares, strict=True)) <= 0.1


@pytest.mark.parametrize(
    ("shape", "reference"),
    [
        ("lognorm(1)", stats.lognorm(1)),
        ("expon", stats.expon()),
        ("gamma(5)", stats.gamma(5)),
        ("pareto(3)", stats.pareto(3, -1)),
    ],
)
def test_the_rows_follow_the_named_shape(shape, reference):
    # above a bound: (x - bound) is a multiple of the shape's distance from its own end
    known = sv.Structure(minimum=10)
    problem = planned(sv.Mean(), (12, 60), known, shape=shape).problem
    _, column = model_column(problem, Choice(), 25.0, rows=4000)
    levels = (np.arange(4000) + 0.5) / 4000
    values = column(levels)
    wanted = reference.ppf(levels)
    assert values.mean() == pytest.approx(25, rel=1e-9)
    assert (values - 10) / 15 == pytest.approx(wanted / wanted.mean(), rel=2e-3, abs=1e-4)


def test_atoms_and_heaps_have_the_shares_that_were_chosen():
    known = sv.Structure(minimum=0, step=1, heaps=(10,), atoms=(0, 50))
    problem = planned(sv.Mean(), (20, 200), known).problem
    choice = Choice(shape=2, atoms=(0.3, 0.1), heaps=(0.4,))
    _, column = model_column(problem, choice, 60.0, rows=10_000)
    values = column((np.arange(10_000) + 0.5) / 10_000)
    assert values.mean() == pytest.approx(60, abs=1e-3)
    assert np.mean(values == 0) == pytest.approx(0.3, abs=0.02)
    assert 0.1 <= np.mean(values == 50) <= 0.16  # some rows of the shape lie there too
    rest = values[(values != 0) & (values != 50)]
    assert np.mean(rest % 10 == 0) == pytest.approx(0.4 + 0.6 * 0.1, abs=0.03)


def test_a_quantile_of_a_table_with_any_structure_is_told_as_often_as_stated():
    # heaps, a conversion that was rounded and a usual value: whole-table attackers break every shift and scaling of it;
    # here the table is a function of its class, so the best guess is the best of the class
    rng = np.random.default_rng(11)
    known = sv.Structure(minimum=0, step=0.1)
    plan = planned(sv.Median(), (50, 150), known, shape="gamma(5)", tolerance=2.0, max_risk=0.1)
    base = np.round(rng.gamma(5.0, 12.0, 400)) + 1
    hits, trials = 0, 300
    seen = {}
    for _ in range(trials):
        wanted = float(np.round(rng.uniform(50, 150), 1))
        column = np.round(base * 0.4536 * wanted / np.median(np.round(base * 0.4536, 1)), 1)
        if not 50.05 < np.median(column) < 149.95:
            continue
        table = np.sort(sv.release(plan, column))
        seen.setdefault(table.tobytes(), []).append(float(np.median(column)))
    # the best attacker names, for each table that can appear, the window that most originals lie in
    for values in seen.values():
        values = np.sort(values)
        hits += max(int(np.sum((values >= v) & (values <= v + 4.0 + 1e-9))) for v in values)
    total = sum(map(len, seen.values()))
    assert len(seen) <= plan.mechanism.bins.count
    assert hits / total <= plan.risk + 4 * math.sqrt(plan.risk / total) + len(seen) * 2 / total  # chosen after the fact


def test_whole_numbers_stay_whole_only_where_that_is_declared():
    values = np.random.default_rng(1).poisson(40, 500)
    free = sv.release(planned(sv.Mean(), (20, 80), sv.Structure(minimum=0)), pl.DataFrame({"x": values}), column="x")
    assert free["x"].dtype == pl.Float64
    known = sv.Structure(minimum=0, step=1)
    whole = sv.release(planned(sv.Mean(), (20, 80), known), pl.DataFrame({"x": values}), column="x")
    assert whole["x"].dtype == pl.Int64


@pytest.mark.parametrize("secret", [sv.Mean(), sv.Quantile(0.99), sv.Std()], ids=lambda secret: secret.label)
def test_a_column_longer_than_the_nodes_has_its_statistic_too(secret):
    values = np.random.default_rng(2).lognormal(3, 0.8, 200_000)
    level = own(secret, values)
    plan = planned(secret, (0.5 * level, 2 * level), sv.Structure(minimum=0))
    done = sv.release(plan, values, details=True)
    assert own(secret, done.table) == pytest.approx(done.record["released"]["secret"], rel=1e-6)


def test_the_record_says_how_far_rows_moved_and_what_of_it_is_the_shapes():
    values = np.random.default_rng(3).lognormal(3, 0.8, 2000)
    plan = planned(sv.Mean(), (10, 100), sv.Structure(minimum=0), shape="uniform")
    record = sv.release(plan, values, details=True).record
    # W1 from the uniform shape of the same mean, worked out here
    nearest = 2 * values.mean() * (np.arange(2000) + 0.5) / 2000
    assert record["coefficients"]["shape_misfit"] == pytest.approx(np.abs(np.sort(values) - nearest).mean(), rel=1e-3)
    assert record["measured"]["w1"] > 0


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"shape": "norm", "known": sv.Structure(minimum=0)}, "needs a shape that ends there"),
        ({"shape": "lognormale(1)"}, "lognorm"),
        ({"shape": "gamma"}, "written gamma"),
        ({"shape": {0: 1, 1: 1}}, "spread"),
        ({"shape": "expon", "family": sv.Gaussian(), "prior": sv.Box(mu=(0, 9), sigma=1)}, "without a family"),
    ],
)
def test_what_cannot_be_is_said(wrong, says):
    problem = {"secret": sv.Mean(), "prior": (10, 90), "tolerance": 1, **wrong}
    with pytest.raises(sv.ProblemError, match=says):
        sv.Problem(**problem)


def test_a_statistic_that_no_such_column_can_have_is_refused_at_the_release():
    known = sv.Structure(minimum=0, maximum=10, step=4)  # so 8 is the largest value
    plan = planned(sv.Std(), (1, 4.9), known, tolerance=0.1)
    with pytest.raises(sv.ColumnError, match="no column of this shape"):
        # half of the rows at each end: no std is larger, and the middle of its class is
        sv.release(plan, np.tile([0.0, 8.0], 50), accept=["order"])


def test_plans_are_read_back_and_compare(tmp_path):
    reference = np.random.default_rng(4).gamma(3.0, 2.0, 300)
    for shape in ("catalogue", "lognorm(1)", {0: 1.0, 0.5: 3.0, 1: 20.0}, reference):
        plan = planned(sv.Mean(), (20, 80), sv.Structure(minimum=0), shape=shape)
        sv.save_plan(plan, tmp_path / "plan.json")
        back = sv.load_plan(tmp_path / "plan.json")
        assert back.problem == plan.problem
        assert back.to_json() == plan.to_json()
        column = np.random.default_rng(5).gamma(2.0, 20.0, 200)
        assert np.array_equal(sv.release(back, column, seed=1), sv.release(plan, column, seed=1))
    assert planned(sv.Mean(), (20, 80), shape="norm").problem != planned(sv.Mean(), (20, 80), shape="t(3)").problem


def test_the_factor_k_bounds_what_the_choice_can_tell():
    alone = planned(sv.Mean(), (20, 80), sv.Structure(minimum=0), shape="expon")
    assert alone.risk_if_shape_tells == alone.risk
    assert "form" not in str(alone)
    many = planned(sv.Mean(), (20, 80), sv.Structure(minimum=0), max_risk=0.05)
    assert many.risk_if_shape_tells == pytest.approx(min(1, 14 * many.risk))
    assert "one of 14 forms" in str(many)


def test_believers_in_poisson_learn_no_more_than_k_times_the_risk():
    # the nearest shape tells a believer in Poisson columns roughly how large the mean is: the card's factor holds
    rng = np.random.default_rng(9)
    known = sv.Structure(minimum=0, step=1)
    plan = planned(sv.Mean(), (4, 100), known, tolerance=0.5, max_risk=0.05)
    seen = {}
    for _ in range(400):
        column = rng.poisson(rng.uniform(5, 99), 500)
        if not 4 < column.mean() < 100:
            continue
        record = sv.release(plan, column, details=True).record
        key = record["released"]["secret"], record["coefficients"]["shape"]
        seen.setdefault(key, []).append(column.mean())
    hits = sum(max(np.sum((v >= a) & (v <= a + 1.0)) for a in v) for v in map(np.array, seen.values()))
    assert len({shape for _, shape in seen}) >= 3  # positive control: the choice does follow the size
    assert hits / 400 <= plan.problem.family.model.choices * plan.risk


def test_from_the_command_line_to_a_table_that_verifies(tmp_path, cli):
    rng = np.random.default_rng(6)
    values = np.where(rng.random(900) < 0.4, 0, 5 * np.round(rng.gamma(2, 6, 900))).astype(int)
    pl.DataFrame({"id": rng.permutation(900), "minutes": values}).write_csv(tmp_path / "in.csv")
    pl.DataFrame({"other": rng.gamma(2, 6, 400)}).write_csv(tmp_path / "public.csv")
    for number, shape in enumerate(
        ["catalogue", "gamma(2)", "quantiles(0=0,0.5=1,0.9=4,1=9)", f"{tmp_path}/public.csv:other"]
    ):
        plan, out = tmp_path / f"{number}.json", tmp_path / f"{number}.csv"
        options = ["--secret", "quantile:0.9", "--prior", "20:200", "--tolerance", "5%", "--max-risk", "0.2"]
        options += ["--known", "min=0,step=1,heaps=5,atoms=0", "--shape", shape, "-o", str(plan)]
        code, said, error = cli("plan", *options)
        assert code == 0, error
        assert "mode        model" in said
        code, _, error = cli("release", plan, tmp_path / "in.csv", out, "--column", "minutes")
        assert code == 0, error
        assert cli("verify", out)[0] == 0
        released = pl.read_csv(out)["minutes"]
        assert released.dtype == pl.Int64
        assert released.min() == 0
    code, _, error = cli("plan", "--family", "gaussian", *options)
    assert code == 2
    assert "leave out --family" in error


def test_a_refusal_says_which_shape_to_add_and_that_works():
    problem = {"secret": sv.Std(), "prior": (5, 50), "tolerance": 1, "known": sv.Structure(minimum=0, step=1)}
    with pytest.raises(sv.ProblemError, match="--shape catalogue"):
        sv.plan(sv.Problem(**problem), max_risk=0.2)
    values = np.random.default_rng(7).negative_binomial(3, 0.1, 500)
    plan = sv.plan(sv.Problem(**problem, shape="catalogue"), max_risk=0.2)
    assert own(sv.Std(), sv.release(plan, values)) == pytest.approx(plan.apply(value=values.std()).secret, abs=0.05)


def test_inspect_ends_with_a_shape_where_no_map_is_left():
    values = np.log(np.random.default_rng(8).integers(2, 60, 800))  # logarithms of whole numbers
    report = sv.inspect(values).columns[0]
    assert "--shape catalogue" in report.command
    known = sv.Structure(minimum=0) if "min=0" in report.known else sv.Structure()
    plan = planned(sv.Mean(), (1, 6), known)
    assert len(sv.release(plan, values)) == 800
