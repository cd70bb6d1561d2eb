"""What becomes of tables of each class: refused, or released and attacked."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import statveil as sv
from attacks.conversions import conversion
from attacks.flags import flag
from attacks.functions import log
from attacks.orders import order
from attacks.panels import panel
from attacks.quotes import quote
from attacks.variants import NoTableError, Table, Variant

__all__ = ["CLASSES", "Outcome", "trials"]

ACCEPTABLE = (
    *("step", "heaps", "atoms", "ratios", "rough", "digits", "transform", "repeats", "codes", "sums", "bounds"),
    *("filled", "misfit", "order", "groups", "copies", "few-rows", "repeated"),
)
CLASSES: dict[str, Callable[[np.random.Generator], Variant]] = {
    "order": order,
    "panel": panel,
    "conversion": conversion,
    "log": log,
    "flag": flag,
    "quote": quote,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one variant."""

    family: str
    mode: str
    rows: int
    stated: float
    refused: str
    """The leak that the refusal names, or nothing."""
    hit: bool
    """Of the release if it was accepted, else of the forced one."""
    forced: bool
    """Whether there was a forced release, or an accepted one, to attack."""
    twin: str
    """The leak that the refusal of the twin names, or nothing."""


def released(variant: Variant, table: Table, accept: Iterable[str] = ()) -> Table:
    """The table, released under the variant's plan."""
    if isinstance(table, pl.DataFrame):
        result = sv.release(variant.plan, table, column="x", accept=tuple(accept))
        assert isinstance(result, pl.DataFrame)
        return result
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "in.csv"), Path(folder, "out.csv")
        before.write_bytes(table)
        sv.release(variant.plan, before, output=after, column="label", accept=tuple(accept))
        return after.read_bytes()


def refusal(error: sv.StatveilError) -> str:
    """The name of the leak that a refusal gives, or else its kind."""
    named = re.findall(r"--accept ([a-z-]+)", str(error))
    return named[0] if named else type(error).__name__


def tried(variant: Variant) -> Outcome:
    """Release, force and attack one table, and release its twin."""
    refused, twin = "", ""
    result: Table | None = None
    try:
        result = released(variant, variant.table)
    except sv.StatveilError as error:
        refused = refusal(error)
    if result is None:
        try:
            result = released(variant, variant.table, ACCEPTABLE)
        except sv.StatveilError:
            result = None
    hit = False
    if result is not None:
        guess = variant.attack(result)
        hit = bool(abs(guess - variant.truth) <= variant.tolerance * (1 + 1e-9))
    try:
        released(variant, variant.twin)
    except sv.StatveilError as error:
        twin = refusal(error)
    return Outcome(
        family=variant.family,
        mode=variant.plan.mode,
        rows=len(variant.table) if isinstance(variant.table, pl.DataFrame) else variant.table.count(b"\n"),
        stated=variant.plan.risk,
        refused=refused,
        hit=hit,
        forced=result is not None,
        twin=twin,
    )


def trials(name: str, tables: int, seed: int) -> Iterable[Outcome]:
    """The outcomes of so many tables of a class, each from a seed of its own."""
    made, attempt = 0, 0
    while made < tables:
        rng = np.random.default_rng([seed, list(CLASSES).index(name), attempt])
        attempt += 1
        try:
            variant = CLASSES[name](rng)
        except NoTableError:
            continue
        made += 1
        yield tried(variant)
