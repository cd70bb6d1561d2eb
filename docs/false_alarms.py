"""How often the structure checks refuse real continuous columns that have no structure.

Usage: python docs/false_alarms.py FOLDER, where FOLDER holds the unpacked packages of docs/raw_columns.py (``make
false-alarms`` fetches them). Writes the result into docs/false_alarms.md. Two groups of columns:

* *composite*: the mean of the standardised numeric columns (three to six, each with 20 or more different values) of one
  table, over its complete rows, 50 at least: a score as it is computed in practice. No table gives more than one.
* *raw*: columns as they are, of which at least 90 % of the values need 15 or more significant digits, at least 99 %
  differ, and that are no 32-bit floats. At most thirty per table, no column twice.

Each column is released by a shift, with nothing declared: everything that a release asks of the column itself counts.
Whether the other columns of its table tell it (``copies``) is no property of the column, and is not counted.
Many raw columns do have structure. docs/false_alarms_reasons.csv says which, one line each, and this script holds each
line against the column: a line whose numbers could be chance is no reason, and the column counts as a false alarm.
"""

from __future__ import annotations

import csv
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from raw_columns import composite, raw, tables

import statveil as sv

Array = NDArray[np.float64]
HERE = Path(__file__).parent
MOST_SCORES, MOST_ROWS = 300, 200_000
CHANCE = 1e-6
"""That so many values fit by accident: above it a reason is none."""
NEAR = 0.1
"""Of a standard deviation: how near to a natural bound a column ends where a guess at the bound tells the shift."""
LARGEST = 10_000  # denominators of ratios
_BACK: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "log": (np.exp, np.exp),
    "log2": (np.exp2, lambda x: np.log(2) * np.exp2(x)),
    "log4": (lambda x: 4.0**x, lambda x: np.log(4) * 4.0**x),
    "root": (np.square, lambda x: 2 * x),
}
"""Transforms, undone, and the slope of what undoes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column: what the release said of it, and what is known of it."""

    table: str
    name: str
    found: tuple[str, ...]
    reason: str = ""
    evidence: str = ""

    @property
    def structured(self) -> bool:
        """Whether a reason holds."""
        return bool(self.evidence)


def found_in(values: Array) -> tuple[str, ...]:
    """What a release by a shift refuses, by name."""
    sample = values[:MOST_ROWS]
    try:
        sv.release(plan_for(sample), sample)
    except sv.StructureError as error:
        return tuple(re.findall(r"--accept ([a-z-]+)", str(error)))
    return ()


def plan_for(values: Array) -> sv.Plan:
    """A shift that hides the mean by half a standard deviation, from a prior that is wide around it."""
    centre, spread = float(np.mean(values)), float(np.std(values))
    problem = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(centre - 40 * spread, centre + 60 * spread)),
        secret=sv.Mean(),
        tolerance=spread / 2,
    )
    return sv.plan(problem, max_risk=0.2)


# --- evidence: what an attacker could count on, by means that are not those of our checks ----------------
def evidence(values: Array, kind: str, value: str) -> str:
    """What speaks for a reason, in words; empty if chance could do as well."""
    if kind == "none":
        return ""
    number = float(Fraction(value))
    if kind == "bound":
        miss = min(abs(float(end) - number) for end in (values.min(), values.max())) / float(np.std(values))
        return f"a guess at the bound misses the mean by {miss:.2g} standard deviations" if miss <= NEAR else ""
    if kind == "repeat":
        rows = int(np.count_nonzero(values == number))
        return f"{rows} rows are exactly {value}, {_others(values)}" if rows >= 2 else ""
    if kind == "ratios":
        shown = values[:3000] / number
        on = np.array([_is_ratio(one) for one in shown.tolist()])
        # about 0.3 n^2 fractions per unit have denominators up to n
        expected = float(np.sum(0.31 * LARGEST**2 * 4e-15 * np.abs(shown)))
        return _beyond_chance(int(np.sum(on)), len(shown), expected, f"are fractions with denominators up to {LARGEST}")
    if kind == "grid":
        steps = (values - values.min()) / number
        doubt = 2 * np.spacing(np.abs(values).max()) / number + 2e-15 * steps
        doubt = np.maximum(doubt, 1e-6)  # the step itself is known up to its last digits only
        on = np.abs(steps - np.rint(steps)) <= doubt
        says = f"are a whole number of steps of {value} apart"
        return _beyond_chance(int(np.sum(on)), len(values), float(np.sum(2 * doubt)), says)
    back, slope = _BACK.get(kind, (lambda x: x, np.ones_like))
    places = back(values) / number
    doubt = (np.abs(slope(values)) * 2 * np.spacing(np.abs(values)) + 2 * np.spacing(np.abs(back(values)))) / number
    on = (np.abs(places - np.rint(places)) <= doubt) & (np.abs(np.rint(places)) > 1)
    what = f"are {kind}s of multiples of {value}" if kind in _BACK else f"are multiples of {value}"
    return _beyond_chance(len(np.unique(places[on])), len(values), float(np.sum(2 * doubt)), what)


