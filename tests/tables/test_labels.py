"""Labels are data: whatever a category is called, it can be planned, applied, released, verified and audited."""

import json

import numpy as np
import pandas as pd
import pytest

import statveil as sv

AWKWARD = ("seed", "self", "params", "released", "plan", "column", "labels", "axes", "name", "kind", "named", "a b")


@pytest.fixture(scope="module")
def plan():
    problem = sv.Problem(
        family=sv.Categorical(labels=AWKWARD[:4]), secret=sv.Fraction("seed"), tolerance=0.01, distance="tv"
    )
    return sv.plan(problem, max_risk=0.3)


def shares(labels, first=0.4):
    return dict(zip(labels, [first] + [(1 - first) / (len(labels) - 1)] * (len(labels) - 1), strict=True))


def test_a_mapping_serves_names_that_are_no_keywords(plan):
    point = shares(AWKWARD[:4])
    done = plan.apply(point, secret_seed=3)
    assert sum(float(value) for value in done.released.values()) == pytest.approx(1)
    assert set(done.released) == set(AWKWARD[:4])
    plan.check(point)
    assert float(plan.nearest(done.released).secret) == pytest.approx(float(done.secret))


def test_keywords_and_a_mapping_are_the_same():
    problem = sv.Problem(family=sv.Gaussian(), prior=sv.Box(mu=(0, 200), sigma=(1, 50)), secret=sv.Mean(), tolerance=1)
    plan = sv.plan(problem, max_risk=0.3)
    by_name, by_mapping, mixed = (
        plan.apply(mu=[3, 50], sigma=7),
        plan.apply({"mu": [3, 50], "sigma": 7}),
        plan.apply({"mu": [3, 50]}, sigma=7),
    )
    for other in (by_mapping, mixed):
        assert np.array_equal(other.secret, by_name.secret)
    with pytest.raises(sv.ProblemError, match="'mu' is given twice"):
        plan.apply({"mu": 3, "sigma": 7}, mu=3)
    with pytest.raises(sv.ProblemError, match=r"by name, as in .*Got a value of type float"):
        plan.apply(3.0)
    with pytest.raises(sv.ProblemError, match="by name"):
        plan.check([3.0, 7.0])


@pytest.mark.parametrize("labels", [AWKWARD, AWKWARD[1:4], ("self", "cls"), ("0", "1", "-1"), (" x", "x", "X")])
def test_a_table_of_any_labels_goes_all_the_way(labels):
    problem = sv.Problem(family=sv.Categorical(labels=labels), secret=sv.Fraction(labels[0]), tolerance=0.02)
    plan = sv.plan(problem, max_risk=0.45)
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"group": [labels[i] for i in rng.integers(0, len(labels), 4000)]})
    released = sv.release(plan, table, column="group", seed=1)
    assert set(released["group"]) <= set(labels)
    found = sv.audit(plan, table, released, column="group", attackers="plug-in", trials=200, seed=2)
    assert not found.leaks


def test_the_commands_take_any_labels(cli, tmp_path):
    labels, plan, table = AWKWARD[:4], tmp_path / "plan.json", tmp_path / "t.csv"
    asked = ("--labels", ",".join(labels), "--secret", "fraction:seed", "--tolerance", "0.02", "--max-risk", "0.4")
    assert cli("plan", "--family", "categorical", *asked, "-o", plan)[0] == 0
    at = ",".join(f"{name}={share!r}" for name, share in shares(labels).items())
    code, out, err = cli("apply", plan, "--at", at, "--seed", 5, "--json")
    assert (code, err) == (0, "")
    assert set(json.loads(out)["released"]) == set(labels)
    rng = np.random.default_rng(6)
    table.write_text("id,group\n" + "".join(f"{i},{labels[j]}\n" for i, j in enumerate(rng.integers(0, 4, 3000))))
    out_file = tmp_path / "out.csv"
    code, _, err = cli("release", plan, table, out_file, "--column", "group")
    assert (code, err) == (0, "")
    code, _, err = cli("verify", out_file)
    assert (code, err) == (0, "")
    code, _, err = cli("audit", plan, table, out_file, "--column", "group", "--attackers", "plug-in", "--trials", 200)
    assert (code, err) == (0, "")


def test_a_prior_takes_any_names():
    box = sv.Box({"self": (0, 1), "axes": 2}, named=(3, 4))
    assert list(box.axes) == ["self", "axes", "named"]
