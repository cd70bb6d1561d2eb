"""What one waits for in the browser: the first page with all its files, the curve, and a large file by path to its end.

``python benchmarks/studio_page.py [--large BYTES]``; needs Chromium and Playwright, as the tests of the page do.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from studio import make, memory, processor  # noqa: E402

from tests.browser import browser  # noqa: E402
from tests.studio.driving import Page  # noqa: E402

ROUNDS = 15
LONG = 3 * 3_600_000  # milliseconds that a long job may take
_DRAWN = """() => new Promise(done => {
  const slider = document.getElementById('risk-0');
  const chart = document.querySelector('.chart.tradeoff');
  const start = performance.now();
  new MutationObserver((_, watcher) => {
    if (performance.now() - start < 30) return; // a finer curve of the last place: the page waits that long for moves
    watcher.disconnect();
    done(performance.now() - start);
  })
    .observe(chart, {childList: true, subtree: true});
  window.moves = (window.moves ?? 0) + 1;
  slider.value = String(500 + (window.moves % 2 ? 1 : -1) * (30 + 7 * window.moves));
  slider.dispatchEvent(new Event('input'));
})"""


def said(name: str, clock: list[float], used: float, limit: float | None = None) -> None:
    """One line: on the clock, and of the server's processor."""
    wanted = "" if limit is None else f"   (wanted: below {limit} s)"
    print(
        f"{name:<46} median {statistics.median(clock):7.3f} s, best {min(clock):7.3f} s, worst {max(clock):7.3f} s, "
        f"processor of the server {used:6.3f} s, load {os.getloadavg()[0]:.1f}{wanted}",
        flush=True,
    )


def first_page(chromium: Any, address: str, pid: int) -> None:
    """From the address to a page that is drawn and quiet; every time in a new browser profile, with nothing at hand."""
    clock, asked, before = [], 0, processor(pid)
    for _ in range(ROUNDS):
        context = chromium.new_context()
        tab = context.new_page()
        time.sleep(1)  # a new window loads pages of the browser's own
        seen: list[str] = []
        tab.on("request", lambda request, seen=seen: seen.append(request.url))
        start = time.perf_counter()
        tab.goto(address)
        tab.wait_for_selector("#title")
        clock.append(time.perf_counter() - start)
        tab.wait_for_load_state("networkidle")
        asked = len(seen)
        context.close()
    said(f"first page ({asked} requests)", clock, (processor(pid) - before) / ROUNDS, 0.3)


def curve(page: Page, pid: int) -> None:
    """From a move of the slider to the new drawing, the wait for further moves included."""
    page.open("staff.parquet")
    page.looked_at("staff.parquet")
    for index, action in enumerate(["hide", "derive", "keep", "keep"]):
        page.act(index, action)
    page.step("secret")
    page.secret(0, low="10", high="80", tolerance="5", share=True, known_min="0")
    slide(page, pid, "a range")
    page.step("secret")
    page.tab.check("#belief-0-sure", force=True)
    page.secret(0, low="20", high="40", tolerance="5", share=True, known_min="0")
    slide(page, pid, "90 % sure")


def slide(page: Page, pid: int, belief: str) -> None:
    """Move the slider to places where it has not been: what was worked out once is at hand."""
    page.step("tradeoff")
    page.tab.wait_for_selector(".here")
    time.sleep(5)
    before = processor(pid)
    clock = [page.tab.evaluate(_DRAWN) / 1000 for _ in range(ROUNDS)]
    said(f"curve after a move of the slider, {belief}", clock, (processor(pid) - before) / ROUNDS, 0.2)


def tree_memory(pid: int) -> float:
    """Resident memory of the server's children now, in MiB."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"\nPPid:\t{pid}\n" in text and (found := re.search(r"VmRSS:\s+(\d+) kB", text)):
            total = max(total, int(found[1]))
    return total / 1024


def large_file(page: Page, pid: int, folder: Path) -> None:
    """A large file by path through the four steps, to the file that is downloaded."""
    tab = page.tab
    tab.set_default_timeout(LONG)
    start = time.perf_counter()
    page.open("large.csv")
    tab.wait_for_selector(".facts :text-is('large.csv')")
    print(f"{'opened by path':<46} {time.perf_counter() - start:7.1f} s", flush=True)
    job(page, pid, "looked at", lambda: None, ".proposal p", start)
    for index, action in enumerate(["hide", "derive", "drop", "drop"]):
        page.act(index, action)
    page.step("secret")
    page.secret(0, low="10", high="80", tolerance="5", share=True, known_min="0")
    start = time.perf_counter()
    page.freeze()
    print(f"{'planned':<46} {time.perf_counter() - start:7.1f} s", flush=True)
    page.step("release")
    job(page, pid, "released, with its comparison and report", lambda: tab.click("#release"), "#audit")
    start = time.perf_counter()
    got = page.download("table", folder)
    print(f"{'downloaded':<46} {time.perf_counter() - start:7.1f} s, {got.stat().st_size / 2**30:.2f} GiB", flush=True)
    page.download("card", folder)
    print(f"{'largest memory of the server':<46} {memory(pid):7.0f} MiB")


def job(page: Page, pid: int, name: str, begin: Any, until: str, start: float | None = None) -> None:
    """A job to its end, with what its progress said on the way and the most memory that it held."""
    since = time.perf_counter() if start is None else start
    begin()
    seen, most = set(), 0.0
    while not page.tab.query_selector(until):
        most = max(most, tree_memory(pid))
        seen.add(page.tab.evaluate("document.querySelector('.progress-words')?.textContent ?? ''"))
        if page.tab.query_selector("#notice p"):
            raise SystemExit(page.tab.inner_text("#notice"))
        time.sleep(0.3)
    print(
        f"{name:<46} {time.perf_counter() - since:7.1f} s, {len(seen)} states of progress, a child held "
        f"{most:.0f} MiB, the server {memory(pid):.0f} MiB, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=0, help="bytes of a CSV file that goes through all four steps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, browser() as chromium:
        folder = Path(place)
        make(folder, 2_000, options.large)
        child = subprocess.Popen(
            [sys.executable, "-m", "statveil", "studio", "--no-browser", "--folder", str(folder)],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert child.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", child.stdout.readline())
            assert found is not None
            time.sleep(8)  # what it warms up beside
            first_page(chromium, found[0], child.pid)
            context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
            context.set_default_timeout(120_000)
            page = Page(context, found[0])
            page.go()
            curve(page, child.pid)
            if options.large:
                large_file(page, child.pid, folder)
            context.close()
        finally:
            child.terminate()
            child.wait(60)


if __name__ == "__main__":
    main()
