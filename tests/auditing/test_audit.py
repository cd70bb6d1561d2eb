"""The audit itself: what attackers may see, redrawn tables, rates, distances, verdicts."""

from __future__ import annotations

import dataclasses
import json
import stat

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

import statveil as sv
from statveil.auditing.distances import w1
from statveil.auditing.posterior import Posterior
from statveil.auditing.redraw import redrawn
from statveil.auditing.view import Companion, Knowledge, View
from statveil.tables.verification import LEAKS

pytestmark = pytest.mark.usefixtures("no_optimum")

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60).map(np.array)


def located(known=None, risk=0.2, tolerance=1.0, prior=(10, 200)):
    problem = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=prior),
        secret=sv.Mean(),
        tolerance=tolerance,
        known=known if known is not None else sv.Structure(),
    )
    return sv.plan(problem, max_risk=risk)


def test_a_view_has_no_place_for_the_original_the_record_or_the_seed():
    # which rows have which label is published, and so are the texts that say which of them belong together
    seen = {"column", "others", "groups", "companions", "parts", "together"}
    made = {"inversion"}  # of the plan and of what is seen: one group of a view of both has it from there
    assert {field.name for field in dataclasses.fields(View)} == {"plan", "knowledge"} | seen | made
    facts = {"plan", "factor", "ties", "fixed"}
    assert {field.name for field in dataclasses.fields(Companion)} == {"column"} | facts
    kinds = {"links", "patterns", "ties", "thresholds", "seeming", "within"}
    assert {field.name for field in dataclasses.fields(Knowledge)} == {"structure", "records", "releases"} | kinds


@given(points=numbers, tolerance=st.floats(0.01, 1e5))
def test_the_best_guess_holds_the_largest_window(points, tolerance):
    guess, share = Posterior.of(points).best(tolerance)
    inside = np.mean(np.abs(points - guess) <= tolerance * (1 + 1e-9) + 1e-9)
    assert inside >= share - 1e-9
    for start in points:  # a best window starts at a point
        held = np.mean((points >= start) & (points <= start + 2 * tolerance))
        assert share >= held - 1e-9


@given(before=numbers, factor=st.floats(0, 5), offset=st.floats(-100, 100))
def test_w1_of_a_monotone_map_is_scipys(before, factor, offset):
    after = factor * before + offset
    assert w1(before, after) == pytest.approx(wasserstein_distance(before, after), rel=1e-5, abs=1e-6)


@given(before=numbers, seed=st.integers(0, 2**32))
def test_w1_of_any_rows_is_scipys(before, seed):
    after = np.random.default_rng(seed).permutation(before) ** 2 / 1e5
    assert w1(before, after) == pytest.approx(wasserstein_distance(before, after), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "known",
    [
        sv.Structure(),
        sv.Structure(minimum=0),
        sv.Structure(step=1),
        sv.Structure(minimum=0, step=1),
        sv.Structure(minimum=0, step=1, atoms=(0,)),
        sv.Structure(minimum=0, step=1, heaps=(5,)),
    ],
    ids=lambda known: json.dumps(known.to_json())[:60],
)
def test_a_redrawn_table_keeps_what_is_known_and_has_a_mean_from_the_prior(known):
    rng = np.random.default_rng(0)
    problem = located(sv.Structure(), prior=(50, 200)).problem
    values = rng.gamma(2.0, 50.0, 4000)
    if known.step:
        values = np.round(values)
    if known.heaps:
        values = np.where(rng.random(4000) < 0.3, np.round(values / 5) * 5, values)
    if known.atoms:
        values = np.where(rng.random(4000) < 0.2, 0.0, values)
    means = []
    for _ in range(40):
        fresh = redrawn(problem, values, known, rng)
        means.append(fresh.mean())
        assert known.minimum is None or fresh.min() >= known.minimum
        assert known.step is None or np.all(fresh == np.round(fresh))
        assert not known.atoms or np.array_equal(fresh == 0, (values == 0) | (fresh == 0))
        if known.heaps:
            assert np.mean(fresh % 5 == 0) > 0.3
    assert 45 < min(means) < 80
    assert 170 < max(means) < 205


