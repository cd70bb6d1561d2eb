"""The table of the tutorial, docs/energy.csv: 400 made-up runs of a made-up plant.

The energy of a run follows a skewed spread around a level that depends on the line and a little on the temperature
outside; meters show tenths of a kilowatt-hour. Run it from anywhere: it writes the same bytes every time.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

TABLE = Path(__file__).with_suffix(".csv")
ROWS = 400
LINES = {"A": 1.06, "B": 1.0, "C": 0.9}


def rows() -> list[dict[str, object]]:
    """One row per run, in the order of their numbers."""
    rng = np.random.default_rng(1)
    line = rng.choice(list(LINES), ROWS)
    shift = rng.choice(["day", "night"], ROWS)
    outside = rng.normal(14, 6, ROWS).round().astype(int)
    level = 46.0 * np.array([LINES[name] for name in line]) * (1 - 0.004 * (outside - 14))
    energy = (level * rng.lognormal(0.0, 0.22, ROWS)).round(1)
    names = ("run", "line", "shift", "outside_c", "energy_kwh")
    runs = zip(range(1, ROWS + 1), line.tolist(), shift.tolist(), outside.tolist(), energy.tolist(), strict=True)
    return [dict(zip(names, values, strict=True)) for values in runs]


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
