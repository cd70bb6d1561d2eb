"""What the audit says of releases that are broken by construction and of sound ones, into docs/audit_power.md.

Usage: python docs/audit_power.py [TRIALS [PROCESSES [SAVED]]]. The cases are those of tests/audit_cases.py; broken ones
are forced through with every leak accepted. The file SAVED keeps each row as soon as it is there, sound releases first:
a run that was stopped goes on after its last row.
"""

from __future__ import annotations

import json
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


def rows() -> list[tuple[str, str]]:
    """Verdicts and rows of all cases; those that were saved are not audited again."""
    names = [case.name for case in (*BROKEN, *SOUND)]
    saved = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    known: dict[str, tuple[str, str]] = {}
    if saved is not None and saved.exists():
        lines = (json.loads(line) for line in saved.read_text(encoding="utf-8").splitlines())
        known = {name: (verdict, row) for name, verdict, row in lines}
    order = [*range(len(BROKEN), len(names)), *range(len(BROKEN))]
    missing = [number for number in order if names[number] not in known]
    with ProcessPoolExecutor(int(sys.argv[2]) if len(sys.argv) > 2 else 2) as pool:
        for number, (verdict, row) in zip(missing, pool.map(row_of, missing), strict=True):
            known[names[number]] = verdict, row
            if saved is not None:
                with saved.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([names[number], verdict, row]) + "\n")
    return [known[name] for name in names]


def main() -> None:
    """Audit all cases and write the page."""
    results = rows()
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
