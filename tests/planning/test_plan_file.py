"""Plan files: the same bytes after every round trip, and a clear refusal of anything else."""

import copy
import json
import os
import stat
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.plan_file import FORMAT, VERSION, dump_plan, load_plan, parse_plan, save_plan
from tests.best_possible import none_known


def gaussian(secret=None, known=None, **axes):
    return sv.Problem(
        family=sv.Gaussian(),
        prior=sv.Box(**({"mu": (10, 200), "sigma": (1, 51)} | axes)),
        secret=secret or sv.Quantile(0.95),
        tolerance=1,
        known=known or sv.Structure(),
    )


def one(axis):
    return sv.Problem(family=sv.Location(), prior=sv.Box(mean=axis), secret=sv.Mean(), tolerance=1)


def uniform(secret, **axes):
    prior = sv.Box(**({"low": (0, 100), "high": (0, 100)} | axes))
    return sv.Problem(family=sv.Uniform(), prior=prior, secret=secret, tolerance=1)


def share(labels, secret):
    return sv.Problem(family=sv.Categorical(labels=labels), secret=sv.Fraction(secret), tolerance=0.01)


UNICODE = ["Zürich", "東京 都", "🎉 'x' \"y\"", "a=b:c"]
ASKED = {
    "interval of one parameter": (one((0, 100)), {"max_risk": 0.2}),
    "interval of two parameters": (gaussian(), {"max_risk": 0.2}),
    "interval by distortion": (gaussian(), {"max_distortion": 3}),
    "interval by bin": (gaussian(), {"bin": 7}),
    "interval by bin and slope": (gaussian(), {"bin": 7, "slope": 0.3}),
    "pure shift": (gaussian(sv.Mean()), {"max_risk": 0.2}),
    "spread alone": (gaussian(sv.Std()), {"max_risk": 0.2}),
    "known sigma": (gaussian(sigma=3), {"max_risk": 0.2}),
    "known mu": (gaussian(mu=50), {"max_risk": 0.2}),
    "lattice": (gaussian(sv.Mean(), sv.Structure(step=2)), {"max_risk": 0.4}),
    "lattice of a fraction": (gaussian(sv.Mean(), sv.Structure(step=0.1)), {"bin": 9}),
    "scaling": (gaussian(sv.Mean(), sv.Structure(minimum=0)), {"bin": 20}),
    "scaling below a maximum": (gaussian(sv.Mean(), sv.Structure(maximum=300)), {"max_distortion": 20}),
    "rank": (gaussian(sv.Mean(), sv.Structure(minimum=0, step=1, atoms=(0, 7)), mu=(60, 200)), {"max_risk": 0.2}),
    "uniform on a triangle": (uniform(sv.Quantile(0.9)), {"max_risk": 0.3}),
    "uniform on a cut box": (uniform(sv.Mean(), low=(0, 60), high=(40, 100)), {"max_risk": 0.3}),
    "uniform from a known end": (uniform(sv.Std(), low=0), {"max_risk": 0.3}),
    "exponential": (
        sv.Problem(family=sv.Exponential(), prior=sv.Box(scale=(1, 50)), secret=sv.Std(), tolerance=1),
        {"max_risk": 0.3},
    ),
    "shifted exponential": (
        sv.Problem(
            family=sv.ShiftedExponential(),
            prior=sv.Box(scale=(1, 50), shift=(0, 100)),
            secret=sv.Quantile(0),
            tolerance=1,
        ),
        {"max_risk": 0.3},
    ),
    "categorical": (share(["a", "b", "c"], 1), {"max_risk": 0.3}),
    "categorical with unicode labels": (share(UNICODE, "東京 都"), {"max_risk": 0.3}),
    "density": (one(sv.Density("normal", (50, 20), low=0, high=100)), {"max_risk": 0.3}),
    "table": (one(sv.Tabulated([0, 30, 100], [0, 1, 0.2])), {"max_risk": 0.3}),
    "elicited": (one(sv.Elicited(20, 70, 0.9)), {"max_risk": 0.3}),
    "elicited above zero": (gaussian(sv.Std(), mu=20, sigma=sv.Elicited(5, 20, 0.8)), {"bin": 6}),
    "lipschitz": (one(sv.Lipschitz(0, 100, 0.005, 0.0001)), {"max_risk": 0.4}),
    "density beside a range": (gaussian(mu=sv.Density("normal", (100, 30), low=10, high=200)), {"bin": 7}),
}
_MADE: dict[str, sv.Plan] = {}


def made(name: str) -> sv.Plan:
    if name not in _MADE:
        problem, target = ASKED[name]
        with none_known() if name in ("table", "elicited") else nullcontext():  # one optimum under a density will do
            _MADE[name] = sv.plan(problem, **target)
    return _MADE[name]


