"""Parts of a page, as HTML whose texts are escaped: whatever a name holds, it stays text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape

from statveil.spoken import harmless

__all__ = ["bullets", "dots", "facts", "figure", "section", "table", "text"]


def text(words: object) -> str:
    """Words of anyone's on a page."""
    return escape(harmless(str(words)))


def section(title: str, *parts: str, kind: str = "") -> str:
    """A part with a heading; ``parts`` are HTML."""
    marked = f' class="{kind}"' if kind else ""
    return f"<section{marked}><h3>{text(title)}</h3>{''.join(parts)}</section>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """What a page is about, each with its name."""
    cells = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in rows)
    return f'<dl class="meta">{cells}</dl>'


def bullets(lines: Iterable[str]) -> str:
    """A list of sentences."""
    return f"<ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, name: str) -> str:
    """A table that scrolls by itself where the screen is narrow; the first cell of a row names it."""
    top = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    top, kind = (f"<thead><tr>{top}</tr></thead>", "") if head else ("", ' class="named"')
    body = "".join(
        f'<tr><th scope="row">{text(row[0])}</th>{"".join(f"<td>{text(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll" role="region" aria-label="{text(name)}" tabindex="0"><table{kind}>{top}'
        f"<tbody>{body}</tbody></table></div>"
    )


def figure(title: str, says: str, drawing: str) -> str:
    """A chart with what it shows; ``drawing`` is SVG."""
    return (
        f'<figure><figcaption><b>{text(title)}</b> {text(says)}</figcaption><div class="chart" role="img" '
        f'aria-label="{text(title)} {text(says)}">{drawing}</div></figure>'
    )


def dots(risk: float, without: float | None) -> str:
    """A hundred cases as dots: right guesses filled, of which those that need no table are darker. Rounded up."""
    right = _of_hundred(risk)
    anyway = 0 if without is None else min(right, _of_hundred(without))
    marks = []
    for i in range(100):
        kind = "anyway" if i < anyway else "right" if i < right else "wrong"
        marks.append(f'<circle class="{kind}" cx="{8 + 16 * (i % 10)}" cy="{8 + 16 * (i // 10)}" r="6"/>')
    says = f"Of 100 guesses at most {right} come close enough"
    more = "" if without is None else f"; {anyway} of these would do so without the table"
    keys = [("right", f"right: at most {right} of 100")]
    if without is not None:
        keys = [
            ("anyway", f"right even without the table: up to {anyway}"),
            ("right", f"added by the table: up to {right - anyway}"),
        ]
    keys.append(("wrong", "wrong"))
    legend = "".join(
        f'<li><svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><circle class="{kind}" cx="6" cy="6" '
        f'r="5"/></svg> {text(label)}</li>'
        for kind, label in keys
    )
    return (
        f'<figure class="dots"><svg viewBox="0 0 160 160" role="img" aria-label="{text(says + more)}.">{"".join(marks)}'
        f'</svg><figcaption><b>100 guesses</b><ul class="key">{legend}</ul></figcaption></figure>'
    )


def _of_hundred(chance: float) -> int:
    return min(100, math.ceil(100 * Decimal(repr(float(chance)))))  # 0.07 is 7, whatever 100 x 0.07 is
