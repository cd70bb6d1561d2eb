"""Links written for readers of the files, `[audit.md](audit.md)`, carry the page's title on the site (mkdocs.yml)."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

LINK = re.compile(r"\[(?P<text>[\w/.-]+\.md)\]\((?P<target>[^)#\s]+\.md)(?P<place>#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """The page with titles for names of files."""
    here = PurePosixPath(page.file.src_uri).parent

    def titled(link: re.Match[str]) -> str:
        parts: list[str] = []
        for part in (here / link["target"]).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        found = files.get_file_from_path("/".join(parts))
        title = found.page.title if found is not None and found.page is not None else None
        return f"[{title or link['text']}]({link['target']}{link['place'] or ''})"

    return LINK.sub(titled, markdown)