@cache
def text_of(name: str) -> str:
    return dump_plan(made(name))


every_plan = pytest.mark.parametrize("name", ASKED)


@every_plan
@pytest.mark.heavy(2)
def test_round_trip_byte_for_byte(name, tmp_path):
    plan, path, again = made(name), tmp_path / "plan.json", tmp_path / "again.json"
    save_plan(plan, path)
    save_plan(load_plan(path), again)
    assert path.read_bytes() == again.read_bytes() == dump_plan(plan).encode()
    assert dump_plan(parse_plan(dump_plan(plan))) == dump_plan(plan)


@every_plan
def test_a_plan_file_is_plain_json_with_a_version(name):
    data = json.loads(dump_plan(made(name)), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert (data["format"], data["version"]) == (FORMAT, VERSION)
    assert {"risk", "risk_kind", "published_bound", "distortion", "lower_bound", "gamma"} < set(data)
    assert {"method", "mode", "bin", "slope", "problem", "mechanism"} < set(data)


@every_plan
def test_a_loaded_plan_says_and_does_the_same(name):
    plan = made(name)
    loaded = parse_plan(dump_plan(plan))
    assert loaded.problem == plan.problem
    assert loaded.to_json() == plan.to_json()
    drawn = plan.problem.sample(300, np.random.default_rng(3))
    one_way, other = plan.apply(secret_seed=5, **drawn), loaded.apply(secret_seed=5, **drawn)
    assert np.array_equal(one_way.secret, other.secret)
    for parameter, released in one_way.released.items():
        assert np.array_equal(released, other.released[parameter])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("lattice", "interval"), ("scaling", "scaling"), ("interval of two parameters", "interval")],
)
def test_the_plans_above_are_of_the_kinds_they_claim(name, kind):
    plan = made(name)
    assert plan.mechanism.kind == kind
    assert (plan.mode == "lattice") == (name == "lattice")
    assert (plan.mode == "scale") == (name == "scaling")


@pytest.mark.parametrize("name", ["interval of one parameter", "lattice", "scaling", "categorical", "table"])
def test_a_loaded_plan_simulates_the_same(name):
    plan = made(name)
    loaded = parse_plan(dump_plan(plan))
    assert sv.simulate(loaded, trials=2_000, seed=11) == sv.simulate(plan, trials=2_000, seed=11)


def test_unicode_labels_stay_readable(tmp_path):
    path = tmp_path / "Plan für 東京.json"
    save_plan(made("categorical with unicode labels"), path)
    assert "東京 都" in path.read_text(encoding="utf-8")
    assert load_plan(path).problem.family.labels == tuple(UNICODE)


