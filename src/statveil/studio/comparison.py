"""Hidden columns before and after, as numbers for charts. Private: it shows the original."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from statveil.numeric import Array
from statveil.problem.families.categorical import Categorical
from statveil.problem.family import Family
from statveil.specification.planned import TablePlan
from statveil.tables.files.csv_numbers import numbers
from statveil.tables.source import open_source

__all__ = ["compared"]

_ROWS = 100_000
"""Rows of each table that are looked at, evenly spread."""
_BINS, _QUANTILES = 40, 101
_LABELS = 30  # that are drawn
_GROUPS, _BY, _WITH = 12, 6, 12  # groups of a column, columns that group, columns to correlate with


def compared(plans: TablePlan, original: str, released: str) -> dict[str, dict[str, Any]]:
    """For each hidden column: histogram, quantiles, means by group, correlations; before and after.

    A shuffled release is compared as well: nothing here pairs a row with a row of the other table.
    """
    hidden = {name: one.problem.family for name, one in plans.plans.items()}
    tables = [_sample(path, hidden) for path in (original, released)]
    return {name: _one(name, plans, *tables) for name in hidden}


def _sample(path: str, hidden: Mapping[str, Family]) -> tuple[int, pl.DataFrame]:
    """Evenly spread rows of all columns, hidden ones as numbers, of labels their places."""
    source = open_source(path)
    labels = {name: one.labels if isinstance(one, Categorical) else None for name, one in hidden.items()}
    every = 1 if source.rows is None else max(1, math.ceil(source.rows / _ROWS))
    parts, done = [], 0
    for rows, others in source.beside(labels):
        columns = {**{name: pl.Series(values) for name, values in rows.items()}, **others}
        size = len(next(iter(columns.values())))
        parts.append(pl.DataFrame(columns)[-done % every :: every])
        done += size
        if len(parts) > 1 and sum(map(len, parts)) > 2 * _ROWS:  # a file that does not say how long it is
            parts, every = [pl.concat(parts)[::2]], 2 * every
    return done, pl.concat(parts) if parts else pl.DataFrame()


def _one(name: str, plans: TablePlan, *tables: tuple[int, pl.DataFrame]) -> dict[str, Any]:
    columns = [table.get_column(name).to_numpy() for _, table in tables]
    before, after = (one[np.isfinite(one)] for one in columns)
    if not len(before) or not len(after):
        return {"words": ["The column holds no numbers."], "histogram": None, "quantiles": None}
    family = plans.plans[name].problem.family
    if isinstance(family, Categorical):
        return _shares(family, before, after)
    labelled = [other for other, one in plans.plans.items() if isinstance(one.problem.family, Categorical)]
    label = plans.plans[name].problem.secret.label
    words = [
        f"Before, the mean is {before.mean():.6g}; after, {after.mean():.6g}. The plan hides the {label}.",
        f"Standard deviation {before.std():.6g} before, {after.std():.6g} after.",
    ]
    if len(tables[0][1]) < tables[0][0]:
        words.append(f"Of {tables[0][0]:,} rows, {len(tables[0][1]):,} evenly spread ones are drawn.")
    places = np.linspace(0, 1, _QUANTILES)
    edges = np.histogram_bin_edges(np.concatenate([before, after]), bins=_BINS)
    return {
        "words": words,
        "histogram": {
            "edges": edges.tolist(),
            "before": np.histogram(before, edges)[0].tolist(),
            "after": np.histogram(after, edges)[0].tolist(),
        },
        "quantiles": {
            "probabilities": places.tolist(),
            "before": np.quantile(before, places).tolist(),
            "after": np.quantile(after, places).tolist(),
        },
        "group_means": _group_means(name, *(table for _, table in tables)),
        "correlations": _correlations(name, *(table.drop(labelled, strict=False) for _, table in tables)),
    }


def _shares(family: Categorical, before: Array, after: Array) -> dict[str, Any]:
    """How many of all rows have each label."""
    both = [np.bincount(one.astype(np.int64), minlength=len(family.labels)) / len(one) for one in (before, after)]
    shares = [
        {"label": label, "before": float(one), "after": float(two)}
        for label, one, two in zip(family.labels, *both, strict=True)
    ]
    moved = 50 * float(np.abs(both[0] - both[1]).sum())
    words = [f"At least {moved:.4g} % of the rows have another label than before."]
    return {"words": words, "histogram": None, "quantiles": None, "shares": shares[:_LABELS]}


def _group_means(name: str, before: pl.DataFrame, after: pl.DataFrame) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for other in before.columns:
        if other == name or other not in after.columns or len(found) == _BY:
            continue
        column = before.get_column(other)
        if column.dtype.is_float() or column.dtype.is_nested() or not 2 <= column.n_unique() <= _GROUPS:
            continue
        means = [_means(name, other, table) for table in (before, after)]
        groups = [
            {"label": label, "rows": rows, "before": mean, "after": means[1][label][1]}
            for label, (rows, mean) in means[0].items()
            if label in means[1]
        ]
        if len(groups) > 1:
            found.append({"by": other, "groups": groups})
    return found


def _means(name: str, by: str, table: pl.DataFrame) -> dict[str, tuple[int, float]]:
    finite = table.filter(pl.col(name).is_finite())
    rows = finite.group_by(pl.col(by).cast(pl.String), maintain_order=True).agg(
        pl.len().alias("\0rows"), pl.col(name).mean().alias("\0mean")
    )
    return {"" if label is None else label: (count, mean) for label, count, mean in sorted(rows.rows(), key=str)}


def _correlations(name: str, before: pl.DataFrame, after: pl.DataFrame) -> list[dict[str, Any]]:
    pairs: list[Mapping[str, Array]] = [_numeric(table) for table in (before, after)]
    found: list[dict[str, Any]] = []
    for other in pairs[0]:
        if other == name or other not in pairs[1] or len(found) == _WITH:
            continue
        both = [_correlation(numbers[name], numbers[other]) for numbers in pairs]
        if None not in both:
            found.append({"with": other, "before": both[0], "after": both[1]})
    return found


def _numeric(table: pl.DataFrame) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for column in table.get_columns():
        if column.dtype == pl.String:
            values, wrong = numbers(column.fill_null(""))
            if wrong is None:
                found[column.name] = values
        elif column.dtype.is_numeric() or column.dtype == pl.Boolean:
            found[column.name] = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return found


def _correlation(one: Array, two: Array) -> float | None:
    both = np.isfinite(one) & np.isfinite(two)
    if both.sum() < 3 or np.ptp(one[both]) == 0 or np.ptp(two[both]) == 0:
        return None
    value = float(np.corrcoef(one[both], two[both])[0, 1])
    return value if math.isfinite(value) else None
