"""What the ledger allows is decided by the joint risk of all plans of a column, worked out here by other means."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import statveil as sv
from statveil.ledger.account import Counted, decide, joint

PROBLEM = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)
TEN, SEVEN, FIVE = (sv.plan(PROBLEM, bin=width) for width in (10, 7, 5))
HERE = {"dataset": "staff", "column": "wage"}


@pytest.fixture
def ledger(tmp_path):
    return sv.Ledger.create(tmp_path / "books.db")


def refined(*widths, window=2.0, length=100.0):
    """The definition: all edges together, in each piece the best window of a uniform prior."""
    edges = np.unique(np.concatenate([[0.0, length], *(np.arange(0, length, width) for width in widths)]))
    return float(np.minimum(np.diff(edges), window).sum() / length)


def counted(*plans):
    return [Counted(plan=plan, sha256=str(number)) for number, plan in enumerate(plans)]


@settings(max_examples=25)
@given(
    widths=st.lists(st.sampled_from([4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.5, 20.0, 25.0]), min_size=1, max_size=4),
    budget=st.floats(0.05, 1.0),
)
def test_a_release_is_allowed_exactly_where_the_refinement_meets_the_budget(widths, budget):
    *before, asked = [sv.plan(PROBLEM, bin=width) for width in widths]
    truth = refined(*widths)
    decision = decide(Counted(plan=asked, sha256="new"), counted(*before), {"mean": budget})
    (account,) = decision.accounts
    assert truth - 1e-9 <= account.after <= truth + 1e-6
    assert account.before == pytest.approx(refined(*widths[:-1]) if before else 0.02, abs=1e-6)
    if abs(truth - budget) > 1e-5:
        assert decision.allowed == (truth <= budget)


def test_entries_of_a_column_count_together_and_others_do_not(ledger):
    ledger.set_budget(0.35, **HERE, secret="mean")
    ledger.add(TEN, **HERE)
    with pytest.raises(sv.BudgetError):
        ledger.add(SEVEN, **HERE)  # .43 together
    ledger.add(SEVEN, dataset="staff", column="bonus")
    ledger.add(SEVEN, dataset="others", column="wage")
    found = {(one.dataset, one.column): one.risks["mean"].risk for one in ledger.show().columns}
    assert found == {
        ("staff", "wage"): pytest.approx(refined(10), abs=1e-6),
        ("staff", "bonus"): pytest.approx(refined(7), abs=1e-6),
        ("others", "wage"): pytest.approx(refined(7), abs=1e-6),
    }
    assert ledger.verify().ok


def test_a_refusal_says_what_was_asked_and_what_still_fits(ledger):
    ledger.set_budget(0.3, **HERE, secret="mean")
    ledger.add(TEN, **HERE)
    head = ledger.head
    with pytest.raises(sv.BudgetError) as refused:
        ledger.add(SEVEN, **HERE)
    said = str(refused.value)
    # bins of 7 alone: 2 of 7 and a piece of 2 at the end, half a bin of distortion; docs/composition.md has the 4.5
    for part in (
        "'wage' of 'staff'",
        "mean",
        "0.2 before",
        "0.430001 after",
        "budget is 0.3",
        "risk 0.3",
        "distortion 3.5",
    ):
        assert part in said, (part, said)
    assert "least distortion known that still fits is 4.5" in said
    assert "\n" not in said
    assert ledger.head == head, "a refusal enters nothing"
    # and it does fit
    fits = sv.plan(PROBLEM, max_risk=0.3, after=[TEN])
    assert fits.distortion == pytest.approx(4.5, rel=1e-6)
    ledger.add(fits, **HERE)


def test_where_no_next_plan_is_known_the_refusal_says_so(ledger):
    """Two directions of a Gaussian give everything away, and nothing cuts the first one's bins further."""
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 200), sigma=(10, 60)), secret=sv.Quantile(0.95), tolerance=2
    )
    first, second = (sv.plan(problem, max_risk=risk) for risk in (0.2, 0.3))
    ledger.set_budget(0.5, **HERE, secret="quantile:0.95")
    ledger.add(first, **HERE)
    with pytest.raises(sv.BudgetError, match=r"would be 1 after.*nothing is known to fit but an earlier plan again"):
        ledger.add(second, **HERE)
    ledger.add(first, **HERE)


