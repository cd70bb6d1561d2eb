"""The part for those who decide: what is hidden, how well, at what change, what is not, and what was assumed.

Every sentence of it is one of :mod:`statveil.words`, and no term of the trade stands in it.
"""

from __future__ import annotations

from collections import Counter

from statveil.auditing.result import Audit
from statveil.made_plan import Plan
from statveil.problem.of_columns import OfColumns
from statveil.report.audit import verdict_of
from statveil.report.document.elements import bullets, dots, facts, section, table, text
from statveil.report.document.material import Material
from statveil.specification.planned import TablePlan
from statveil.words.caveats import assumed, not_protected
from statveil.words.phrases import named, of_column, often, statistics_text
from statveil.words.plan import change_sentences, distortion_sentence, hidden_sentence, risk_sentence
from statveil.words.sentence import Sentence
from statveil.words.table import columns_sentences, table_sentence

__all__ = ["PRIVATE_MARK", "PUBLIC_MARK", "front_part", "title_of"]

PRIVATE_MARK = "PRIVATE: for those who may see the original table. Do not publish."
PUBLIC_MARK = "PUBLIC: holds nothing that was computed from the original table."

_FILE_UNKNOWN = "not released yet, or not named"


def title_of(material: Material) -> str:
    """What the report is about."""
    if isinstance(material.plan, TablePlan):
        many = len(material.plan.secrets)
        return f"How a table is shared and {many} figure{'s' * (many > 1)} of it stay{'s' * (many == 1)} hidden"
    what, many = statistics_text(material.plan.problem), len(material.plan.problem.each)
    return f"How a table is shared and the {what}{of_column(material.column)} stay{'s' * (many == 1)} hidden"


def front_part(material: Material) -> str:
    """The whole part as HTML."""
    own = _table_front(material, material.plan) if isinstance(material.plan, TablePlan) else _plan_front(material)
    return f"<h1>{text(title_of(material))}</h1>{_meta(material)}<h2>In short</h2>{own}"


def _meta(material: Material) -> str:
    """File, column, date and audience."""
    plan = material.plan
    hidden = [named(str(name)) for name in material.plans if name is not None]
    if not isinstance(plan, TablePlan) and isinstance(plan.problem.secret, OfColumns):
        hidden = [named(name) for name in plan.problem.secret.names]
    columns = ", ".join(hidden[:6]) + f" and {len(hidden) - 6} more" * (len(hidden) > 6)
    rows = [
        ("File", _FILE_UNKNOWN if material.file is None else named(material.file)),
        ("Columns" if isinstance(plan, TablePlan) or len(hidden) > 1 else "Column", columns or "not named"),
        ("Date", material.made_on.isoformat()),
        ("Who may see this page", _audience(material)),
    ]
    return facts(rows)


def _audience(material: Material) -> str:
    if material.public:
        return "anyone"
    return "only those who may see the original table"


def _plan_front(material: Material) -> str:
    plan = material.plan
    assert isinstance(plan, Plan)
    column, problem = material.column, plan.problem
    hidden = hidden_sentence(problem, column=column)
    risk = risk_sentence(problem, plan.risk, kind=plan.risk_kind, without=plan.risk_without_release, column=column)
    changes = change_sentences(plan, column=column)
    return "".join(
        [
            section("What is hidden", f'<p class="lead">{text(hidden)}</p>', _note(hidden.means), kind="short"),
            _how_well(risk, plan.risk, plan.risk_without_release),
            _verdict(material),
            section(
                "At what change",
                *(f'<p class="lead">{text(change)}</p>{_note(change.means)}' for change in changes),
                _said(distortion_sentence(problem, plan.distortion)),
                kind="short",
            ),
            '<div class="pair">',
            section("What it does not protect against", bullets([*not_protected(plan), *_leaks(material)])),
            section("What was assumed", bullets(assumed(plan, column=column))),
            "</div>",
        ]
    )


def _how_well(risk: Sentence, value: float, without: float | None) -> str:
    words = f'<div><p class="lead">{text(risk)}</p><p class="note">{text(risk.means)}</p></div>'
    return section("How well it is hidden", f'<div class="how">{words}{dots(value, without)}</div>')


def _note(words: str) -> str:
    return f'<p class="note">{text(words)}</p>' if words else ""


