"""Other columns that tell a hidden label, and how somebody counts it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from attacks.row_by_row import LABELS
from attacks.telling import round_number

__all__ = ["label_rule"]


def label_rule(
    rng: np.random.Generator, labels: NDArray[Any]
) -> tuple[str, dict[str, Any], Callable[[pl.DataFrame], float]]:
    """Other columns that tell a hidden label, and how somebody counts it there."""
    count = len(labels)
    ours = labels == "B"
    kind = str(
        rng.choice(
            ["copy", "code", "limit", "sum", "delay", "hour", "word", "errors", "ids", "remainder", "two limits"]
        )
    )
    if kind == "copy":
        return kind, {"kind": [f"line {v.lower()}" for v in labels]}, lambda t: float((t["kind"] == "line b").mean())
    if kind == "code":
        code_of = dict(zip(LABELS, rng.permutation(90) + 10, strict=False))
        ours_code = int(code_of["B"])
        return kind, {"code": [int(code_of[v]) for v in labels]}, lambda t: float((t["code"] == ours_code).mean())
    if kind == "errors":
        rate = rng.uniform(0.005, 0.2)
        flag = ours ^ (rng.random(count) < rate)
        return kind, {"flag": flag.astype(int)}, lambda t: float((t["flag"].mean() - rate) / (1 - 2 * rate))
    if kind == "limit":
        limit = round_number(rng.uniform(20, 80), 2)
        score = np.where(ours, rng.uniform(limit, 100, count), rng.uniform(0, limit, count))
        return kind, {"score": np.round(score, 2)}, lambda t: float((t["score"] >= limit).mean())
    if kind == "two limits":
        a, b = rng.uniform(0, 100, count), rng.uniform(0, 100, count)
        for _ in range(200):
            wrong = ((a > 60) & (b > 40)) != ours
            if not wrong.any():
                break
            a[wrong], b[wrong] = rng.uniform(0, 100, int(wrong.sum())), rng.uniform(0, 100, int(wrong.sum()))
        return kind, {"a": a, "b": b}, lambda t: float(((t["a"] > 60) & (t["b"] > 40)).mean())
    if kind == "sum":
        pieces = rng.uniform(0, 50, (3, count))
        goal = np.where(ours, rng.uniform(75, 140, count), rng.uniform(20, 75, count))
        pieces *= goal / pieces.sum(axis=0)
        return (
            kind,
            {"p": pieces[0], "q": pieces[1], "r": pieces[2]},
            lambda t: float((t["p"] + t["q"] + t["r"] >= 75).mean()),
        )
    if kind == "delay":
        begin = rng.integers(0, 1000, count)
        late = np.where(ours, rng.integers(15, 90, count), rng.integers(-10, 15, count))
        return kind, {"planned": begin, "real": begin + late}, lambda t: float((t["real"] - t["planned"] >= 15).mean())
    if kind == "hour":
        hours = np.where(ours, rng.integers(22, 29, count) % 24, rng.integers(5, 22, count))
        minutes = rng.integers(0, 60, count)
        return (
            kind,
            {"at": [f"{h:02d}:{m:02d}" for h, m in zip(hours, minutes, strict=True)]},
            lambda t: float(((t["at"].str.slice(0, 2).cast(pl.Int64) - 5) % 24 >= 17).mean()),
        )
    if kind == "word":
        words = rng.choice(["north", "south"], count)
        return (
            kind,
            {"note": [f"{w}{' urgent' if o else ''}" for w, o in zip(words, ours, strict=True)]},
            lambda t: float(t["note"].str.contains("urgent").mean()),
        )
    modulus = int(rng.choice([2, 3, 4, 5, 7, 10, 11, 12, 13, 16, 17, 20]))
    codes = rng.integers(10_000, 99_999, count) // modulus * modulus
    rest = np.where(ours, 0, rng.integers(1, modulus, count))
    if kind == "remainder":
        return f"remainder by {modulus}", {"code": codes + rest}, lambda t: float((t["code"] % modulus == 0).mean())
    start = rng.integers(100, 900)
    codes = np.where(ours, start * 1000, (start + rng.integers(1, 99, count)) * 1000) + rng.integers(0, 1000, count)
    return kind, {"id": codes}, lambda t: float((t["id"] // 1000 == start).mean())
