"""What each job is given: paths in the private folder, the specification, the frozen plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from statveil.studio.jobs import Job
from statveil.studio.refusal import Refusal
from statveil.studio.study import Study

__all__ = ["Files", "start_audit", "start_inspect", "start_plan", "start_release"]

_TRIALS = (200, 1_000_000)


class Files:
    """Where everything of the open table lies, each thing under a name that its holder will know again."""

    def __init__(self, study: Study) -> None:
        table = study.need_table()
        base = table.path.parent
        suffix = table.path.name.removeprefix("table")
        stem = table.name[: -len(suffix)] if suffix and table.name.lower().endswith(suffix) else table.name
        self.stem = stem or "table"
        self.suffix = suffix
        self.out, self.private = base / "out", base / "private"
        self.table = self.out / f"released{suffix}"
        self.card = self.out / f"released{suffix}.card.json"
        self.plan = self.out / "plans.json"
        self.specification = self.out / "spec.toml"
        self.record = self.private / "record.json"
        self.audit = self.private / "audit.html"
        self.report = self.private / "report.html"
        self.findings = self.private / "findings.json"
        self.comparison = self.private / "comparison.json"

    def make(self) -> None:
        """The folders."""
        for folder in (self.out, self.private):
            folder.mkdir(mode=0o700, exist_ok=True)

    def named(self, what: str) -> tuple[Path, str]:
        """A thing to download, and the name that it gets."""
        names = {
            "table": f"{self.stem}-released{self.suffix}",
            "card": f"{self.stem}-released{self.suffix}.card.json",
            "plan": f"{self.stem}-plans.json",
            "specification": f"{self.stem}-spec.toml",
            "record": f"{self.stem}-record-PRIVATE.json",
            "audit": f"{self.stem}-audit-PRIVATE.html",
            "report": f"{self.stem}-report-PRIVATE.html",
        }
        if what not in names:
            raise Refusal(f"there is nothing called {what!r} to download.", status=404)
        found: Path = getattr(self, what)
        return found, names[what]


def _task(study: Study, **more: Any) -> dict[str, Any]:
    table = study.need_table()
    return {"source": str(table.path), "names": list(table.names), **more}


def _on_plans(study: Study, files: Files, **more: Any) -> dict[str, Any]:
    """What a release and its audit have in common."""
    return _task(
        study,
        plans=str(files.plan),
        target=str(files.table),
        record=str(files.record),
        report=str(files.report),
        file=files.named("table")[1],
        **more,
    )


def start_inspect(study: Study, given: Mapping[str, Any]) -> Job:
    """Look at all columns."""
    with study.lock:
        study.check(given.get("revision"))
        study.need_table()
        study.need_thawed()
        return study.start("inspect", _task(study))


def start_plan(study: Study, given: Mapping[str, Any]) -> Job:
    """Plan, which freezes; the child gets the specification and no table."""
    with study.lock:
        study.check(given.get("revision"))
        table, standing = study.need_table(), study.standing
        study.need_thawed()
        if standing.specification is None:
            place = next((number for number, found in enumerate(standing.checks) if found), None)
            field = None if place is None else standing.checks[place][0]["field"]
            raise Refusal(standing.why or "choose what becomes of the columns first.", field=field, column=place)
        files = Files(study)
        files.make()
        files.specification.write_text(standing.specification.to_toml(), encoding="utf-8")
        return study.start(
            "plan",
            {
                "specification": standing.specification.to_json(),
                "names": list(table.names),
                "plans": str(files.plan),
            },
        )


def start_release(study: Study, given: Mapping[str, Any]) -> Job:
    """Release the table under the frozen plans."""
    with study.lock:
        study.check(given.get("revision"))
        study.need_table()
        if study.plan is None:
            raise Refusal("plan first: a release carries out a frozen plan.")
        files = Files(study)
        for earlier in (files.comparison, files.report):  # of another release
            earlier.unlink(missing_ok=True)
        return study.start(
            "release",
            _on_plans(
                study,
                files,
                comparison=str(files.comparison),
                planned_again=study.replanned,
                ledger=study.ledger,
                dataset=study.dataset,
            ),
        )


def start_audit(study: Study, given: Mapping[str, Any]) -> Job:
    """Attack the release."""
    trials = given.get("trials", 2000)
    if isinstance(trials, bool) or not isinstance(trials, int) or not _TRIALS[0] <= trials <= _TRIALS[1]:
        raise Refusal(f"trials are a whole number from {_TRIALS[0]} to {_TRIALS[1]:,}.", status=422, field="trials")
    with study.lock:
        study.check(given.get("revision"))
        study.need_table()
        if study.release is None:
            raise Refusal("release first: an audit attacks a released table.")
        files = Files(study)
        return study.start(
            "audit",
            _on_plans(
                study,
                files,
                page=str(files.audit),
                findings=str(files.findings),
                trials=trials,
            ),
        )


def comparison_of(study: Study, index: int) -> dict[str, Any]:
    """A hidden column before and after."""
    with study.lock:
        name = study.need_table().names[study.column(index)]
        if study.release is None:
            raise Refusal("there is no release to compare with yet.", status=404)
        place = Files(study).comparison
        if not place.exists():
            raise Refusal("the comparison was cancelled; release again to have it.", status=404)
        found: dict[str, Any] = json.loads(place.read_text())
    if name not in found:
        raise Refusal(f"column {name!r} is not hidden, so there is nothing to compare.", status=404, column=index)
    one: dict[str, Any] = found[name]
    return one


def findings_of(study: Study) -> dict[str, Any]:
    """What the attackers found."""
    with study.lock:
        if study.audit is None:
            raise Refusal("there is no audit yet.", status=404)
        found: dict[str, Any] = json.loads(Files(study).findings.read_text())
        return found
