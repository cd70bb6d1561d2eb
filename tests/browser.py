"""The browser in which tests open our pages. One rule: where there is none they are skipped, and under CI they fail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.missing import missing

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium() -> str:
    """Where Debian's Chromium is."""
    found = shutil.which("chromium")
    return found or missing("needs chromium (Debian: apt-get install chromium)")


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright; no download."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("needs playwright (pip install 'statveil[dev]')")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield started
        finally:
            started.close()
