"""One page that collects every figure and table: what was reproduced, what differs and why. Opens offline."""

from __future__ import annotations

import base64
import html
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from statveil.datasets.dataset import Dataset
from statveil.report.page import policy
from statveil.reproducing.results import Claim, Figure, Outcome, ResultTable
from statveil.reproducing.shown import shown

if TYPE_CHECKING:
    from statveil.reproducing.run import Reproduced

__all__ = ["INDEX", "MARK", "NOT_DRAWN", "page"]

INDEX = "index.html"
MARK = '<meta name="generator" content="statveil reproduce">'
NOT_DRAWN = {
    "fig:overview": "the problem in a drawing of holder, release and attacker; it has no numbers",
    "fig:proof_lower_bound": "a drawing of the proof of Theorem 1: guesses two tolerances apart cover every secret",
    "fig:proof_lower_bound_alternative": "the same for Theorem 2",
}
"""Figures of the paper without content to compute, by label."""

_PACKAGES = ("numpy", "scipy", "polars", "altair", "vl-convert-python")
_LONG = 24
"""Texts longer than this get a column of a readable width."""
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1f; }
h2 { margin-top: 3rem; border-top: 2px solid #d5d5dc; padding-top: 1rem; }
.source, figcaption, caption, .small { color: #4a4a55; font-size: .9rem; }
.notice { background: #fff4d6; padding: .5rem 1rem; border-left: 4px solid #d98324; }
.failed { background: #8c1d18; color: #fff; padding: .5rem 1rem; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; } caption { text-align: left; padding-bottom: .4rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d5d5dc; vertical-align: top; }
td.long { min-width: 15rem; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; text-align: right; }
.yes { color: #2c6e49; font-weight: 600; } .no { color: #8c1d18; font-weight: 600; }
dt { font-weight: 600; } dd { margin: 0 0 .3rem 1rem; }
"""


def page(found: Sequence[Reproduced], *, seed: int) -> str:
    """The whole page as HTML."""
    parts = [
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8">{MARK}{policy()}<title>The paper, reproduced</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body>",
        "<h1>Summary Statistic Privacy in Data Sharing: figures and tables, made anew</h1>",
        *_summary(found, seed),
        *(part for done in found for part in _item(done)),
        "<h2>Not drawn</h2>",
        "<ul>" + "".join(f"<li>{_(label)}: {_(why)}.</li>" for label, why in NOT_DRAWN.items()) + "</ul>",
        "</body></html>",
    ]
    return "\n".join(parts)


def _(text: str) -> str:
    return html.escape(text)


def _words(text: str) -> str:
    """Text with what stands in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _(text))


def _summary(found: Sequence[Reproduced], seed: int) -> list[str]:
    claims = [claim for done in found if done.outcome for claim in done.outcome.claims]
    held = sum(claim.holds for claim in claims)
    failed = [done.name for done in found if done.failure is not None]
    parts = [
        f"<p>{len(found) - len(failed)} of {len(found)} items were made. The numbers agree with {held} of the "
        f"{len(claims)} statements of the paper that were checked; where they do not, the reason stands beside it.</p>"
    ]
    if failed:
        parts.append(f'<p class="failed">Failed: {_(", ".join(failed))}. The reason stands in the item.</p>')
    datasets = _datasets(found)
    if any(data.is_stand_in for data in datasets):
        parts.append(
            '<p class="notice">Stand-ins: some data sets of the paper were not given, and generated ones took their '
            "place. Their figures show what the mechanisms do, not what the paper measured.</p>"
        )
    if any(not data.is_stand_in for data in datasets):
        parts.append(
            '<p class="notice">Figures and tables from a file that you gave are computed from the original: they show '
            "the statistics that a release would hide. Share this page only if the file is public.</p>"
        )
    rows = "".join(_overview_row(done) for done in found)
    parts.append(
        "<table><thead><tr><th>item</th><th>in the paper</th><th>statements that hold</th><th>seconds</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
    if datasets:
        parts.append("<h3>Data sets</h3><ul>" + "".join(f"<li>{_(data.says)}</li>" for data in datasets) + "</ul>")
    packages = ", ".join(f"{name} {version(name)}" for name in ("statveil", *_PACKAGES))
    total = sum(done.seconds for done in found)
    parts.append(
        f'<p class="small">Seed {seed}. {total:.0f} seconds. Python {platform.python_version()}, {_(packages)}. Risk '
        "is the probability that the best attacker guesses the secret within the tolerance; distortion is the largest "
        "distance between an original and its release. Lower is better for both.</p>"
    )
    return parts


def _datasets(found: Sequence[Reproduced]) -> list[Dataset]:
    return list({data.name: data for done in found if done.outcome for data in done.outcome.datasets}.values())


def _overview_row(done: Reproduced) -> str:
    claims = done.outcome.claims if done.outcome else ()
    held = "failed" if done.failure is not None else f"{sum(claim.holds for claim in claims)} of {len(claims)}"
    return (
        f'<tr><td><a href="#{_(done.name)}">{_(done.title)}</a></td><td>{_(done.source)}</td><td>{held}</td>'
        f'<td class="number">{done.seconds:.0f}</td></tr>'
    )


def _item(done: Reproduced) -> list[str]:
    parts = [
        f'<h2 id="{_(done.name)}">{_(done.title)}</h2>',
        f'<p class="source">In the paper: {_(done.source)}. Made by <code>--only {_(done.name)}</code>.</p>',
    ]
    if done.outcome is None:
        return [*parts, f'<p class="failed">This item failed: {_(done.failure or "")}</p>']
    outcome: Outcome = done.outcome
    for data in outcome.datasets:
        word = "Stand-in" if data.is_stand_in else "Computed from the original"
        parts.append(f'<p class="notice">{word}: {_(data.says)}</p>')
    parts += [_figure(figure, done.files[f"{figure.name}.svg"]) for figure in outcome.figures]
    parts += [_table(table) for table in outcome.tables]
    parts.append("<h3>Reproduced</h3><ul>" + "".join(_claim(claim) for claim in outcome.claims) + "</ul>")
    listed = "".join(f"<li>{_words(text)}</li>" for text in outcome.differs)
    parts.append(f"<h3>Differs because</h3><ul>{listed}</ul>")
    return parts


def _claim(claim: Claim) -> str:
    word = '<span class="yes">Holds</span>' if claim.holds else '<span class="no">Does not hold</span>'
    return f"<li>{word}: {_(claim.says)} <span class='small'>{_(claim.evidence)}</span></li>"


def _figure(figure: Figure, svg: bytes) -> str:
    # as an image, so that the names inside one picture cannot clash with another's
    source = base64.b64encode(svg).decode()
    return (
        f'<figure><img src="data:image/svg+xml;base64,{source}" alt="{_(figure.caption)}">'
        f"<figcaption>{_(figure.caption)} {_links(figure.name, ('svg', 'png'))}</figcaption></figure>"
    )


def _links(name: str, suffixes: Sequence[str]) -> str:
    return " ".join(f'<a href="{_(name)}.{suffix}">{suffix}</a>' for suffix in suffixes)


def _table(table: ResultTable) -> str:
    links = _links(table.name, ("csv", "json"))
    if not table.on_page:
        return f'<p class="small">{_(table.caption)} {len(table.rows):,} rows: {links}</p>'
    head = "".join(
        f'<th title="{_(column.meaning)}">{_(column.name.replace("_", " "))}</th>' for column in table.columns
    )
    body = []
    for row in table.rows:
        cells = []
        for column in table.columns:
            value = row[column.name]
            kind = "number" if not isinstance(value, str) else "long" if len(value) > _LONG else ""
            mark = f' class="{kind}"' if kind else ""
            cells.append(f"<td{mark}>{_(shown(value, column.rounded))}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    meanings = "".join(
        f"<dt>{_(column.name.replace('_', ' '))}</dt><dd>{_(column.meaning)}</dd>" for column in table.columns
    )
    return (
        f'<div class="wide"><table><caption>{_words(table.caption)} {links}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
        f"<details><summary>What the columns are</summary><dl>{meanings}</dl></details>"
    )
