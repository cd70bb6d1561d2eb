"""Bad input: exit code 2, one line on stderr that says what was given and what is allowed, nothing on stdout."""

import re
import shlex
import sys

import numpy as np
import pytest

import statveil as sv
from statveil.cli.main import run
from statveil.plan_file import save_plan


@pytest.fixture
def refused(monkeypatch, capsys):
    """A command that must be refused; its line on stderr."""

    def call(command, *more):
        monkeypatch.setattr(sys, "argv", ["statveil", *shlex.split(command), *map(str, more)])
        with pytest.raises(SystemExit) as ended:
            run()
        out, err = capsys.readouterr()
        assert ended.value.code == 2
        assert out == ""
        assert err.startswith("statveil: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert len(err) < 1500, "a line that nobody reads"
        return err

    return call


def gaussian(mu="mu=0:200", sigma="sigma=1:51", rest="--secret quantile:0.95 --tolerance 1 --max-risk 0.2"):
    return f"--family gaussian --prior '{mu}' --prior '{sigma}' {rest}"


def location(prior, rest="--secret mean --tolerance 1 --max-risk 0.5"):
    return f"--family location --prior '{prior}' {rest}"


def categorical(labels, secret="fraction:0", rest="--tolerance 0.01 --max-risk 0.2"):
    return f"--family categorical {labels} --secret '{secret}' {rest}"


both = pytest.mark.parametrize("command", ["plan", "limits"])

# request, then words that the message must hold: what was given, what is allowed
PROBLEMS = [
    # ranges
    (gaussian(mu="mu=5:5"), ["mu", "empty", "5:5"]),
    (gaussian(mu="mu=5:1"), ["mu", "reversed", "5:1"]),
    (gaussian(mu="mu=nan:1"), ["mu", "nan", "finite"]),
    (gaussian(mu="mu=0:inf"), ["mu", "inf", "finite"]),
    (gaussian(mu="mu=0:1e400"), ["mu", "1e400", "finite"]),
    (gaussian(mu="mu=nan"), ["mu", "nan", "finite"]),
    (gaussian(mu="mu=0:x"), ["mu", "'x'", "number"]),
    (gaussian(mu="mu=:"), ["mu", "number"]),
    (gaussian(mu="mu=0:1:2"), ["mu", "1:2", "number"]),
    (gaussian(mu="mu="), ["mu", "number"]),
    (gaussian(mu="mu"), ["mu", "NAME=LO:HI"]),
    (gaussian(mu=""), ["NAME=LO:HI"]),
    (gaussian(mu="=1:2"), ["=1:2", "NAME=LO:HI"]),
    (gaussian(sigma="sigma=0:51"), ["sigma", "0:51", "above 0"]),
    (gaussian(sigma="sigma=-1:51"), ["sigma", "-1:51", "above 0"]),
    (gaussian(sigma="sigma=0"), ["sigma", "above 0"]),
    (gaussian(sigma="sigma=-3"), ["sigma", "-3", "above 0"]),
    ("--family exponential --prior scale=0:5 --secret mean --tolerance 1 --max-risk 0.2", ["scale", "0:5", "above 0"]),
    ("--family shifted-exponential --prior scale=-1:5 --prior shift=0 --secret mean --tolerance 1 --max-risk 0.2",
     ["scale", "-1:5", "above 0"]),
    ("--family uniform --prior low=5:9 --prior high=1:4 --secret mean --tolerance 1 --max-risk 0.2",
     ["uniform", "low < high"]),
    (gaussian(mu="mu=5", sigma="sigma=1"), ["known", "nothing to hide"]),
    (gaussian(sigma="sigma=1", rest="--secret std --tolerance 1 --max-risk 0.2"), ["std", "nothing to hide", "sigma"]),
    # names
    (gaussian(mu="mu=0:200", sigma="sigmaa=1:51"), ["sigmaa", "did you mean 'sigma'", "mu, sigma"]),
    ("--family gaussian --prior mu=0:200 --secret mean --tolerance 1 --max-risk 0.2", ["sigma", "nothing about"]),
    ("--family gaussian --secret mean --tolerance 1 --max-risk 0.2", ["gaussian", "mu, sigma"]),
    (gaussian(sigma="sigma=1:51' --prior 'mu=0:3"), ["mu", "twice"]),
    ("--family gausian --prior mu=0:2 --secret mean --tolerance 1 --max-risk 0.2", ["gausian", "'gaussian'"]),
    ("--family Gaussian --prior mu=0:2 --secret mean --tolerance 1 --max-risk 0.2", ["'Gaussian'", "'gaussian'"]),
    ("--family ガウス --prior mu=0:2 --secret mean --tolerance 1 --max-risk 0.2", ["ガウス", "gaussian"]),
    ("--family '' --prior mu=0:2 --secret mean --tolerance 1 --max-risk 0.2", ["family", "gaussian"]),
    ("--prior mu=0:2 --secret mean --tolerance 1 --max-risk 0.2", ["--family"]),
    (gaussian(rest="--tolerance 1 --max-risk 0.2"), ["--secret"]),
    (gaussian(rest="--secret mean --max-risk 0.2"), ["--tolerance"]),
    (gaussian(rest="--secret mean --tolerance 1 --max-rsk 0.2"), ["--max-rsk", "--max-risk"]),
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 more"), ["more"]),
    # secrets
    *[
        (gaussian(rest=f"--secret '{secret}' --tolerance 1 --max-risk 0.2"), words)
        for secret, words in {
            "quantil:0.5": ["quantil", "quantile"],
            "mode": ["mode", "quantile:A"],
            "": ["secret", "quantile:A"],
            "Mean": ["'Mean'", "'mean'"],
            "mean:3": ["mean:3", "no argument"],
            "quantile": ["quantile:0.95"],
            "quantile:": ["quantile:0.95"],
            "quantile:x": ["'x'", "number"],
            "quantile:nan": ["nan", "finite"],
            "quantile:95": ["95", "[0, 1]"],
            "quantile:-0.1": ["-0.1", "[0, 1]"],
            "quantile:0": ["0-quantile", "(0, 1)"],
            "quantile:1": ["1-quantile", "(0, 1)"],
            "fraction:0": ["fraction", "gaussian: mean, std, quantile", "categorical: fraction"],
            "fraction": ["fraction:0"],
        }.items()
    ],
    ("--family exponential --prior scale=1:5 --secret quantile:0 --tolerance 1 --max-risk 0.2",
     ["0-quantile", "(0, 1)"]),
    ("--family exponential --prior scale=1:5 --secret quantile:1 --tolerance 1 --max-risk 0.2",
     ["1-quantile", "(0, 1)"]),
    ("--family shifted-exponential --prior scale=1:5 --prior shift=0 --secret quantile:1 --tolerance 1 --max-risk 0.2",
     ["1-quantile", "[0, 1)"]),
    (location("mean=0:9", "--secret std --tolerance 1 --max-risk 0.2"), ["std", "location: mean"]),
    ("--family poisson --prior rate=1:9 --secret quantile:0.5 --tolerance 1 --max-risk 0.2",
     ["quantile", "poisson: mean, std, fraction"]),
    # tolerance
    *[
        (gaussian(rest=f"--secret mean --tolerance {given} --max-risk 0.2"), [given, "number"])
        for given in ("0", "-1", "nan", "inf", "x", "1e400")
    ],
    # targets
    *[
        (gaussian(rest=f"--secret mean --tolerance 1 --max-risk {given}"), [given, "risk", "number"])
        for given in ("0", "1", "-0.5", "1.5", "20", "nan", "inf", "x", "20%")
    ],
    *[
        (gaussian(rest=f"--secret mean --tolerance 1 --max-distortion {given}"), [given, "distortion", "number"])
        for given in ("0", "-2", "nan", "inf", "x")
    ],
    (gaussian(rest="--secret mean --tolerance 1"), ["exactly one", "none"]),
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --max-distortion 3"), ["exactly one", "2"]),
    # distances
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --distance tv"), ["tv", "w1"]),
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --distance w2"), ["w2", "w1"]),
    (categorical("--categories 3", rest="--tolerance 0.01 --max-risk 0.2 --distance w1"), ["w1", "tv"]),
    # settings of families
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --trials-per-draw 3"),
     ["--trials-per-draw", "binomial"]),
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --categories 3"), ["--categories", "categorical"]),
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --labels a,b"), ["--labels", "categorical"]),
    ("--family binomial --prior p=0.1:0.9 --secret mean --tolerance 1 --max-risk 0.2", ["--trials-per-draw"]),
    *[
        (f"--family binomial --trials-per-draw {n} --prior p=0.1:0.9 --secret mean --tolerance 1 --max-risk 0.2", [n])
        for n in ("0", "-3", "x", "2.5")
    ],
    ("--family binomial --trials-per-draw 9 --prior p=0:1 --secret mean --tolerance 1 --max-risk 0.2",
     ["0:1", "between 0 and 1"]),
    ("--family binomial --trials-per-draw 9 --prior p=0.1:0.9 --secret fraction:10 --tolerance 0.1 --max-risk 0.2",
     ["10", "0 to 9"]),
    ("--family poisson --prior rate=0:3 --secret mean --tolerance 1 --max-risk 0.2", ["rate", "0:3", "above 0"]),
    *[
        (f"--family poisson --prior rate=1:3 --secret fraction:{j} --tolerance 0.1 --max-risk 0.2", [j, "whole"])
        for j in ("-1", "1.5", "x")
    ],
    # categories
    (categorical(""), ["--categories", "--labels"]),
    (categorical("--categories 1"), ["1", "two or more"]),
    (categorical("--categories 0"), ["0", "two or more"]),
    (categorical("--categories -3"), ["-3"]),
    (categorical("--categories x"), ["'x'", "integer"]),
    (categorical("--labels a"), ["two or more"]),
    (categorical("--labels a,b,a"), ["'a'", "more than once"]),
    (categorical("--labels 'a, a'"), ["'a'", "more than once"]),
    (categorical("--labels a,,b"), ["empty"]),
    (categorical("--labels ''"), ["empty"]),
    (categorical("--labels a,b --categories 3"), ["3", "2 labels"]),
    (categorical("--labels a,b,c", "fraction:d"), ["'d'", "a, b, c"]),
    (categorical("--labels apple,pear", "fraction:aple"), ["'aple'", "'apple'"]),
    (categorical("--categories 3", "fraction:3"), ["3", "0 to 2"]),
    (categorical("--categories 3", "fraction:-1"), ["-1", "0 to 2"]),
    (categorical("--categories 3", "fraction:1.5"), ["1.5", "p0, p1, p2"]),
    (categorical("--categories 3", "quantile:0.5"), ["quantile", "categorical: fraction", "gaussian: mean"]),
    (categorical("--categories 3", "mean"), ["mean", "categorical: fraction"]),
    (categorical("--categories 3 --prior p0=0:1"), ["no prior"]),
    # densities
    (location("mean=0:200~nrmal(1,2)"), ["nrmal", "'normal'"]),
    (location("mean=0:200~lipshitz(0.001,1)"), ["lipshitz", "lipschitz"]),
    (location("mean~betwen(10,20,0.9)"), ["betwen", "between"]),
    (location("mean=0:200~normal"), ["normal", "normal(M,S)"]),
    (location("mean=0:200~normal(1,2"), ["normal(1,2", "normal(M,S)"]),
    (location("mean=0:200~(1,2)"), ["(1,2)", "normal(M,S)"]),
    (location("mean~normal(100,30)"), ["range", "normal"]),
    (location("mean=5~normal(100,30)"), ["range", "normal"]),
    (location("mean=200:0~normal(100,30)"), ["reversed", "200:0"]),
    (location("mean=0:200~normal()"), ["norm", "loc, scale"]),
    (location("mean=0:200~normal(1)"), ["norm", "loc, scale"]),
    (location("mean=0:200~normal(1,2,3)"), ["norm", "loc, scale"]),
    (location("mean=0:200~normal(100,,30)"), ["100,,30"]),
    (location("mean=0:200~normal(0,-1)"), ["-1", "scale above 0"]),
    (location("mean=0:200~normal(0,0)"), ["scale above 0"]),
    (location("mean=0:200~normal(a,b)"), ["'a'", "number"]),
    (location("mean=0:200~normal(nan,1)"), ["nan", "finite"]),
    (location("mean=0:200~normal(1e6,1)"), ["no mass", "0 and 200"]),
    (location("mean=0:200~uniform(500,100)"), ["no mass", "0 and 200"]),
    (location("mean=0:200~beta(0.5,0.5,0,200)"), ["infinite", "0 and 200"]),
    (location("mean=0:200~gamma(0.5,0,10)"), ["infinite", "0 and 200"]),
    (location("mean=0:200~beta(2)"), ["beta", "a, b, loc, scale"]),
    (location("mean=0:200~poisson(3)"), ["poisson", "norm"]),
    (location("mean=0:200~rv_continuous(3)"), ["rv_continuous"]),
    (location("mean=0:200~__class__(3)"), ["__class__"]),
    # Lipschitz
    (location("mean=0:200~lipschitz(1,1)"), ["floor 1", "at most 0.005"]),
    (location("mean=0:200~lipschitz(0,0)"), ["slope 0", "0.005"]),
    (location("mean=0:200~lipschitz(-1,1)"), ["floor -1", "not negative"]),
    (location("mean=0:200~lipschitz(0.001,-1)"), ["slope -1", "not negative"]),
    (location("mean=0:200~lipschitz(0.001)"), ["lipschitz(FLOOR,L)"]),
    (location("mean=0:200~lipschitz(0.001,1,2)"), ["lipschitz(FLOOR,L)"]),
    (location("mean=0:200~lipschitz(0.001,nan)"), ["nan", "finite"]),
    # elicited
    (location("mean~between(20,10,0.9)"), ["reversed", "20:10"]),
    (location("mean~between(10,10,0.9)"), ["empty", "10:10"]),
    *[(location(f"mean~between(10,20,{p})"), [p, "between 0 and 1"]) for p in ("0", "1", "90", "-0.5")],
    (location("mean~between(10,20)"), ["between(A,B,0.9)"]),
    (location("mean~between(10,20,0.9,1)"), ["between(A,B,0.9)"]),
    (location("mean=0:9~between(10,20,0.9)"), ["between(A,B,0.9)"]),
    (location("mean~between(10,20,nan)"), ["nan", "finite"]),
    (location("mean~between(10,20,1e-300)"), ["1e-300"]),
    (gaussian(sigma="sigma~between(0,2,0.9)"), ["sigma", "above 0", "0 and 2"]),
    (gaussian(sigma="sigma~between(1,2,0.001)"), ["0.001"]),
    # known structure
    *[
        (gaussian(mu="mu=10:200", rest=f"--secret mean --tolerance 1 --max-risk 0.5 --known '{known}'"), words)
        for known, words in {
            "garbage": ["garbage", "min, max, step, heaps, atoms"],
            "mn=0": ["mn", "did you mean 'min'"],
            "MIN=0": ["MIN", "min"],
            "min": ["min", "min=0"],
            "min=": ["min", "min=0"],
            "min=x": ["'x'", "number"],
            "min=nan": ["nan", "finite"],
            "min=0;step=1": ["0;step=1", "number"],
            "step=0": ["step", "above 0"],
            "step=-1": ["step", "-1", "above 0"],
            "step=1,step=2": ["step", "twice"],
            "atoms=0,atoms=1": ["atoms", "twice", "/"],
            "atoms=1/": ["atom", "number"],
            "min=5,max=1": ["minimum", "maximum", "5", "1"],
            "min=5,max=5": ["minimum", "maximum", "5"],
            "min=0,atoms=-1": ["atom", "-1"],
            "min=50": ["mu", "minimum 50"],
            "max=100": ["mu", "maximum 100"],
        }.items()
    ],
    (categorical("--categories 3", rest="--tolerance 0.01 --max-risk 0.2 --known min=0"), ["categorical", "known"]),
    ("--family uniform --prior low=0:9 --prior high=0:9 --secret mean --tolerance 1 --max-risk 0.5 --known min=0",
     ["low", "low=0"]),
    ("--family exponential --prior scale=1:9 --secret mean --tolerance 1 --max-risk 0.5 --known min=3",
     ["minimum", "3"]),
    ("--family exponential --prior scale=1:9 --secret mean --tolerance 1 --max-risk 0.5 --known max=3",
     ["maximum", "3"]),
]  # fmt: skip


