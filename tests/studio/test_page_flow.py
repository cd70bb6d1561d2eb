"""Through the four steps in a browser, from upload to download; what comes out is what the library makes."""

import json
import tomllib

import numpy as np
import polars as pl
import pytest

import statveil as sv

ROWS = 300


@pytest.fixture(scope="module")
def payroll(place):
    rng = np.random.default_rng(7)
    wage = rng.lognormal(5.8, 0.4, ROWS).round(6)
    start = rng.normal(630, 90, ROWS).round().astype(int)  # no sharp ends, which would be proposed as bounds
    frame = pl.DataFrame({"wage": wage, "lwage": np.log(wage), "start": start, "region": ["a", "b", "c"] * (ROWS // 3)})
    frame.write_csv(place / "payroll.csv")
    frame.select("wage", "region").write_parquet(place / "wages.parquet")
    return frame


@pytest.mark.slow
def test_two_hidden_columns_and_a_derived_one(page, payroll, place, tmp_path):
    tab = page.tab
    found = {"start": page.violations()}
    page.upload(place / "payroll.csv")
    for index, action in enumerate(["hide", "derive", "hide", "keep"]):
        page.act(index, action)
    assert tab.input_value("#expression-1") == "log(wage)"  # as the inspection proposed
    assert "tells" in tab.inner_text(".column-card >> nth=1")
    found["table"] = page.violations()

    page.step("secret")
    page.secret(0, low="100", high="1000", tolerance="5")
    page.secret(2, low="100", high="1440", tolerance="10")
    tab.wait_for_selector(".says :text('counts as a hit')")
    found["secret"] = page.violations()

    page.step("tradeoff")
    tab.wait_for_selector("section:nth-of-type(2) .here")
    assert "more private" in tab.inner_text("#ends-0")
    before = tab.inner_text(".risk-value >> nth=0")
    with tab.expect_response(lambda one: one.request.method == "PUT" and one.ok):
        for _ in range(5):
            tab.press("#risk-0", "ArrowRight")
    assert tab.inner_text(".risk-value >> nth=0") != before
    found["trade-off"] = page.violations()
    page.freeze()
    found["frozen"] = page.violations()

    page.step("release")
    tab.click("#release")
    tab.wait_for_selector("#audit")
    tab.fill("#trials", "10")
    tab.click("#audit")
    tab.wait_for_selector("#trials-wrong p")
    tab.fill("#trials", "200")
    tab.click("#audit")
    tab.wait_for_selector(".verdict")
    tab.wait_for_selector(".comparison >> nth=1")
    found["release"] = page.violations()
    assert {step: said for step, said in found.items() if said} == {}
    assert "Private" in tab.inner_text("section:has(#compare-title)")
    assert "Private" in tab.inner_text("section:has(#attack-title)")
    for name in ("table", "card", "plan", "specification"):
        assert tab.is_visible(f"section:has(#public-title) #download-{name}")
    for name in ("audit", "record", "report"):
        assert tab.is_visible(f"section:has(#private-title) #download-{name}")

    got = {name: page.download(name, tmp_path) for name in ("table", "card", "plan", "specification", "record")}
    for name in ("audit", "report"):
        shown = page.download(name, tmp_path)
        assert "PRIVATE" in shown.name
        assert shown.read_text(encoding="utf-8").lower().startswith("<!doctype html")
    plans = sv.load_table_plan(got["plan"])
    again = tmp_path / "again.csv"
    sv.release_table(plans, str(place / "payroll.csv"), str(again), record=str(got["record"]))
    assert got["table"].read_bytes() == again.read_bytes()  # the same record, so the same secret seed
    card = json.loads(got["card"].read_text())
    assert card["guarantee"]["risk"] == plans.risk
    released = pl.read_csv(got["table"])
    assert released.columns == payroll.columns
    assert released["region"].equals(payroll["region"])
    assert (released["lwage"] - released["wage"].log()).abs().max() < 1e-9
    assert abs(released["start"].mean() - payroll["start"].mean()) % 1 < 1e-6  # moved by whole minutes
    with got["specification"].open("rb") as file:
        said = tomllib.load(file)["columns"]
    assert said["wage"]["prior"] == "100:1000"
    assert said["start"]["tolerance"] in (10, "10")
    assert said["lwage"]["derive"] == "log(wage)"
    assert tomllib.loads(tab.text_content("pre[aria-label='Specification file']"))["columns"] == said

    page.step("tradeoff")
    tab.click("#unfreeze")
    assert "already seen" in tab.inner_text("dialog")
    tab.click("#again")
    tab.wait_for_selector("#freeze")


def test_parquet_by_path_with_a_belief_that_must_be_mended(page, payroll, place, tmp_path):
    tab = page.tab
    page.open("wages.parquet")
    page.looked_at("wages.parquet")
    page.act(0, "hide")
    page.act(1, "keep")
    page.step("secret")
    page.secret(0, low="1000", high="2000", tolerance="5")  # the mean is about 350
    page.freeze()
    page.step("release")
    tab.click("#release")
    tab.wait_for_selector("#notice p")
    assert "wage" in tab.inner_text("#notice")
    assert "below" in tab.inner_text("#notice")
    assert not any(char.isdigit() for char in tab.inner_text("#notice").replace("2000", "").replace("1000", ""))
    page.step("secret")
    tab.wait_for_selector("#prior-wrong-0 p")
    assert tab.is_disabled("#low-0")

    page.step("tradeoff")
    tab.click("#unfreeze")
    assert "tried and refused" in tab.inner_text("dialog")  # which told something of the data
    tab.click("#again")
    tab.wait_for_selector("#freeze")
    page.step("secret")
    page.secret(0, low="100", high="1000", tolerance="4")
    page.freeze()
    page.step("release")
    tab.click("#release")
    tab.wait_for_selector("#audit")
    table, plan, record = (page.download(name, tmp_path) for name in ("table", "plan", "record"))
    assert table.suffix == ".parquet"
    again = tmp_path / "again.parquet"
    sv.release_table(sv.load_table_plan(plan), str(place / "wages.parquet"), str(again), record=str(record))
    released = pl.read_parquet(table)
    assert released.equals(pl.read_parquet(again))
    assert released["region"].equals(payroll["region"])
    assert abs(released["wage"].mean() - payroll["wage"].mean()) > 1e-3
