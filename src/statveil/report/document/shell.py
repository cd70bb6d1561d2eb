"""The frame of a page: no script, nothing fetched, its audience marked on screen and on every printed page."""

from __future__ import annotations

from importlib.resources import files

from statveil.report.document.elements import text
from statveil.report.page import policy

__all__ = ["framed"]

_COLOURS = {"private": "#8c1d18", "public": "#1f5136"}


def framed(body: str, *, title: str, mark: str, kind: str) -> str:
    """A whole page around HTML whose parts are escaped; ``mark`` says who may see it, and is a text of our own."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">{policy()}
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>{text(title)}</title><style>{_stylesheet(mark, _COLOURS[kind])}</style></head>
<body class="{kind}"><header class="mark">{text(mark)}</header>
{body}
</body></html>
"""


def _stylesheet(mark: str, colour: str) -> str:
    """``report.css``: screens of any width, in the dark, and paper."""
    rules = files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return rules.replace("var-mark", mark.replace('"', "'")).replace("var-inked", colour)