@both
@pytest.mark.parametrize(("request_", "words"), PROBLEMS, ids=[request for request, _ in PROBLEMS])
def test_a_problem_that_makes_no_sense(refused, command, request_, words):
    message = refused(f"{command} {request_} --json")
    for word in words:
        assert word in message


# --- only plan ------------------------------------------------------------------------------------
PLANS = [
    *[(gaussian(rest=f"--secret mean --tolerance 1 --bin {x}"), [x, "bin"]) for x in ("0", "-1", "nan", "inf", "x")],
    (gaussian(rest="--secret mean --tolerance 1 --bin 3 --max-risk 0.2"), ["exactly one", "2"]),
    (gaussian(rest="--secret mean --tolerance 1 --bin 3 --max-risk 0.2 --max-distortion 1"), ["exactly one", "3"]),
    *[(gaussian(rest=f"--secret mean --tolerance 1 --bin 3 --slope {x}"), [x, "slope"]) for x in ("nan", "inf", "x")],
    (gaussian(rest="--secret mean --tolerance 1 --bin 3 --method intervall"), ["intervall", "'interval'"]),
    (gaussian(rest="--secret mean --tolerance 1 --bin 3 --method ''"), ["method", "interval"]),
    (categorical("--categories 3", rest="--tolerance 0.01 --max-risk 0.2 --slope 1"), ["slope", "leave it out"]),
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.001"), ["0.001", "smallest reachable risk is 0.01"]),
    (location("mean=0:100", "--secret mean --tolerance 1 --max-risk 0.01"), ["0.01", "reachable risk is 0.02"]),
    (location("mean=0:100", "--secret mean --tolerance 60 --max-risk 0.5"), ["0.5", "reachable risk is 1"]),
    (categorical("--categories 3", rest="--tolerance 0.6 --max-risk 0.5"), ["0.5", "reachable risk is 1"]),
    ("--family uniform --prior low=0:100 --prior high=0:100 --secret mean --tolerance 1 --max-risk 0.5 --slope -1",
     ["slope", "-1"]),
    # the slope is what makes this impossible, not the prior
    (gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --slope 0"), ["slope"]),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "words"), PLANS, ids=[request for request, _ in PLANS])
def test_a_plan_that_cannot_be(refused, request_, words, tmp_path):
    target = tmp_path / "plan.json"
    message = refused(f"plan {request_} --json -o", target)
    for word in words:
        assert word in message
    assert list(tmp_path.iterdir()) == []


def test_one_bin_for_everything_is_enough_for_a_lipschitz_prior_without_a_floor():
    # no density of the class exceeds 0.0142, so a window of length 2 holds less than 0.029 of it
    prior = sv.Lipschitz(0, 200, 0, 0.0001)
    problem = sv.Problem(family=sv.Location(), prior=sv.Box(mean=prior), secret=sv.Mean(), tolerance=1)
    assert 2 * prior.peak < 0.029
    assert sv.plan(problem, max_risk=0.2).risk <= 0.2


@pytest.mark.parametrize(
    "request_",
    [
        gaussian(mu="mu=0:1e300"),
        gaussian(mu="mu=0:1e308"),
        gaussian(mu="mu=-1e308:1e308"),
        gaussian(sigma="sigma=1e-300:1e300"),
        gaussian(rest="--secret mean --tolerance 1e300 --max-risk 0.2"),
        gaussian(rest="--secret mean --tolerance 1e-300 --max-risk 0.2"),
        gaussian(rest="--secret mean --tolerance 5e-324 --max-risk 0.2"),
        gaussian(rest="--secret mean --tolerance 1 --max-risk 1e-300"),
        gaussian(rest="--secret mean --tolerance 1 --max-risk 5e-324"),
        gaussian(rest="--secret mean --tolerance 1 --max-risk 0.2 --slope 1e300"),
        gaussian(rest="--secret mean --tolerance 1 --bin 1e-300"),
        gaussian(rest="--secret mean --tolerance 1 --bin 1e300"),
        location("mean=0:1e300"),
        location("mean=-1e308:1e308"),
        location("mean=0:200~lipschitz(0.001,1e300)"),
        location("mean=0:200~normal(100,1e300)"),
        location("mean=0:200~normal(100,1e-300)"),
        location("mean~between(-1e308,1e308,0.9)"),
        location("mean~between(10,20,0.9999999999999999)"),
        categorical("--categories 3", rest="--tolerance 1e-300 --max-risk 0.2"),
        categorical("--categories 3", rest="--tolerance 0.01 --bin 1e-9"),
    ],
)
def test_huge_and_tiny_numbers_are_planned_or_refused_quietly(monkeypatch, capsys, request_):
    monkeypatch.setattr(sys, "argv", ["statveil", "plan", *shlex.split(request_), "--json"])
    with pytest.raises(SystemExit) as ended:
        run()
    out, err = capsys.readouterr()
    assert ended.value.code in (0, 2)
    assert (bool(out), err.count("\n")) == ((True, 0) if ended.value.code == 0 else (False, 1))
    assert len(err) < 600, "nobody counts so many digits"


@pytest.mark.parametrize(
    "request_",
    [
        gaussian(rest="--secret mean --tolerance 1 --max-risk 5e-324"),
        gaussian(rest="--secret mean --tolerance 1e-300 --max-distortion 1e300"),
        gaussian(rest="--secret mean --tolerance 1e300 --max-distortion 1e-300"),
    ],
)
def test_limits_of_huge_and_tiny_numbers(monkeypatch, capsys, request_):
    monkeypatch.setattr(sys, "argv", ["statveil", "limits", *shlex.split(request_), "--json"])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code in (0, 2)
    assert capsys.readouterr().err.count("\n") == (ended.value.code == 2)


# --- commands and options -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("plann", ["plann", "'plan'"]),
        ("lst", ["lst", "'list'"]),
        (
            "zzz",
            [
                "zzz",
                "apply, audit, compare, compose, frontier, inspect, leakage, ledger, limits, list, plan, release",
            ],
        ),
        ("''", ["command"]),
        ("--jsn", ["--jsn"]),
        ("list --jsn", ["--jsn", "--json"]),
        ("list more", ["more"]),
        ("apply", ["PLAN"]),
        ("simulate", ["PLAN"]),
        ("limits --family gaussian --bin 3", ["--bin"]),
    ],
)
def test_commands_and_options(refused, command, words):
    message = refused(command)
    for word in words:
        assert word in message


