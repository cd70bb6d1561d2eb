"""What the audit says of releases that are broken by construction and of sound ones, into docs/audit_power.md.

Usage: python docs/audit_power.py [TRIALS [PROCESSES]]. The cases are those of tests/audit_cases.py; broken ones are
forced through with every leak accepted.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from audit_cases import BROKEN, SOUND  # type: ignore[import-not-found]

TRIALS = 400


def row_of(number: int) -> tuple[str, str]:
    """Verdict and table row of one case."""
    case = (*BROKEN, *SOUND)[number]
    found = case.audit(trials=int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
    worst = max((item for item in found.findings if item.attacker != "prior"), key=lambda item: item.rate)
    row = (
        f"| {case.name} | {case.why or 'sound'} | {worst.attacker} | {worst.claimed:.3f} | {worst.rate:.3f} | "
        f"{worst.low:.3f} to {worst.high:.3f} | {found.trials} | {found.verdict} |"
    )
    print(row, flush=True)
    return found.verdict, row


def main() -> None:
    """Audit all cases and write the page."""
    with ProcessPoolExecutor(int(sys.argv[2]) if len(sys.argv) > 2 else 2) as pool:
        results = list(pool.map(row_of, range(len(BROKEN) + len(SOUND))))
    broken, sound = results[: len(BROKEN)], results[len(BROKEN) :]
    head = (
        "| release | why | best attacker | claimed | its rate | interval | tables | verdict |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    counts = [sum(verdict == "leaks" for verdict, _ in part) for part in (broken, sound)]
    text = (
        "# What an audit finds\n\nMade by `make audit-power`. Each release is audited once, with at most "
        f"{sys.argv[1] if len(sys.argv) > 1 else TRIALS} tables; an audit ends as soon as an attacker is seen to leak. "
        "Intervals of one audit hold together with 99 %.\n\n"
        f"**Broken releases called leaks: {counts[0]} of {len(broken)}. Sound releases called leaks: {counts[1]} of "
        f"{len(sound)}.**\n\n## Broken by construction, forced through\n\n"
    )
    text += head + "\n".join(row for _, row in broken) + "\n\n## Sound\n\n" + head
    text += "\n".join(row for _, row in sound) + "\n"
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