def _is_ratio(value: float) -> bool:
    near = Fraction(value).limit_denominator(LARGEST)
    return near != 0 and abs(float(near) - value) <= 2e-15 * abs(value)


def _beyond_chance(seen: int, rows: int, expected: float, says: str) -> str:
    from scipy.special import gammainc

    luck = float(gammainc(seen, expected)) if seen >= 3 else 1.0  # that a Poisson number is at least so large
    return f"{seen} of {rows} values {says}; by chance {expected:.1g}" if luck < CHANCE else ""


def _others(values: Array) -> str:
    return f"and {len(np.unique(values))} of {len(values)} values differ"


def reasons() -> dict[tuple[str, str], tuple[str, str, str]]:
    """The list: table and column (or ``*``), then kind, value, and words."""
    with (HERE / "false_alarms_reasons.csv").open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["column"]): (row["kind"], row["value"], row["says"]) for row in csv.DictReader(file)}


def judged(column: Column, values: Array, known: dict[tuple[str, str], tuple[str, str, str]]) -> Column:
    """A column with its reason, if the list has one that holds."""
    entry = known.get((column.table, column.name)) or known.get((column.table, "*"))
    if entry is None:
        return column
    kind, value, says = entry
    return replace(column, reason=says, evidence=evidence(values, kind, value))


# --- the result -------------------------------------------------------------------------------------------
def interval(hits: int, trials: int) -> str:
    """The exact 95 % interval of a share (Clopper and Pearson), in per cent."""
    from scipy.stats import beta

    low = float(beta.ppf(0.025, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, trials - hits)) if hits < trials else 1.0
    return f"95 % interval {low:.1%} to {high:.1%}"


def named(columns: list[Column]) -> str:
    """How often each name was found."""
    return (
        ", ".join(f"{name} {n}" for name, n in Counter(x for c in columns for x in c.found).most_common()) or "nothing"
    )


def report(scores: list[Column], columns: list[Column]) -> list[str]:
    """The lines of docs/false_alarms.md."""
    lines = [
        "# False alarms",
        "",
        "Made by `make false-alarms` (docs/false_alarms.py says how columns were chosen). A reason holds if chance",
        "does as well once in a million times at most, or if the column ends within a tenth of a standard deviation",
        "of a bound that such columns do not cross.",
        "",
    ]
    refused = [score for score in scores if score.found]
    lines += [
        f"**Composite scores:** {len(refused)} of {len(scores)} refused ({len(refused) / len(scores):.1%}, "
        f"{interval(len(refused), len(scores))}); found: {named(refused)}.",
        "",
        "| table | found |",
        "|---|---|",
        *(f"| {score.table} | {', '.join(score.found)} |" for score in refused),
        "",
    ]
    refused = [column for column in columns if column.found]
    plain = [column for column in columns if not column.structured]
    alarms = [column for column in plain if column.found]
    by_table = {c.table: [d for d in plain if d.table == c.table] for c in plain}
    mean = float(np.mean([np.mean([bool(c.found) for c in group]) for group in by_table.values()]))
    lines += [
        f"**Raw columns:** {len(refused)} of {len(columns)} refused ({len(refused) / len(columns):.1%}); "
        f"found: {named(refused)}.",
        "",
        f"**Raw columns without structure:** {len(alarms)} of {len(plain)} refused ({len(alarms) / len(plain):.1%}, "
        f"{interval(len(alarms), len(plain))}). They come from {len(by_table)} tables; if each table counts once, "
        f"{mean:.1%}.",
        "",
        "## Refused without a reason that holds",
        "",
        "| column | found | what is known |",
        "|---|---|---|",
        *(f"| {c.table}, {c.name} | {', '.join(c.found)} | {c.reason} |" for c in alarms),
        "",
        "## Refused with a reason",
        "",
        "| column | found | structure | evidence |",
        "|---|---|---|---|",
        *(
            f"| {c.table}, {c.name} | {', '.join(c.found)} | {c.reason} | {c.evidence} |"
            for c in refused
            if c.structured
        ),
        "",
        "## Structure that was not refused",
        "",
        "| column | structure | evidence |",
        "|---|---|---|",
        *(
            [f"| {c.table}, {c.name} | {c.reason} | {c.evidence} |" for c in columns if c.structured and not c.found]
            or ["| none | | |"]
        ),
        "",
    ]
    return lines


def main() -> None:
    """Check all columns and write the result."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    sys.path.append(str(folder))
    known = reasons()
    scores: list[Column] = []
    columns: list[Column] = []
    seen: set[bytes] = set()
    for name, table in tables(folder):
        if len(scores) < MOST_SCORES and (score := composite(table)) is not None:
            scores.append(Column(table=name, name="", found=found_in(score)))
        for column, values in raw(table):
            same = np.sort(values).tobytes()
            if same in seen:
                continue
            seen.add(same)
            found = found_in(values)
            columns.append(judged(Column(table=name, name=column, found=found), values, known))
    lines = report(scores, columns)
    (HERE / "false_alarms.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(line for line in lines if line.startswith("**")))


if __name__ == "__main__":
    main()