# --- plan files -----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    box = sv.Box(mu=(0, 200), sigma=(1, 51))
    problem = sv.Problem(family=sv.Gaussian(), prior=box, secret=sv.Quantile(0.95), tolerance=1)
    save_plan(sv.plan(problem, bin=5), folder / "gaussian.json")
    corner = sv.Problem(family=sv.Uniform(), prior=sv.Box(low=(0, 100), high=(0, 100)), secret=sv.Mean(), tolerance=1)
    save_plan(sv.plan(corner, bin=5), folder / "uniform.json")
    shares = sv.Problem(family=sv.Categorical(labels=["a", "b", "c"]), secret=sv.Fraction("b"), tolerance=0.01)
    save_plan(sv.plan(shares, bin=0.1), folder / "shares.json")
    good = (folder / "gaussian.json").read_text(encoding="utf-8")
    (folder / "empty.json").write_text("")
    (folder / "cut.json").write_text(good[:300])
    (folder / "binary.json").write_bytes(bytes(range(256)))
    (folder / "other.json").write_text('{"name": "not ours"}')
    (folder / "newer.json").write_text(good.replace('"version": 1', '"version": 2'))
    (folder / "folder").mkdir()
    return folder


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.json", ["No such file"]),
        ("folder", ["directory"]),
        ("empty.json", ["not valid JSON"]),
        ("cut.json", ["truncated"]),
        ("binary.json", ["not a statveil plan"]),
        ("other.json", ["not a statveil plan"]),
        ("newer.json", ["version 2", "up to 1"]),
    ],
)
@pytest.mark.parametrize("command", ["apply --at mu=1,sigma=2 --json", "simulate --trials 10 --json"])
def test_files_that_are_no_plan(refused, plans, command, name, words):
    message = refused(command, plans / name)
    for word in [name, *words]:
        assert word in message


