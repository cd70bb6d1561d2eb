"""Every documented way to write a request works; every usual other way is refused with what to write instead."""

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import statveil as sv
from statveil.cli.list_command import PRIORS
from statveil.cli.parsing import parse_number, parse_priors
from statveil.problem.domain import Param

ASKED = ("--secret", "mean", "--tolerance", "1", "--max-risk", "0.5")
NUMBERS = {
    "normal": "50,20",
    "lognormal": "3,1",
    "exponential": "20",
    "NAME": "gumbel_r(40,15)",
    "lipschitz": "0.005,0.0001",
    "beta": "2,3,0,100",
}


def spelled(form, name="mean"):
    """A documented form with numbers in it."""
    head, tilde, call = form.partition("~")
    head = head.replace("NAME", name).replace("LO:HI", "0:100").replace("=X", "=50")
    if not tilde:
        return head
    function = call.partition("(")[0]
    if function == "log":  # uniform in the logarithm, so above 0
        return f"{name}=1:100~log"
    if function == "slope":
        return f"{name}=1:100~slope(0.5)"
    if function == "between":
        return f"{head}~between(20,80,0.9)"
    return f"{head}~{NUMBERS[function]}" if function == "NAME" else f"{head}~{function}({NUMBERS[function]})"


@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize("form", [form for form in PRIORS if form != "NAME=X"])
def test_every_listed_prior_can_be_planned_with(cli, form):
    code, out, err = cli("plan", "--family", "location", "--prior", spelled(form), *ASKED, "--method", "interval")
    assert (code, err) == (0, "")
    assert "Hides the mean" in out


def test_a_listed_known_value(cli):
    code, _, err = cli(
        "plan", "--family", "gaussian", "--prior", "mu=0:100", "--prior", spelled("NAME=X", "sigma"), *ASKED
    )
    assert (code, err) == (0, "")


def test_the_list_and_the_documents_say_the_same(cli):
    _, out, _ = cli("list")
    assert all(form in out for form in PRIORS)
    _, out, _ = cli("list", "--json")
    assert json.loads(out)["priors"] == PRIORS
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    for call in re.findall(r"`(?:NAME=LO:HI)?~?([a-z]+)\([A-Z]", page):
        assert call in (*NUMBERS, "between"), f"{call} is documented: try it in this test"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,5", "write 0.5, with a decimal point"),
        ("-0,5", "write -0.5,"),
        ("40,000", "write 40000 or 40.000,"),
        ("1.234,5", "write 1234.5,"),
        ("1,234.5", "write 1234.5,"),
        ("1.234.567", "write 1234567,"),
        ("1'000", "write 1000,"),
        ("1 000", "write 1000,"),
        ("1\u00a0000", "write 1000,"),
        ("40k", "write 40000"),
        ("1,2,3", "write it with a decimal point"),
    ],
)
def test_other_ways_to_write_a_number_say_how(cli, text, words):
    asked = {"--prior": "mean=0.5:100.5", "--secret": "mean", "--tolerance": "1", "--max-risk": "0.5"}
    for flag, given_ in (("--tolerance", text), ("--max-risk", text), ("--prior", f"mean={text}:9e9")):
        options = [part for pair in (asked | {flag: given_}).items() for part in pair]
        code, out, err = cli("plan", "--family", "location", *options)
        assert (code, out) == (2, "")
        assert words in err


def test_a_share_where_a_number_is_meant_says_how(cli):
    asked = ("--family", "location", "--prior", "mean=0.5:100.5", "--secret", "mean")
    code, out, err = cli("plan", *asked, "--tolerance", "20%", "--max-risk", "0.5")
    assert (code, out) == (2, "")
    assert "a relative tolerance is for a problem without a family" in err
    code, out, err = cli("plan", *asked, "--tolerance", "1", "--max-risk", "20%")
    assert (code, out) == (2, "")
    assert "Got '20%'; write 0.2." in err