def test_saving_again_replaces_the_file(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("something much longer than nothing" * 1000)
    save_plan(made("categorical"), path)
    assert path.read_text(encoding="utf-8") == dump_plan(made("categorical"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    save_plan(made("categorical"), tmp_path / "plan.json")
    (tmp_path / "other").write_text("")
    mode = stat.S_IMODE((tmp_path / "plan.json").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "other").stat().st_mode)


# --- writing fails --------------------------------------------------------------------------------
def test_writing_into_a_missing_directory(tmp_path):
    with pytest.raises(sv.PlanFileError, match="there is no folder"):
        save_plan(made("categorical"), tmp_path / "none" / "plan.json")
    assert list(tmp_path.iterdir()) == []


def test_writing_onto_a_directory(tmp_path):
    (tmp_path / "plan.json").mkdir()
    with pytest.raises(sv.PlanFileError, match="directory"):
        save_plan(made("categorical"), tmp_path / "plan.json")
    assert [entry.name for entry in tmp_path.rglob("*")] == ["plan.json"]


@pytest.mark.parametrize("step", ["write", "chmod", "replace"])
def test_a_failure_half_way_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "plan.json"
    path.write_text("the old plan")

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    if step == "write":
        monkeypatch.setattr("statveil.plan_file.os.fdopen", fail)
    else:
        monkeypatch.setattr(Path, step, fail)
    with pytest.raises(sv.PlanFileError, match="No space left"):
        save_plan(made("categorical"), path)
    monkeypatch.undo()
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]
    assert path.read_text() == "the old plan"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_an_interruption_leaves_no_partial_file(tmp_path, monkeypatch, error):
    def stop(*args):
        raise error

    monkeypatch.setattr("statveil.plan_file.os.fdopen", stop)
    with pytest.raises(error):
        save_plan(made("categorical"), tmp_path / "plan.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_special_file_is_never_replaced_by_a_plain_one(tmp_path):
    # a rename over the path would do to a device what it does to this pipe
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)  # so that a writer does not wait for one
    try:
        try:
            save_plan(made("categorical"), pipe)
        except sv.PlanFileError as error:
            assert str(pipe) in str(error)  # noqa: PT017  (refusing is as good as writing)
        assert stat.S_ISFIFO(pipe.lstat().st_mode)
    finally:
        os.close(reader)
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_a_link_is_followed_not_replaced(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real.name)
    save_plan(made("categorical"), link)
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == dump_plan(made("categorical"))


# --- reading what is not a plan -------------------------------------------------------------------
GOOD = dump_plan(sv.plan(gaussian(), max_risk=0.2))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not valid JSON"),
        (b"   \n", "not valid JSON"),
        (GOOD.encode()[:400], "truncated"),
        (GOOD.encode()[:-3], "truncated"),
        (bytes(range(256)), "not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8"),
        (b"\x00\x00\x00", "not valid JSON"),
        (b"[]", "not a statveil plan"),
        (b"3", "not a statveil plan"),
        (b"null", "not a statveil plan"),
        (b'"statveil-plan"', "not a statveil plan"),
        (b"{}", "not a statveil plan"),
        (b'{"format": ["statveil-plan"]}', "not a statveil plan"),
        (b"mu,sigma\n1,2\n", "not valid JSON"),
        (b'{"format": "statveil-plan"}', "version"),
        (b'{"format": "statveil-plan", "version": 1}', "missing"),
    ],
    ids=range(16),
)
def test_what_is_not_a_plan_is_refused_with_its_name(tmp_path, content, why):
    path = tmp_path / "it.json"
    path.write_bytes(content)
    with pytest.raises(sv.PlanFileError, match=why) as caught:
        load_plan(path)
    assert "it.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_and_directory(tmp_path):
    with pytest.raises(sv.PlanFileError, match="No such file"):
        load_plan(tmp_path / "none.json")
    with pytest.raises(sv.PlanFileError, match="directory"):
        load_plan(tmp_path)


@pytest.mark.parametrize("version", [2, 10, 10**30])
def test_a_newer_version_is_refused(version):
    with pytest.raises(sv.PlanFileError, match=rf"version {version}.*up to {VERSION}.*[Uu]pgrade"):
        parse_plan(GOOD.replace('"version": 1', f'"version": {version}'))


@pytest.mark.parametrize("version", ["0", "-1", "true", "null", '"1"', "1.5", "[1]"])
def test_a_version_that_is_none_is_refused(version):
    with pytest.raises(sv.PlanFileError, match="version"):
        parse_plan(GOOD.replace('"version": 1', f'"version": {version}'))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"format": 1' + "0" * 5_000 + "}"])
def test_json_that_python_cannot_take_is_refused_too(text):
    with pytest.raises(sv.PlanFileError):
        parse_plan(text)


def changed(path: tuple, value, text: str = GOOD) -> str:
    data = json.loads(text)
    *inner, last = path
    place = data
    for key in inner:
        place = place[key]
    place[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("mechanism", "width"), 0),
        (("mechanism", "width"), -1.0),
        (("mechanism", "width"), None),
        (("mechanism", "width"), "4.5"),
        (("mechanism", "width"), [4.5]),
        (("mechanism", "width"), float("nan")),
        (("mechanism", "width"), float("inf")),
        (("mechanism", "width"), 10**400),
        (("mechanism", "low"), "1"),
        (("mechanism", "low"), 1e9),
        (("mechanism", "high"), None),
        (("mechanism", "origin"), "x"),
        (("mechanism", "step"), 0),
        (("mechanism", "step"), "1"),
        (("mechanism", "coordinate"), {"zeta": 1.0}),
        (("mechanism", "coordinate"), {"sigma": "x"}),
        (("mechanism", "coordinate"), {}),
        (("mechanism", "direction"), {"zeta": 1.0}),
        (("mechanism", "direction"), []),
        (("mechanism", "direction"), {}),
        (("mechanism", "keep"), [{"form": {"zeta": 1.0}, "at_least": 0}]),
        (("mechanism", "keep"), [{"form": {"mu": 1.0}, "at_least": None}]),
        (("mechanism", "centre"), 5),
        (("mechanism", "centre"), "middle"),
        (("mechanism", "kind"), "magic"),
        (("risk",), "low"),
        (("risk",), None),
        (("risk",), float("nan")),
        (("risk",), -0.2),
        (("risk",), 20),
        (("risk_kind",), 5),
        (("risk_kind",), "certain"),
        (("mode",), "zzz"),
        (("method",), 7),
        (("distortion",), [1]),
        (("distortion",), float("inf")),
        (("gamma",), "x"),
        (("lower_bound",), None),
        (("published_bound",), "x"),
        (("problem", "tolerance"), 10**400),
        (("problem", "tolerance"), 0),
        (("problem", "secret", "alpha"), "x"),
        (("problem", "family", "name"), "zeta"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else repr(value)[:20],
)
def test_a_damaged_value_is_refused_on_reading_not_in_use(path, value):
    with pytest.raises(sv.PlanFileError):
        parse_plan(changed(path, value))