def test_the_first_release_is_held_to_the_budget_too(ledger):
    with pytest.raises(
        sv.BudgetError,
        match=r"0\.02 before and would be 0\.2 after.*fits is 10 \('statveil plan' with --max-risk 0\.1\)",
    ):
        ledger.add(TEN, **HERE, budget=0.1)
    assert ledger.show().columns == ()


def test_the_same_plan_again_and_a_coarser_one_add_nothing(ledger):
    ledger.add(FIVE, **HERE, budget=refined(5) + 1e-6)
    for again, plan in enumerate((FIVE, TEN, FIVE)):
        (account,) = ledger.check(plan, **HERE).accounts
        assert account.after == pytest.approx(account.before, abs=1e-12)
        assert account.after == pytest.approx(refined(5), abs=1e-6)
        if plan is FIVE and not again:
            assert account.after == account.before
        ledger.add(plan, **HERE)
    (column,) = ledger.show().columns
    assert (column.states["done"], column.plans) == (4, 2)


def test_a_budget_is_set_once_and_changed_by_an_entry_of_its_own(ledger):
    ledger.add(TEN, **HERE, budget=0.3)
    ledger.add(TEN, **HERE, budget=0.3)
    with pytest.raises(sv.BudgetError, match=r"set to 0\.3 in entry 2, and is not changed by a release. Got 0\.5"):
        ledger.add(TEN, **HERE, budget=0.5)
    ledger.set_budget(0.5, **HERE, secret="mean")
    ledger.add(SEVEN, **HERE)
    ledger.set_budget(0.4, **HERE, secret="mean")
    with pytest.raises(sv.BudgetError, match=r"0\.430001 before and would be 0\.430001 after"):
        ledger.add(TEN, **HERE)
    (column,) = ledger.show().columns
    assert [each["max_risk"] for each in column.budgets] == [0.3, 0.5, 0.4]
    assert column.budget("mean") == 0.4


def test_every_stated_secret_is_held_against_all_releases(ledger):
    """A plan for the mean moves all rows alike, which leaves the standard deviation as it is: risk 1."""
    ledger.set_budget(0.9, **HERE, secret="std")
    with pytest.raises(
        sv.BudgetError, match=r"joint risk of its std is 1 before and would be 1 after.*no plan of this column states"
    ):
        ledger.add(TEN, **HERE)
    # bins of both tolerances: the wider window catches more of the same releases
    wide = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=2)
    both = joint(counted(TEN, sv.plan(wide, bin=10)))
    assert both["mean"].risk == pytest.approx(refined(10, window=4), abs=1e-6)


def test_what_is_not_known_counts_as_everything(ledger):
    other = sv.plan(sv.Problem(secret=sv.Mean(), prior=(0, 100), tolerance=1), bin=10)
    ledger.set_budget(0.99, **HERE, secret="mean")
    ledger.add(TEN, **HERE)
    with pytest.raises(sv.BudgetError, match=r"would be 1 after.*different models of a column"):
        ledger.add(other, **HERE)
    ledger.set_budget(1, **HERE, secret="mean")  # nothing is hidden any more, and that is shown
    ledger.add(other, **HERE)
    assert ledger.show().columns[0].risks["mean"].risk == 1


def test_what_draws_at_random_is_one_release_only_by_one_record_or_one_output(ledger):
    """Two draws of a plan can be averaged, so without a proof that they are one they tell everything."""
    ages = sv.Problem(family=sv.Poisson(), prior=sv.Box(rate=(5, 50)), secret=sv.Mean(), tolerance=0.4)
    plan = sv.plan(ages, max_risk=0.3)
    assert plan.release_mode.random
    budget = {"dataset": "d", "column": "c"}
    ledger.set_budget(0.5, **budget, secret="mean")
    one = ledger.enter(plan, **budget, sha256="a" * 64, source="s" * 64)
    assert not ledger.check(plan, **budget, recorded=False).allowed
    assert ledger.check(plan, **budget).allowed
    ledger.enter(plan, **budget, sha256="b" * 64, source="s" * 64)  # one seed and input, another format
    ledger.enter(plan, **budget, sha256="a" * 64, source="s" * 64)
    for source in ("t" * 64, None):
        with pytest.raises(sv.BudgetError, match="no record shows that they are one"):
            ledger.enter(plan, **budget, sha256="c" * 64, source=source)
    ledger.finish(one, "abandoned")
    with pytest.raises(sv.BudgetError, match="no record shows"):
        ledger.enter(plan, **budget, sha256="c" * 64, source="t" * 64)
    # the same bytes again are one draw, whoever has kept a record
    ledger.set_budget(0.5, dataset="e", column="c", secret="mean")
    for _ in range(2):
        ledger.enter(plan, dataset="e", column="c", sha256="d" * 64)
    # a plan that draws nothing needs no proof
    assert joint([Counted(plan=TEN, sha256="x", made=(("a", ""), ("b", "")))])["mean"].risk == TEN.risk