@given(st.floats(-1e12, 1e12), st.sampled_from([",", ".", " ", "'"]), st.sampled_from([",", "."]))
def test_what_is_advised_is_the_number_that_was_meant(value, between, point):
    """Numbers as spreadsheets write them: the advice, typed in, is the number (or one of two, where it is unclear)."""
    if between == point:
        return
    text = f"{value:,.2f}".replace(",", "T").replace(".", point).replace("T", between)
    try:
        assert parse_number(text, "x") == pytest.approx(value, abs=0.006)
    except sv.ProblemError as error:
        advised = re.search(r"; write (\S+?),? ", str(error))[1]
        assert float(advised) == pytest.approx(value, abs=0.006)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ("mean=40000-140000", "write mean=40000:140000 for a range"),
        ("mean=40000..140000", "write mean=40000:140000 for a range"),
        ("mean=40000,140000", "write mean=40000:140000 for a range"),
        ("mean=[0, 100]", "write mean=0:100 for a range"),
        ("mean=0 to 100", "write mean=0:100 for a range"),
        ("mean=0:100,sigma=1:2", "give 'sigma' an option of its own"),
        ("mean=0:100 sigma~between(1,2,0.9)", "give 'sigma' an option of its own"),
        ("mean~between(0,5,1,5,0.9)", "three numbers with decimal points"),
        ("mean=0:100~beta(2,3)", "Write beta(2,3,0,100) to stretch it"),
        ("mean=0:100~gamma(2,10)", "Write gamma(A,FROM,S)"),
        ("mean=0:100~normal(2)", "Write normal(M,S)"),
        ("mean=0:100~lognormal(1,2,3,4)", "Write lognormal(M,S)"),
    ],
)
def test_other_ways_to_write_a_prior_say_how(cli, prior, words):
    code, out, err = cli("plan", "--family", "location", "--prior", prior, *ASKED)
    assert (code, out) == (2, "")
    assert words in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--secret", "maximum"), "write max"),
        (("--secret", "q95"), "write quantile:0.95"),
        (("--secret", "p5"), "write quantile:0.05"),
        (("--secret", "average"), "write mean"),
        (("--secret", "share"), "write fraction:J"),
        (("--secret", "quantile:0,95"), "write 0.95"),
        (("--known", "min=0,5"), "write decimals with a point"),
        (("--known", "atoms=0,5"), "several atoms or heaps with '/'"),
        (("--family", "lognormal"), "there is no family 'lognormal'"),
        (("--family", "pareto"), "A column of any shape needs none: leave out --family"),
    ],
)
def test_other_wishes_say_how(cli, options, words):
    flags = {"--family": "gaussian", "--secret": "mean", "--tolerance": "1", "--max-risk": "0.5"} | dict([options])
    parts = [part for pair in flags.items() for part in pair]
    code, out, err = cli("plan", "--prior", "mu=0:100", "--prior", "sigma=1:9", *parts)
    assert (code, out) == (2, "")
    assert words in err
    assert "did you mean 'binomial'" not in err


def test_what_is_missing_says_where_to_look(cli):
    code, _, err = cli("plan")
    assert code == 2
    assert "Missing option '--secret'. 'statveil plan --help' shows" in err
    code, _, err = cli("plan", *ASKED)
    assert code == 2
    assert "what outsiders believe of the mean is missing" in err
    code, _, err = cli("plan", "--family", "location", *ASKED)
    assert code == 2
    assert "a range such as mean=LO:HI" in err


def test_a_column_with_decimal_commas_says_so(cli, tmp_path):
    plan, table = tmp_path / "plan.json", tmp_path / "t.csv"
    cli("plan", "--family", "location", "--prior", "mean=0:100", *ASKED, "-o", plan)
    table.write_text("Nr;Gehalt\n" + "".join(f"{i};{i},5\n" for i in range(90)))
    code, out, err = cli("release", plan, table, tmp_path / "out.csv", "--column", "Gehalt")
    assert (code, out) == (2, "")
    assert "needs numbers, written with a decimal point" in err


# --- what the spellings mean ----------------------------------------------------------------------
@given(st.floats(-2, 4), st.floats(0.1, 2))
def test_lognormal_is_the_exponential_of_a_normal(m, s):
    low, high = math.exp(m - 2 * s), math.exp(m + 2 * s)
    (axis,) = parse_priors([f"scale={low!r}:{high!r}~lognormal({m!r},{s!r})"]).axes.values()
    x = np.linspace(low, high, 7)
    below, above = stats.norm.cdf([-2, 2])
    expected = (stats.norm.cdf((np.log(x) - m) / s) - below) / (above - below)
    assert axis.cdf(x) == pytest.approx(expected, abs=1e-9)
    assert sv.Density("lognorm", (s, 0, math.exp(m)), low=low, high=high) == axis  # SciPy's own order still serves