@pytest.mark.parametrize("output", ["none/plan.json", "", "."])
def test_places_that_cannot_be_written(refused, tmp_path, output):
    message = refused(f"plan {location('mean=0:100')} --json -o", tmp_path / output)
    assert "cannot write" in message
    assert list(tmp_path.rglob("*")) == []


def test_an_empty_output_name_is_refused_and_says_so(refused):
    message = refused(f"plan {location('mean=0:100')} --json -o ''")
    assert "busy" not in message


@pytest.mark.parametrize(
    ("name", "at", "words"),
    [
        ("gaussian", "mu=103", ["sigma", "missing"]),
        ("gaussian", "", ["mu, sigma", "missing"]),
        ("gaussian", "mu=103,sigma=7,x=1", ["'x'", "mu, sigma"]),
        ("gaussian", "mu=103,sigm=7", ["'sigm'", "'sigma'"]),
        ("gaussian", "mu=nan,sigma=7", ["mu", "finite"]),
        ("gaussian", "mu=inf,sigma=7", ["mu", "finite"]),
        ("gaussian", "mu=1e400,sigma=7", ["mu", "finite"]),
        ("gaussian", "mu=abc,sigma=7", ["mu", "number"]),
        ("gaussian", "mu=,sigma=7", ["mu", "number"]),
        ("gaussian", "mu,sigma", ["mu=103"]),
        ("gaussian", "mu=1,mu=2,sigma=7", ["mu", "twice"]),
        ("gaussian", "mu=-1,sigma=7", ["mu", "below"]),
        ("gaussian", "mu=201,sigma=7", ["mu", "above"]),
        ("gaussian", "mu=103,sigma=0.5", ["sigma", "below"]),
        ("gaussian", "mu=103,sigma=52", ["sigma", "above"]),
        ("uniform", "low=60,high=50", ["low < high"]),
        ("uniform", "low=50,high=50", ["low < high"]),
        ("shares", "a=0.2,b=0.3", ["c", "missing"]),
        ("shares", "a=0.2,b=0.3,c=0.6", ["add up to 1"]),
        ("shares", "a=20,b=30,c=50", ["add up to 1"]),
        ("shares", "a=-0.2,b=0.7,c=0.5", ["categorical"]),
        ("shares", "p0=0.2,p1=0.3,p2=0.5", ["p0", "a, b, c"]),
    ],
)
def test_parameters_that_cannot_be_applied(refused, plans, name, at, words):
    message = refused(f"apply {shlex.quote(str(plans / name))}.json --json --at", at)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("gaussian", "mu=-31.4159,sigma=7"),
        ("gaussian", "mu=231.4159,sigma=7"),
        ("gaussian", "mu=103,sigma=0.314159"),
        ("gaussian", "mu=103,sigma=314.159"),
        ("uniform", "low=61.4159,high=31.4159"),
        ("shares", "a=0.314159,b=0.314159,c=0.314159"),
        ("shares", "a=-0.314159,b=0.814159,c=0.5"),
        ("gaussian", "mu=31.4159;sigma=7"),  # the private number of a slip of the pen is private too
        ("gaussian", "mu=31.4159 sigma=7"),
    ],
)
def test_an_error_about_parameters_never_repeats_their_values(refused, plans, name, at):
    message = refused(f"apply {shlex.quote(str(plans / name))}.json --json --at", at)
    assert not re.search(r"4159", message)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--trials 0", ["0", "whole number"]),
        ("--trials -5", ["-5", "whole number"]),
        ("--trials x", ["'x'", "integer"]),
        ("--trials 1.5", ["1.5", "integer"]),
        ("--seed -1", ["-1"]),
        ("--seed x", ["'x'", "integer"]),
        ("--seed 1.5", ["1.5", "integer"]),
        ("--confidence 0", ["0", "between 0 and 1"]),
        ("--confidence 1", ["1", "between 0 and 1"]),
        ("--confidence nan", ["nan"]),
        ("--confidence x", ["'x'", "number"]),
    ],
)
def test_simulations_that_make_no_sense(refused, plans, options, words):
    message = refused(f"simulate --json {options}", plans / "gaussian.json")
    for word in words:
        assert word in message


