"""The same study as a command line, as Python code and as a specification file: each can be run as it is shown."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from statveil.studio.refusal import Refusal
from statveil.studio.runs import Files
from statveil.studio.study import Study

__all__ = ["commands"]


def commands(study: Study) -> dict[str, Any]:
    """Three texts; the specification is to be saved as spec.toml beside where they are run."""
    with study.lock:
        table, standing = study.need_table(), study.standing
        files = Files(study)
        if standing.specification is None:
            raise Refusal(standing.why or "choose what becomes of the columns first.")
        source = _path(table.shown_path or table.name)
        target = _path(files.named("table")[1])
        again, books, name = study.replanned, study.ledger, study.dataset
        text = standing.specification.to_toml()
    ledger = [] if books is None else ["--ledger", str(Path(books).resolve()), "--dataset", name or ""]
    lines = [
        ["statveil", "plan", "--spec", "spec.toml", "-o", "plans.json"],
        [
            *("statveil", "release", "plans.json", source, target, "--record", "record.json"),
            *(["--planned-again"] if again else []),
            *ledger,
        ],
        ["statveil", "verify", target],
        ["statveil", "audit", "plans.json", source, target, "--record", "record.json", "-o", "audit.html"],
    ]
    options = "".join(
        [
            ', record="record.json"',
            ", planned_again=True" if again else "",
            "" if books is None else ", ledger=ledger",
        ]
    )
    keeper = [] if books is None else [f"ledger = sv.Ledger({str(Path(books).resolve())!r}).keeper(dataset={name!r})"]
    python = [
        "import statveil as sv",
        "",
        'plans = sv.plan_specification(sv.load_specification("spec.toml"))  # no data is read',
        "print(plans)",
        *keeper,
        f"done = sv.release_table(plans, {source!r}, {target!r}{options})",
        "print(done)",
        f'found = sv.audit(plans, {source!r}, {target!r}, record="record.json")  # private',
        "print(found)",
    ]
    return {
        "shell": "\n".join(shlex.join(words) for words in lines) + "\n",
        "python": "\n".join(python) + "\n",
        "specification": text,
    }


def _path(text: str) -> str:
    """A path that no program takes for an option."""
    return f"./{text}" if text.startswith("-") else text