def test_a_safe_release_holds_and_a_column_of_whole_numbers_from_0_leaks():
    rng = np.random.default_rng(1)
    safe = rng.gamma(2.0, 40.0, 2000)
    plan = located(sv.Structure(minimum=0))
    found = sv.audit(plan, safe, sv.release(plan, safe), seed=1)
    assert found.verdict == "holds"
    assert {"prior", "plug-in", "bayes"} <= {finding.attacker for finding in found.findings}
    for finding in found.findings:
        assert finding.low <= finding.rate <= finding.high
        assert finding.claimed == plan.risk
    # the same with whole numbers: forced onto the paper's shift and onto its scaling
    counts = np.floor(safe)
    for declared in (sv.Structure(), sv.Structure(minimum=0)):
        forced = located(declared)
        found = sv.audit(forced, counts, sv.release(forced, counts, accept=LEAKS), seed=1)
        assert found.verdict == "leaks"
        worst = found.findings[0]
        assert worst.low > 0.7
        assert worst.verdict == "leaks"
        assert "declare" in worst.says.lower() or "--known" in worst.says


def test_an_audit_repeats_and_never_changes_its_inputs():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"x": rng.gamma(2.0, 40.0, 600), "y": rng.random(600), "g": rng.choice(["a", "b"], 600)})
    plan = located()
    released = sv.release(plan, frame, column="x", accept=LEAKS)
    copies = frame.clone(), released.clone()
    one, two = (sv.audit(plan, frame, released, column="x", trials=200, seed=3) for _ in range(2))
    assert one == two
    assert frame.equals(copies[0])
    assert released.equals(copies[1])
    shift = (released["x"] - frame["x"]).abs().mean()
    assert one.distances["w1"] == pytest.approx(shift, rel=1e-9)
    off = plan.release_mode.wander(plan.problem)
    (gap,) = one.distances["group_means"]
    assert gap["before"] == pytest.approx(gap["after"], abs=2 * off)
    (pair,) = one.distances["correlations"]
    assert pair["before"] == pytest.approx(pair["after"], abs=2 * off / frame["x"].std())


def test_tables_that_do_not_have_the_same_rows_are_refused():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"x": rng.gamma(2.0, 40.0, 600), "y": rng.random(600)})
    plan = located()
    released = sv.release(plan, frame, column="x", accept=LEAKS)
    with pytest.raises(sv.TableError, match="same rows"):
        sv.audit(plan, frame, released.head(599), column="x")
    with pytest.raises(sv.TableError, match="same order"):
        sv.audit(plan, frame, released.sample(fraction=1.0, shuffle=True, seed=1), column="x")
    with pytest.raises(sv.ProblemError, match="unknown attacker"):
        sv.audit(plan, frame, released, column="x", attackers=["nobody"])
    with pytest.raises(sv.ProblemError, match="row from 0"):
        sv.audit(plan, frame, released, column="x", records=[(600, 1.0)])


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(4)
    counts = pl.DataFrame({"id": range(900), "x": np.floor(rng.gamma(2.0, 40.0, 900))})
    counts.write_parquet(tmp_path / "in.parquet")
    plan = located()
    sv.save_plan(plan, tmp_path / "plan.json")
    sv.release_file(plan, tmp_path / "in.parquet", tmp_path / "out.parquet", column="x", accept=LEAKS)
    return tmp_path


def test_the_command_line_says_private_first_and_ends_with_1_where_something_leaks(cli, files):
    arguments = (files / "plan.json", files / "in.parquet", files / "out.parquet", "--column", "x", "--seed", "1")
    code, out, _ = cli("audit", *arguments, "-o", files / "audit.html")
    assert code == 1
    assert out.startswith("PRIVATE")
    page = (files / "audit.html").read_text()
    assert page.index("PRIVATE") < page.index("<h1>")
    assert stat.S_IMODE((files / "audit.html").stat().st_mode) == 0o600
    code, out, _ = cli("audit", *arguments, "--json")
    assert code == 1
    found = json.loads(out)
    assert found["verdict"] == "leaks"
    assert {"findings", "distances", "verdict"} <= set(found)
    keys = {"attacker", "rate", "low", "high", "baseline", "claimed", "verdict", "says"}
    assert all(keys <= set(finding) for finding in found["findings"])
    code, out, _ = cli("audit", *arguments, "--attackers", "plug-in,bayes", "--json")
    assert code == 0
    assert {finding["attacker"] for finding in json.loads(out)["findings"]} == {"plug-in", "bayes", "prior"}


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        (["--known", "record=x:1"], "record=17:52000"),
        (["--known", "record=1:secret"], "must be a number"),
        (["--known", "nonsense=1"], "unknown known structure"),
        (["--attackers", "nobody"], "unknown attacker"),
        (["--trials", "10"], "at least 200"),
        (["--known", "release=missing.json:missing.parquet"], "missing.json"),
        (["-o", "page.txt"], ".html"),
    ],
)
def test_bad_requests_are_one_sentence(cli, files, extra, why):
    code, _, err = cli(
        "audit", files / "plan.json", files / "in.parquet", files / "out.parquet", "--column", "x", *extra
    )
    assert code == 2
    assert why in err
    assert "secret" not in err.replace("the secret", "")
    assert "Traceback" not in err


