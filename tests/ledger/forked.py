"""Processes that use one ledger: many that append at once, and one that is killed while it releases.

Everything is imported once and the engine's threads start only after a fork. Usage: ``python forked.py append LEDGER
PROCESSES EACH``, or ``python forked.py kill FOLDER SEED`` with a number of kills per line on stdin.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import statveil as sv
import statveil.ledger.keeper
import statveil.tables.release_file

PROBLEM = sv.Problem(family=sv.Location(), prior=sv.Box(mean=(0, 100)), secret=sv.Mean(), tolerance=1)


def append(path, processes, each):
    """Releases under three plans that fit a budget, each finished; one in ten abandoned."""
    plans = [sv.plan(PROBLEM, bin=width) for width in (20, 10, 5)]
    children = []
    for number in range(processes):
        child = os.fork()
        if child:
            children.append(child)
            continue
        ledger = sv.Ledger(path)
        for turn in range(each):
            mark = f"{number:032x}{turn:032x}"
            entry = ledger.enter(plans[turn % 3], dataset="d", column=f"c{turn % 2}", sha256=mark, budget=0.4001)
            ledger.finish(entry, "abandoned" if turn % 10 == 9 else "done")
        os._exit(0)
    sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))


def release(folder, first):
    """One release after the other, each of a table of its own, until the end comes."""
    plan, ledger = sv.plan(PROBLEM, bin=10), sv.Ledger(folder / "books.db")
    for number in range(first, first + 1000):
        source = folder / f"in{number}.csv"
        rows = random.Random(number)
        source.write_text("x\n" + "".join(f"{rows.gauss(50, 9)!r}\n" for _ in range(40)))
        sv.release_file(plan, source, folder / f"out{number}.csv", column="x", ledger=ledger.keeper(dataset="d"))


def until(path):
    """Wait for a file, a minute at most."""
    started = time.monotonic()
    while not path.exists() and time.monotonic() < started + 60:
        time.sleep(0.001)


def kill(folder, seed):
    """Each line: releases are made in a forked process until a random moment."""
    moments = random.Random(seed)
    first = 0
    for _ in sys.stdin:
        first += 1000
        child = os.fork()
        if not child:
            release(folder, first)
            os._exit(0)
        until(folder / f"in{first}.csv")
        if moments.random() < 0.2:  # in the first release, which starts the engine
            time.sleep(moments.uniform(0, 0.5))
        else:  # in a later one, wherever it is: as long as one takes now, however busy the machine is
            until(folder / f"out{first}.csv")
            began = time.monotonic()
            until(folder / f"out{first + 1}.csv")
            time.sleep(moments.uniform(0, time.monotonic() - began))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(first, flush=True)


if __name__ == "__main__":
    verb, where, *rest = sys.argv[1:]
    if verb == "append":
        append(where, *map(int, rest))
    else:
        kill(Path(where), *map(int, rest))
