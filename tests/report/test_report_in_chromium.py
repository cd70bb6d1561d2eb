"""The report in Debian's Chromium: offline, on a phone, in the dark, and printed without a chart that is cut."""

from __future__ import annotations

import base64
import re
import shutil
from importlib import resources

import numpy as np
import polars as pl
import pytest

import statveil as sv
from tests.best_possible import none_known
from tests.report.test_pages import hostile

CHROMIUM = shutil.which("chromium")
playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (pip install playwright)")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: apt-get install chromium)")
NAME = hostile("http://127.0.0.1:9")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A whole report of a column whose name is a script."""
    stated = sv.Problem(secret=sv.Mean(), prior=(40_000, 140_000), tolerance=1_000, known=sv.Structure(step=1))
    with none_known():
        plan = sv.plan(stated, max_risk=0.2)
    table = pl.DataFrame({NAME: 30_000 + np.random.default_rng(5).permutation(60_000)[:300]})
    done = sv.release(plan, table, column=NAME, details=True, seed=3)
    audit = sv.audit(plan, table, done.table, column=NAME, trials=200, seed=1, attackers=["plug-in", "bayes"])
    place = tmp_path_factory.mktemp("report") / "report.html"
    sv.write_report(plan, place, card=done.card, audit=audit, file=NAME)
    return place


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (375, "light"), (375, "dark")])
@pytest.mark.heavy(1)
def test_it_opens_offline_and_nothing_runs_or_is_cut_off(browser, report, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(report.as_uri())
    assert asked == [report.as_uri()]
    assert said == []
    assert page.title() != "RAN"
    assert page.evaluate("document.querySelectorAll('script, img').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    charts = page.evaluate("[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().width)")
    assert len(charts) == 4
    assert all(200 < drawn <= width for drawn in charts)
    # words on a chart lie inside its picture
    outside = page.evaluate(
        """[...document.querySelectorAll('.chart svg text')].filter(t => {
            const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
            return a.width && (a.left < b.left - 2 || a.right > b.right + 2 || a.bottom > b.bottom + 2);
        }).map(t => t.textContent)"""
    )
    assert outside == []
    axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
    page.evaluate((resources.files(axe) / "axe.min.js").read_text(encoding="utf-8"))
    assert [(one["id"], one["nodes"][0]["html"]) for one in page.evaluate("axe.run()")["violations"]] == []
    context.close()


def pages_of(browser, place, folder):
    """What is seen on each printed page of a file: pixels of each colour, and red ones in the line above the text."""
    printing = browser.new_page()
    printing.goto(place.as_uri())
    printing.pdf(path=folder / "report.pdf", prefer_css_page_size=True)
    printing.close()
    count = len(re.findall(rb"/Type\s*/Page\b", (folder / "report.pdf").read_bytes()))
    # in a window that holds all of them below each other, drawn by Chromium's own viewer
    viewer = browser.new_page(viewport={"width": 360, "height": 520 * count + 200})
    viewer.goto((folder / "report.pdf").as_uri() + "#toolbar=0&view=FitH")
    counter = browser.new_page()
    seen = []
    for _ in range(40):
        viewer.wait_for_timeout(300)
        drawn = viewer.screenshot()
        rows = np.array(counter.evaluate(COUNT, [base64.b64encode(drawn).decode(), COLOURS]))
        paper = np.concatenate([[0], 1 - rows[:, 0], [0]])  # rows that are not the viewer's background alone
        starts, ends = np.flatnonzero(np.diff(paper) > 0), np.flatnonzero(np.diff(paper) < 0)
        bands = [(a, b) for a, b in zip(starts, ends, strict=True) if b - a > 300]
        seen = [(rows[a:b, 2:].sum(axis=0), rows[a : a + (b - a) // 14, 1].sum()) for a, b in bands]
        if len(seen) == count:
            break
    viewer.close()
    counter.close()
    assert len(seen) == count
    return seen


COUNT = """async ([data, colours]) => {
    const image = new Image(); image.src = 'data:image/png;base64,' + data; await image.decode();
    const [width, height] = [image.width, image.height];
    const pen = new OffscreenCanvas(width, height).getContext('2d'); pen.drawImage(image, 0, 0);
    const all = pen.getImageData(0, 0, width, height).data, last = 4 * width * (height - 1), rows = [];
    const near = (i, r, g, b, by) => Math.abs(all[i] - r) <= by && Math.abs(all[i + 1] - g) <= by
        && Math.abs(all[i + 2] - b) <= by;
    for (let y = 0; y < height; y++) {
        const row = [1, 0, ...colours.map(() => 0)];
        for (let i = 4 * width * y; i < 4 * width * (y + 1); i += 4) {
            if (!near(i, all[last], all[last + 1], all[last + 2], 3)) row[0] = 0;
            if (all[i] > 110 && all[i + 1] < 110 && all[i + 2] < 110) row[1]++;
            colours.forEach(([r, g, b], k) => { if (near(i, r, g, b, 2)) row[k + 2]++; });
        }
        rows.push(row);
    }
    return rows;
}"""
"""For each row of a picture: whether it is background alone, its red pixels, and those of each colour."""
COLOURS = [(250, 60 + 35 * i, 200 - 35 * i) for i in range(5)]


def painted(report, folder):
    """A copy of the report whose charts are filled with a colour each."""
    colours = iter(COLOURS)
    text = report.read_text(encoding="utf-8")
    text = re.sub(r"<figure", lambda found: f'<figure style="background: rgb{next(colours)}"', text)
    place = folder / "painted.html"
    place.write_text(text, encoding="utf-8")
    return place


def on_pages(seen):
    """On how many pages each colour is seen."""
    return [sum(int(counts[i]) > 50 for counts, _ in seen) for i in range(len(COLOURS))]


def test_printed_no_chart_is_cut_and_every_page_says_that_it_is_private(browser, report, tmp_path):
    seen = pages_of(browser, painted(report, tmp_path), tmp_path)
    assert len(seen) >= 3
    assert on_pages(seen) == [1] * len(COLOURS)
    assert all(red > 20 for _, red in seen)  # the mark above the text of every page
    # the same look at a figure that is taller than paper sees that it is cut
    control = tmp_path / "control.html"
    paint = f"background: rgb{COLOURS[0]}; print-color-adjust: exact; height: 400mm"
    control.write_text(f"<style>@page {{ size: A4 }}</style><div style='{paint}'></div>", encoding="utf-8")
    cut = pages_of(browser, control, tmp_path)
    assert on_pages(cut) == [2, 0, 0, 0, 0]
    assert not any(red > 20 for _, red in cut)
