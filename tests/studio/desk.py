"""The studio in this process or in one of its own, for tests, and a client that carries its token."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import uvicorn

from statveil.report.document import write
from statveil.studio import study as study_module
from statveil.studio.gate import new_token
from statveil.studio.jobs import Job
from statveil.studio.refining import Refiner
from statveil.studio.running import listening, settings
from statveil.studio.server import studio_app
from statveil.studio.study import Study
from statveil.studio.work import outcome

REPORT = write.write_report


def staff(rows: int = 400, seed: int = 1) -> pl.DataFrame:
    """Wages to hide, their logarithm, hours, a region and a note."""
    rng = np.random.default_rng(seed)
    wage = rng.lognormal(3.3, 0.4, rows)
    return pl.DataFrame(
        {
            "wage": wage,
            "lwage": np.log(wage),
            "hours": rng.normal(38, 5, rows),
            "region": rng.choice(["north", "south"], rows),
            "note": ["for internal use"] * rows,
        }
    )


class Desk:
    """A client of the studio, with the few steps that many tests take."""

    def __init__(self, client: httpx.Client, token: str) -> None:
        self.client, self.token, self.port = client, token, client.base_url.port
        client.headers["x-statveil-token"] = token
        entered = client.get("/", params={"token": token}, follow_redirects=False)
        assert (entered.status_code, entered.headers["location"]) == (303, "/")

    def __call__(self, method: str, path: str, body: Any = None, *, status: int = 200, **options: Any) -> Any:
        if body is not None:
            options["json"] = body
        answer = self.client.request(method, path, **options)
        assert answer.status_code == status, answer.text
        return answer.json()

    @property
    def study(self) -> Any:
        return self("GET", "/api/study")

    @property
    def revision(self) -> int:
        return int(self.study["revision"])

    def open(self, path: Path | str, *, status: int = 200) -> Any:
        return self("POST", "/api/table/path", {"revision": self.revision, "path": str(path)}, status=status)

    def put(self, column: int, *, status: int = 200, **choice: Any) -> Any:
        return self("PUT", f"/api/columns/{column}", {"revision": self.revision, **choice}, status=status)

    def run(self, kind: str, **options: Any) -> Any:
        """Start a job and wait for its end."""
        job = self("POST", f"/api/{kind}", {"revision": self.revision, **options})["job"]
        return self.wait(job)

    def wait(self, job: str) -> Any:
        for _ in range(6000):
            found = self("GET", f"/api/jobs/{job}")
            if found["state"] != "running":
                return found
            time.sleep(0.02)
        raise AssertionError(found)

    def choose_staff(self) -> None:
        """Hide the mean of the wage, derive its logarithm, keep the rest, drop the note."""
        self.put(0, action="hide", secret="mean", prior="10:80", tolerance="5%", known="min=0")
        self.put(1, action="derive", expression="log(wage)")
        self.put(2, action="keep")
        self.put(3, action="keep")
        self.put(4, action="drop")

    def download(self, what: str) -> bytes:
        answer = self.client.get(f"/api/download/{what}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-disposition"].startswith("attachment")
        return answer.content


class InThread(Job):
    """A job without a process of its own, which costs a second or more each."""

    def _begin(self) -> None:
        pass

    def _watch(self, task: Any) -> Any:
        said = outcome(json.loads(json.dumps(task)), lambda stage, rows, total: None, kept=lambda result: None)
        return json.loads(json.dumps(said)), "done" in said


@contextmanager
def desk(folder: Path, *, children: bool = False, report: bool = False, **options: Any) -> Iterator[Desk]:
    """The server in a thread of this process, its jobs in others or, as they do outside of tests, in children.

    A ``report`` has charts, which cost more than all the rest of a small release.
    """
    job = Job if children else InThread
    work = folder.parent / f"{folder.name}-work"
    work.mkdir(mode=0o700)
    token, study, refiner = new_token(), Study(folder=folder, work=work, **options), Refiner()
    listener = listening(0)
    port = listener.getsockname()[1]
    server = uvicorn.Server(settings(studio_app(study, refiner, token=token, port=port)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    study_module.Job, before = job, study_module.Job  # type: ignore[misc]
    wrote = write.write_report
    write.write_report = REPORT if report else lambda plan, output, **about: Path(output).write_text("a report")
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield Desk(client, token)
    finally:
        study_module.Job, write.write_report = before, wrote  # type: ignore[misc]
        server.should_exit = True
        refiner.close()
        study.close()
        thread.join(10)
        listener.close()


@contextmanager
def started(folder: Path, *arguments: str, temporary: Path) -> Iterator[tuple[Desk, subprocess.Popen[str]]]:
    """``statveil studio`` as a process of its own, told to end by SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, "-m", "statveil", "studio", "--no-browser", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", line)
        assert found is not None, line + process.stdout.read()
        with httpx.Client(base_url=found[1], timeout=60) as client:
            yield Desk(client, found[2]), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
