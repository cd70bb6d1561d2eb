"""The table of the tutorial, docs/salaries.csv: 400 made-up people of a made-up company.

Salaries follow a skewed spread around a level that depends a little on the department and the years of service; they
are paid in tens. Run it from anywhere; it writes the same bytes every time.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_suffix(".csv")
ROWS = 400
DEPARTMENTS = {"engineering": 1.15, "sales": 1.05, "operations": 0.95, "support": 0.85}
OFFICES = ("Lisbon", "Krakow", "Graz")


def rows() -> list[dict[str, object]]:
    """One row per person, in the order of their ids, which were given at random."""
    rng = np.random.default_rng(20)
    department = rng.choice(list(DEPARTMENTS), ROWS, p=(0.35, 0.25, 0.25, 0.15))
    office = rng.choice(OFFICES, ROWS)
    years = rng.gamma(1.6, 3.5, ROWS).astype(int)
    level = 44_000 * np.array([DEPARTMENTS[name] for name in department]) * 1.012**years
    salary = (level * rng.lognormal(0.0, 0.28, ROWS) / 10).round().astype(int) * 10
    number = rng.permutation(np.arange(1_000, 1_000 + ROWS))
    people = zip(number.tolist(), department.tolist(), office.tolist(), years.tolist(), salary.tolist(), strict=True)
    names = ("person", "department", "office", "years", "salary")
    return [dict(zip(names, values, strict=True)) for values in sorted(people)]


def text() -> str:
    """The table as CSV."""
    table = rows()
    out = io.StringIO()
    writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return out.getvalue()


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8", newline="")
