"""The part below: the plan and its numbers, charts, what attackers found, and the card."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from typing import Any

from statveil.design.frontier import frontier
from statveil.errors import StatveilError
from statveil.made_plan import Plan
from statveil.report.chart import tradeoff_chart
from statveil.report.document.audit_part import audit_part
from statveil.report.document.elements import bullets, figure, section, table, text
from statveil.report.document.material import Material
from statveil.report.look import finished, svg_of
from statveil.report.plan import plan_rows
from statveil.report.plan_chart import profile_chart, steps_chart, table_chart
from statveil.specification.planned import TablePlan
from statveil.words.glossary import TERMS, terms_in
from statveil.words.phrases import named

__all__ = ["evidence_part"]

_POINTS = 30
_MOST_COLUMNS = 12
"""Columns of a table whose charts are drawn; the numbers of all are in the tables."""


def evidence_part(material: Material) -> str:
    """The whole part as HTML, with the terms that it uses explained first."""
    parts = [
        *_of_plans(material),
        *(audit_part(one, f"a{i}") for i, one in enumerate(material.audits)),
        *_card(material),
    ]
    below = "".join(parts)
    rows = [(term, TERMS[term]) for term in terms_in(_words_of(below))]
    words = section("Words used below", table((), rows, name="words used below"))
    return f"<h2>Evidence</h2><p class=note>For those who check it.</p>{words}{below}"


def _words_of(page: str) -> str:
    """The text of a page without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def _of_plans(material: Material) -> Iterable[str]:
    if isinstance(material.plan, TablePlan):
        drawn = svg_of(table_chart(material.plan), name="all")
        yield figure("Right guesses of each hidden figure, and of any of them.", "Shorter is better.", drawn)
    for number, (column, plan) in enumerate(material.plans.items()):
        if isinstance(material.plan, TablePlan):
            yield f'<h2 class="column">{text(f"Column {named(str(column))}")}</h2>'
        yield section("The plan in numbers", table((), plan_rows(plan), name=f"plan {number + 1} in numbers"))
        if number < _MOST_COLUMNS:
            yield '<div class="pair">' + "".join(_charts(plan, f"p{number}")) + "</div>"


def _charts(plan: Plan, name: str) -> Iterable[str]:
    found = _tradeoff(plan)
    if found is not None:
        yield figure(
            "The trade-off.",
            "Each curve is a way of hiding; none gets below the dashed one. The dot is this plan.",
            svg_of(finished(found), name=f"{name}t"),
        )
    yield figure(
        "What is released.",
        "All true values under one line are released as the same value; dots are single ones. On the dashed line "
        "nothing would change.",
        svg_of(finished(steps_chart(plan)), name=f"{name}s"),
    )
    yield figure(
        "Closer and wider guesses.",
        "How often a guess is right that must come closer than stated, or may lie farther off.",
        svg_of(finished(profile_chart(plan)), name=f"{name}r"),
    )


def _tradeoff(plan: Plan) -> Any:
    """The curves with the plan on them; none where no curve of the usual methods can be drawn, or not in a minute."""
    if plan.problem.secret.rough:
        return None
    try:
        curves = frontier(plan.problem, points=_POINTS)
    except StatveilError:
        return None
    drawn = tradeoff_chart(curves, here=(plan.distortion, plan.risk), plain=True)
    return drawn.properties(width=360, height=240)


def _card(material: Material) -> Iterable[str]:
    card = material.card
    if card is None:
        return
    rows = [("says", card["says"]), ("guarantee", card["guarantee"]["says"])]
    if "distortion_says" in card["guarantee"]:
        rows.append(("distortion", card["guarantee"]["distortion_says"]))
    for key in ("mode", "rows", "shuffled", "rounded_to_digits", "test_seed", "sha256"):
        if card.get(key) is not None:
            rows.append((key.replace("_", " "), str(card[key])))
    rows.append(("versions", ", ".join(f"{name} {version}" for name, version in card["versions"].items())))
    yield section("The card", table((), rows, name="the card"))
    if "columns" in card:
        yield section("What was done with each column", _columns(card), kind="")
        yield section("Assumed of the columns that are published", bullets(card["assumed_of_kept"]))
    for key, title in (("assumptions", "Assumptions on the card"), ("checked", "What was checked")):
        if key in card:
            yield section(title, bullets(card[key]))
    if card.get("accepted_leaks"):
        leaks = [f"{leak['name']}: {leak['says']}" for leak in card["accepted_leaks"]]
        yield section("Accepted leaks", bullets(leaks), kind="short")
    if card.get("declared"):
        stated = json.dumps(card["declared"], ensure_ascii=False)
        yield section("Declared structure", f"<p>{text(stated)}</p>", kind="short")


def _columns(card: dict[str, Any]) -> str:
    rows = []
    for name, one in card["columns"].items():
        says = one["guarantee"]["says"] if one["done"] == "hidden" else one["says"]
        rows.append((name, one["done"], says))
    return table(("column", "done", "what that means"), rows, name="what was done with each column")