# --- random damage --------------------------------------------------------------------------------
DAMAGED = ["interval of two parameters", "lattice", "scaling", "categorical with unicode labels", "table"]
DAMAGED += ["elicited above zero", "lipschitz", "density beside a range", "uniform on a triangle"]
wrong = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -(10**400), 1e308, -1e308, 1e-320, float("nan"), float("inf"), -float("inf")]),
    st.floats(-1e3, 1e3),
    st.sampled_from(["", "x", "1", "norm", "flat", "known", "interval", "mu", "\x00", "雪"]),
    st.lists(st.one_of(st.integers(-2, 2), st.text(max_size=2), st.none()), max_size=3),
    st.dictionaries(st.sampled_from(["kind", "name", "mu", "x", ""]), st.integers(-2, 2), max_size=2),
)
quietly = settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])
seldom = settings(quietly, max_examples=120)  # reading a plan accounts for it again


def places(node, path=()):
    """Every place of a JSON value, inner ones included."""
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


@quietly
@given(name=st.sampled_from(DAMAGED), where=st.floats(0.0, 1.0, exclude_max=True))
def test_a_truncated_plan_is_refused(name, where):
    text = text_of(name).rstrip()
    with pytest.raises(sv.PlanFileError):
        parse_plan(text[: int(where * len(text))])


@seldom
@given(name=st.sampled_from(DAMAGED), data=st.data())
def test_a_plan_with_a_part_deleted_is_refused_or_read(name, data):
    content = json.loads(text_of(name))
    path = data.draw(st.sampled_from(list(places(content))))
    place = content
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    try:
        plan = parse_plan(json.dumps(content))
    except sv.PlanFileError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    assert dump_plan(parse_plan(dump_plan(plan))) == dump_plan(plan)  # what is read is whole


@seldom
@given(name=st.sampled_from(DAMAGED), data=st.data(), value=wrong)
def test_a_plan_with_a_part_replaced_is_refused_or_read(name, data, value):
    content = json.loads(text_of(name))
    path = data.draw(st.sampled_from(list(places(content))))
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = copy.deepcopy(value)
    try:
        plan = parse_plan(json.dumps(content))
    except sv.PlanFileError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    assert dump_plan(parse_plan(dump_plan(plan))) == dump_plan(plan)  # what is read is whole


@quietly
@given(text=st.text(max_size=40))
def test_any_text_is_refused(text):
    with pytest.raises(sv.PlanFileError):
        parse_plan(text)


@quietly
@given(content=st.binary(max_size=40))
def test_any_bytes_are_refused(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "bytes.json"
    path.write_bytes(content)
    with pytest.raises(sv.PlanFileError):
        load_plan(path)


# --- keys that nothing reads ------------------------------------------------------------------------
def key_paths(data, above=()):
    """Every key of a file, with the way to it."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        if isinstance(data, dict):
            yield (*above, key)
        yield from key_paths(value, (*above, key))


@every_plan
@pytest.mark.heavy(1)
def test_no_misspelt_key_is_taken_as_left_out(name):
    text = text_of(name)
    for *above, key in key_paths(json.loads(text)):
        data = json.loads(text)
        place = data
        for step in above:
            place = place[step]
        place[f"{key}x"] = place.pop(key)
        with pytest.raises(sv.PlanFileError):
            parse_plan(json.dumps(data))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("robust_to", "robustto"), ("risk_without_release", "risk_without_relase")],
)
def test_the_nearest_key_is_named(right, wrong):
    data = json.loads(text_of("categorical"))
    data[wrong] = data.pop(right)
    with pytest.raises(sv.PlanFileError, match=f"unknown key '{wrong}'; did you mean '{right}'"):
        parse_plan(json.dumps(data))


@every_plan
def test_plans_from_before_some_keys_still_load(name):
    data = json.loads(text_of(name))
    newer = ("risk_without_release", "robust_to", "robust_risk", "certificate", "optimum", "optimum_kind")
    older = {key: value for key, value in data.items() if key not in (*newer, "efficiency_optimum")}
    assert parse_plan(json.dumps(older)).risk == data["risk"]
