"""A studio as `statveil studio` starts it, and a page of it in a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from tests.browser import browser
from tests.studio.driving import Page


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder that the studio may read."""
    return tmp_path_factory.mktemp("studio")


@pytest.fixture(scope="module")
def address(chromium, place):
    """The address that the command prints; one start for a file of tests, for each opens a table of its own."""
    child = subprocess.Popen(
        [sys.executable, "-m", "statveil", "studio", "--no-browser", "--folder", str(place)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        cwd=place,
    )
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", child.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        child.terminate()
        child.wait(20)
        child.stdout.close()


@pytest.fixture
def page(chromium, address):
    """A page of the studio; at the end nothing may have gone wrong in it, and nothing may have left this machine."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(90_000)  # the machine may be busy
    opened = Page(context, address)
    opened.go()
    yield opened
    asked, troubles = list(opened.asked), list(opened.troubles)
    context.close()
    assert asked
    assert {urlsplit(one).hostname for one in asked if not one.startswith("blob:")} == {"127.0.0.1"}
    assert troubles == []
