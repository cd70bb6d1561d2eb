"""The shared sentences: read at school level, free of terms of the trade, and never on the flattering side."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.problem.secret import SECRETS
from statveil.rounding import in_hundreds, rate_down, rate_up, read_down, read_up
from statveil.words.audit import subject_text, verdict_sentence
from statveil.words.caveats import assumed, belief_text, known_text, not_protected
from statveil.words.glossary import TERMS, terms_in
from statveil.words.guarantee import in_words
from statveil.words.phrases import close_text, often
from statveil.words.plan import CASE, plan_sentences
from statveil.words.table import columns_sentences, table_sentence
from tests.best_possible import none_known
from tests.plans import BY_MODE

PLAIN_TERMS = {"release", "plan", "median", "seed", "card"}
"""Said in plain sentences too: everyday words, or explained in the same sentence (seed) or beside it (median)."""


def made(**problem):
    with none_known():
        return sv.plan(sv.Problem(**problem), max_risk=0.4)


OTHERS = {
    "relative": lambda: made(secret=sv.Mean(), prior=(20_000, 180_000), tolerance=sv.Relative(0.05)),
    "median": lambda: made(
        secret=sv.Median(), prior=(20, 180), tolerance=sv.Relative(0.05), known=sv.Structure(minimum=0)
    ),
    "spread": lambda: made(secret=sv.Std(), prior=(5, 20), tolerance=0.5),
    "two": lambda: made(
        secret=sv.Mean(), prior=(10, 50), tolerance=1, also=[sv.Also(sv.Std(), prior=(5, 20), tolerance=0.5)]
    ),
    "sure": lambda: made(secret=sv.Quantile(0.9), prior=sv.Elicited(20, 90, 0.9), tolerance=1),
    "gap": lambda: made(secret=sv.GroupDifference("sex", "f", "m"), prior=(-5_000, 20_000), tolerance=500),
    "ratio": lambda: made(
        secret=sv.GroupRatio("sex", "f", "m"),
        prior=(0.5, 2),
        tolerance=sv.Relative(0.02),
        known=sv.Structure(minimum=0),
    ),
    "rows": lambda: made(secret=sv.Rows(), prior=(1_000, 50_000), tolerance=sv.Relative(0.05)),
    "comb": lambda: sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1), max_risk=0.2, method="comb"),
}
PLANS = (*BY_MODE, *OTHERS)


@cache
def plan_of(name):
    """Made where it is first asked for: every worker imports this file, and one runs it."""
    return BY_MODE[name] if name in BY_MODE else OTHERS[name]()


def everything(plan):
    """All that is said of a plan to people who know no statistics."""
    said = plan_sentences(plan, column="pay")
    return [
        *(sentence.says for sentence in said),
        *(sentence.means for sentence in said if sentence.means),
        *assumed(plan, column="pay"),
        *not_protected(plan),
        in_words(plan, column="pay"),
    ]


def syllables(word: str) -> int:
    """Groups of vowels, without a silent e at the end: the usual rule of thumb."""
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    if word.lower().endswith("e") and not word.lower().endswith("le") and groups > 1:
        groups -= 1
    return max(1, groups)


def grade(text: str) -> float:
    """Flesch and Kincaid: years of school that a text asks for."""
    sentences = [part for part in re.split(r"(?<=[.:;])\s+", text) if re.search(r"[a-zA-Z]", part)]
    words = re.findall(r"[A-Za-z]+(?:'[a-z]+)?|\d[\d,.]*", text)
    spoken = sum(syllables(word) if word[0].isalpha() else 2 for word in words)
    return 0.39 * len(words) / len(sentences) + 11.8 * spoken / len(words) - 15.59


def test_the_measure_tells_hard_from_easy():
    assert grade("The cat sat on the mat. It was glad.") < 2
    hard = (
        "Notwithstanding distributional misspecification, the posterior concentration remains asymptotically minimax."
    )
    assert grade(hard) > 18


@pytest.mark.parametrize("name", PLANS)
def test_every_sentence_is_read_after_nine_years_of_school(name):
    texts = everything(plan_of(name))
    assert grade(" ".join(texts)) <= 9
    for text in texts:
        for sentence in re.split(r"(?<=[.])\s+", text):
            assert len(sentence.split()) <= 32, sentence


@pytest.mark.parametrize("name", PLANS)
def test_no_term_of_the_trade_stands_in_them(name):
    stated = [param.doc for param in plan_of(name).problem.family.params]  # what someone who states a family knows
    for text in everything(plan_of(name)):
        for doc in stated:
            text = text.replace(doc, "")
        found = set(terms_in(text)) - PLAIN_TERMS
        if "standard deviation" in text:  # named behind what it is
            assert "how far the rows usually lie from their average" in text.lower()
            found.discard("standard deviation")
        assert not found, (found, text)


def test_terms_of_the_trade_are_found_as_whole_words():
    assert terms_in("Priors, bins and W1") == ["prior", "bin", "W1"]
    assert terms_in("combine the binary modern priority") == []
    assert all(terms_in(term) for term in TERMS)


def test_the_risk_can_be_said_again_after_one_reading():
    """The example of the issue, word by word: a bin of the mean has at most a tenth of its window hit."""
    problem = sv.Problem(secret=sv.Mean(), prior=(10_000, 10_000_000), tolerance=sv.Relative(0.05))
    plan = sv.plan(problem, max_risk=0.1)
    (risk,) = (one for one in plan_sentences(plan, column="pay") if one.name == "risk")
    # flat on the range, seen in the logarithm: the densest window ends at the top, 1 - (1 - 0.05) / (1 + 0.05)
    blind = (1 - 0.95 / 1.05) * 10_000_000 / (10_000_000 - 10_000)
    assert risk.says == (
        "Whoever guesses the average of 'pay' from the released table comes within 5 % of it in at most 10 of 100 "
        f"cases. Without the table it would be up to {math.ceil(100 * blind)} of 100."
    )
    assert (risk.value, risk.better, risk.kind, risk.means) == (plan.risk, "lower", plan.risk_kind, CASE)


@pytest.mark.parametrize("name", PLANS)
def test_the_numbers_in_sentences_are_no_smaller_than_those_of_the_plan(name):
    plan = plan_of(name)
    said = plan_sentences(plan, column="pay")
    (risk,) = (one for one in said if one.name == "risk")
    cases = [
        int(many.replace(",", "")) / int(of.replace(",", ""))
        for many, of in re.findall(r"([\d,]+) of ([\d,]+)", risk.says.split("released table")[1].rstrip("."))
    ]
    assert cases[0] >= plan.risk
    assert cases[0] <= 1.1 * plan.risk
    assert plan.risk_without_release <= cases[1] <= 1.1 * plan.risk_without_release
    for sentence, one in zip((s for s in said if s.name == "change"), plan.problem.each, strict=True):
        alone = plan.for_secret(one.secret)
        digits, unit = re.search(r"at most ([\d,.]*\d)(.*)\.$", sentence.says).groups()
        shown = float(digits.replace(",", "")) / (100 if unit.startswith((" %", " percentage points")) else 1)
        assert shown >= sentence.value * (1 - 1e-12)
        assert alone.largest_move == pytest.approx(sentence.value, rel=1e-9) or unit.startswith(" %")


def test_a_change_in_per_cent_is_never_passed_by_a_release():
    plan = plan_of("relative")
    (change,) = (one for one in plan_sentences(plan) if one.name == "change")
    stated = float(re.search(r"at most ([\d.]+) %", change.says)[1]) / 100
    true = np.linspace(20_000, 180_000, 40_001)
    released = plan.apply(value=true).secret
    largest = float(np.max(np.abs(released - true) / true))
    assert 0.9 * stated <= largest <= stated


@settings(max_examples=300)
@given(st.lists(st.floats(1e-8, 1.0), min_size=1, max_size=3))
def test_cases_of_a_hundred_are_rounded_up_and_by_less_than_a_tenth(chances):
    base, counts = in_hundreds(*chances)
    for chance, count in zip(chances, counts, strict=True):
        exact = Fraction(Decimal(repr(chance)))
        assert exact <= Fraction(count, base)
        assert Fraction(count, base) <= exact * Fraction(11, 10) or base == 10**9
    if base > 100:  # and the fewest that are so
        assert any(math.ceil(base // 10 * Fraction(Decimal(repr(c)))) > base // 10 * c * 1.0999 for c in chances)


@settings(max_examples=300)
@given(st.floats(-1e20, 1e20, allow_subnormal=False), st.integers(1, 8), st.sampled_from([1, 100]))
def test_numbers_in_sentences_are_rounded_to_their_side(value, digits, times):
    exact = times * Decimal(repr(value))
    up, down = (Decimal(f(value, digits, times=times).replace(",", "")) for f in (read_up, read_down))
    assert down <= exact <= up
    assert up - down <= abs(exact) * Decimal(10) ** (1 - digits) * Decimal("1.0001")


def test_what_everyone_knows_is_said_as_it_was_stated():
    known = sv.Structure(minimum=0, maximum=1e6, step=0.01, atoms=(0, 500), heaps=(100,))
    assert known_text(known) == (
        "Everyone knows of such columns: the smallest value is 0; the largest value is 1,000,000; values go up in "
        "steps of 0.01; the value 0 is frequent; the value 500 is frequent; multiples of 100 are frequent."
    )
    assert "none was stated" in known_text(sv.Structure())


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ((0, 50_000), "between 0 and 50,000, with every value as likely as any other"),
        (sv.Elicited(20, 90, 0.9), "between 20 and 90, of which they are 90 % sure"),
        (sv.LogUniform(10, 1_000), "between 10 and 1,000, with every factor as likely as any other"),
        (sv.LogSlope(10, 1_000, 2), "between 10 and 1,000; how likely each value is, stays almost open"),
        (sv.Density("normal", (50, 20), low=0, high=100), "between 0 and 100, with some values more likely"),
    ],
)
def test_beliefs_are_said_in_their_own_words(prior, said):
    (line,) = belief_text(sv.Problem(secret=sv.Mean(), prior=prior, tolerance=1))
    assert line.startswith(f"Outsiders believe that the average lies {said}")


def test_every_statistic_has_plain_words():
    for kind, cls in SECRETS.items():
        if not cls.portable or cls.__module__.split(".")[0] != "statveil":
            continue
        for example in cls.examples():
            assert ":" not in example.plain, kind
            assert not set(terms_in(example.plain)) - {"median"}, kind


def test_shares_are_close_in_percentage_points():
    share = sv.Problem(family=sv.Categorical(labels=["a", "b"]), secret=sv.Fraction("a"), tolerance=0.01)
    assert close_text(share) == "within 1 percentage point"


def test_a_verdict_flatters_nobody():
    good = verdict_sentence("holds", rate=0.1, up_to=0.1401, claimed=0.2)
    assert good.says.endswith("Over very many tries it is at most 141 of 1,000.")
    assert "Chance alone" not in good.says
    assert "Chance alone" in verdict_sentence("holds", rate=0.21, up_to=0.25, claimed=0.2).says
    bad = verdict_sentence("leaks", rate=0.9, up_to=0.95, claimed=0.2)
    assert bad.says.startswith("LEAKS")
    assert "90 of 100" in bad.says
    open_ = verdict_sentence("undecided", rate=0.2, up_to=0.3, claimed=0.2)
    assert "up to 30 of 100" in open_.says
    for one in (good, bad, open_):
        assert grade(one.says) <= 9
    assert subject_text("mean", column="pay", tolerance=0.05, relative=True).endswith(
        "a guess within 5 % of it is a hit."
    )


def test_names_stay_on_their_line():
    said = subject_text("mean", column="a\n\x1b[2Jb" + "x" * 5_000, tolerance=1, relative=False)
    assert "\n" not in said
    assert "\x1b" not in said
    assert len(said) < 1_000


def test_a_table_says_how_often_any_figure_is_guessed():
    spec = sv.Specification.from_toml(
        """
        [budget]
        max_risk = 0.2
        [columns.wage]
        hide = "mean"
        prior = "0:10000"
        tolerance = 10
        [columns.rent]
        hide = "median"
        prior = "0:10000"
        tolerance = 40
        [columns.tax]
        link = "wage"
        """
    )
    table = sv.plan_specification(spec)
    said = table_sentence(table)
    assert "one or more of the 2 hidden figures in at most 20 of 100 cases" in said.says
    assert said.value == table.risk
    assert [one.says for one in columns_sentences(table)] == ["'tax' moves along with 'wage'."]


def test_tiny_chances_have_words_too():
    assert often(1e-12) == ["a share of 1e-12"]
    assert often(3e-7, 1e-7) == ["3 of 10,000,000", "1 of 10,000,000"]


@given(st.integers(0, 2000), st.integers(200, 2000))
def test_a_measured_rate_is_one_number_and_never_below_itself(hits, trials):
    """In the table of an audit, in per cent, and as cases of a thousand."""
    rate = min(hits, trials) / trials
    in_table, in_percent = rate_up(rate), rate_up(rate, 1, times=100)
    assert Fraction(in_table) == Fraction(in_percent) / 100
    assert Fraction(min(hits, trials), trials) <= Fraction(in_table) + Fraction(1, 10**15)
    assert Fraction(in_table) < Fraction(min(hits, trials), trials) + Fraction(1, 1000)
    assert Fraction(rate_down(rate)) <= Fraction(in_table)
    said = verdict_sentence("leaks", rate=rate, up_to=1.0, claimed=0.0).says
    right, of = re.search(r"right in ([\d,]+) of ([\d,]+) tries", said).groups()
    cases = Fraction(int(right.replace(",", "")), int(of.replace(",", "")))
    # of rare hits more digits are said: a tenth more would flatter nobody, and tell little
    assert cases == Fraction(in_table) if of in ("100", "1,000") else rate - 1e-15 <= cases <= Fraction(in_table)