REDRAWN = {
    "rank": (sv.Gaussian(), {"mu": (40, 160), "sigma": (10, 30)}, sv.Structure(minimum=0, step=1)),
    "jitter": (sv.Location(), {"mean": (40, 160)}, sv.Structure(minimum=0, step=1)),
    "smooth": (sv.Location(), {"mean": (40, 160)}, sv.Structure(minimum=0, step=1, heaps=(5,))),
}


@pytest.mark.parametrize("mode", REDRAWN)
@pytest.mark.heavy(1)
def test_a_copy_or_a_known_record_beside_a_redrawn_column_gives_it_away(mode):
    family, prior, known = REDRAWN[mode]
    problem = sv.Problem(family=family, prior=sv.Box(**prior), secret=sv.Mean(), tolerance=1.0, known=known)
    plan = sv.plan(problem, max_risk=0.15)
    assert plan.mode == mode
    rng = np.random.default_rng(5)
    column = np.maximum(np.rint(rng.normal(100, 20, 400)), 0)
    if known.heaps:
        column = np.where(rng.random(400) < 0.3, np.round(column / 5) * 5, column)
    frame = pl.DataFrame({"x": column, "twice": 2 * column, "other": rng.random(400)})
    released = sv.release(plan, frame, column="x", accept=LEAKS)
    seen = sv.audit(plan, frame, released, column="x", attackers=["auxiliary", "bayes"], trials=200, seed=1)
    found = {item.attacker: item for item in seen.findings}
    assert found["auxiliary"].verdict == "leaks"
    assert found["bayes"].verdict != "leaks"
    alone = frame.drop("twice")
    record = (3, float(column[3]))
    plain = ["auxiliary", "bayes", "plug-in"]  # all of them: test_a_sound_release_does_not_leak
    safe = sv.audit(plan, alone, released.drop("twice"), column="x", attackers=plain, trials=200, seed=1)
    assert not safe.leaks
    told = sv.audit(
        plan, alone, released.drop("twice"), column="x", records=[record], attackers="records", trials=200, seed=1
    )
    assert {item.attacker: item for item in told.findings}["records"].verdict == "leaks"


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
@pytest.mark.heavy(1)
def test_differences_of_group_means_are_shown_for_files_of_every_kind(tmp_path, suffix):
    rng = np.random.default_rng(6)
    frame = pl.DataFrame({"x": rng.gamma(2.0, 40.0, 300), "team": rng.choice(["red", "blue"], 300)})
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    if suffix == ".csv":
        frame.write_csv(source)
    elif suffix == ".parquet":
        frame.write_parquet(source)
    else:
        frame.to_pandas().to_excel(source, index=False)
    plan = located()
    sv.release_file(plan, source, target, column="x", accept=["bounds"])
    (gap,) = sv.audit(plan, source, target, column="x", attackers="bayes", trials=200, seed=1).distances["group_means"]
    means = frame.group_by("team").agg(pl.col("x").mean())["x"].to_list()
    assert gap["column"] == "team"
    assert gap["before"] == pytest.approx(abs(means[0] - means[1]), rel=1e-9)
    assert gap["after"] == pytest.approx(gap["before"], abs=2 * plan.release_mode.wander(plan.problem))


def test_a_table_that_is_no_release_of_the_original_is_refused():
    rng = np.random.default_rng(7)
    column = rng.gamma(2.0, 40.0, 500)
    plan = located()
    released = sv.release(plan, column, accept=LEAKS)
    assert abs(released.mean() - column.mean()) > 0.3, "the test needs a column away from the middle of its bin"
    for before, after in ((column, column), (column, released + 2.0), (released + 3.0, column)):
        with pytest.raises(sv.TableError, match="not what this plan makes"):
            sv.audit(plan, before, after)
    with pytest.raises(sv.TableError, match="does not hold the value"):
        sv.audit(plan, column, released, records=[(0, float(column[0]) + 1)])
    with pytest.raises(sv.ProblemError, match="none of the named attackers applies"):
        sv.audit(plan, column, released, attackers=["repeated"])
    assert "repeated" in sv.audit(plan, column, released, trials=200, seed=1).not_applicable


