"""Specifications as files: what they say is read, written back the same, and refused with the line."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.errors import FileError, ProblemError
from statveil.problem.tolerance import Relative
from statveil.specification.expressions import Binary, Column, Expression, Number
from statveil.specification.specification import (
    Budget,
    Derive,
    Drop,
    HiddenSecret,
    Hide,
    Keep,
    Link,
    Specification,
    load_specification,
)  # fmt: skip

GOOD = """\
shuffle = true
others = "drop"
[budget]
max_risk = 0.2
dependence = "comonotone"
minimise = "worst"
[columns.wage]
hide = "mean"
prior = "10:50"
tolerance = "5%"
known = "min=0"
round = 2
accept = ["order"]
[columns.hours]
hide = [{secret="mean", prior="100:200", tolerance=1}, {secret="median", prior="100:200", tolerance="0.5"}]
max_risk = 0.3
[columns.lwage]
derive = "log(wage)"
[columns.tax]
link = "wage"
factor = 0.19
[columns.name]
keep = true
[columns.ssn]
drop = true
"""


def test_what_a_file_says_is_what_is_read():
    spec = Specification.from_toml(GOOD)
    assert list(spec.columns) == ["wage", "hours", "lwage", "tax", "name", "ssn"]
    assert (spec.shuffle, spec.others) == (True, "drop")
    assert spec.budget == Budget(max_risk=0.2, dependence="comonotone", minimise="worst")
    wage = spec.columns["wage"]
    assert isinstance(wage, Hide)
    assert (wage.round_digits, wage.accept, wage.target) == (2, ("order",), {})
    assert wage.problems == (
        sv.Problem(secret=sv.Mean(), prior=(10, 50), tolerance=sv.Relative(0.05), known=sv.Structure(minimum=0)),
    )
    assert [problem.secret.label for problem in spec.columns["hours"].problems] == ["mean", "median"]
    assert spec.columns["hours"].problems[1].tolerance == 0.5
    assert spec.columns["hours"].target == {"max_risk": 0.3}
    assert spec.columns["lwage"].expression.columns == {"wage"}
    assert spec.columns["tax"] == Link(to="wage", factor=0.19)
    assert (spec.columns["name"], spec.columns["ssn"]) == (Keep(), Drop())


def test_a_specification_is_written_and_read_back():
    spec = Specification.from_toml(GOOD)
    assert Specification.from_toml(spec.to_toml()) == spec
    assert Specification.from_json(spec.to_json()) == spec
    assert hash(Specification.from_toml(spec.to_toml())) == hash(spec)


def test_nothing_is_published_by_oversight_unless_it_is_said():
    short = '[columns.x]\nhide = "mean"\nprior = "0:9"\ntolerance = 1\nmax_risk = 0.5\n'
    spec = Specification.from_toml(short)
    assert (spec.others, spec.shuffle, spec.budget) == ("refuse", False, None)


name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@settings(max_examples=40)
@given(
    st.lists(name, min_size=4, max_size=4, unique=True),
    st.floats(0.01, 0.99),
    st.floats(0.01, 99),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=2),
)
def test_any_names_survive_a_round_trip(names, risk, per_cent, accepted):
    x, y, z, group = names
    first = Hide(
        secrets=(HiddenSecret(secret="mean", prior=("10:50",), tolerance="1"),),
        max_distortion=Relative(per_cent / 100), accept=tuple(accepted), group=group,
    )  # fmt: skip
    spec = Specification(
        columns={
            x: first, y: Link(to=x, factor=-risk), group: Drop(),
            z: Derive(expression=_twice(y)),
        },
        budget=Budget(max_risk=risk),
    )  # fmt: skip
    again = Specification.from_toml(spec.to_toml())
    assert again == spec
    assert list(again.columns) == list(spec.columns)


def _twice(column):
    return Expression.of(Binary("*", Column(column), Number(2)))


def test_derived_columns_come_after_those_they_use():
    text = GOOD.replace('derive = "log(wage)"', 'derive = "a + b"') + (
        '[columns.a]\nderive = "b * 2"\n[columns.b]\nderive = "wage + tax"\n'
    )
    assert list(Specification.from_toml(text).derived) == ["b", "a", "lwage"]


def line(text, part, place=0):
    """The line (from 1) on which the part stands."""
    found = [number for number, row in enumerate(text.splitlines(), 1) if part in row]
    return found[place]


BAD = {
    "unknown key": ("shuffle = true", "shufle = true", "did you mean 'shuffle'"),
    "not a truth": ("shuffle = true", 'shuffle = "yes"', "true or false"),
    "others": ('others = "drop"', 'others = "kepe"', "did you mean 'keep'"),
    "budget without risk": ("max_risk = 0.2", "", "needs max_risk"),
    "budget above 1": ("max_risk = 0.2", "max_risk = 1.5", "between 0 and 1"),
    "budget as text": ("max_risk = 0.2", 'max_risk = "0.2"', "without quotes"),
    "budget of nothing": ("max_risk = 0.2", "max_risk = nan", "number"),
    "dependence": ('"comonotone"', '"dependent"', "unknown dependence"),
    "minimise": ('minimise = "worst"', 'minimize = "worst"', "did you mean 'minimise'"),
    "unknown treatment": ("keep = true", "kep = true", "did you mean 'keep'"),
    "no treatment": ("drop = true", "", "no treatment"),
    "two treatments": ("drop = true", "drop = true\nkeep = true", "2 treatments"),
    "keep is false": ("keep = true", "keep = false", "write keep = true"),
    "unknown secret": ('hide = "mean"', 'hide = "mode"', "did you mean"),
    "secret twice": ('{secret="median", prior="100:200", tolerance="0.5"}', '"mean"', "tolerance"),
    "same secret": ('secret="median"', 'secret="mean"', "named twice"),
    "secret of a wrong kind": ('hide = "mean"', "hide = 3", "a statistic"),
    "nothing hidden": ('hide = "mean"', "hide = []", "needs a statistic"),
    "reversed prior": ('prior = "10:50"', 'prior = "50:10"', "reversed"),
    "prior of numbers": ('prior = "10:50"', "prior = [10, 50]", "list of such"),
    "tolerance": ('tolerance = "5%"', 'tolerance = "five"', "must be a number"),
    "tolerance of a date": ('tolerance = "5%"', "tolerance = 2020-01-01", "a date or time"),
    "own tolerance": ('tolerance="0.5"', 'tolerance="-1"', "above 0"),
    "known": ('known = "min=0"', 'known = "mim=0"', "did you mean 'min'"),
    "digits": ("round = 2", "round = 2.5", "whole number"),
    "many digits": ("round = 2", "round = 200", "between -15 and 15"),
    "accept": ('accept = ["order"]', "accept = [1]", "list of such"),
    "unknown key of a column": ("round = 2", "rownd = 2", "did you mean 'round'"),
    "key of another treatment": ("factor = 0.19", "factor = 0.19\nround = 2", "belongs to 'hide'"),
    "factor 0": ("factor = 0.19", "factor = 0", "is not 0"),
    "two targets": ("max_risk = 0.3", "max_risk = 0.3\nbin = 2", "one target"),
    "target": ("max_risk = 0.3", "max_risk = -1", "between 0 and 1"),
    "method": ("round = 2", 'method = "fast"', "unknown method"),
    "family": ("round = 2", 'family = "gausian"', "did you mean 'gaussian'"),
    "labels alone": ("round = 2", 'labels = ["a", "b"]', "for a family"),
    "trials": ("round = 2", 'family = "binomial"', "'trials'"),
    "shape in a table": ("round = 2", 'shape = "other.csv:wage"', "no table is read"),
    "link to nothing": ('link = "wage"', 'link = "wagge"', "did you mean 'wage'"),
    "link to a kept one": ('link = "wage"', 'link = "name"', "not hidden"),
    "link to itself": ('link = "wage"', 'link = "tax"', "linked itself"),
    "two links": ('link = "wage"', 'link = ["wage", "hours"]', "one other column"),
    "unknown column": ('"log(wage)"', '"log(wages)"', "did you mean 'wage'"),
    "dropped column": ('"log(wage)"', '"log(ssn)"', "is dropped"),
    "itself": ('"log(wage)"', '"lwage + wage"', "from itself"),
    "hostile expression": ('"log(wage)"', "\"__import__('os')\"", "unknown function"),
    "mixed kinds": ('"log(wage)"', '"wage + (tax > 3)"', "takes numbers"),
    "deep expression": ('"log(wage)"', '"' + "(" * 300 + '"', "inside one another"),
    "kept function": ('derive = "log(wage)"', 'derive = "log(wage)"\nkeep = true', "gives back the hidden column"),
    "kept flag": ('derive = "log(wage)"', 'derive = "wage > 20"\nkeep = true', "tells of the hidden column"),
    "kept function of a linked one": ('derive = "log(wage)"', 'derive = "tax / 2"\nkeep = true', "gives back"),
    "group": ("round = 2", 'group = "person"', "unknown column of a group"),
    "group of a moved column": ("round = 2", 'group = "tax"', "stays as it is"),
    "column is no table": ("[columns.ssn]\ndrop = true", '[columns]\nssn = "drop"', "what to do"),
    "no TOML": ("max_risk = 0.2", "max_risk = ", "not TOML"),
    "given twice": ("max_risk = 0.2", "max_risk = 0.2\nmax_risk = 0.3", "not TOML"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_specification_ends_in_one_sentence_with_its_line(what):
    old, new, words = BAD[what]
    assert GOOD.count(old) == 1, old
    text = GOOD.replace(old, new)
    with pytest.raises(ProblemError) as refused:
        Specification.from_toml(text, source="spec.toml")
    said = str(refused.value)
    assert "\n" not in said
    assert words in said
    # of two keys that do not fit together the one that is too much is named, else the column
    marked = {
        "budget without risk": "[budget]", "no treatment": "[columns.ssn]", "two treatments": "drop = true",
        "key of another treatment": "round = 2", "kept function": "keep = true",
    "secret twice": "hide = [",
    }.get(what) or new.splitlines()[-1]  # fmt: skip
    last = -1 if what in ("key of another treatment", "two treatments") else 0
    assert said.startswith(f"spec.toml, line {line(text, marked, last)}"), said


def test_cycles_are_named_with_their_way():
    text = GOOD + '[columns.a]\nderive = "b + 1"\n[columns.b]\nderive = "c + 1"\n[columns.c]\nderive = "a + wage"\n'
    with pytest.raises(
        ProblemError, match=r"line 27: the column 'a' is computed from itself \('a' from 'b' from 'c' from 'a'\)"
    ):
        Specification.from_toml(text)


def test_a_linked_column_cannot_carry_another_link():
    text = GOOD + '[columns.fee]\nlink = "tax"\n'
    with pytest.raises(ProblemError, match=r"line 27: .* linked itself; link 'fee' to 'wage' itself"):
        Specification.from_toml(text)


def test_a_price_is_not_given_back_by_a_total_that_is_kept():
    shop = (
        '[columns.price]\nhide = "mean"\nprior = "1:9"\ntolerance = 0.1\nmax_risk = 0.2\n'
        "[columns.quantity]\nkeep = true\n[columns.total]\nTREATMENT\n"
    )
    computed = Specification.from_toml(shop.replace("TREATMENT", 'derive = "price * quantity"'))
    assert computed.derived["total"].expression.columns == {"price", "quantity"}
    with pytest.raises(ProblemError, match=r"line 10: the column 'total' .* gives back the hidden column 'price'"):
        Specification.from_toml(shop.replace("TREATMENT", 'derive = "price * quantity"\nkeep = true'))


def test_a_target_or_a_budget_is_needed_and_something_hidden():
    alone = '[columns.x]\nhide = "mean"\nprior = "0:9"\ntolerance = 1\n'
    with pytest.raises(ProblemError, match=r"line 1: .* no target"):
        Specification.from_toml(alone)
    with pytest.raises(ProblemError, match="no column is hidden"):
        Specification.from_toml("[columns.x]\nkeep = true\n")
    with pytest.raises(ProblemError, match="'columns' is missing"):
        Specification.from_toml("")


def test_keep_others_leaves_unknown_names_to_the_table():
    text = GOOD.replace('others = "drop"', 'others = "keep"').replace('"log(wage)"', '"log(wage) + bonus"')
    assert "bonus" in Specification.from_toml(text).derived["lwage"].expression.columns


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "a = " + "9" * 10_000, "x" * (1 << 21), "a." * 5_000 + "b = 1", "a = '\x00'", "\x00",
     "[[columns]]\n" * 5_000, "columns = 3",
     "columns = [1]", "[columns]\nx = {hide = {}}", "a=" + '"' * 50_000, "[columns.x]\nhide = [[1]]",
     "[columns]\n'' = {keep = true}", "[columns.x]\nhide = {secret = {}}", "\ufeff",
     "columns.x.hide.y.z.a.b.c.d.e.f = 1"],
)  # fmt: skip
def test_hostile_files_end_in_one_sentence_soon(text):
    started = time.perf_counter()
    with pytest.raises(ProblemError) as refused:
        Specification.from_toml(text, source="spec.toml")
    assert time.perf_counter() - started < 5
    assert str(refused.value).startswith("spec.toml")


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(FileError, match="cannot read"):
        load_specification(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(FileError, match="not UTF-8"):
        load_specification(tmp_path / "latin.toml")
    (tmp_path / "windows.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load_specification(tmp_path / "windows.toml") == Specification.from_toml(GOOD)
    (tmp_path / "bad.toml").write_bytes(GOOD.replace("factor = 0.19", "factor = 0").replace("\n", "\r\n").encode())
    with pytest.raises(ProblemError, match=r"bad\.toml, line 21: "):
        load_specification(tmp_path / "bad.toml")
