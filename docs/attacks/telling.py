"""Other columns that tell a column of numbers by a public rule: limits, copies, dates, words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from attacks.conversions import UNITS
from attacks.variants import Floats, log_uniform

__all__ = ["Telling", "round_number", "telling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Other columns, and what a public rule makes of the hidden column and them.

    Attributes
    ----------
    kind : str
        The family.
    columns, independent : dict
        The other columns, and such that have nothing to do with the hidden one.
    rule : callable
        From the hidden column and the table to what the rule says of each row: labels as whole numbers, or a number.
    said : callable
        From the table to what is published of it.
    numeric : bool
        Whether the rule says a number.
    """

    kind: str
    columns: dict[str, Any]
    independent: dict[str, Any]
    rule: Callable[[Floats, pl.DataFrame], Floats]
    said: Callable[[pl.DataFrame], Floats]
    numeric: bool = False


def round_number(value: float, digits: int) -> float:
    """A number with so many significant digits, as a public limit has."""
    return float(f"{value:.{digits}g}")


def limits_of(rng: np.random.Generator, values: Floats, count: int) -> Floats:
    """Public limits, round numbers, between the values."""
    shares = np.sort(rng.uniform(0.02, 0.98, count))
    return np.unique([round_number(float(np.quantile(values, s)), int(rng.integers(1, 4))) for s in shares])