def test_attackers_without_side_knowledge_break_what_is_built_to_be_broken_by_them():
    rng = np.random.default_rng(8)
    column = rng.gamma(2.0, 50.0, 400)
    wide = located().problem
    narrow = sv.plan(wide, bin=1.5)  # bins within a guess's window
    rates = {
        item.attacker: item.rate
        for item in sv.audit(narrow, column, sv.release(narrow, column, accept=LEAKS), trials=200, seed=1).findings
    }
    assert rates["plug-in"] == 1
    assert rates["bayes"] == 1
    assert rates["prior"] < 0.1
    known = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(99.2, 100.8)), secret=sv.Mean(), tolerance=1.0)
    tight = sv.plan(known, bin=0.5)  # a prior within a guess's window
    column += 100.1 - column.mean()
    rates = {
        item.attacker: item.rate
        for item in sv.audit(tight, column, sv.release(tight, column, accept=LEAKS), trials=200, seed=1).findings
    }
    assert rates["prior"] == 1


def test_a_shuffled_release_is_audited_with_its_record(tmp_path):
    rng = np.random.default_rng(0)
    source, target, record = (tmp_path / name for name in ("in.parquet", "out.parquet", "record.json"))
    pl.DataFrame({"x": np.sort(rng.binomial(20, 0.3, 2_000)), "other": rng.random(2_000)}).write_parquet(source)
    problem = sv.Problem(family=sv.Binomial(trials=20), prior=sv.Box(p=(0.2, 0.5)), secret=sv.Mean(), tolerance=0.2)
    plan = sv.plan(problem, max_risk=0.25)
    sv.release_file(plan, source, target, column="x", record=record, shuffle=True)
    with pytest.raises(sv.TableError, match="--record"):
        sv.audit(plan, source, target, column="x", trials=200)
    found = sv.audit(plan, source, target, column="x", record=record, trials=200, seed=1)
    assert not found.leaks
    with pytest.raises(sv.FileError, match="not the record of a release under this plan"):
        sv.audit(sv.plan(problem, max_risk=0.3), source, target, column="x", record=record, trials=200)


def test_ages_up_to_97_have_no_natural_maximum_and_shares_up_to_1_have():
    """What attackers are taken to know of bounds is what a release looks for."""
    problem = sv.Problem(secret=sv.Mean(), prior=(20, 120), tolerance=2.0, known=sv.Structure(step=1))
    rng = np.random.default_rng(3)
    ages = np.append(np.clip(np.rint(rng.normal(48, 13, 1_200)), 18, 94), [95.0, 97.0])
    plan = sv.plan(problem, max_risk=0.2)
    found = sv.audit(plan, ages, sv.release(plan, ages, seed=1), trials=200, seed=2)
    assert "maximum" not in found.assumed
    assert not found.leaks
    shares = rng.beta(2.0, 0.7, 600)
    sure = sv.plan(sv.Problem(secret=sv.Mean(), prior=(0.2, 3.0), tolerance=0.02), max_risk=0.2)
    released = sv.release(sure, shares, seed=1, accept=["bounds", "shape"])
    told = sv.audit(sure, shares, released, trials=200, seed=2)
    assert "maximum 1" in told.assumed
    assert told.leaks


def test_a_quantile_that_is_a_frequent_value_is_redrawn():
    """No holder would release such a table: the statistic of those that are played is believed as the prior says."""
    rng = np.random.default_rng(5)
    counts = np.array([2346, 1059, 7801, 953, 280, 2757, 313, 3030, 4, 31, 136, 7, 1202])
    codes = rng.choice(np.arange(1, 14), 8_000, p=counts / counts.sum()).astype(float)
    known = sv.Structure(minimum=1, step=1, atoms=(13,))
    problem = sv.Problem(
        secret=sv.Quantile(0.9), prior=(3.8, 27), tolerance=sv.Relative(0.05), known=known, shape="catalogue"
    )
    plan = sv.plan(problem, max_risk=0.2)
    released = sv.release(plan, codes, seed=1, accept=["step"], details=True).table
    assert np.quantile(codes, 0.9) != 13
    found = sv.audit(plan, codes, released, attackers=["bayes"], trials=300, seed=2).findings
    blind = next(one for one in found if one.attacker == "prior")
    assert blind.low <= plan.risk_without_release
    assert blind.verdict != "leaks"
