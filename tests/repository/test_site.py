"""The built site (`make docs` runs this): it loads nothing from elsewhere, links lead somewhere, it opens from disk."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.browser import browser

SITE = Path(__file__).parents[2] / "build" / "site"
LOADS = {
    "audio": "src",
    "embed": "src",
    "form": "action",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "video": "src",
}

pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="'make docs' builds the site first")


class Seen(HTMLParser):
    """What a page loads, where it leads, and the places in it that can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if given.get(LOADS.get(tag, "")):
            self.loads.append(given[LOADS[tag]])
        self.loads += re.findall(r"url\(([^)]*)\)", given.get("style", "")) + given.get("srcset", "").split()
        if tag == "a" and "href" in given:
            self.leads.append(given["href"])


@cache
def seen(page: Path) -> Seen:
    return Seen(page.read_text(encoding="utf-8"))


def html() -> list[Path]:
    return sorted(page for page in SITE.rglob("*.html") if page.name != "404.html")  # for servers, with their paths


def foreign(address: str) -> bool:
    return bool(re.match(r"['\" ]*(?:[a-z]+:)?//", address)) or address.startswith("/")


def test_a_foreign_address_is_told_from_our_own():
    ours = ("assets/a.css", "../index.html#top", "#top", "data:image/svg+xml,x", "mailto:x")
    theirs = ("https://x.org/a.js", "//x.org/a.js", "'http://x.org'", "/root.css")
    assert [foreign(address) for address in (*ours, *theirs)] == [False] * len(ours) + [True] * len(theirs)
    page = Seen('<link href="a"><script src="b"></script><a href="c" id="d">e</a><p style="background: url(f)">')
    assert (page.loads, page.leads, page.places) == (["a", "b", "f"], ["c"], {"d"})


def test_no_page_loads_anything_from_elsewhere():
    assert len(html()) > 40
    for page in html():
        assert not [address for address in seen(page).loads if foreign(address)], page.name
    for sheet in SITE.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        found = re.findall(r"url\(([^)]*)\)", text) + re.findall(r"@import\s+([^;]*)", text)
        assert not [address for address in found if foreign(address)], sheet.name


def test_every_link_and_every_place_in_a_page_is_there():
    for page in html():
        for address in [*seen(page).leads, *seen(page).loads]:
            path, place = urldefrag(unquote(address))
            if re.match(r"[a-z]+:", address):
                continue
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page.relative_to(SITE)} leads to {address}"
            if place and target.suffix == ".html" and place != "__comments":
                assert place in seen(target).places, f"{page.relative_to(SITE)} leads to {address}"


def test_scripts_and_private_things_are_no_part_of_it():
    assert not [path for path in SITE.rglob("*") if path.suffix in (".py", ".pyc")]


def test_it_opens_from_disk_without_asking_anyone_and_its_search_finds():
    with browser() as chromium:
        page = chromium.new_page()
        asked: list[str] = []
        broken: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.goto((SITE / "reference" / "errors.html").as_uri())
        page.click("input.md-search__input")
        page.keyboard.type("kilowatt", delay=30)
        page.locator(".md-search-result__link").first.wait_for(timeout=20_000)
        found = [link.get_attribute("href") for link in page.locator(".md-search-result__link").all()]
        assert any("/tutorial.html" in address for address in found)
    assert asked
    assert not [address for address in asked if not address.startswith(("file:", "data:"))]
    assert not broken
