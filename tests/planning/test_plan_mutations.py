"""Plan files with one value replaced: refused in a sentence, or one that says the same as before."""

import copy
import dataclasses
import json
import math
import random

import pytest
from click.testing import CliRunner

import statveil as sv
from statveil import accounting, contradictions
from statveil.cli.main import statveil as group
from statveil.plan_file import dump_plan, parse_plan

HOSTILE = [
    math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 1e-200, 1e30, -1, 0, 1, 0.5, 2**64, 10**400, "", "x",
    "\ud800", None, True, False, [], [1], {}, {"a": 1}, [[[[[[[[]]]]]]]], "</script>", [1e308] * 3,
]  # fmt: skip


def location(**axes):
    prior = sv.Box(**(axes or {"mean": (0, 200)}))
    return sv.Problem(family=sv.Location(), prior=prior, secret=sv.Mean(), tolerance=1)


def plans():
    gaussian = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(10, 200), sigma=(1, 51)), secret=sv.Quantile(0.9), tolerance=1
    )
    known = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(50, 200)),
        secret=sv.Mean(),
        tolerance=1,
        known=sv.Structure(minimum=0),
    )
    share = sv.Problem(family=sv.Categorical(labels=["a", "b", "c"]), secret=sv.Fraction("b"), tolerance=0.02)
    counts = sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(10, 60)), secret=sv.Mean(), tolerance=1)
    return {
        "shift": sv.plan(location(), max_risk=0.2),
        "comb": sv.plan(location(), max_risk=0.2, method="comb"),
        "layered": sv.plan(location(), max_risk=0.3, method="layered", grid=40),
        "robust": sv.plan(location(), max_risk=0.2, robust_to=(0.5, 2)),
        "density": sv.plan(location(mean=sv.Density("normal", (100, 40), low=0, high=200)), bin=10),
        "affine": sv.plan(gaussian, max_risk=0.3),
        "scale": sv.plan(known, max_risk=0.3),
        "category": sv.plan(share, max_risk=0.3),
        "counts": sv.plan(counts, max_risk=0.3),
    }


@pytest.fixture(scope="module")
def made():
    return {name: json.loads(dump_plan(plan)) for name, plan in plans().items()}


NAMES = ["shift", "comb", "layered", "robust", "density", "affine", "scale", "category", "counts"]