def test_pending_counts_and_abandoned_does_not(ledger):
    ledger.set_budget(0.4, **HERE, secret="mean")
    entered = ledger.enter(TEN, **HERE, sha256="a" * 64)
    assert not ledger.check(SEVEN, **HERE).allowed
    ledger.finish(entered, "abandoned")
    assert ledger.check(SEVEN, **HERE).allowed
    ledger.add(SEVEN, **HERE)
    with pytest.raises(sv.ProblemError, match="no unfinished release"):
        ledger.finish(entered, "done")
    with pytest.raises(sv.ProblemError, match=r"done or abandoned\. Got 'pending'"):
        ledger.finish(entered, "pending")
    (column,) = ledger.show().columns
    assert column.states == {"pending": 0, "done": 1, "abandoned": 1}
    assert ledger.verify().ok


def test_audiences_are_noted_and_count_together(ledger):
    ledger.add(TEN, **HERE, audience="partner", budget=0.4)
    with pytest.raises(sv.BudgetError):
        ledger.add(SEVEN, **HERE, audience="public")
    ledger.add(TEN, **HERE, audience="public")
    assert ledger.show().columns[0].audiences == ("partner", "public")


def test_another_release_between_check_and_entry_is_seen(ledger, monkeypatch):
    """Two runs that fit one by one, and not together: the second is refused when it is entered."""
    ledger.set_budget(0.4, **HERE, secret="mean")
    import statveil.ledger.ledger as module

    plain, other = module.decide, sv.Ledger(ledger.path)

    def decide_late(*arguments):
        monkeypatch.setattr(module, "decide", plain)
        found = plain(*arguments)
        other.add(SEVEN, **HERE)
        return found

    monkeypatch.setattr(module, "decide", decide_late)
    with pytest.raises(sv.BudgetError, match=r"0\.3 before"):
        ledger.add(TEN, **HERE)
    assert ledger.show().columns[0].plans == 1


@pytest.mark.parametrize("value", [0, -0.1, 1.1, float("nan"), "much", None])
def test_a_budget_is_a_risk(ledger, value):
    with pytest.raises(sv.ProblemError, match="budget"):
        ledger.set_budget(value, **HERE, secret="mean")
    with pytest.raises(sv.ProblemError, match="unknown secret"):
        ledger.set_budget(0.2, **HERE, secret="man")


@pytest.mark.parametrize("name", ["", " staff", "x" * 301, "\udcff", 7, None])
def test_names_are_names(ledger, name):
    with pytest.raises(sv.ProblemError, match="the dataset must be"):
        ledger.enter(TEN, dataset=name, column="wage")
    with pytest.raises(sv.ProblemError, match="the dataset must be"):
        ledger.keeper(dataset=name)


@pytest.mark.parametrize(
    "name", [" wage ", "", "x" * 5000, "a\x00b", "a\x00c", "Gehälter", "'; DROP TABLE entries; --"]
)
def test_columns_are_called_what_their_table_calls_them(ledger, name):
    ledger.add(TEN, dataset="d", column=name, budget=0.2)
    assert not ledger.check(SEVEN, dataset="d", column=name).allowed
    assert ledger.check(SEVEN, dataset="d", column=f"{name}.").allowed
    (column,) = ledger.show(column=name).columns
    assert column.column == name
    assert ledger.verify().ok


def test_nothing_private_is_in_the_file(tmp_path, ledger):
    rows = np.random.default_rng(3).normal(51.37, 4, 400)
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(map(repr, rows.tolist())) + "\n")
    kept = sv.release_file(
        TEN,
        tmp_path / "t.csv",
        tmp_path / "o.csv",
        column="x",
        record=tmp_path / "r.json",
        ledger=ledger.keeper(dataset="staff"),
    ).record
    raw = ledger.path.read_bytes().decode("latin-1")
    secrets = [kept["seed"], kept["input_sha256"], str(int(kept["seed"], 16)), repr(float(rows.mean()))[:8]]
    assert all(secret not in raw for secret in secrets), secrets
    assert json.loads((tmp_path / "o.csv.card.json").read_text())["sha256"] in raw