# --- the library ----------------------------------------------------------------------------------
def test_every_error_is_a_value_error():
    for error in (sv.ProblemError, sv.TargetError, sv.PlanFileError):
        assert issubclass(error, sv.StatveilError)
        assert issubclass(error, ValueError)


def problem(**changes):
    given = {
        "family": sv.Gaussian(),
        "prior": sv.Box(mu=(0, 200), sigma=(1, 51)),
        "secret": sv.Mean(),
        "tolerance": 1.0,
    }
    return sv.Problem(**(given | changes))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sv.Box(mu=(5, 5)),
        lambda: sv.Box(mu=(5, 1)),
        lambda: sv.Box(mu=(float("nan"), 1)),
        lambda: sv.Box(mu=(0, float("inf"))),
        lambda: sv.Box(mu=(1, 2, 3)),
        lambda: sv.Box(mu=float("nan")),
        lambda: sv.Flat(5, 1),
        lambda: sv.Known(float("inf")),
        lambda: sv.Density("nrmal", (1, 2), low=0, high=1),
        lambda: sv.Density("normal", (1, -2), low=0, high=1),
        lambda: sv.Density("normal", (1, 0), low=0, high=1),
        lambda: sv.Density("normal", (1,), low=0, high=1),
        lambda: sv.Density("normal", (100, 1), low=0, high=1),
        lambda: sv.Density("beta", (0.5, 0.5), low=0, high=1),
        lambda: sv.Density("normal", (float("nan"), 1), low=0, high=1),
        lambda: sv.Tabulated([0, 1], [1]),
        lambda: sv.Tabulated([0], [1]),
        lambda: sv.Tabulated([0, 0], [1, 1]),
        lambda: sv.Tabulated([0, 2, 1, 3], [1, 1, 1, 1]),
        lambda: sv.Tabulated([0, 1], [0, 0]),
        lambda: sv.Tabulated([0, 1], [1, -1]),
        lambda: sv.Tabulated([0, 1], [1, float("nan")]),
        lambda: sv.Tabulated([0, float("nan"), 1], [1, 1, 1]),
        lambda: sv.Lipschitz(0, 10, 1, 1),
        lambda: sv.Lipschitz(0, 10, 0, 0),
        lambda: sv.Lipschitz(0, 10, float("nan"), 0),
        lambda: sv.Elicited(2, 1, 0.9),
        lambda: sv.Elicited(1, 2, 1.0),
        lambda: sv.Elicited(1, 2, float("nan")),
        lambda: sv.Elicited(1, 2, 0.9, scale="cubic"),
        lambda: sv.Quantile(1.5),
        lambda: sv.Quantile(float("nan")),
        lambda: sv.Fraction(1.5),
        lambda: sv.Fraction(True),
        lambda: sv.Binomial(trials=0),
        lambda: sv.Binomial(trials=2.5),
        lambda: sv.Categorical(labels=["a"]),
        lambda: sv.Categorical(labels=["a", "a"]),
        lambda: sv.Categorical(labels="ab"),
        lambda: sv.Categorical(categories=1),
        lambda: sv.Categorical(),
        lambda: sv.Structure(step=0),
        lambda: sv.Structure(step=True),
        lambda: sv.Structure(minimum=3, maximum=1),
        lambda: sv.Structure(minimum=0, atoms=(-1,)),
        lambda: sv.Structure(atoms=(float("nan"),)),
        lambda: problem(tolerance=0),
        lambda: problem(tolerance=-1),
        lambda: problem(tolerance=float("nan")),
        lambda: problem(tolerance=float("inf")),
        lambda: problem(tolerance="1"),
        lambda: problem(tolerance=True),
        lambda: problem(tolerance=10**400),
        lambda: problem(distance="tv"),
        lambda: problem(prior=sv.Box(mu=(0, 200))),
        lambda: problem(prior=sv.Box(mu=(0, 200), sigma=(0, 5))),
        lambda: problem(prior=sv.Box(mu=(0, 200), sigma=(1, 5), tau=(1, 2))),
        lambda: problem(prior=sv.Simplex()),
        lambda: problem(secret=sv.Fraction(0)),
        lambda: problem(secret=sv.Quantile(0)),
        lambda: problem(secret=sv.Std(), prior=sv.Box(mu=(0, 200), sigma=3)),
        lambda: sv.plan(problem()),
        lambda: sv.plan(problem(), max_risk=0.2, bin=3),
        lambda: sv.plan(problem(), max_risk=0),
        lambda: sv.plan(problem(), max_risk=1),
        lambda: sv.plan(problem(), max_risk=float("nan")),
        lambda: sv.plan(problem(), bin=-1),
        lambda: sv.plan(problem(), max_distortion=0),
        lambda: sv.plan(problem(), max_risk=0.2, slope=float("nan")),
        lambda: sv.plan(problem(), max_risk=0.2, method="magic"),
        lambda: sv.limits(problem()),
        lambda: sv.limits(problem(), max_risk=2),
        lambda: sv.plan(problem(known=sv.Structure(minimum=50)), max_risk=0.2),
    ],
)
def test_the_library_raises_problem_errors(make):
    with pytest.raises(sv.ProblemError) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("value", ["high", [0.2]])
