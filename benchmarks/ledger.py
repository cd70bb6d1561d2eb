"""How long a check takes in a ledger of 100,000 entries, most of them releases under plans that were released before.

The ledger is filled by direct inserts, entry by entry of the chain, in one transaction; ``verify`` then says whether it
is what a ledger would have written.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import statveil as sv
from statveil.ledger.ledger import plan_text
from statveil.ledger.store import Store, append

ROUNDS = 25
HERE: dict[str, Any] = {"dataset": "staff", "column": "wage"}


def fill(ledger: sv.Ledger, plans: list[sv.Plan], entries: int) -> None:
    """Releases of one column under each plan in turn, every one finished, each with another output."""
    with Store(ledger.path).writing() as db:
        db.execute("PRAGMA cache_size = -200000")
        for plan in plans:
            text, mark = plan_text(plan)
            db.execute("INSERT INTO plans VALUES (?, ?)", (mark, text))
        facts: dict[str, Any] = {
            "audience": "everyone",
            "source": None,
            "target": None,
            "run": None,
            "accepted": [],
            "shuffled": False,
        }
        for number in range(entries // 2 - 1):
            plan = plans[number % len(plans)]
            made = append(
                db,
                "release",
                **HERE,
                **facts,
                plan=plan_text(plan)[1],
                mode=plan.mode,
                output=f"{number:064x}",
                state="pending",
            )
            append(db, "state", entry=made, state="done", how="released")


def timed(work: Callable[[], object]) -> str:
    """Median and slowest of some rounds, in milliseconds; of processor time too, which others do not disturb."""
    times, own = [], []
    for _ in range(ROUNDS):
        start, began = time.perf_counter(), time.process_time()
        work()
        times.append(1000 * (time.perf_counter() - start))
        own.append(1000 * (time.process_time() - began))
    return (
        f"{statistics.median(times):8.1f} ms   (slowest of {ROUNDS}: {max(times):.1f}; processor time "
        f"{statistics.median(own):.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--plans", type=int, default=20)
    options = parser.parse_args()
    problem = sv.Problem(secret=sv.Mean(), prior=(0, 1000), tolerance=1)
    plans = [sv.plan(problem, bin=20 + 1.7 * number) for number in range(options.plans)]
    fresh = sv.plan(problem, bin=8.3)
    with tempfile.TemporaryDirectory() as folder:
        ledger = sv.Ledger.create(Path(folder) / "books.db")
        ledger.set_budget(1, **HERE, secret="mean")
        fill(ledger, plans, options.entries)
        start = time.perf_counter()
        found = ledger.verify()
        whole = time.perf_counter() - start
        assert found.ok, found.wrong
        size = ledger.path.stat().st_size / 2**20
        print(f"{found.entries:,} entries, {len(plans)} different plans of one column, {size:.0f} MiB")
        print(f"check of one more plan  {timed(lambda: ledger.check(fresh, **HERE))}")
        print(f"check of a plan again   {timed(lambda: ledger.check(plans[3], **HERE))}")
        print(f"an entry and its end    {timed(lambda: ledger.add(plans[3], **HERE))}")
        print(f"verify                  {whole:8.2f} s")
    print("target: a check under 100 ms")


if __name__ == "__main__":
    main()
