"""On the page: the share of a label, a second statistic, groups, decimals, and a leak that is accepted knowingly."""

import json

import numpy as np
import polars as pl
import pytest

ROWS = 400


@pytest.fixture
def staff(place, tmp_path):
    """A table whose name says which test it is of, for all of them share one studio."""
    rng = np.random.default_rng(8)
    path = place / f"{tmp_path.name}.csv"
    frame = pl.DataFrame(
        {
            "contract": rng.choice(["full", "part", "leave"], ROWS, p=[0.5, 0.4, 0.1]),
            "hours": rng.normal(38, 5, ROWS),
            "pay": rng.normal(500, 40, ROWS).round(1),
            "person": rng.permutation(10**6)[:ROWS],
        }
    )
    frame.write_csv(path)
    return path


def unfold(tab, index, text):
    """Open what is folded, by its words."""
    tab.click(f".panel:has(#panel-{index}) summary:has-text('{text}')")


@pytest.mark.slow
def test_a_label_a_second_statistic_and_a_leak(page, staff, tmp_path):
    tab = page.tab
    page.upload(staff)
    for index, action in enumerate(["hide", "hide", "hide", "keep"]):
        page.act(index, action)
    assert "--" not in tab.inner_text(".column-card >> nth=0")  # no word of the command line
    page.step("secret")

    # a column of labels: no belief is asked for, and closeness is in percentage points
    assert tab.input_value("#secret-0") == "fraction"
    assert not tab.is_visible("#low-0")
    tab.fill("#argument-0", "part")
    tab.fill("#labels-0", "full, full")
    tab.wait_for_selector("#labels-0-wrong p")
    assert tab.get_attribute("#labels-0", "aria-invalid") == "true"
    tab.fill("#labels-0", "full, part, leave")
    tab.fill("#tolerance-0", "3")
    tab.press("#tolerance-0", "Tab")
    page.kept(0)
    tab.wait_for_selector(".panel:has(#panel-0) .says :text('3 percentage points')")

    # a second statistic, by keyboard alone
    page.secret(1, low="20", high="60", tolerance="0.5")
    summary = tab.locator(".panel:has(#panel-1) summary:has-text('second number')")
    summary.focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "also-1"
    tab.keyboard.type("the standard")  # as one chooses in a list without a mouse
    tab.wait_for_selector("#also-low-1")
    tab.fill("#also-low-1", "10")
    tab.fill("#also-high-1", "2")
    tab.fill("#also_tolerance-1", "0.3")
    tab.wait_for_selector("#also-low-1-wrong p")
    tab.fill("#also-low-1", "2")
    tab.fill("#also-high-1", "10")
    tab.press("#also-high-1", "Tab")
    page.kept(1)
    tab.wait_for_selector(".panel:has(#panel-1) .says :text('one of the two')")

    # the column of rounded numbers, without saying that everyone knows of the rounding
    page.secret(2, low="300", high="700", tolerance="4")
    tab.fill("#step-2", "")
    tab.press("#step-2", "Tab")
    page.kept(2)
    unfold(tab, 1, "More for this")
    with tab.expect_response(lambda one: "/api/columns/1" in one.url and one.ok):
        tab.fill("#digits-1", "3")
        tab.press("#digits-1", "Tab")
    assert page.violations() == []
    tab.reload()
    tab.wait_for_selector("#also-low-1")  # what is filled in is unfolded
    said = [tab.input_value(f"#{name}") for name in ("labels-0", "tolerance-0", "also-high-1", "digits-1")]
    assert said == ["full, part, leave", "3", "10", "3"]

    page.freeze()
    page.step("release")
    tab.click("#release")
    tab.wait_for_selector("#notice p")
    assert "step" in tab.inner_text("#notice")
    page.step("secret")
    tab.wait_for_selector("#known-wrong-2 p")
    tab.wait_for_selector("#accept-2-step")  # unfolded, with the leak that was found
    assert "found in your table" in tab.inner_text("label[for=accept-2-step]")
    assert tab.is_disabled("#accept-2-step")  # the plan is frozen
    page.step("tradeoff")
    tab.click("#unfreeze")
    tab.click("#again")
    tab.wait_for_selector("#freeze")
    page.step("secret")
    for leak in ("step", "ratios"):
        if not tab.is_visible(f"#accept-2-{leak}"):
            if not tab.is_visible("#leaks-2"):
                tab.click("#accept-2")
            tab.click("#leaks-2")
        tab.check(f"#accept-2-{leak}")
        tab.wait_for_selector(f".panel:has(#panel-2) .warned.strong:has-text('{leak}')")
    warned = tab.inner_text(".panel:has(#panel-2) .warned.strong")
    assert "more often than the stated risk" in warned
    assert "card" in warned
    assert "in spite of" in tab.inner_text("#strip-list")
    assert page.violations() == []

    page.freeze()
    page.step("release")
    tab.click("#release")
    tab.wait_for_selector("#audit")
    tab.wait_for_selector("figure:has-text('Share of each label')")
    assert page.violations() == []
    card = json.loads(page.download("card", tmp_path).read_text())
    assert "step" in {leak["name"] for leak in card["columns"]["pay"]["accepted_leaks"]}
    released = pl.read_csv(page.download("table", tmp_path))
    assert set(released["contract"]) == {"full", "part", "leave"}
    assert released["hours"].round(3).equals(released["hours"])


def test_rows_that_belong_together_are_chosen_among_columns_that_stay(page, staff):
    tab = page.tab
    page.upload(staff)
    for index, action in enumerate(["hide", "drop", "hide", "keep"]):
        page.act(index, action)
    page.step("secret")
    unfold(tab, 0, "More for this")
    offered = tab.locator("#group-0 option").all_inner_texts()
    assert offered == ["every row stands for itself", "hours", "person"]
    with tab.expect_response(lambda one: "/api/columns/0" in one.url and one.ok):
        tab.select_option("#group-0", label="person")
    page.step("table")
    page.act(3, "hide")
    page.step("secret")
    tab.fill("#argument-0", "part")
    tab.fill("#labels-0", "full, part, leave")
    tab.fill("#tolerance-0", "3")
    tab.press("#tolerance-0", "Tab")
    page.kept(0)
    page.secret(2, low="300", high="700", tolerance="4")
    page.secret(3, low="1000", high="900000", tolerance="4")
    tab.wait_for_selector("#group-0-wrong p")


def test_other_methods_are_drawn_and_what_is_not_is_said(page, staff):
    tab = page.tab
    page.upload(staff)
    for index, action in enumerate(["drop", "hide", "drop", "drop"]):
        page.act(index, action)
    page.step("secret")
    page.secret(1, low="20", high="60", tolerance="0.5")
    page.step("tradeoff")
    tab.wait_for_selector(".here")
    tab.wait_for_selector("path.curve.other.normal", state="attached")
    assert tab.locator("path.curve.other").count() == 2
    assert "attribute privacy" in tab.inner_text(".legend")
    beside = tab.inner_text(".beside")
    assert "Not drawn, differential privacy" in beside
    assert "no such limit" in beside
    assert page.violations() == []