@pytest.mark.parametrize("target", ["max_risk", "max_distortion", "bin"])
def test_a_target_that_is_no_number(target, value):
    with pytest.raises(sv.ProblemError):
        sv.plan(problem(), **{target: value})


@pytest.mark.parametrize("make", [lambda: sv.Box(mu="wide"), lambda: sv.Box(mu=("a", "b")), lambda: sv.Box(mu=None)])
def test_a_prior_that_is_no_number(make):
    with pytest.raises(sv.ProblemError):
        make()


def test_an_unreachable_target_is_a_target_error():
    ask = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
    with pytest.raises(sv.TargetError, match=r"0\.01 .*smallest reachable risk is 0\.02"):
        sv.plan(ask, max_risk=0.01)


@pytest.mark.parametrize(
    "given",
    [
        {"mu": 103},
        {"mu": 103, "sigma": 7, "tau": 1},
        {"mu": float("nan"), "sigma": 7},
        {"mu": [1, 2, 3], "sigma": [1, 2]},
        {"mu": "x", "sigma": 7},
        {"mu": None, "sigma": 7},
        {"mu": -1, "sigma": 7},
        {"mu": np.array([1.0, 201.0]), "sigma": 7},
    ],
)
def test_apply_refuses(given):
    plan = sv.plan(problem(), bin=10)
    with pytest.raises(sv.ProblemError):
        plan.apply(**given)


@pytest.mark.parametrize("trials", [0, -1, 1.5, "10", True, None])
def test_simulate_refuses(trials):
    with pytest.raises(sv.ProblemError):
        sv.simulate(sv.plan(problem(), bin=10), trials=trials, seed=1)


@pytest.mark.parametrize("seed", [-1, 1.5, "x"])
def test_simulate_refuses_a_seed(seed):
    with pytest.raises(sv.ProblemError):
        sv.simulate(sv.plan(problem(), bin=10), trials=10, seed=seed)


@pytest.mark.parametrize("tolerances", [[0], [-1], [float("nan")], ["x"]])
def test_a_risk_profile_refuses(tolerances):
    with pytest.raises(sv.ProblemError):
        sv.plan(problem(), bin=10).risk_profile(tolerances)