def test_exponential_of_a_mean():
    assert sv.Density("exponential", (7,), low=0, high=50) == sv.Density("exponential", (0, 7), low=0, high=50)


# --- a belief beside a known bound ----------------------------------------------------------------
BOUNDS = {"min=0": {"minimum": 0}, "max=100": {"maximum": 100}, "min=-10": {"minimum": -10}}


@pytest.mark.usefixtures("no_optimum")
@pytest.mark.parametrize("bound", BOUNDS)
def test_between_ends_at_a_known_bound(cli, bound):
    prior = ("--prior", "mean~between(20,80,0.9)")
    code, _, err = cli("plan", "--family", "location", *prior, "--known", bound, *ASKED, "--method", "interval")
    assert (code, err) == (0, "")
    problem = sv.Problem(
        family=sv.Location(),
        prior={"mean": sv.Elicited(20, 80, 0.9)},
        secret=sv.Mean(),
        tolerance=1,
        known=sv.Structure(**BOUNDS[bound]),
    )
    axis = problem.box.axes["mean"]
    assert axis.low > BOUNDS[bound].get("minimum", -math.inf)
    assert axis.high < BOUNDS[bound].get("maximum", math.inf)
    assert sv.Problem.from_json(problem.to_json()) == problem


@pytest.mark.parametrize(
    "param",
    [
        Param(name="x", low=-10, typical=(0, 1), doc=""),
        Param(name="x", high=100, typical=(0, 1), doc=""),
        Param(name="x", low=-10, high=100, typical=(0, 1), doc=""),
        Param(name="x", typical=(0, 1), doc=""),
    ],
)
@given(st.floats(-9, 90), st.floats(0.1, 9), st.floats(0.3, 0.99))
def test_an_elicited_belief_is_a_density_with_the_stated_mass(param, a, width, sure):
    try:
        axis = sv.Elicited(a, a + width, sure).fit(param)
    except sv.ProblemError:
        return  # not surer than four standard deviations allow
    assert param.low < axis.low < a < a + width < axis.high < param.high
    assert float(axis.cdf(a + width) - axis.cdf(a)) == pytest.approx(sure, abs=1e-9)
    assert float(axis.cdf(a)) == pytest.approx((1 - sure) / 2, abs=1e-9)
    u = np.linspace(0.01, 0.99, 23)
    x = axis.ppf(u)
    assert axis.cdf(x) == pytest.approx(u, abs=1e-9)
    step = 1e-5 * np.minimum(x - axis.low, axis.high - x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope = (axis.cdf(x + step) - axis.cdf(x - step)) / (2 * step)
    assert axis.pdf(x) == pytest.approx(slope, rel=1e-4)


def test_a_belief_of_an_earlier_plan_keeps_its_scale():
    """Plans of version 1 have plain beliefs beside a bound; their numbers belong to those."""
    old = sv.Elicited(40, 60, 0.9, scale="plain")
    problem = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=old),
        secret=sv.Mean(),
        tolerance=1,
        known=sv.Structure(minimum=0),
    )
    assert problem.box.axes["mean"] == old


# --- Python ---------------------------------------------------------------------------------------
def test_a_dictionary_is_a_prior():
    by_box, by_dictionary = (
        sv.Problem(family=sv.Gaussian(), prior=prior, secret=sv.Mean(), tolerance=1)
        for prior in (sv.Box(mu=(0, 200), sigma=3), {"mu": (0, 200), "sigma": 3})
    )
    assert by_box == by_dictionary
    assert sv.plan(by_dictionary, max_risk=0.3).risk == sv.plan(by_box, max_risk=0.3).risk


@pytest.mark.parametrize("prior", [(0, 200), [0, 200], 5, "mu=0:200", None])
def test_what_is_no_prior_is_refused(prior):
    with pytest.raises(sv.ProblemError, match=r"the prior must be a value such as sv.Box"):
        sv.Problem(family=sv.Gaussian(), prior=prior, secret=sv.Mean(), tolerance=1)


def test_a_dictionary_of_wrong_names_is_refused():
    with pytest.raises(sv.ProblemError, match="unknown parameter of 'gaussian' in the prior 'mean'"):
        sv.Problem(family=sv.Gaussian(), prior={"mean": (0, 1), "sigma": 1}, secret=sv.Mean(), tolerance=1)
