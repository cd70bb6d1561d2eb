"""What goes wrong on the page says so at the right field, and loses nothing; hostile names are only shown."""

import json

import numpy as np
import polars as pl
import pytest

HOSTILE = "</script><script>alert('ran')</script>"
IMAGE = "<img src='http://example.invalid/img' onerror=alert('ran')>"


@pytest.fixture
def small(place, tmp_path):
    """A table; its name says which test it is of, for all of a file share one studio."""
    rng = np.random.default_rng(3)
    path = place / f"{tmp_path.name}.csv"
    pl.DataFrame({"pay": rng.normal(500, 40, 60), "site": ["x", "y"] * 30}).write_csv(path)
    return path


def test_a_file_that_is_no_table_is_refused_at_its_field(page, place):
    tab = page.tab
    (place / "broken.parquet").write_bytes(b"PAR1 but not really")
    page.chooser()
    tab.set_input_files("#file", str(place / "broken.parquet"))
    tab.wait_for_selector("#upload-wrong p")
    assert "broken.parquet" in tab.inner_text("#upload-wrong") or "Parquet" in tab.inner_text("#upload-wrong")
    page.open("../outside.csv")
    tab.wait_for_selector("#path-wrong p")
    assert tab.get_attribute("#path", "aria-invalid") == "true"
    assert tab.evaluate("document.activeElement.id") == "path"
    page.open("none.csv")
    tab.wait_for_selector("#path-wrong :text('none.csv')")


def test_an_upload_that_is_stopped_leaves_nothing(page, place):
    tab = page.tab
    large = place / "large.csv"
    large.write_bytes(b"pay\n" + b"500.25\n" * 1_000_000)
    slow = page.context.new_cdp_session(tab)
    slow.send("Network.enable")
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 200_000}
    slow.send("Network.emulateNetworkConditions", limits)
    table = tab.inner_text("#strip-list")
    page.chooser()
    tab.set_input_files("#file", str(large))
    tab.click("#stop-upload")
    tab.wait_for_selector("#upload-wrong :text('stopped')")
    slow.send("Network.emulateNetworkConditions", {**limits, "uploadThroughput": -1})
    tab.reload()
    tab.wait_for_selector("#title")
    assert tab.inner_text("#strip-list") == table


def test_hostile_names_are_shown_and_do_nothing(page, place):
    rng = np.random.default_rng(5)
    columns = {
        HOSTILE: rng.normal(500, 40, 60),
        IMAGE: ["x", IMAGE] * 30,
        "__proto__": rng.normal(0, 1, 60),
        " ": ["q"] * 60,
    }
    path = place / "hostile.csv"
    pl.DataFrame(columns).write_csv(path)
    tab = page.tab
    page.upload(path)
    for index, action in enumerate(["hide", "keep", "drop", "drop"]):
        page.act(index, action)
    assert tab.inner_text("#column-0-name") == HOSTILE
    assert tab.inner_text("#column-1-name") == IMAGE
    assert IMAGE in tab.locator("table td").all_inner_texts()
    page.step("secret")
    assert tab.inner_text("#panel-0") == HOSTILE
    page.secret(0, low="300", high="700", tolerance="4")
    page.step("tradeoff")
    tab.wait_for_selector(".here")
    assert tab.inner_text("#tradeoff-0") == HOSTILE
    page.step("release")
    tab.wait_for_selector("pre")
    assert HOSTILE in tab.text_content("pre[aria-label='Specification file']")
    assert tab.evaluate("document.querySelectorAll('body img, body script, body iframe').length") == 0
    assert not [one for one in page.asked if "example" in one]  # and the fixture looks for dialogs


def test_what_was_typed_stays_over_a_reload_and_a_bad_text_is_said_beside_its_field(page, small):
    tab = page.tab
    page.upload(small)
    page.act(0, "hide")
    tab.check("#action-1-derive", force=True)
    tab.fill("#expression-1", "log(pay")
    tab.press("#expression-1", "Enter")
    tab.wait_for_selector(".column-card:has(#expression-1) .wrong p")
    assert tab.input_value("#expression-1") == "log(pay"
    tab.fill("#expression-1", "log(pay)")
    tab.press("#expression-1", "Enter")
    tab.wait_for_selector(".column-card[data-action=derive] #expression-1")
    page.act(1, "keep")
    page.step("secret")
    page.secret(0, low="300", high="700", tolerance="4")
    tab.fill("#high-0", "200")
    tab.wait_for_selector("#prior-wrong-0 p")
    assert tab.get_attribute("#high-0", "aria-invalid") == "true"
    tab.fill("#atoms-0", "what")
    tab.wait_for_selector("#known-wrong-0 p")
    tab.reload()
    tab.wait_for_selector("#known-wrong-0 p")
    assert tab.get_attribute("#go-secret", "aria-current") == "step"
    assert [tab.input_value(f"#{name}-0") for name in ("low", "high", "tolerance", "atoms")] == [
        "300",
        "200",
        "4",
        "what",
    ]
    tab.fill("#high-0", "700")
    tab.fill("#atoms-0", "")
    tab.wait_for_selector("#known-wrong-0 p", state="detached")
    tab.wait_for_selector(".says :text('between 300 and 700')")

    tab.fill("#tolerance-0", "300")  # a blind guess hits, so no release has a risk of 0.2
    tab.press("#tolerance-0", "Tab")
    page.step("tradeoff")
    tab.wait_for_selector("#risk-wrong-0 p")
    tab.click("#freeze")
    tab.wait_for_selector("#notice p")
    assert "risk" in tab.inner_text("#notice")


