"""Releases that are broken by construction, and sound ones: what an audit must say of each.

Every case is a table, a problem and a risk. Broken ones are forced through with every leak accepted; each says what
gives the secret away. Sound ones follow the assumptions of their plan, beside harmless other columns.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

import statveil as sv
from statveil.tables.verification import LEAKS

Rng = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Case:
    """One release to audit; ``table`` draws the columns, the audited one is ``x``."""

    name: str
    problem: Callable[[], sv.Problem]
    table: Callable[[Rng], dict[str, Any]]
    risk: float = 0.1
    why: str = ""
    attackers: tuple[str, ...] = field(default=())
    """Any of these must find it (for broken cases)."""
    method: str = "auto"

    def audit(self, **options: Any) -> sv.Audit:
        """Plan, release with every leak accepted, audit; every case has a seed of its own."""
        frame = pl.DataFrame(self.table(np.random.default_rng([7, *self.name.encode()])))
        plan = sv.plan(self.problem(), max_risk=self.risk, method=self.method)
        released = sv.release(plan, frame, column="x", accept=tuple(LEAKS))
        return sv.audit(plan, frame, released, column="x", **{"seed": crc32(self.name.encode())} | options)


def location(low: float, high: float, tolerance: float, secret: Any = None, **known: Any) -> Callable[[], sv.Problem]:
    return lambda: sv.Problem(
        family=sv.Location(),
        prior=sv.Box(mean=(low, high)),
        secret=secret or sv.Mean(),
        tolerance=tolerance,
        known=sv.Structure(**known),
    )


def of(family: Any, tolerance: float, secret: Any = None, known: Any = None, **prior: Any) -> Callable[[], sv.Problem]:
    return lambda: sv.Problem(
        family=family,
        prior=sv.Box(**prior),
        secret=secret or sv.Mean(),
        tolerance=tolerance,
        known=known or sv.Structure(),
    )


def shares(tolerance: float, size: int = 3) -> Callable[[], sv.Problem]:
    labels = tuple("abcdef"[:size])
    return lambda: sv.Problem(family=sv.Categorical(labels=labels), secret=sv.Fraction(0), tolerance=tolerance)


def panel(draw: Callable[[Rng, int], Any], groups: int, each: int, *, text: bool = False) -> Callable[[Rng], Any]:
    """One value for each id, rows shuffled."""

    def table(rng: Rng) -> dict[str, Any]:
        ids = rng.permutation(np.repeat(np.arange(groups), each))
        return {"x": np.asarray(draw(rng, groups))[ids], "id": [f"p{i}" for i in ids] if text else ids}

    return table


def slow(rng: Rng, rows: int, run: int, draw: Callable[[Rng, int], Any]) -> Any:
    """Runs of equal values, in any order."""
    return np.repeat(draw(rng, rows // run + 1), run)[:rows]


def letters(rng: Rng, rows: int, chances: tuple[float, ...] = (0.5, 0.3, 0.2)) -> Any:
    return rng.choice(np.array(list("abcdef"[: len(chances)])), rows, p=chances)


def three_digits(values: Any) -> Any:
    return np.array([float(f"{value:.3g}") for value in values])


BINOMIAL = of(sv.Binomial(trials=20), 0.2, p=(0.2, 0.8))
POISSON = of(sv.Poisson(), 0.5, rate=(5, 40))
COUNTS = location(40, 160, 1.0, minimum=0, step=1)
HEAPED = location(40, 160, 1.0, minimum=0, step=1, heaps=(5,))


def gamma_counts(rng: Rng, rows: int) -> Any:
    return np.round(rng.gamma(4.0, 20.0, rows))


def heaped(rng: Rng, rows: int) -> Any:
    values = gamma_counts(rng, rows)
    return np.where(rng.random(rows) < 0.3, 5 * np.round(values / 5), values)


def some_whole(rng: Rng, rows: int, whole: int) -> Any:
    values = rng.normal(100, 15, rows)
    chosen = rng.choice(rows, whole, replace=False)
    values[chosen] = np.round(values[chosen])
    return values


def with_flag(rng: Rng) -> dict[str, Any]:
    x = rng.normal(65, 12, 1000)
    return {"x": x, "passed": x >= 60}


def with_labels(rng: Rng) -> dict[str, Any]:
    x = rng.gamma(4.0, 12.0, 1000)
    return {"x": x, "band": np.array(["low", "middle", "high"])[(x >= 30).astype(int) + (x >= 60)]}


def binomial_flag(rng: Rng) -> dict[str, Any]:
    x = rng.binomial(20, 0.5, 4000).astype(float)
    return {"x": x, "passed": x >= 10}


def with_copy(form: Callable[[Any], Any], digits: int) -> Callable[[Rng], dict[str, Any]]:
    def table(rng: Rng) -> dict[str, Any]:
        x = rng.lognormal(3.0, 0.5, 1000)
        return {"x": x, "other": rng.random(1000), "copy": np.round(form(x), digits)}

    return table


def clock(rng: Rng) -> dict[str, Any]:
    x, start = rng.gamma(2.0, 40.0, 1000), np.round(rng.random(1000) * 1e5)
    return {"x": x, "start": start, "end": np.round(start + x)}


def clock_text(rng: Rng) -> dict[str, Any]:
    x, start = rng.gamma(2.0, 40.0, 600), np.round(rng.random(600) * 80_000)
    begin = np.datetime64("2024-03-01T00:00:00")
    return {
        "x": x,
        "start": [str(begin + np.timedelta64(int(s), "s")) for s in start],
        "end": [str(begin + np.timedelta64(int(s), "s")) for s in np.round(start + x)],
    }


def total(rng: Rng) -> dict[str, Any]:
    x, tax = rng.gamma(2.0, 40.0, 800), rng.gamma(2.0, 5.0, 800)
    return {"x": x, "tax": tax, "total": x + tax}


def beside(make: Callable[[Rng, Any], dict[str, Any]], rows: int = 1000) -> Callable[[Rng], dict[str, Any]]:
    """A skewed column, with what is made of it beside."""

    def table(rng: Rng) -> dict[str, Any]:
        x = rng.lognormal(3.0, 0.5, rows)
        return {"x": x, "other": rng.random(rows), **make(rng, x)}

    return table


def averages(rng: Rng) -> dict[str, Any]:
    count = rng.integers(2, 12, 600)
    return {"x": np.round(np.array([rng.integers(1, 6, k).mean() for k in count]), 2), "count": count}


def in_text(rng: Rng, x: Any) -> dict[str, Any]:
    return {"text": [f"flat {rng.integers(9)}: EUR {100 * v:,.2f} per month" for v in x]}


def larger(rng: Rng, x: Any) -> dict[str, Any]:
    first, less = rng.random(len(x)) < 0.9, x * rng.random(len(x))
    return {"a": np.where(first, x, less), "b": np.where(first, less, x)}


def amounts(rng: Rng) -> dict[str, Any]:
    x = rng.poisson(15, 2000).astype(float)
    return {"x": x, "amount": 7.5 * x + rng.normal(0, 4, 2000)}


def step_by_size(rng: Rng, rows: int = 3000) -> Any:
    """Two significant digits: tenths below 10, whole numbers below 100, tens above."""
    return np.array([float(f"{value:.2g}") for value in rng.lognormal(3.3, 0.9, rows)])


def in_shares(rng: Rng, x: Any) -> dict[str, Any]:
    team = rng.integers(0, len(x) // 10, len(x))
    return {"team": [f"t{i}" for i in team], "share": x / np.bincount(team, weights=x)[team]}


def row_before(rng: Rng) -> dict[str, Any]:
    x = rng.poisson(15, 3000).astype(float)
    return {"x": x, "last": np.roll(x, 1)}


def poor(rng: Rng, rows: int, regions: int = 12) -> dict[str, Any]:
    """A flag for a limit that goes by region."""
    region = rng.integers(0, regions, rows)
    x, line = rng.lognormal(3.0, 0.5, rows), rng.uniform(9, 45, regions)
    return {"x": x, "region": [f"r{i}" for i in region], "poor": x < line[region]}


def bands(rng: Rng) -> dict[str, Any]:
    """Three classes by limits that go by year and sex."""
    year, sex = rng.integers(0, 6, 2000), rng.integers(0, 2, 2000)
    x, low = rng.lognormal(3.0, 0.5, 2000), 12.0 + 1.5 * year + 4 * sex
    band = np.array(["a", "b", "c"])[(x >= low).astype(int) + (x >= 1.6 * low)]
    return {"x": x, "year": year, "sex": np.array(["f", "m"])[sex], "band": band}


def overweight(rng: Rng) -> dict[str, Any]:
    height = rng.normal(1.7, 0.1, 1500)
    x = rng.normal(24, 4, 1500) * height**2
    return {"x": x, "height": height, "overweight": x / height**2 >= 25}


def more_than_before(rng: Rng) -> dict[str, Any]:
    x = rng.lognormal(3.0, 0.5, 1500)
    return {"x": x, "up": x > 1.1 * np.concatenate((x[:1], x[:-1]))}


def counts_by_limit(rng: Rng) -> dict[str, Any]:
    region, x = rng.integers(0, 8, 3000), rng.poisson(15, 3000).astype(float)
    return {"x": x, "region": [f"r{i}" for i in region], "many": x >= np.array([9, 11, 12, 14, 16, 18, 20, 23])[region]}


def counts_by_group(rng: Rng) -> dict[str, Any]:
    team, x = rng.permutation(np.repeat(np.arange(100), 30)), rng.poisson(15, 3000).astype(float)
    share = np.bincount(team, weights=x >= 18) / 30
    return {"x": x, "team": [f"t{i}" for i in team], "busy": share[team]}


def jittered_counts(rng: Rng) -> dict[str, Any]:
    x = gamma_counts(rng, 3000)
    return {"x": x, "so far": np.cumsum(x > 100)}


def by_group(made: Callable[[Any], float], groups: int = 60, rows: int = 1800) -> Callable[[Rng], dict[str, Any]]:
    """What a function says of the rows of each group, beside every one of them."""

    def table(rng: Rng) -> dict[str, Any]:
        team = np.concatenate((np.arange(groups), np.arange(groups), rng.integers(0, groups, rows - 2 * groups)))
        x = rng.lognormal(3.0, 0.4, rows) * rng.lognormal(0, 0.3, groups)[team]
        told = np.array([made(x[team == i]) for i in range(groups)])
        return {"x": x, "team": [f"t{i}" for i in team], "told": told[team]}

    return table


def windows(made: Callable[[Any], Any], width: int) -> Callable[[Rng, Any], dict[str, Any]]:
    """A number of the last rows."""

    def columns(rng: Rng, x: Any) -> dict[str, Any]:
        rolled = made(np.lib.stride_tricks.sliding_window_view(x, width))
        return {"rolled": np.concatenate((np.full(width - 1, np.nan), rolled))}

    return columns


def large_orders(rng: Rng, x: Any) -> dict[str, Any]:
    who = rng.integers(0, len(x) // 12, len(x))
    so_far = np.zeros(len(x))
    for i in range(len(x) // 12):
        so_far[who == i] = np.cumsum(x[who == i] > 25)
    return {"who": [f"c{i}" for i in who], "so far": so_far}


LINKS = ("links",)
LIMITS, NUMBERS, RUNNING = ("limits",), ("group-numbers",), ("running",)
ORDER, GROUPS, KINDS = ("neighbours",), ("grouped",), ("pattern", "lattice-shift", "lattice-scale", "periodic", "atoms")

BROKEN: tuple[Case, ...] = (
    # A: randomness by rows that order or ids undo
    Case(name="rank, sorted, 1,000 rows", problem=BINOMIAL, risk=0.2, attackers=ORDER,
         table=lambda rng: {"x": np.sort(rng.binomial(20, 0.5, 1000)).astype(float)}, why="sorted by the column"),
    Case(name="rank, sorted downwards, 4,000 rows", problem=BINOMIAL, risk=0.2, attackers=ORDER,
         table=lambda rng: {"x": np.sort(rng.binomial(20, 0.6, 4000))[::-1].astype(float)}, why="sorted downwards"),
    Case(name="rank, runs of 20", problem=BINOMIAL, risk=0.2, attackers=ORDER,
         table=lambda rng: {"x": slow(rng, 4000, 20, lambda r, n: r.binomial(20, 0.5, n)).astype(float)},
         why="changes slowly in time"),
    Case(name="rank, panel of 10", problem=BINOMIAL, risk=0.2, attackers=GROUPS,
         table=panel(lambda rng, n: rng.binomial(20, 0.5, n).astype(float), 200, 10), why="one value for each id"),
    Case(name="rank, panel of 25 by name", problem=BINOMIAL, risk=0.2, attackers=GROUPS,
         table=panel(lambda rng, n: rng.binomial(20, 0.4, n).astype(float), 120, 25, text=True), why="one value each"),
    Case(name="unit, panel", problem=POISSON, risk=0.2, attackers=GROUPS,
         table=panel(lambda rng, n: rng.poisson(15, n).astype(float), 200, 20), why="one value for each id"),
    Case(name="unit, panel by name", problem=POISSON, risk=0.2, attackers=GROUPS,
         table=panel(lambda rng, n: rng.poisson(20, n).astype(float), 100, 40, text=True), why="one value each"),
    Case(name="unit, sorted", problem=POISSON, risk=0.2, attackers=ORDER,
         table=lambda rng: {"x": np.sort(rng.poisson(15, 4000)).astype(float)}, why="sorted by the column"),
    Case(name="jitter, panel", problem=COUNTS, attackers=GROUPS, table=panel(gamma_counts, 200, 10),
         why="one value for each id"),
    Case(name="jitter, panel of 4", problem=COUNTS, attackers=GROUPS, table=panel(gamma_counts, 600, 4),
         why="one value for each id"),
    Case(name="jitter, sorted", problem=COUNTS, attackers=ORDER,
         table=lambda rng: {"x": np.sort(gamma_counts(rng, 4000))}, why="sorted by the column"),
    Case(name="jitter, runs of 8", problem=COUNTS, attackers=ORDER,
         table=lambda rng: {"x": slow(rng, 3000, 8, gamma_counts)}, why="changes slowly in time"),
    Case(name="category, panel", problem=shares(0.02), risk=0.2, attackers=GROUPS,
         table=panel(letters, 200, 10), why="one label for each id"),
    Case(name="category, panel of 5", problem=shares(0.02), risk=0.2, attackers=GROUPS,
         table=panel(letters, 400, 5, text=True), why="one label for each name"),
    Case(name="category, sorted", problem=shares(0.02), risk=0.2, attackers=ORDER,
         table=lambda rng: {"x": np.sort(letters(rng, 2000))}, why="sorted by the column"),
    # B: structure that checks did not see
    Case(name="pounds in kg", problem=location(50, 120, 1.0, step=0.1), risk=0.125, attackers=KINDS,
         table=lambda rng: {"x": np.round(rng.integers(100, 250, 1000) * 0.45359237, 1)}, why="rounded conversion"),
    Case(name="miles in km", problem=location(20, 80, 0.4, step=0.01), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.round(np.round(rng.normal(30, 6, 600)) * 1.609344, 2)}, why="rounded conversion"),
    Case(name="inches in cm", problem=location(140, 200, 1.0, step=0.1), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.round(np.round(rng.normal(67, 4, 500)) * 2.54, 1)}, why="rounded conversion"),
    Case(name="Fahrenheit in Celsius", problem=location(0, 40, 0.5, step=0.1), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.round((np.round(rng.normal(65, 15, 600)) - 32) / 1.8, 1)}, why="conversion"),
    Case(name="heights partly in inches", problem=location(150, 190, 0.5, step=0.1), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.where(rng.random(800) < 0.4, np.round(np.round(rng.normal(67, 4, 800)) * 2.54, 1),
                                          np.round(rng.normal(170, 9, 800), 1))}, why="partly converted"),
    Case(name="three digits, scale", problem=location(50, 1000, 5.0, minimum=0), attackers=KINDS,
         table=lambda rng: {"x": three_digits(rng.lognormal(4.0, 1.5, 600))}, why="three significant digits"),
    Case(name="logs of whole numbers", problem=location(1, 8, 0.1), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.log(np.round(rng.lognormal(4.0, 1.0, 1000)) + 1)}, why="logarithms"),
    Case(name="logs, four decimals", problem=location(1, 8, 0.1, step=0.0001), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.round(np.log(np.round(rng.lognormal(4.0, 1.0, 1000)) + 1), 4)}, why="logarithms"),
    Case(name="decimal logs", problem=location(0.5, 4, 0.05), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.log10(np.round(rng.lognormal(4.0, 1.0, 1000)) + 1)}, why="logarithms"),
    Case(name="binary logs", problem=location(2, 10, 0.1), risk=0.2, attackers=KINDS,
         table=lambda rng: {"x": np.log2(np.round(rng.lognormal(4.0, 1.0, 800)) + 1)}, why="logarithms"),
    Case(name="square roots", problem=location(5, 40, 0.2), attackers=KINDS,
         table=lambda rng: {"x": np.sqrt(rng.integers(25, 900, 600))}, why="square roots"),
    Case(name="reciprocals", problem=location(0.01, 1, 0.005), attackers=(*KINDS, "support"),
         table=lambda rng: {"x": 1 / rng.integers(1, 60, 600)}, why="reciprocals"),
    Case(name="squares, scale", problem=location(100, 1500, 5.0, minimum=0), attackers=KINDS,
         table=lambda rng: {"x": rng.integers(3, 45, 500) ** 2.0}, why="squares"),
    Case(name="a few whole numbers", problem=location(90, 110, 0.05), attackers=KINDS,
         table=lambda rng: {"x": some_whole(rng, 500, 6)}, why="6 whole numbers in 500"),
    Case(name="19 whole numbers in a long column", problem=location(90, 110, 0.05), attackers=KINDS,
         table=lambda rng: {"x": some_whole(rng, 60_000, 19)}, why="19 whole numbers in 60,000"),
    Case(name="weak heaps", problem=location(60, 140, 1.0, step=1), risk=0.15, attackers=KINDS,
         table=lambda rng: {"x": np.where(rng.random(400) < 0.25, 10 * np.round(rng.normal(10, 1.5, 400)),
                                          np.round(rng.normal(100, 15, 400)))}, why="favourite tens"),
    Case(name="shares up to 1", problem=location(0.1, 0.9, 0.01, minimum=0), attackers=("support",),
         table=lambda rng: {"x": rng.beta(3.0, 1.2, 1000)}, why="a natural maximum"),
    Case(name="whole numbers, shifted", problem=location(10, 200, 0.1), risk=0.2, attackers=(*KINDS, "support"),
         table=lambda rng: {"x": np.floor(rng.gamma(2.0, 40.0, 1000))}, why="whole numbers"),
    # D: what other columns tell
    Case(name="a flag from 60 on", problem=location(40, 90, 1.0), risk=0.2, attackers=("thresholds",),
         table=with_flag, why="passed = x >= 60"),
    Case(name="labels", problem=location(20, 120, 1.0, minimum=0), attackers=("thresholds",), table=with_labels,
         why="bands"),
    Case(name="a flag beside ranks", problem=BINOMIAL, risk=0.2, attackers=("thresholds",), table=binomial_flag,
         why="passed = x >= 10"),
    Case(name="a rounded logarithm", problem=location(5, 60, 0.5, minimum=0), attackers=("copies",),
         table=with_copy(np.log, 2), why="lwage = log(wage)"),
    Case(name="a rounded copy", problem=location(5, 60, 0.5), attackers=("copies", "auxiliary"),
         table=with_copy(lambda x: x, 0), why="the column in whole units"),
    Case(name="end - start", problem=location(10, 200, 1.0, minimum=0), attackers=("copies", "auxiliary"), table=clock,
         why="clock times"),
    Case(name="end - start as text", problem=location(10, 200, 1.0, minimum=0), attackers=("copies", "auxiliary"),
         table=clock_text, why="clock times"),
    Case(name="a total", problem=location(10, 200, 1.0), attackers=("auxiliary", "copies", "support"), table=total,
         why="x = total - tax"),
    Case(name="a share with errors of a tenth", problem=location(5, 60, 0.5), attackers=("copies",),
         table=beside(lambda rng, x: {"tax": 0.23 * x * rng.normal(1, 0.1, len(x))}), why="a tax of about 23 %"),
    Case(name="a share with errors, scaled", problem=location(5, 60, 0.5, minimum=0), attackers=("copies",),
         table=beside(lambda rng, x: {"tax": 0.23 * x * rng.normal(1, 0.1, len(x))}), why="a tax of about 23 %"),
    Case(name="the larger of two", problem=location(5, 60, 0.5), attackers=("copies", "auxiliary"),
         table=beside(larger), why="x = max(a, b)"),
    Case(name="inside a longer text", problem=location(5, 60, 0.5), attackers=("copies", "auxiliary"),
         table=beside(in_text), why="a number in a text"),
    Case(name="a running total", problem=location(5, 60, 0.5, minimum=0), attackers=("copies",),
         table=beside(lambda rng, x: {"balance": 1e5 + np.cumsum(x)}), why="a balance"),
    Case(name="a fifth of the rows twice", problem=location(5, 60, 0.5), attackers=("copies",),
         table=beside(lambda rng, x: {"again": np.where(rng.random(len(x)) < 0.3, x, rng.permutation(x))}),
         why="30 % of the rows copied"),
    Case(name="a copy that begins late", problem=location(5, 60, 0.5), attackers=("copies",),
         table=beside(lambda rng, x: {"late": np.where(np.arange(len(x)) < 17_000, rng.random(len(x)), np.log(x))},
                      20_000), why="a copy from row 17,000 on"),
    Case(name="averages beside their counts", problem=location(1, 5, 0.05), risk=0.2, attackers=("copies",),
         table=averages, why="x times count is whole"),
    Case(name="unit, amounts beside", problem=POISSON, risk=0.2, attackers=("copies",), table=amounts,
         why="amount = 7.5 x"),
    Case(name="a flag with errors", problem=location(5, 60, 0.5), attackers=("thresholds",),
         table=beside(lambda rng, x: {"flag": (x >= 23.4567) ^ (rng.random(len(x)) < 0.01)}), why="a limit, 1 % off"),
    Case(name="empty above a limit", problem=location(5, 60, 0.5), attackers=("thresholds",),
         table=beside(lambda rng, x: {"asked": np.where(x > 25, rng.random(len(x)), np.nan)}), why="asked above 25"),
    # D: what is no copy, but fits in one place alone
    Case(name="a flag with a tenth of errors", problem=location(5, 60, 0.5), attackers=LINKS,
         table=beside(lambda rng, x: {"flag": (x >= 22) ^ (rng.random(len(x)) < 0.1)}, 2000), why="a limit, 10 % off"),
    Case(name="a flag for half of those above", problem=location(5, 60, 0.5), attackers=LINKS,
         table=beside(lambda rng, x: {"flag": (x >= 22) & (rng.random(len(x)) < 0.5)}, 2000), why="a limit, one-sided"),
    Case(name="a score that is best in the middle", problem=location(5, 60, 0.5), attackers=LINKS,
         table=beside(lambda rng, x: {"score": np.exp(-((x - 25) ** 2) / 100)}), why="a partner that turns"),
    Case(name="a squared distance, scaled", problem=location(5, 60, 0.5, minimum=0), attackers=LINKS,
         table=beside(lambda rng, x: {"far": np.round((x - 22) ** 2, 1)}), why="a partner that turns"),
    Case(name="a rolling average", problem=location(5, 60, 0.5), attackers=LINKS,
         table=beside(lambda rng, x: {"week": np.convolve(x, np.full(7, 1 / 7))[: len(x)]}), why="seven rows"),
    Case(name="the row before beside counts", problem=POISSON, risk=0.2, attackers=(*LINKS, "copies", "auxiliary"),
         table=row_before, why="a lag"),
    Case(name="shares of a group", problem=location(5, 60, 0.5), attackers=LINKS,
         table=beside(in_shares), why="x over the total of its group"),
    Case(name="the same values in other rows", problem=location(5, 60, 0.5), attackers=LINKS,
         table=beside(lambda rng, x: {"mixed": rng.permutation(x)}), why="as many of each value"),
    Case(name="hexadecimal", problem=location(5, 60, 0.5), attackers=("copies", "auxiliary"),
         table=beside(lambda rng, x: {"code": [f"{int(v * 1000):x}" for v in x]}), why="a copy in another base"),
    Case(name="base64 of floats", problem=location(5, 60, 0.5, minimum=0), attackers=("copies", "auxiliary"),
         table=beside(lambda rng, x: {"code": [b64encode(np.float64(v).tobytes()).decode() for v in x]}), why="bytes"),
    Case(name="the length of a text", problem=location(5, 60, 0.5), attackers=("copies", "auxiliary"),
         table=beside(lambda rng, x: {"bar": ["#" * round(4 * v) for v in x]}), why="a copy in other words"),
    # D: limits that another column says, numbers of groups, counts along the rows
    Case(name="poor by region", problem=location(5, 60, 0.5), risk=0.2, attackers=LIMITS,
         table=lambda rng: poor(rng, 1200), why="a limit by label"),
    Case(name="poor by region, scaled", problem=location(5, 60, 0.5, minimum=0), risk=0.2, attackers=LIMITS,
         table=lambda rng: poor(rng, 1500, 40), why="a limit by label"),
    Case(name="bands by year and sex", problem=location(5, 60, 0.5), risk=0.2, attackers=LIMITS, table=bands,
         why="limits by two labels"),
    Case(name="overweight", problem=location(40, 100, 0.5), risk=0.2, attackers=LIMITS, table=overweight,
         why="a limit along a curve"),
    Case(name="overweight, scaled", problem=location(40, 100, 0.5, minimum=0), risk=0.2, attackers=LIMITS,
         table=overweight, why="a limit along a curve"),
    Case(name="a tenth more than before", problem=location(5, 60, 0.5), risk=0.2, attackers=LIMITS,
         table=more_than_before, why="a limit by the row before"),
    Case(name="late rates", problem=location(5, 60, 0.5), risk=0.2, attackers=NUMBERS,
         table=by_group(lambda x: round(float(np.mean(x > 25)), 3)), why="the share of a group above a limit"),
    Case(name="late cases, scaled", problem=location(5, 60, 0.5, minimum=0), risk=0.2, attackers=NUMBERS,
         table=by_group(lambda x: float(np.sum(x > 25))), why="the number of a group above a limit"),
    Case(name="medians of groups", problem=location(5, 60, 0.5), risk=0.2, attackers=(*NUMBERS, "copies", "links"),
         table=by_group(lambda x: float(np.median(x))), why="a quantile of a group"),
    Case(name="averages of groups", problem=location(5, 60, 0.5), risk=0.2, attackers=NUMBERS,
         table=by_group(lambda x: float(np.mean(x))), why="the average of a group"),
    Case(name="deviations of groups", problem=location(5, 60, 0.5, minimum=0), risk=0.2, attackers=NUMBERS,
         table=by_group(lambda x: float(np.std(x, ddof=1))), why="a spread of a group"),
    Case(name="variation of groups", problem=location(5, 60, 0.5), risk=0.2, attackers=NUMBERS,
         table=by_group(lambda x: float(np.std(x) / np.mean(x))), why="deviation over mean"),
    Case(name="Gini by group", problem=location(5, 60, 0.5), risk=0.2, attackers=NUMBERS,
         table=by_group(lambda x: float(np.abs(x[:, None] - x).mean() / x.mean() / 2)), why="a Gini coefficient"),
    Case(name="groups with a large one", problem=location(5, 60, 0.5), risk=0.2, attackers=NUMBERS,
         table=by_group(lambda x: float(np.max(x) > 60), 120, 2400), why="any row above a limit"),
    Case(name="exceedances so far", problem=location(5, 60, 0.5), risk=0.2, attackers=RUNNING,
         table=beside(lambda rng, x: {"so far": np.cumsum(x > 30)}), why="a running count"),
    Case(name="exceedances of a week, scaled", problem=location(5, 60, 0.5, minimum=0), risk=0.2, attackers=RUNNING,
         table=beside(windows(lambda rows: (rows > 25).sum(axis=1), 7), 1500), why="a rolling count"),
    Case(name="large orders of a customer", problem=location(5, 60, 0.5), risk=0.2, attackers=RUNNING,
         table=beside(large_orders, 1500), why="a running count by group"),
    Case(name="the largest of five rows", problem=location(5, 60, 0.5), risk=0.2, attackers=RUNNING,
         table=beside(windows(lambda rows: rows.max(axis=1), 5), 1500), why="a rolling maximum"),
    Case(name="a rolling median, scaled", problem=location(5, 60, 0.5, minimum=0), risk=0.2,
         attackers=(*RUNNING, "links"),
         table=beside(windows(lambda rows: np.median(rows, axis=1), 9), 1500), why="a rolling median"),
    Case(name="a rolling deviation, scaled", problem=location(5, 60, 0.5, minimum=0), risk=0.2, attackers=RUNNING,
         table=beside(windows(lambda rows: rows.std(axis=1), 14), 1500), why="a rolling deviation"),
    Case(name="unit, many by region", problem=POISSON, risk=0.2, attackers=LIMITS, table=counts_by_limit,
         why="a limit by label beside counts"),
    Case(name="unit, busy teams", problem=POISSON, risk=0.2, attackers=NUMBERS, table=counts_by_group,
         why="the share of a group above a limit"),
    Case(name="jitter, exceedances so far", problem=COUNTS, risk=0.2, attackers=RUNNING, table=jittered_counts,
         why="a running count"),
)  # fmt: skip


def harmless(rng: Rng, rows: int, x: Any = None) -> dict[str, Any]:
    """Columns that tell nothing: ids that do not group, labels, shuffled times, a correlated number."""
    found = {
        "id": rng.permutation(rows),
        "team": rng.choice(np.array(["red", "green", "blue"]), rows),
        "time": rng.random(rows) * 1e5,
        "person": rng.integers(0, max(rows // 5, 2), rows),
    }
    if x is not None:
        found["near"] = x + rng.normal(0, 2 * float(np.std(x)) + 1e-9, rows)
    return found


def sound_table(draw: Callable[[Rng, int], Any], rows: int, *, numeric: bool = True) -> Callable[[Rng], dict[str, Any]]:
    def table(rng: Rng) -> dict[str, Any]:
        x = draw(rng, rows)
        return {"x": x, **harmless(rng, rows, x if numeric else None)}

    return table


_SOUND: tuple[tuple[str, Callable[[], sv.Problem], Callable[[Rng, int], Any], float], ...] = (
    ("shift of normal rows", location(10, 200, 1.0), lambda rng, n: rng.normal(100, 15, n), 0.1),
    ("shift of skewed rows", location(50, 250, 2.0), lambda rng, n: 60 + rng.gumbel(40, 15, n), 0.2),
    ("scale of gamma rows", location(10, 200, 1.0, minimum=0), lambda rng, n: rng.gamma(2.0, 40.0, n), 0.2),
    ("scale of lognormal rows", location(5, 100, 1.0, minimum=0), lambda rng, n: rng.lognormal(3.0, 0.8, n), 0.15),
    ("whole steps", location(50, 200, 2.0, step=1), lambda rng, n: np.round(rng.normal(100, 15, n)), 0.2),
    ("tenths", location(50, 150, 1.0, step=0.1), lambda rng, n: np.round(rng.normal(100, 15, n), 1), 0.15),
    ("median", of(sv.Gaussian(), 1.0, sv.Quantile(0.5), mu=(50, 150), sigma=(5, 40)),
     lambda rng, n: rng.normal(100, 15, n), 0.2),
    ("jitter far from the bound", location(100, 400, 3.0, minimum=0, step=1),
     lambda rng, n: np.round(rng.gamma(9.0, 25.0, n)), 0.2),
    ("smooth", location(100, 400, 3.0, minimum=0, step=1, heaps=(5,)),
     lambda rng, n: np.where(
         rng.random(n) < 0.3, 5 * np.round(rng.gamma(9.0, 5.0, n)), np.round(rng.gamma(9.0, 25.0, n))
     ), 0.2),
    ("rank of binomial rows", BINOMIAL, lambda rng, n: rng.binomial(20, 0.5, n).astype(float), 0.2),
    ("unit of Poisson rows", POISSON, lambda rng, n: rng.poisson(15, n).astype(float), 0.2),
    ("unit of geometric rows", of(sv.Geometric(), 0.5, p=(0.05, 0.2)),
     lambda rng, n: rng.geometric(0.1, n) - 1.0, 0.25),
    ("categories", shares(0.02), letters, 0.2),
    ("four categories", shares(0.03, 4), lambda rng, n: letters(rng, n, (0.4, 0.3, 0.2, 0.1)), 0.25),
    ("gaussian box", of(sv.Gaussian(), 1.0, mu=(50, 150), sigma=(5, 40)), lambda rng, n: rng.normal(100, 15, n), 0.2),
    ("gaussian std", of(sv.Gaussian(), 0.5, sv.Std(), mu=(50, 150), sigma=(5, 40)),
     lambda rng, n: rng.normal(100, 15, n), 0.2),
    ("exponential", of(sv.Exponential(), 1.0, scale=(10, 80)), lambda rng, n: rng.exponential(40, n), 0.2),
    ("uniform", of(sv.Uniform(), 1.0, low=(0, 50), high=(60, 120)), lambda rng, n: rng.uniform(20, 90, n), 0.25),
    ("normal belief", of(sv.Gaussian(), 1.0, mu=sv.Density("normal", (100, 20), low=40, high=160), sigma=15.0),
     lambda rng, n: rng.normal(100, 15, n), 0.25),
    ("known spread", of(sv.Gaussian(), 1.0, mu=(50, 150), sigma=15.0), lambda rng, n: rng.normal(100, 15, n), 0.15),
)  # fmt: skip

SIZES = (300, 600, 1_000, 2_000, 4_000)

SOUND: tuple[Case, ...] = tuple(
    Case(
        name=f"{name}, {rows:,} rows",
        problem=problem,
        table=sound_table(draw, rows, numeric=not name.endswith("categories") and name != "categories"),
        risk=risk,
    )
    for name, problem, draw, risk in _SOUND
    for rows in SIZES
)
"""Twenty kinds in five sizes."""
