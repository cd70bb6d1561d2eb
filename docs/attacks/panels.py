"""Tables in which several rows belong together and have one value."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from attacks.guessing import column_of
from attacks.row_by_row import Drawn, drawn, truth_of
from attacks.undoing import blocks_between, guess_by_blocks, guess_by_pairs, guess_by_scatter, guess_by_types
from attacks.variants import Ints, Table, Variant, log_uniform, rows

__all__ = ["panel"]


def written_ids(rng: np.random.Generator, groups: Ints) -> tuple[str, dict[str, Any]]:
    """Columns that say which rows belong together."""
    count = int(groups.max()) + 1
    codes = rng.permutation(count)
    kind = str(
        rng.choice(["number", "large number", "text", "date", "two columns", "name", "digest", "part of a text"])
    )
    mine = codes[groups]
    if kind == "number":
        return kind, {"id": mine}
    if kind == "large number":
        return kind, {"id": rng.choice(10**9, count, replace=True)[mine]}
    if kind == "text":
        return kind, {"id": [f"P{m:05d}" for m in mine]}
    if kind == "date":
        return kind, {"id": [str(np.datetime64("1950-01-01") + int(7 * m)) for m in mine]}
    if kind == "two columns":
        wide = int(np.ceil(np.sqrt(count)))
        return kind, {"street": mine % wide, "house": mine // wide}
    if kind == "name":
        sounds = ("ba", "ko", "ri", "tan", "le", "mo", "sud", "vi", "nar", "pek")
        names = ["".join(sounds[int(d)] for d in f"{m:04d}").title() for m in range(count)]
        return kind, {"id": [names[m] for m in mine]}
    if kind == "digest":
        digests = [f"{int(v):016x}" for v in rng.integers(0, 2**62, count)]
        return kind, {"id": [digests[m] for m in mine]}
    visits = rng.integers(1000, 9999, len(groups))
    return kind, {"id": [f"V{v}-{m}-{u}" for v, m, u in zip(visits, mine, visits[::-1], strict=True)]}


def panel_attack(given: Drawn, members: list[Ints], table: Table) -> float:
    """Undo what was drawn at random by the rows that had one value."""
    assert isinstance(table, pl.DataFrame)
    if given.mode == "category":
        return guess_by_types(given, table["x"].cast(pl.String).to_numpy(), members)
    released = column_of(table)
    several = [m for m in members if len(m) > 1]
    if given.mode == "unit":
        return guess_by_scatter(given, released, several)
    if given.mode == "jitter":
        left = np.concatenate([m[:-1] for m in several])
        right = np.concatenate([m[1:] for m in several])
        more_left = np.concatenate([m[:-2] for m in several])
        more_right = np.concatenate([m[2:] for m in several])
        return guess_by_pairs(
            given, released, np.concatenate([left, more_left]), np.concatenate([right, more_right]), 0.98
        )
    low = np.array([released[m].min() for m in several])
    high = np.array([released[m].max() for m in several])
    return guess_by_blocks(given, released, blocks_between(released, low, high, 0.0))


def panel(rng: np.random.Generator) -> Variant:
    """A table of several rows for each of many ids, whose values are one for all rows of an id."""
    count = rows(rng)
    size = int(log_uniform(rng, 2, 101))
    number = max(count // size, 40)
    equal = rng.random() < 0.5
    sizes = np.full(number, size) if equal else 1 + rng.poisson(size - 1, number)
    given = drawn(rng, number, sizes.astype(np.int64))
    groups = np.repeat(np.arange(number), sizes)
    shuffled = rng.random() < 0.5
    mixed = rng.permutation(len(groups)) if shuffled else np.arange(len(groups))
    groups = groups[mixed]
    kind, columns = written_ids(rng, groups)
    values = given.values[mixed]
    if not shuffled and rng.random() < 0.3:
        kind, columns = "rows alone", {"other": rng.integers(0, 4, len(groups))}
    members = np.split(np.argsort(groups, kind="stable"), np.cumsum(np.bincount(groups))[:-1])
    truth, tolerance = truth_of(given)
    return Variant(
        family=f"{given.mode}: {kind}",
        plan=given.plan,
        table=pl.DataFrame({"x": values, **columns}),
        twin=pl.DataFrame({"x": given.independent, **columns}),
        truth=truth,
        tolerance=tolerance,
        attack=lambda table: panel_attack(given, members, table),
    )