def test_the_ends_of_the_belief_move_and_a_statistic_of_groups_is_named(page, small):
    tab = page.tab
    page.upload(small)
    page.act(0, "hide")
    page.step("secret")
    page.secret(0, low="300", high="700", tolerance="4")
    low, high = tab.locator(".end >> nth=0"), tab.locator(".end >> nth=1")
    low.focus()
    tab.keyboard.press("ArrowRight")
    first = float(tab.input_value("#low-0"))
    assert 300 < first < 320
    assert float(low.get_attribute("aria-valuenow")) == first
    tab.keyboard.press("PageUp")
    assert float(tab.input_value("#low-0")) - first == pytest.approx(10 * (first - 300))
    box = high.locator(".end-grip").bounding_box()
    tab.mouse.move(box["x"] + 8, box["y"] + 10)
    tab.mouse.down()
    tab.mouse.move(box["x"] - 92, box["y"] + 10, steps=4)
    with tab.expect_response(lambda one: one.request.method == "PUT" and one.ok) as saved:
        tab.mouse.up()
    moved = tab.input_value("#high-0")
    assert 400 < float(moved) < 700
    stored = json.loads(saved.value.body())["columns"][0]["choice"]["prior"]
    assert stored == f"{tab.input_value('#low-0')}:{moved}"

    assert tab.is_hidden("#argument-0")  # a mean has none
    tab.select_option("#secret-0", "difference")
    tab.fill("#argument-0", "site=x")
    tab.wait_for_selector("#secret-0-wrong p")
    tab.fill("#argument-0", "site=x-y")
    tab.wait_for_selector("#secret-0-wrong p", state="detached")
    tab.press("#argument-0", "Tab")
    page.kept(0)
    assert "difference" in tab.inner_text("#strip-list")


def test_what_is_typed_while_an_answer_is_on_its_way_is_not_overwritten(page, small):
    tab = page.tab
    page.upload(small)
    page.act(0, "hide")
    page.step("secret")
    page.secret(0, low="300", high="700", tolerance="4", share=True)

    held = []
    tab.route("**/api/columns/*", lambda route: held.append(route))
    tab.clock.install()
    tab.clock.pause_at(tab.evaluate("Date.now() + 1000"))  # nothing is saved by itself from here on
    with tab.expect_request("**/api/columns/*"):
        tab.select_option("#tolerance-0 + select", "units")
    tab.fill("#tolerance-0", "50")
    with tab.expect_response(lambda one: "/api/columns/" in one.url and one.ok):
        held.pop().continue_()  # the answer knows of 4 units
    tab.unroute("**/api/columns/*")
    with tab.expect_response(lambda one: one.url.endswith("/api/study")):
        tab.evaluate("window.dispatchEvent(new Event('focus'))")  # and so does the state that is asked for next
    tab.wait_for_selector("#strip-list :text('within 4,')")
    assert tab.input_value("#tolerance-0") == "50"
    tab.clock.resume()
    page.kept(0)
    tab.reload()
    page.kept(0)
    assert tab.input_value("#tolerance-0") == "50"
    assert "within 50," in tab.inner_text("#strip-list")


def test_a_second_tab_is_not_overwritten(page, small):
    first = page.tab
    page.upload(small)
    page.act(0, "hide")
    page.act(1, "keep")
    second = page.second()
    second.click("#go-table")
    with second.expect_response(lambda one: "/api/columns/1" in one.url and one.ok):
        second.check("#action-1-drop", force=True)
    with first.expect_response(lambda one: "/api/columns/0" in one.url) as answer:  # has not seen that
        # once: check() would press again the button that is drawn anew, and that is a choice of its own
        first.evaluate("document.getElementById('action-0-keep').click()")
    assert answer.value.status == 409
    first.wait_for_selector("#notice :text('another tab')")
    first.wait_for_selector("#action-1-drop:checked", state="attached")
    first.wait_for_selector("#action-0-hide:checked", state="attached")
    with first.expect_response(lambda one: "/api/columns/0" in one.url and one.ok):
        first.check("#action-0-keep", force=True)  # once more, now that it is seen
    second.reload()
    second.wait_for_selector("#action-0-keep:checked", state="attached")


def test_work_can_be_stopped(page, small):
    tab = page.tab
    page.chooser()
    tab.set_input_files("#file", str(small))
    tab.click("#stop-inspect")
    tab.wait_for_selector("#inspect")  # one can look again
    assert tab.is_visible("#column-0-name")