def telling(rng: np.random.Generator, values: Floats) -> Telling:
    """Other columns that tell the hidden one by a public rule."""
    count = len(values)
    deviation = float(np.std(values))
    kinds = (
        *("flag", "flag", "flag with errors", "one-sided flag", "soft flag", "bands", "grades", "shuffled codes"),
        *(
            "rounded copy",
            "other unit",
            "noisy copy",
            "number in text",
            "date",
            "two columns",
            "region",
            "curve",
            "middle",
        ),
        *(
            "empty cells",
            "parity",
            "weekday",
            "word",
            "capped copy",
            "first digit",
            "length",
            "larger",
            "product",
            "quotient",
        ),
        *(
            "year",
            "or",
            "and",
            "case",
            "decimals",
            "sorted ids",
            "three columns",
            "grades with errors",
            "count of units",
        ),
    )
    kind = str(rng.choice(kinds))
    cuts = limits_of(rng, values, 1)
    limit = float(cuts[0])
    above = (values > limit).astype(np.int64)

    def of(columns: dict[str, Any], rule: Any, said: Any = None, numeric: bool = False, **other: Any) -> Telling:
        name = next(iter(columns))
        order = rng.permutation(count)
        independent = {n: np.asarray(c, dtype=object)[order].tolist() for n, c in columns.items()} | other
        read = said or (lambda table: table[name].cast(pl.Float64).to_numpy())
        return Telling(kind=kind, columns=columns, independent=independent, rule=rule, said=read, numeric=numeric)

    def over(x: Floats, table: pl.DataFrame) -> Floats:
        return (x > limit).astype(np.float64)

    if kind == "flag":
        return of({"flag": above}, over)
    if kind == "flag with errors":
        wrong = rng.random(count) < rng.uniform(0.002, 0.2)
        return of({"flag": above ^ wrong}, over)
    if kind == "one-sided flag":
        return of({"flag": above * (rng.random(count) < rng.uniform(0.2, 0.95))}, over)
    if kind == "soft flag":
        noise = log_uniform(rng, 0.003, 0.2) * deviation * rng.standard_normal(count)
        return of({"flag": (values + noise > limit).astype(np.int64)}, over)
    if kind in ("bands", "grades", "shuffled codes", "grades with errors"):
        cuts = limits_of(rng, values, int(rng.integers(2, 9)))
        place = np.searchsorted(cuts, values, side="left")
        if kind == "grades with errors":
            wrong = rng.random(count) < rng.uniform(0.005, 0.2)
            place = np.where(wrong, rng.integers(0, len(cuts) + 1, count), place)
        if kind == "shuffled codes":
            codes = rng.permutation(len(cuts) + 1)
            return of(
                {"code": codes[place]}, lambda x, table: codes[np.searchsorted(cuts, x, side="left")].astype(np.float64)
            )
        letters = np.array(list("ABCDEFGHIJ"))
        return of(
            {"grade": letters[place]},
            lambda x, table: np.searchsorted(cuts, x, side="left").astype(np.float64),
            lambda table: np.searchsorted(letters, table["grade"].to_numpy()).astype(np.float64),
        )
    if kind in ("rounded copy", "other unit", "noisy copy"):
        factor = 1.0 if kind == "rounded copy" else UNITS[rng.integers(len(UNITS))][1]
        unit = float(10.0 ** np.floor(np.log10(deviation * factor * rng.uniform(0.1, 3))))
        copied = np.round(values * factor / unit) * unit
        if kind == "noisy copy":
            copied = values * factor * np.exp(log_uniform(rng, 0.01, 0.4) * rng.standard_normal(count))
        return of({"copy": copied}, lambda x, table: x * factor, numeric=True)
    if kind == "number in text":
        texts = [f"about {v:.3g} per unit ({i})" for v, i in zip(values, rng.integers(10, 99, count), strict=True)]
        return of(
            {"text": texts},
            lambda x, table: x,
            lambda table: table["text"].str.extract(r"about (\S+)").cast(pl.Float64).to_numpy(),
            True,
        )
    if kind in ("date", "two columns"):
        begin = np.datetime64("2019-01-01") + rng.integers(0, 400 if kind == "two columns" else 1, count)
        unit = deviation / rng.uniform(3, 300)
        end = begin + np.round(values / unit).astype(np.int64)
        columns = {"until": end.astype(str)} | ({"from": begin.astype(str)} if kind == "two columns" else {})

        def days(table: pl.DataFrame) -> Floats:
            late = table["until"].to_numpy().astype("datetime64[D]")
            early = table["from"].to_numpy().astype("datetime64[D]") if kind == "two columns" else begin
            return np.asarray((late - early).astype(np.float64) * unit)

        return of(columns, lambda x, table: x, days, True)
    if kind in ("region", "year"):
        regions = int(rng.integers(2, 13))
        mine = rng.integers(0, regions, count)
        if kind == "year":
            mine = np.sort(mine)
        limits = np.array([float(limits_of(rng, values, 1)[0]) for _ in range(regions)])
        wrong = rng.random(count) < (0 if rng.random() < 0.6 else rng.uniform(0, 0.1))
        return of(
            {"flag": (values > limits[mine]).astype(np.int64) ^ wrong, "region": mine + 2010},
            lambda x, table: (x > limits[table["region"].to_numpy() - 2010]).astype(np.float64),
        )
    if kind == "curve":
        other = rng.uniform(1.4, 2.0, count)
        bend = rng.uniform(0.5, 3)
        return of(
            {"flag": (values > limit * (other / 1.7) ** bend).astype(np.int64), "height": np.round(other, 2)},
            lambda x, table: (x > limit * (table["height"].to_numpy() / 1.7) ** bend).astype(np.float64),
        )
    if kind == "middle":
        cuts = limits_of(rng, values, 2)
        return of(
            {"normal": (np.searchsorted(cuts, values) == 1).astype(np.int64)},
            lambda x, table: (np.searchsorted(cuts, x) == 1).astype(np.float64),
        )
    if kind == "empty cells":
        amounts = rng.integers(10, 1000, count).astype(object)
        amounts[above == 1] = None
        return of({"due": amounts.tolist()}, over, lambda table: table["due"].is_null().to_numpy().astype(np.float64))
    if kind in ("parity", "weekday", "decimals", "sorted ids"):
        base = rng.integers(10_000, 99_999, count) // 2 * 2 + above
        if kind == "parity":
            return of({"code": base}, over, lambda table: (table["code"].to_numpy() % 2).astype(np.float64))
        if kind == "weekday":
            weeks = rng.integers(0, 700, count)
            offset = np.where(above, rng.integers(0, 2, count), rng.integers(2, 7, count))
            when = (np.datetime64("2010-01-02") + (weeks * 7 + offset)).astype(str)
            return of(
                {"day": when},
                over,
                lambda table: (
                    (table["day"].to_numpy().astype("datetime64[D]") - np.datetime64("2010-01-02")).astype(np.int64) % 7
                    < 2
                ).astype(np.float64),
            )
        if kind == "decimals":
            price = np.round(rng.uniform(1, 99, count), 1) + np.where(above, 0.09, 0.05)
            return of(
                {"price": np.round(price, 2)},
                over,
                lambda table: (np.round(table["price"].to_numpy() * 100) % 10 == 9).astype(np.float64),
            )
        block = np.where(above, rng.integers(500, 900, count), rng.integers(100, 500, count)) * 1000
        return of(
            {"id": block + rng.integers(0, 1000, count)},
            over,
            lambda table: (table["id"].to_numpy() >= 500_000).astype(np.float64),
        )
    if kind in ("word", "case", "length"):
        first = rng.choice(["visit", "order", "call", "letter"], count)
        tail = rng.choice(["north", "south", "east"], count)
        if kind == "word":
            texts = [f"{a} {b}{' checked' if u else ''}" for a, b, u in zip(first, tail, above, strict=True)]
            return of(
                {"note": texts}, over, lambda table: table["note"].str.contains("checked").to_numpy().astype(np.float64)
            )
        if kind == "case":
            texts = [f"{a} {b.upper() if u else b}" for a, b, u in zip(first, tail, above, strict=True)]
            return of(
                {"note": texts}, over, lambda table: table["note"].str.contains("[A-Z]").to_numpy().astype(np.float64)
            )
        texts = [
            a[:4] + "x" * int(k) for a, k in zip(first, np.clip(np.round(values / deviation * 3), 0, 60), strict=True)
        ]
        return of(
            {"note": texts},
            lambda x, table: x,
            lambda table: (table["note"].str.len_chars().to_numpy() - 4.0) * deviation / 3,
            True,
        )
    if kind == "capped copy":
        return of({"capped": np.minimum(values, limit)}, lambda x, table: np.minimum(x, limit), numeric=True)
    if kind == "first digit":
        lead = np.array([int(f"{v:e}"[0]) for v in values])
        return of({"class": lead}, lambda x, table: np.floor(x / 10.0 ** np.floor(np.log10(np.maximum(x, 1e-9)))))
    if kind == "larger":
        other = np.mean(values) + deviation * (
            0.8 * (values - np.mean(values)) / deviation + 0.6 * rng.standard_normal(count)
        )
        other = np.where(rng.random(count) < 0.5, other, values + 0.3 * deviation * rng.standard_normal(count))
        return of(
            {"flag": (values > other).astype(np.int64), "last": np.round(other, 6)},
            lambda x, table: (x > table["last"].to_numpy()).astype(np.float64),
        )
    if kind in ("product", "quotient"):
        other = np.round(rng.lognormal(1, 0.6, count), 2) + 0.1
        made = values * other if kind == "product" else values / other
        bound = round_number(float(np.quantile(made, rng.uniform(0.1, 0.9))), 2)
        return of(
            {"flag": (made > bound).astype(np.int64), "other": other},
            lambda x, table: (
                (x * table["other"].to_numpy() if kind == "product" else x / table["other"].to_numpy()) > bound
            ).astype(np.float64),
        )
    if kind in ("or", "and"):
        other = np.round(rng.normal(50, 10, count))
        second = other > rng.uniform(40, 60)
        mark = float(np.max(other[~second], initial=0))
        flag = (above == 1) | second if kind == "or" else (above == 1) & second
        return of(
            {"flag": flag.astype(np.int64), "score": other},
            lambda x, table: (
                (x > limit) | (table["score"].to_numpy() > mark)
                if kind == "or"
                else (x > limit) & (table["score"].to_numpy() > mark)
            ).astype(np.float64),
        )
    if kind == "three columns":
        year, region = rng.integers(0, 5, count), rng.integers(0, 4, count)
        limits = np.array([[float(limits_of(rng, values, 1)[0]) for _ in range(4)] for _ in range(5)])
        return of(
            {"flag": (values > limits[year, region]).astype(np.int64), "year": year, "region": region},
            lambda x, table: (x > limits[table["year"].to_numpy(), table["region"].to_numpy()]).astype(np.float64),
        )
    unit = round_number(deviation * rng.uniform(0.2, 2), 1)
    return of({"units": np.floor(values / unit).astype(np.int64)}, lambda x, table: np.floor(x / unit))
