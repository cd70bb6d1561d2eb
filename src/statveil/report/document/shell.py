"""The frame of a page: no script, nothing fetched, its audience marked on screen and on every printed page."""

from __future__ import annotations

import re
from importlib.resources import files

from statveil.report.document.elements import text
from statveil.report.page import policy

__all__ = ["framed", "page_kind", "page_subject"]

_COLOURS = {"private": "#8c1d18", "public": "#1f5136"}


_MADE = re.compile(rb'<meta name="generator" content="statveil: ([a-z ]+)">')
_ABOUT = re.compile(rb'<meta name="statveil-about" content="([0-9a-f]+)">')


def framed(body: str, *, title: str, mark: str, kind: str, what: str, about: str = "") -> str:
    """A whole page around HTML whose parts are escaped; ``mark`` says who may see it, and is a text of our own.

    ``what`` is the kind of page, and ``about`` a hash of what it is about, by which a later page may replace it.
    """
    own = f'<meta name="generator" content="statveil: {kind} {what}">'
    if about:
        own += f'<meta name="statveil-about" content="{about}">'
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{policy()}{own}
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>{text(title)}</title><style>{_stylesheet(mark, _COLOURS[kind])}</style></head>
<body class="{kind}"><header class="mark">{text(mark)}</header>
{body}
</body></html>
"""


def page_kind(start: bytes) -> str | None:
    """Which of our pages begins like this, such as "private report"; ``None`` for any other file."""
    found = _MADE.search(start)
    return None if found is None else found[1].decode()


def page_subject(start: bytes) -> str | None:
    """The hash of what the page is about, where it has one."""
    found = _ABOUT.search(start)
    return None if found is None else found[1].decode()


def _stylesheet(mark: str, colour: str) -> str:
    """``report.css``: screens of any width, in the dark, and paper."""
    rules = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return rules.replace("var-mark", mark.replace('"', "'")).replace("var-inked", colour)
