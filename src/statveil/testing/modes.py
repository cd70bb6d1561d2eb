"""Conformance of a mode: chosen, repeatable, the same on every engine, and what it says of itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from statveil.auditing.game import release_column
from statveil.made_plan import Plan
from statveil.modes import MODES, Mode
from statveil.modes.mode import SEVEN_DIGITS
from statveil.planning import plan
from statveil.problem.of_columns import OfColumns
from statveil.problem.of_groups import OfGroups
from statveil.problem.problem import Problem
from statveil.tables.blocks import BLOCK, Array, blocks_of
from statveil.tables.groups import Masks
from statveil.tables.release import release
from statveil.tables.verification import LEAKS
from statveil.testing.comparison import close, same
from statveil.testing.lives import check_plan_file, check_release

__all__ = ["check_mode"]


def check_mode(
    mode: Mode, problem: Problem, column: Array, *, max_risk: float = 0.3, groups: Masks | None = None
) -> None:
    """A mode, on a problem that it is for and a column under it.

    The plan must choose it, also after JSON. The column is released: the same seed gives the same rows, in whatever
    order the blocks come and in whatever library the table lies; rows without a value stay so and no other becomes
    one; the released statistic is the plan's, within the mode's slack; a mode that says it is a line is one.

    Parameters
    ----------
    mode : Mode
        The registered mode.
    problem : Problem
        One that it treats.
    column : array
        Finite values of a column that can be released under the problem; numbers of categories, if it is for them.
    max_risk : float
        The risk to plan for.
    groups : pair of array, optional
        For a secret of two groups: whether each row is in the first, and whether it is in the second. For one of two
        columns: the same of the rows of both, the second column below the first.
    """
    same(MODES.get(mode.name) is mode, f"the mode {mode.name!r} is not registered under its name")
    same(bool(mode.says), f"the mode {mode.name!r} has no description")
    same(mode.near_line or not (mode.line or mode.whole_steps), f"{mode.name!r}: a line is also nearly one")
    found = plan(problem, max_risk=max_risk)
    same(found.release_mode is mode, f"the plan has the mode {found.mode!r} instead of {mode.name!r}")
    check_plan_file(found)
    after = check_release(found, column, groups)
    blur = 5 * mode.blur_width(problem)
    if mode.line:
        _check_line(mode, column, after, blur)
    for rows in groups or ():  # a line of its own for each of them
        _check_line(mode, column[rows], after[rows], blur)
    _check_blocks(found, column, groups)
    _check_engines(found, column, groups)


def _check_line(mode: Mode, before: Array, after: Array, blur: float) -> None:
    """The rows lie on one line; ``blur`` is how far each may be off it."""
    size = (4 * SEVEN_DIGITS if mode.blurs else 1e-9) * float(np.abs(before).max() + np.abs(after).max())
    centred = before - before.mean()
    factor, start = np.polyfit(centred, after, 1)
    # a blur turns the fitted line by no more than this (Cauchy and Schwarz), and lifts it by no more than itself
    spread = float(before.std())
    turned = blur / spread if spread else 0.0
    off = 1e-6 + size + 2 * blur + turned * float(np.abs(centred).max())
    close(start + factor * centred, after, off, "the rows and one line", absolute=True)
    straight = mode.stretches or abs(factor - 1) <= 1e-6 + turned
    same(straight, f"the rows are stretched by {factor:.6g}, and 'stretches' is no")


def _check_blocks(found: Plan, column: Array, groups: Masks | None) -> None:
    """A block needs no other block: asked for in another order, or again, it comes out the same."""
    many = np.resize(column, 2 * BLOCK + 1_000)  # two whole blocks and a part
    parts = None if groups is None else (np.resize(groups[0], len(many)), np.resize(groups[1], len(many)))
    there, prepared = release_column(found, many, bits=53, seed=3, parts=parts)
    blocks = list(enumerate(blocks_of(many)()))
    back = [prepared.column_map.block(block, index) for index, block in reversed(blocks)]
    again = np.concatenate(back[::-1])
    same(np.array_equal(there, again, equal_nan=True), "the rows depend on the order in which the blocks are asked for")


def _check_engines(found: Plan, column: Array, groups: Masks | None) -> None:
    """A table in any library that is installed gets the same rows."""
    values: Array | list[str] = column
    beside: dict[str, Any] = {}
    own: str | None = "x"
    secret = found.problem.secret
    if groups is not None and isinstance(secret, OfGroups):
        labels = (f"neither {secret.group} nor {secret.base}", secret.group, secret.base)
        beside[secret.by] = [labels[one + 2 * two] for one, two in zip(*groups, strict=True)]
    if groups is not None and isinstance(secret, OfColumns):
        rows, own = min(int(one.sum()) for one in groups), None
        values, beside[secret.base] = column[groups[0]][:rows], column[groups[1]][:rows]
    if found.release_mode.categories:
        names = [param.name for param in found.problem.family.params]
        values = [names[int(code)] for code in column]
    first: tuple[str, list[Any]] | None = None
    first_name = secret.column if isinstance(secret, OfColumns) else "x"
    for name, table, read in _tables({first_name: values, **beside}, first_name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a holder should know is for a holder
            released = read(release(found, table, column=own, seed=5, accept=tuple(LEAKS)))
        if first is None:
            first = name, released
        same(released == first[1], f"the rows of {name} are other than those of {first[0]}")


def _tables(columns: dict[str, Any], own: str) -> Iterator[tuple[str, Any, Any]]:
    """The table in each library that is there, and how to read its column ``own`` back."""
    try:
        import pandas as pd

        yield "pandas", pd.DataFrame(columns), lambda table: table[own].tolist()
    except ImportError:
        pass
    try:
        import polars as pl

        yield "Polars", pl.DataFrame(columns), lambda table: table[own].to_list()
    except ImportError:
        pass
    try:
        import pyarrow as pa

        yield "PyArrow", pa.table(columns), lambda table: table[own].to_pylist()
    except ImportError:
        pass
