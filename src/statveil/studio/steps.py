"""What the jobs do, each by the same functions as the command line. Runs in a child process; results are private."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from statveil.errors import ColumnError, StatveilError, StructureError, TargetError
from statveil.specification.placed import PlacedError
from statveil.specification.plans_file import load_table_plan, save_table_plan
from statveil.specification.specification import Specification
from statveil.spoken import Progress
from statveil.studio.assembling import field_of
from statveil.whole_file import write_whole

__all__ = ["AFTER", "STEPS", "located"]

Task = Mapping[str, Any]


def inspect(task: Task, progress: Progress) -> dict[str, Any]:
    """Structure of all columns, what tells what, and what is proposed: ``statveil inspect --spec``."""
    from statveil.studio.column_words import column_words, telling_words
    from statveil.tables.drafting import draft_table

    draft = draft_table(task["source"], progress=progress)
    names = [one.column for one in draft.columns]
    proposals = {one.column: one for one in draft.columns}
    columns = []
    for report in draft.inspection.columns:
        one = proposals[report.column]
        columns.append(
            {
                "type": report.type,
                "numeric": report.measured is not None,
                "words": column_words(report),
                "telling": telling_words(draft.told.get(report.column, [])),
                "proposal": _proposal(one.table, names, one.before),
            }
        )
    rows = max((one.rows for one in draft.inspection.columns), default=0)
    return {"columns": columns, "rows": rows or None, "shuffle": draft.shuffle}


def _proposal(table: Mapping[str, Any], names: list[str], why: str) -> dict[str, Any]:
    found: dict[str, Any] = {"action": next(key for key in ("hide", "keep", "drop", "derive", "link") if key in table)}
    if found["action"] == "hide":
        found |= {
            "secret": table["hide"],
            **{key: table[key] for key in ("tolerance", "known", "shape") if key in table},
        }
    elif found["action"] == "derive":
        found["expression"] = table["derive"]
    elif found["action"] == "link":
        found |= {"linked_to": names.index(table["link"]), "factor": table["factor"]}
    return {**found, "words": " ".join(line.removeprefix("#").strip() for line in why.splitlines())}


def plan(task: Task, progress: Progress) -> dict[str, Any]:
    """The plans of all hidden columns: ``statveil plan --spec``. No data is read."""
    from statveil.studio.plan_summary import planned

    progress("planning", 0, None)
    made, summary = planned(Specification.from_json(task["specification"]))
    save_table_plan(made, task["plans"])
    return summary


def release(task: Task, progress: Progress) -> dict[str, Any]:
    """The released table with its card and the private record: ``statveil release``."""
    from statveil.tables.release_table import release_table

    done = release_table(
        load_table_plan(task["plans"]),
        task["source"],
        task["target"],
        record=task["record"],
        overwrite=True,
        planned_again=task["planned_again"],
        ledger=_keeper(task),
        progress=progress,
    )
    return {"words": [done.card["guarantee"]["says"], *done.to_check, *(str(note) for note in done.notes)]}


def look_back(task: Task, progress: Progress) -> None:
    """What is shown of a release: before and after, and the report."""
    from statveil.report.document.write import write_report
    from statveil.studio.comparison import compared
    from statveil.tables.card import read_card

    progress("comparing before and after", 0, None)
    plans = load_table_plan(task["plans"])
    _keep(task["comparison"], compared(plans, task["source"], task["target"]))
    write_report(plans, task["report"], card=read_card(Path(task["target"])), file=task["file"])


def _keeper(task: Task) -> Any:
    if not task.get("ledger"):
        return None
    from statveil.ledger.ledger import EVERYONE, Ledger

    return Ledger(task["ledger"]).keeper(dataset=task["dataset"], budget=None, audience=EVERYONE)


def audit(task: Task, progress: Progress) -> dict[str, Any]:
    """Attack the release: ``statveil audit``."""
    from statveil.auditing.audit import audit as attack
    from statveil.report.audit import audit_page
    from statveil.report.document.write import write_report
    from statveil.studio.findings import findings
    from statveil.tables.card import read_card

    plans = load_table_plan(task["plans"])
    progress("reading both tables", 0, None)
    found = attack(
        plans,
        task["source"],
        task["target"],
        record=task["record"],
        trials=task["trials"],
        progress=_in_one(progress, len(plans.secrets)),
    )
    audit_page(found, task["page"])
    write_report(plans, task["report"], card=read_card(Path(task["target"])), audit=found, file=task["file"])
    said = findings(found, task["names"])
    _keep(task["findings"], said)
    return {"verdict": said["verdict"], "words": said["words"]}


def _in_one(progress: Progress, parts: int) -> Progress:
    """The progress of several stages of one length as that of their whole; a stage may end before its time."""
    stages: dict[str, int] = {}

    def tell(stage: str, done: int, total: int | None) -> None:
        if total is None:
            progress(stage, done, total)
            return
        skipped = 0
        if stage not in stages:
            skipped = len(stages) * total - sum(stages.values())
            if stages:
                stages[next(reversed(stages))] += skipped
            stages[stage] = 0
        stages[stage] += done
        progress("attacking", skipped + done, parts * total)

    return tell


def _keep(path: str, value: Any) -> None:
    write_whole(path, json.dumps(value, allow_nan=False).encode(), private=True)


STEPS: dict[str, Callable[[Task, Progress], dict[str, Any]]] = {
    "inspect": inspect,
    "plan": plan,
    "release": release,
    "audit": audit,
}


AFTER: dict[str, Callable[[Task, Progress], None]] = {"release": look_back}
"""What follows when the work itself is done: where it fails or is cancelled, the work is done all the same."""


def located(error: StatveilError, names: Sequence[str]) -> dict[str, Any]:
    """The column, by its place, and the field that an error is about, as far as it says."""
    field = "max_risk" if isinstance(error, TargetError) else None
    if isinstance(error, PlacedError):
        place, named = field_of(error, names)
        return {"column": place, "field": named or field}
    message = str(error)
    # a message names its own column first
    quoted = sorted((message.index(repr(name)), place) for place, name in enumerate(names) if repr(name) in message)
    if isinstance(error, ColumnError) and "prior" in message:
        field = "prior"
    elif isinstance(error, StructureError):
        field = "known"
    return {"column": quoted[0][1] if quoted else None, "field": field}
