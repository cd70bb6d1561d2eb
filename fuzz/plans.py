"""``make fuzz``: random plans, each held against a truth that uses nothing of the accounting.

Run from the repository: ``python -m fuzz.plans --plans 1000 --seed 1``. Ends with 1 if a plan states less than
the truth.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.cases import CASES
from fuzz.checker import Misread, check
from fuzz.making import planned
from fuzz.problems import FAMILIES, random_spec

__all__ = ["examine", "main"]

_STATES = ("checked", "violated", "undecided", "misread", "refused", "late", "failed")


class _Late(BaseException):  # not an Exception, which libraries catch
    """The time of one plan is over."""


@contextmanager
def _limit(seconds: int) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise _Late

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # time of this process, so that a busy machine changes nothing
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def examine(spec: dict[str, Any], *, plan_seconds: int = 8, check_seconds: int = 30) -> tuple[str, str, str]:
    """State, method and a sentence about one plan."""
    import statveil as sv

    method = str(spec["plan"].get("method", "auto"))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with _limit(plan_seconds):
                plan, target = planned(spec)
        except (sv.ProblemError, sv.TargetError) as error:
            return "refused", method, f"{type(error).__name__}: {error}"
        except _Late:
            return "late", method, f"planning took more than {plan_seconds} s"
        except Exception as error:  # a traceback is a finding too
            return "failed", method, f"planning: {type(error).__name__}: {error}"
        try:
            with _limit(check_seconds):
                found = check(plan, **target)
        except _Late:
            return "late", method, f"checking took more than {check_seconds} s"
        except Misread as error:
            return "misread", method, str(error)
    if found.violations:
        return "violated", method, "; ".join(found.violations) + f" ({plan.risk_kind}, {plan.mechanism.kind})"
    sentence = f"risk {found.stated:.6g} stated, {found.risk.risk:.6g} true (+-{found.risk.error:.1g})"
    return ("undecided" if found.undecided else "checked"), method, sentence


def _examined(specs: list[dict[str, Any]], seconds: int, jobs: int) -> Iterator[tuple[str, str, str, float]]:
    """What is found of each, in order, and how long it took."""
    timed = partial(_timed, seconds)
    if jobs == 1:
        yield from map(timed, specs)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(timed, specs)


def _timed(seconds: int, spec: dict[str, Any]) -> tuple[str, str, str, float]:
    start = time.time()
    return *examine(spec, plan_seconds=seconds, check_seconds=4 * seconds), time.time() - start


def main(arguments: list[str] | None = None) -> int:
    """Check random plans and print a table by family and method."""
    parser = argparse.ArgumentParser(prog="fuzz.plans", description=__doc__)
    parser.add_argument("--plans", type=int, default=1000, help="how many random plans (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random problems (default 1)")
    parser.add_argument("--seconds", type=int, default=8, help="time for planning one plan; four times it for checking")
    parser.add_argument("--first", type=int, default=0, help="number of the first plan, to go on where a run ended")
    parser.add_argument("--only", choices=FAMILIES, help="one family only")
    parser.add_argument("--hard", action="store_true", help="narrow peaks and heavy tails only, not every sixth time")
    parser.add_argument("--case", help="one problem as JSON, as printed for a violation")
    parser.add_argument("--stored", action="store_true", help="the stored cases instead of random ones")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work (default 1)")
    parser.add_argument("--output", help="also write the table to this file (Markdown)")
    parser.add_argument("--verbose", action="store_true", help="print every plan")
    given = parser.parse_args(arguments)
    if given.case:
        specs = [json.loads(given.case)]
    elif given.stored:
        specs = list(CASES.values())
    else:
        specs = [
            random_spec(np.random.default_rng([given.seed, number]), given.only, hard=given.hard or None)
            for number in range(given.first, given.first + given.plans)
        ]
    began = time.time()
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong = []
    for number, (spec, (state, method, sentence, took)) in enumerate(
        zip(specs, _examined(specs, given.seconds, given.jobs), strict=True), given.first
    ):
        counts[spec["family"]["name"], method, state] += 1
        if state == "violated":
            wrong.append(f"{sentence}: `{json.dumps(spec)}`")
        if given.verbose or given.case or state not in ("checked", "refused"):
            print(f"{number} {state} {spec['family']['name']} {method} {took:.1f}s: {sentence}", flush=True)
            if state != "checked":
                print(f"    python -m fuzz.plans --case '{json.dumps(spec)}'", flush=True)
    text = _table(counts, given, time.time() - began)
    print(text)
    if given.output:
        listed = "".join(f"\n* {line}" for line in wrong) if wrong else "\nNone."
        asked = f"--plans {given.plans} --first {given.first} --seed {given.seed} --jobs {given.jobs}"
        head = f"# Last run of the checker\n\nMade by `python -m fuzz.plans {asked}` ([fuzz.md](fuzz.md))."
        page = f"{head}\n\n{text}\n\n## Violations\n{listed}\n"
        Path(given.output).write_text(page, encoding="utf-8")
    return int(any(state == "violated" for _, _, state in counts))


def _table(counts: Counter[tuple[str, str, str]], given: argparse.Namespace, seconds: float) -> str:
    """The counts in Markdown, by family and by method."""
    total = Counter[str]()
    for (_, _, state), count in counts.items():
        total[state] += count
    lines = [
        f"{sum(total.values())} plans, seed {given.seed}, {seconds:.0f} s: "
        + ", ".join(f"{total[state]} {state}" for state in _STATES)
    ]
    for head, place in (("family", 0), ("method", 1)):
        lines += ["", f"| {head} | " + " | ".join(_STATES) + " |", "|---|" + "---|" * len(_STATES)]
        for name in sorted({key[place] for key in counts}):
            row = [sum(n for key, n in counts.items() if key[place] == name and key[2] == state) for state in _STATES]
            lines.append(f"| {name} | " + " | ".join(str(n or "") for n in row) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