def _said(sentence: Sentence) -> str:
    return f"<p>{text(sentence)} {text(sentence.means)}</p>"


def _verdict(material: Material) -> str:
    """What attacks found; nothing where none were run, and on a public page."""
    if material.public:
        return ""
    if not material.audits:
        none = "No attacks were run on the released table, or their result was not given."
        return section("What attacks found", f"<p>{text(none)}</p>", kind="short")
    return section(
        "What attacks found",
        *(_one_verdict(one, several=len(material.audits) > 1) for one in material.audits),
        kind=f"short verdict {material.audits[0].verdict}",
    )


def _one_verdict(audit: Audit, *, several: bool) -> str:
    said = verdict_of(audit)
    whose = f"{named(str(audit.column))}: " if several else ""
    on = f" Attacks were run on {audit.made_on}." if audit.made_on else ""
    return f"<p{'' if several else ' class=lead'}>{text(whose + said.says)}</p>" + (
        "" if several else _note(said.means + on)
    )


def _leaks(material: Material) -> list[str]:
    """What was done in spite of a warning, from the card."""
    if material.card is None:
        return []
    accepted = list(material.card.get("accepted_leaks", ()))
    for one in material.card.get("columns", {}).values():
        accepted += one.get("accepted_leaks", ())
    names = sorted({leak["name"] for leak in accepted})
    lines = []
    if names:
        lines.append(f"The holder accepted what these tell: {', '.join(names)}. The card below says what they are.")
    if material.card.get("planned_again"):
        lines.append(
            "The plan was made again after the data had been seen. A choice made so can tell something of them."
        )
    return lines


def _table_front(material: Material, plans: TablePlan) -> str:
    said = table_sentence(plans)
    return "".join(
        [
            section("What is hidden", _hidden_columns(plans), kind=""),
            _how_well(said, plans.risk, None),
            _verdict(material),
            section("What becomes of the other columns", bullets(_other_columns(material, plans)), kind="short"),
            '<div class="pair">',
            section(
                "What it does not protect against", bullets([*_all(plans, not_protecting=True), *_leaks(material)])
            ),
            section("What was assumed", bullets(_all(plans, not_protecting=False))),
            "</div>",
        ]
    )


def _hidden_columns(plans: TablePlan) -> str:
    """One row for each hidden statistic: how often a guess is right, and how far it moves."""
    rows = []
    stated = iter(plans.secrets)
    for name, plan in plans.plans.items():
        changes = {
            one.secret.label: change for one, change in zip(plan.problem.each, change_sentences(plan), strict=True)
        }
        for problem in plans.specification.hidden[name].problems:
            each = next(stated)
            change = changes.get(each["secret"])
            close = f"{each['tolerance']:,.12g}"
            if each["tolerance_kind"] == "relative":
                close = f"{100 * each['tolerance']:.10g} %"
            (chance,) = often(each["risk"])
            moved = "" if change is None else change.says.rpartition("by at most ")[2].rstrip(".")
            rows.append((name, problem.secret.plain, close, f"at most {chance}", f"at most {moved}" if moved else ""))
    head = ("Column", "Hidden figure", "A guess is right within", "Right guesses", "Change of the figure")
    return table(head, rows, name="hidden columns")


def _other_columns(material: Material, plans: TablePlan) -> list[str]:
    lines = [sentence.says for sentence in columns_sentences(plans)]
    if material.card is None:
        return lines or ["They stay as they are, unless the release says otherwise."]
    done = Counter(one["done"] for one in material.card["columns"].values())
    for kind, words in (("kept", "published unchanged"), ("dropped", "left out")):
        names = [named(name) for name, one in material.card["columns"].items() if one["done"] == kind]
        if names:
            listed = ", ".join(names[:12]) + f" and {len(names) - 12} more" * (len(names) > 12)
            lines.append(f"{done[kind]} column{'s are' if done[kind] > 1 else ' is'} {words}: {listed}.")
    return lines or ["There are none."]


def _all(plans: TablePlan, *, not_protecting: bool) -> list[str]:
    """What holds for every plan of the table, each sentence once."""
    lines: dict[str, None] = {}
    for name, plan in plans.plans.items():
        for line in not_protected(plan, alone=False) if not_protecting else assumed(plan, column=name):
            lines.setdefault(line)
    return list(lines)
