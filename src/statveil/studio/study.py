"""The one study of a start: the table, what was chosen, the frozen plan, and what came of it.

Held by the server, so that a reload or a second tab sees the same. Every change needs the revision that it is based on.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from statveil.errors import StatveilError
from statveil.studio.assembling import Options, Standing, stand, strip
from statveil.studio.choice import Choice, risk
from statveil.studio.inside import Opened, open_inside
from statveil.studio.jobs import Job
from statveil.studio.refusal import Refusal
from statveil.studio.table import OpenTable, look_at, suffix_of
from statveil.tables.verification import check_accepted

__all__ = ["Study"]

DEFAULT_RISK = 0.2
"""What a column that is to be hidden starts with."""
_UNTIL = {
    "inspect": "the columns have been looked at",
    "plan": "the plan is made",
    "release": "the table is released",
    "audit": "the attackers are done",
}
"""What is waited for while a job runs, as people would say it."""


class Study:
    """All that the page shows.

    Parameters
    ----------
    folder : Path
        Where tables may lie that are named by path.
    work : Path
        The private folder.
    ledger, dataset : str, optional
        Where releases are entered, and under which name.
    max_upload : int
        Bytes of an upload.
    """

    def __init__(
        self,
        *,
        folder: Path,
        work: Path,
        ledger: str | None = None,
        dataset: str | None = None,
        max_upload: int = 2 << 30,
    ) -> None:
        self.folder, self.work, self.ledger, self.dataset, self.max_upload = folder, work, ledger, dataset, max_upload
        self.lock = threading.RLock()
        self.revision = 1
        self.table: OpenTable | None = None
        self._opened: Opened | None = None
        self._places = itertools.count()
        self.choices: list[Choice] = []
        self.options = Options()
        self.looked: list[dict[str, Any]] | None = None
        """What an inspection found, by column."""
        self.plan: dict[str, Any] | None = None
        self.release: dict[str, Any] | None = None
        self.audit: dict[str, Any] | None = None
        self.replanned = False
        self._seen: set[tuple[Any, ...]] = set()
        """Tables on which a plan was tried."""
        self._tried = False
        """Whether the frozen plan was tried, and something was learnt from it."""
        self.jobs: dict[str, Job] = {}

    # --- the table ----------------------------------------------------------------------------
    def open_path(self, revision: Any, text: Any) -> None:
        """Open a table by its path, inside the allowed folder."""
        if not isinstance(text, str):
            raise Refusal("give the path of a table file.", field="path")
        with self.lock:
            self.check(revision)
        opened = open_inside(text, self.folder)
        try:
            place = self.new_place()
            path = opened.stand_in(place, "table" + suffix_of(opened.path.name))
            table = look_at(path, name=opened.path.name, shown_path=str(opened.path), size=opened.size, field="path")
            with self.lock:
                self.check(revision)
                self._take(table, opened)
        except BaseException:
            opened.close()
            raise

    def take_upload(self, revision: Any, name: str, path: Path) -> None:
        """Open a table that was uploaded to ``path``."""
        table = look_at(path, name=name, shown_path=None, size=path.stat().st_size, field="upload")
        with self.lock:
            self.check(revision)
            self._take(table, None)

    def new_place(self) -> Path:
        """A new folder in the private one."""
        place = self.work / f"table-{next(self._places)}"
        place.mkdir(mode=0o700)
        return place

    def _take(self, table: OpenTable, opened: Opened | None) -> None:
        before, held = self.table, self._opened
        self.table, self._opened = table, opened
        self.choices = [Choice() for _ in table.names]
        self.options, self.looked = Options(), None
        self.plan = self.release = self.audit = None
        self.replanned, self._tried, self.jobs = self._mark in self._seen, False, {}
        self._changed()
        if held is not None:
            held.close()
        if before is not None:
            shutil.rmtree(before.path.parent, ignore_errors=True)

    @property
    def _mark(self) -> tuple[Any, ...]:
        """By which a table is known again that was seen before."""
        assert self.table is not None
        return (self.table.size, self.table.names)

    # --- choices ------------------------------------------------------------------------------
    def check(self, revision: Any, *, idle: bool = True) -> None:
        """Refuse a change that is based on an older state, or that comes while work is going on."""
        if isinstance(revision, bool) or not isinstance(revision, int) or revision != self.revision:
            raise Refusal(
                "this was changed in another tab meanwhile; look at what stands now, and change it again.",
                status=409,
                more={"study": self.to_json()},
            )
        if idle and self.running is not None:
            raise Refusal(f"wait until {_UNTIL[self.running.kind]}, or cancel that.", field=None)

    def need_table(self) -> OpenTable:
        """The table; refused where there is none."""
        if self.table is None:
            raise Refusal("open a table first.", field="path")
        return self.table

    def need_thawed(self) -> None:
        """Refuse to change what a frozen plan rests on."""
        if self.plan is not None:
            raise Refusal("the plan is frozen; unfreeze it to change what it rests on.", field="action")

    def column(self, index: int) -> int:
        """A column that there is."""
        if not 0 <= index < len(self.need_table().names):
            raise Refusal(f"there is no column {index}.", status=404)
        return index

    def change_column(self, index: int, given: Mapping[str, Any]) -> None:
        """What becomes of a column."""
        with self.lock:
            self.check(given.get("revision"))
            self.column(index)
            self.need_thawed()
            try:
                made = self.choices[index].changed(given, len(self.choices))
            except Refusal as refusal:
                refusal.column = index
                raise
            if "accept" in given:
                self._check_accepted(index, made.accept)
            if made.action == "hide" and self.choices[index].action != "hide":
                made = replace(
                    made,
                    secret=made.secret or ("mean" if self._numeric(index) else ""),
                    max_risk=DEFAULT_RISK
                    if made.max_risk is None and self.options.joint_risk is None
                    else made.max_risk,
                )
            self.choices[index] = made
            self._changed()

    def _check_accepted(self, index: int, names: tuple[str, ...]) -> None:
        try:
            check_accepted(names)
        except StatveilError as error:
            raise Refusal(str(error), status=422, field="accept", column=index) from None

    def _numeric(self, place: int) -> bool:
        assert self.table is not None
        looked = {} if self.looked is None else self.looked[place]
        return bool(looked.get("numeric", self.table.numeric[place]))

    def change_options(self, given: Mapping[str, Any]) -> None:
        """What is chosen for the whole table."""
        with self.lock:
            self.check(given.get("revision"))
            self.need_table()
            self.need_thawed()
            found: dict[str, Any] = {}
            if "shuffle" in given:
                if not isinstance(given["shuffle"], bool):
                    raise Refusal("'shuffle' is true or false.", status=422, field="shuffle")
                found["shuffle"] = given["shuffle"]
            if "joint_risk" in given:
                found["joint_risk"] = risk("joint_risk", given["joint_risk"])
            self.options = replace(self.options, **found)
            self._changed()

    def propose(self, looked: Mapping[str, Any]) -> None:
        """Take in what an inspection found; columns without a choice get what is proposed."""
        assert self.table is not None
        self.looked = looked["columns"]
        self.table = replace(self.table, rows=looked["rows"] or self.table.rows)
        for place, one in enumerate(self.looked):
            if self.choices[place].action is None:
                said = {key: value for key, value in one["proposal"].items() if key != "words"}
                most = DEFAULT_RISK if said["action"] == "hide" and self.options.joint_risk is None else None
                self.choices[place] = Choice(**said, max_risk=most)
        self.options = replace(self.options, shuffle=self.options.shuffle or looked["shuffle"])
        self._changed()

    @property
    def standing(self) -> Standing:
        """Where the choices stand."""
        return stand(() if self.table is None else self.table.names, self.choices, self.options)

    def unfreeze(self, given: Mapping[str, Any]) -> None:
        """Go back to planning; after the data were seen this is confirmed, and the next card says so."""
        with self.lock:
            self.check(given.get("revision"))
            if self.plan is None:
                raise Refusal("there is no frozen plan.")
            if self._tried and given.get("confirm") is not True:
                raise Refusal("the data were seen since; confirm that you plan again, which the card will say.")
            self.replanned = self.replanned or self._tried
            self._tried = False
            self.plan = self.release = self.audit = None
            self._changed()

    # --- jobs ---------------------------------------------------------------------------------
    @property
    def running(self) -> Job | None:
        """The job at work."""
        return next((job for job in self.jobs.values() if job.running), None)

    def start(self, kind: str, task: Mapping[str, Any]) -> Job:
        """Start the one job; the lock is held."""
        job = Job(kind, task, ended=self._ended)
        self.jobs = {job.id: job, **{one.id: one for one in list(self.jobs.values())[:20]}}
        return job

    def _ended(self, job: Job) -> None:
        with self.lock:
            if job.outcome == "done":
                done = {
                    "inspect": self.propose,
                    "plan": self._planned,
                    "release": self._released,
                    "audit": self._audited,
                }
                done[job.kind](job.result)
            else:
                # a refusal that says on which side of the belief the statistic lies tells as much as a release
                if job.kind == "release" and job.field == "prior":
                    self._try()
                self._changed()
            job.settle()  # so that whoever sees it ended sees what came of it

    def _try(self) -> None:
        self._tried = True
        self._seen.add(self._mark)

    def _planned(self, result: Mapping[str, Any]) -> None:
        names = self.need_table().names
        columns = [
            {"index": names.index(one["column"]), **{key: value for key, value in one.items() if key != "column"}}
            for one in result["columns"]
        ]
        self.plan = {**result, "columns": columns, "frozen": True}
        self.release = self.audit = None
        self._changed()

    def _released(self, result: Mapping[str, Any]) -> None:
        card = next(self.out.glob("*.card.json")).read_text(encoding="utf-8")
        self.release = {"state": "done", "words": result["words"], "card": json.loads(card)}
        self.audit = None
        self._try()
        self._changed()

    def _audited(self, result: Mapping[str, Any]) -> None:
        self.audit = {"state": "done", **result}
        self._changed()

    @property
    def out(self) -> Path:
        """Where releases are made."""
        return self.need_table().path.parent / "out"

    def _changed(self) -> None:
        self.revision += 1

    def close(self) -> None:
        """End all work."""
        for job in list(self.jobs.values()):
            job.cancel()
        for job in list(self.jobs.values()):
            job.wait(15)
        with self.lock, contextlib.suppress(OSError):
            if self._opened is not None:
                self._opened.close()

    # --- for the page -------------------------------------------------------------------------
    def to_json(self) -> dict[str, Any]:
        """All of it."""
        with self.lock:
            table, standing, running = self.table, self.standing, self.running
            names = () if table is None else table.names
            return {
                "revision": self.revision,
                "step": self._step(standing),
                "table": None
                if table is None
                else {
                    "name": table.name,
                    "rows": table.rows,
                    "columns": len(names),
                    "size": table.size,
                    "path": table.shown_path,
                },
                "columns": [self._column(place, standing) for place in range(len(names))],
                "options": self.options.to_json(),
                "inspected": self.looked is not None,
                "ready": {
                    "plan": standing.specification is not None and self.plan is None and running is None,
                    "release": self.plan is not None and running is None,
                    "audit": self.release is not None and running is None,
                    "why": standing.why if self.plan is None else None,
                },
                "strip": strip(None if table is None else table.name, names, self.choices, self.options),
                "plan": self.plan,
                "replanned": self.replanned,
                "release": self.release,
                "audit": self.audit,
                "jobs": self._jobs(),
                "ledger": self.ledger is not None,
                "folder": str(self.folder),
                "max_upload": self.max_upload,
            }

    def _step(self, standing: Standing) -> int:
        if self.table is None or self.looked is None:
            return 1
        if self.plan is not None:
            return 4
        return 2 if standing.specification is None else 3

    def _column(self, place: int, standing: Standing) -> dict[str, Any]:
        assert self.table is not None
        looked = {} if self.looked is None else self.looked[place]
        return {
            "index": place,
            "name": self.table.names[place],
            "type": looked.get("type", self.table.types[place]),
            "numeric": self._numeric(place),
            "words": looked.get("words", []),
            "telling": looked.get("telling", []),
            "proposal": looked.get("proposal"),
            "choice": self.choices[place].to_json(),
            "checks": list(standing.checks[place]),
        }

    def _jobs(self) -> list[dict[str, Any]]:
        """Those at work, and the last one where it failed."""
        return [
            job.to_json()
            for number, job in enumerate(self.jobs.values())
            if job.running or (number == 0 and job.state == "failed")
        ]