def places(value, at=()):
    """Every place of a JSON value, whole parts too."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*at, key)
        yield from places(part, (*at, key))


def replaced(data, at, value):
    changed = copy.deepcopy(data)
    part = changed
    for key in at[:-1]:
        part = part[key]
    part[at[-1]] = value
    return changed


@pytest.mark.parametrize("name", NAMES)
def test_a_replaced_value_is_refused_or_makes_no_false_claim(made, name):
    draw, data = random.Random(name), made[name]
    spots = list(places(data))
    chosen = spots if len(spots) <= 45 else draw.sample(spots, 45)
    refused = 0
    for at in chosen:
        for value in draw.sample(HOSTILE, 8):
            text = json.dumps(replaced(data, at, value))
            try:
                plan = parse_plan(text)
            except sv.StatveilError:
                refused += 1
                continue
            # what is still read is accounted for by its own problem and mechanism
            again = accounting.risk(plan.problem, plan.mechanism)
            assert plan.risk >= again.value * (1 - 1e-6), (at, value)
            assert plan.distortion == pytest.approx(accounting.distortion(plan.problem, plan.mechanism), rel=1e-6), (
                at,
                value,
            )
            sv.simulate(plan, trials=50, seed=1)
    assert refused > 4 * len(chosen)  # most of them


EDITS = {
    "risk": lambda data: data.update(risk=0.01),
    "risk, a hair": lambda data: data.update(risk=data["risk"] * (1 - 1e-7)),
    "risk upwards": lambda data: data.update(risk=0.5),
    "risk kind": lambda data: data.update(risk_kind="simulated"),
    "distortion": lambda data: data.update(distortion=1.0),
    "mode": lambda data: data.update(mode="rank"),
    "bins": lambda data: data["mechanism"].update(width=2.0),
    "origin": lambda data: data["mechanism"].update(origin=3.0),
    "tolerance up": lambda data: data["problem"].update(tolerance=4.0),
    "tolerance down": lambda data: data["problem"].update(tolerance=0.01),
    "prior wider": lambda data: data["problem"]["prior"]["parameters"]["mean"].update(high=2000.0),
    "prior narrower": lambda data: data["problem"]["prior"]["parameters"]["mean"].update(high=20.0),
    "blind": lambda data: data.update(risk_without_release=1e-6),
    "lower bound": lambda data: data.update(lower_bound=0.1),
    "published bound": lambda data: data.update(published_bound=1e-6),
    "gamma": lambda data: data.update(gamma=9.0),
    "bin": lambda data: data.update(bin=1e6),
    "efficiency": lambda data: data.update(efficiency=1.0),
    "randomised": lambda data: data.update(randomised=True),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_plan_is_never_released(made, tmp_path, edit):
    data = copy.deepcopy(made["shift"])
    EDITS[edit](data)
    assert data != made["shift"]
    place = tmp_path / "plan.json"
    table = tmp_path / "in.csv"
    table.write_text("v\n" + "\n".join(repr(random.Random(i).gauss(100, 10)) for i in range(300)) + "\n")
    for content, works in ((made["shift"], True), (data, False)):
        place.write_text(json.dumps(content))
        arguments = [
            "release",
            str(place),
            str(table),
            str(tmp_path / "out.csv"),
            "--column",
            "v",
            "--accept",
            "bounds",
        ]
        found = CliRunner().invoke(group, arguments)
        assert (found.exception is None) == works, found.output
        assert (tmp_path / "out.csv").exists() == works
        if works:
            (tmp_path / "out.csv").unlink()
            (tmp_path / "out.csv.card.json").unlink()
        else:
            assert isinstance(found.exception, sv.StatveilError)
            for command in (["apply", str(place), "--at", "mean=100"], ["simulate", str(place), "--trials", "10"]):
                assert isinstance(CliRunner().invoke(group, command).exception, sv.StatveilError)


def test_a_conservative_plan_of_an_earlier_version_is_read(made):
    """Rounded up by more than today, or without what was reported later; the limit belongs to the stated risk."""
    data = copy.deepcopy(made["density"])
    data["risk"] *= 1 + 1e-7
    for key in ("risk_without_release", "optimum", "optimum_kind", "efficiency_optimum", "robust_to", "robust_risk"):
        data.pop(key, None)
    assert parse_plan(json.dumps(data)).risk == data["risk"]


# --- plans in memory ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"risk": 0.01}, "its risk is not that of its mechanism"),
        ({"distortion": 1.0}, "its distortion"),
        ({"robust_risk": 0.01}, "tolerances that it does not name"),
        ({"risk_without_release": 1e-9}, "risk without a release"),
    ],
)
def test_a_plan_changed_in_memory_is_never_released(tmp_path, change, word):
    plan = sv.plan(location(), max_risk=0.2)
    values = [random.Random(row).gauss(100, 10) for row in range(300)]
    (tmp_path / "in.csv").write_text("v\n" + "\n".join(map(repr, values)) + "\n")
    assert len(sv.release(plan, values, accept=["bounds"])) == 300  # the positive control
    changed = dataclasses.replace(plan, **change)
    with pytest.raises(sv.ProblemError, match=word):
        sv.release(changed, values, accept=["bounds"])
    with pytest.raises(sv.ProblemError, match=word):
        sv.release_file(changed, tmp_path / "in.csv", tmp_path / "out.csv", column="v", accept=["bounds"])
    assert not (tmp_path / "out.csv").exists()


def test_a_plan_is_accounted_anew_once_at_most(tmp_path, monkeypatch):
    values = [random.Random(row).gauss(100, 10) for row in range(300)]
    made = sv.plan(location(), max_risk=0.2)
    sv.save_plan(made, tmp_path / "plan.json")
    read = sv.load_plan(tmp_path / "plan.json")
    asked = []
    plain = contradictions.contradictions
    monkeypatch.setattr(contradictions, "contradictions", lambda plan: asked.append(plan) or plain(plan))
    copied = copy.copy(made)
    for plan in (made, made, read, copied, copied):
        sv.release(plan, values, accept=["bounds"])
    assert [plan is copied for plan in asked] == [True]


@pytest.mark.parametrize("value", [17.0, -1, "x", {}, [0.2], True, 0.01])
def test_junk_for_the_risk_within_tolerances_is_refused(made, value):
    for name in ("shift", "robust"):
        with pytest.raises(sv.PlanFileError):
            parse_plan(json.dumps({**made[name], "robust_risk": value}))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (("direction", "a"), -1e9),
        (("direction", "c"), 0),
        (("keep",), []),
        (("keep", 0, "at_least"), 1e6),
        (("keep", 1, "form", "b"), 0.5),
    ],
)
def test_shares_that_would_not_stay_shares_are_refused(made, at, value):
    parse_plan(json.dumps(made["category"]))
    with pytest.raises(sv.PlanFileError, match="shares"):
        parse_plan(json.dumps(replaced(made["category"], ("mechanism", *at), value)))


def test_a_release_far_from_its_bin_is_refused(made):
    """The largest distance is the stated distortion: a released value beyond it contradicts the plan."""
    far = replaced(made["counts"], ("mechanism", "released", 0), 1e6)
    with pytest.raises(sv.PlanFileError, match="distortion"):
        parse_plan(json.dumps(far))
