"""How long the studio makes people wait: first page, trade-off, a long audit with its progress, a large file by path.

``python benchmarks/studio.py [--rows 1000000] [--large BYTES]``
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from itertools import product
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

PRIORS = ("10:80", "10:80~log", "between(20,40,0.9)", "1:100~normal(30,10)")
ROUNDS = 20


class Page:
    """What the page in the browser asks."""

    def __init__(self, port: int, token: str) -> None:
        self._line = HTTPConnection("127.0.0.1", port, timeout=600)
        self._headers = {"X-Statveil-Token": token, "Cookie": f"statveil-{port}={token}"}

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        self._line.request(method, path, None if body is None else dumps(body), self._headers)
        answer = self._line.getresponse()
        content = answer.read()
        if answer.status != 200 and path.startswith("/api"):
            raise SystemExit(content.decode())
        return loads(content) if path.startswith("/api") else content

    @property
    def revision(self) -> int:
        return int(self("GET", "/api/study")["revision"])

    def changed(self, method: str, where: str, /, **given: Any) -> Any:
        return self(method, where, {"revision": self.revision, **given})

    def run(self, kind: str, **given: Any) -> tuple[float, int, str]:
        """A job to its end: seconds, how many different states of progress were seen, and how it ended."""
        start = time.perf_counter()
        job, seen = self.changed("POST", f"/api/{kind}", **given)["job"], set()
        while True:
            said = self("GET", f"/api/jobs/{job}")
            seen.add((said["words"], said["done"]))
            if said["state"] != "running":
                return (
                    time.perf_counter() - start,
                    len(seen),
                    said["state"] + (f": {said['message']}" if said["message"] else ""),
                )
            time.sleep(0.1)


def seconds(pid: int, work: Any, rounds: int = ROUNDS) -> list[tuple[float, float]]:
    """On the clock and of the server's processor, which other work on the machine does not lengthen."""
    found = []
    for number in range(rounds):
        start, used = time.perf_counter(), processor(pid)
        work(number)
        found.append((time.perf_counter() - start, processor(pid) - used))
    return found


def processor(pid: int) -> float:
    """Seconds of processor time so far, of all threads."""
    return sum(int(part) for part in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]) / 100


def shown(name: str, found: list[tuple[float, float]], limit: float) -> None:
    clock = [one for one, _ in found]
    used = sum(one for _, one in found) / len(found)
    print(
        f"{name:<52} median {statistics.median(clock):6.3f} s, worst {max(clock):6.3f} s, processor {used:6.3f} s"
        f"   (wanted: below {limit} s)"
    )


def memory(pid: int) -> float:
    """Largest resident memory so far, in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", text)[0]) / 1024


def table(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    wage = rng.lognormal(3.3, 0.4, rows)
    region = rng.choice(["north", "east", "south", "west"], rows)
    return pl.DataFrame({"wage": wage, "lwage": np.log(wage), "hours": rng.normal(38, 5, rows), "region": region})


def make(folder: Path, rows: int, large: int) -> None:
    rng = np.random.default_rng(0)
    table(rng, rows).write_parquet(folder / "staff.parquet")
    if large:
        with (folder / "large.csv").open("wb") as file:
            while file.tell() < large:
                file.write(table(rng, 200_000).write_csv(include_header=file.tell() == 0).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--large", type=int, default=0, help="bytes of a CSV file that is opened and released by path")
    parser.add_argument("--trials", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, options.rows, options.large)
        command = [sys.executable, "-m", "statveil", "studio", "--no-browser"]
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ})
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)/\?token=(\S+)", process.stdout.readline())
            assert found is not None
            page = Page(int(found[1]), found[2])
            print(f"{'from the command to the address':<44} {time.perf_counter() - start:7.3f} s")
            measure(page, process.pid, options.trials, large=bool(options.large))
        finally:
            process.terminate()
            process.wait(60)


def measure(page: Page, pid: int, trials: int, *, large: bool) -> None:
    time.sleep(8)  # what it warms up beside; the server closes a line that is idle so long
    asked = ("/", *re.findall(r'(?:src|href)="(/static/[^"]*)"', page("GET", "/").decode()))

    def first_page(number: int) -> None:
        for path in asked:
            page("GET", path)

    shown(f"first page ({len(asked)} requests)", seconds(pid, first_page), 0.3)
    page.changed("POST", "/api/table/path", path="staff.parquet")
    page.changed("PUT", "/api/columns/1", action="derive", expression="log(wage)")
    for place in (2, 3):
        page.changed("PUT", f"/api/columns/{place}", action="keep")
    for prior, close in product(PRIORS, ("5%", "2")):
        time.sleep(3)  # as people do between two fields
        page.changed("PUT", "/api/columns/0", action="hide", prior=prior, tolerance=close, known="min=0")
        first = seconds(pid, lambda number: page("POST", "/api/tradeoff", {"column": 0, "max_risk": 0.4}), 1)
        slide = seconds(pid, lambda number: page("POST", "/api/tradeoff", {"column": 0, "max_risk": 0.2 + number / 50}))
        shown(f"trade-off, first time, {prior}, {close}", first, 0.2)
        shown(f"trade-off, slider, {prior}, {close}", slide, 0.2)
    page.changed("PUT", "/api/columns/0", action="hide", prior="10:80", tolerance="5%", known="min=0")
    print(f"{'plan':<44} {page.run('plan')}")
    print(f"{'release':<44} {page.run('release')}")
    print(
        f"{f'audit, {trials} trials':<44} {page.run('audit', trials=trials)}   (seconds, states of progress seen, end)"
    )
    print(f"{'largest memory of the server':<44} {memory(pid):.0f} MiB")
    if large:
        start = time.perf_counter()
        study = page.changed("POST", "/api/table/path", path="large.csv")
        size = study["table"]["size"] / 2**30
        print(f"{f'{size:.1f} GiB by path, opened':<44} {time.perf_counter() - start:7.3f} s")
        page.changed("PUT", "/api/columns/0", action="hide", prior="10:80", tolerance="5%", known="min=0")
        page.changed("PUT", "/api/columns/1", action="derive", expression="log(wage)")
        for place in (2, 3):
            page.changed("PUT", f"/api/columns/{place}", action="drop")
        print(f"{'plan':<44} {page.run('plan')}")
        print(f"{'release':<44} {page.run('release')}")
        print(f"{'largest memory of the server':<44} {memory(pid):.0f} MiB")


if __name__ == "__main__":
    main()
