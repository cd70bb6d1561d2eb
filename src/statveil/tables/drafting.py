"""draft_specification(): a specification to edit, from a look at the table. Private, as inspect() is.

What the data says is written down as a proposal; what only its holder can know, the priors, is left to fill in.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from statveil.specification.nodes import column_written
from statveil.specification.writing import column_toml, toml
from statveil.spoken import Progress
from statveil.tables.blocks import Array
from statveil.tables.inspection import ColumnReport, Inspection, inspect
from statveil.tables.preparing import unnamed
from statveil.tables.series import column_type
from statveil.tables.sharing import Reader, Shared, each_beside
from statveil.tables.source import Source, open_source
from statveil.tables.structure.others.copy_search import find_ties
from statveil.tables.structure.others.telling import telling_columns
from statveil.tables.verify_table import typed_column

__all__ = ["Draft", "Proposed", "draft_specification", "draft_table"]

_HEAD = """\
# PRIVATE draft: made by looking at the table. Edit it, and take out what only the data could have told; the edited file
# may be published.
# * Fill in every prior from public knowledge, never from the data: what outsiders believe of the statistic.
# * Keep what is declared (known) only where everyone knows it of such columns.
# * Say of every other column what becomes of it: hide, keep, drop, link or derive.
"""
_FEWEST = 8  # rows that a formula must explain
_FEWEST_APART, _GROUPS = 200, 16  # rows, and parts of them, among which a difference must be alike
_CHANCE = 0.01  # that a difference which has nothing to do with the column is taken for one that has
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "log1p": np.log1p,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": lambda values: np.floor(values + 0.5),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What is proposed for one column."""

    column: str
    table: Mapping[str, Any]
    """Its part of a specification."""
    before: str = ""
    """Why, as a comment above that part."""
    after: str = ""
    """What is left to fill in or could be said instead, as a comment below it."""

    def text(self) -> str:
        """The part of the draft that is about the column."""
        return self.before + column_toml(self.column, self.table) + self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a look at a table found, and what is proposed for it. Private."""

    inspection: Inspection
    told: Mapping[str, list[tuple[str, ...]]]
    """Of each column that can be hidden, which others tell its values, alone or together."""
    columns: tuple[Proposed, ...]
    shuffle: bool
    """Whether the order of the rows tells a column's values."""

    def text(self) -> str:
        """The draft as the text of a specification to edit."""
        head = toml({"shuffle": self.shuffle, "others": "refuse", "budget": {"max_risk": 0.2}, "columns": {}})
        return "\n".join([_HEAD + head, *(one.text() for one in self.columns)])


def draft_specification(table: Any, *, progress: Progress = lambda stage, rows, total: None) -> str:
    """The text of a specification to edit.

    Parameters
    ----------
    table : object or path
        Anything that :func:`inspect` takes, with named columns.
    progress : callable, optional
        As for :func:`inspect`.
    """
    return draft_table(table, progress=progress).text()


def draft_table(table: Any, *, progress: Progress = lambda stage, rows, total: None) -> Draft:
    """The same with what it rests on."""
    source = open_source(table)
    inspection = inspect(table, progress=progress)
    reports = {one.column: one for one in inspection.columns}
    names = {str(name): source.find(name) for name in source.names}
    hidden = [name for name, one in reports.items() if one.command]
    told = _told(source, {name: names[name] for name in hidden}, progress) if hidden else {}
    rows = _first_rows(source, names, hidden) if hidden else {}
    # of columns that tell each other one with clearly more different values is hidden: the others follow from it
    finest = sorted(hidden, key=lambda name: -int(4 * np.log2(rows[name].n_unique())))
    leaders = {name: leader for name, leader in _leaders(finest, told).items() if name in names}
    proposed = []
    for name, report in reports.items():
        if name in leaders:
            proposed.append(_teller(name, leaders[name], rows, moved=_moved(reports[leaders[name]])))
        elif name in hidden:
            proposed.append(_hidden(report, told.get(name, [])))
        else:
            why = f"# {' '.join(report.no_map)}\n" if report.no_map else ""
            proposed.append(Proposed(column=name, table={"keep": True}, before=why))
    return Draft(
        inspection=inspection,
        told=told,
        columns=tuple(proposed),
        shuffle=any(reports[name].shuffle for name in hidden if name not in leaders),
    )


def _told(source: Source, columns: Mapping[str, Any], progress: Progress) -> dict[str, list[tuple[str, ...]]]:
    """Of each column, which others tell its values, alone or together."""

    def work(reader: Reader) -> list[tuple[str, ...]]:
        return telling_columns(unnamed(reader.beside(None)))

    shared: Shared[list[tuple[str, ...]]] = Shared(
        source,
        dict.fromkeys(columns.values()),
        look=each_beside(str, stays=lambda key: True, apart=str.__ne__),
        progress=lambda rows: progress("comparing columns", rows, source.rows),
    )
    done = shared.run(dict.fromkeys(columns.values(), work))
    return {str(name): found for name, found in done.items()}


def _leaders(hidden: list[str], told: Mapping[str, list[tuple[str, ...]]]) -> dict[str, str]:
    """Columns that tell a hidden one, each with that one; the first of several that tell each other is hidden."""
    leaders: dict[str, str] = {}
    for name in hidden:
        alone = [found[0] for found in told.get(name, []) if len(found) == 1]  # what is no column is left out later
        earlier = next((one for one in alone if one in hidden and hidden.index(one) < hidden.index(name)), None)
        if name in leaders:
            continue
        if earlier is not None:
            leaders[name] = leaders.get(earlier, earlier)
            continue
        leaders |= {one: name for one in alone if one not in leaders}
    return leaders


def _first_rows(source: Source, names: Mapping[str, Any], hidden: list[str]) -> dict[str, pl.Series]:
    """The first rows of all columns, as numbers where they are numbers or truths."""
    own, others = next(iter(source.beside({names[name]: None for name in hidden})), ({}, {}))
    found = {str(name): pl.Series(values).fill_nan(None) for name, values in own.items()}
    for name, column in others.items():
        typed = typed_column(column, source.type_of(names[name]) if name in names else column_type(column.dtype))
        found[name] = typed.cast(pl.Float64) if typed.dtype.is_numeric() or typed.dtype == pl.Boolean else typed
    return found


def _moved(report: ColumnReport) -> bool:
    """Whether nothing is proposed about which the column would be stretched: then it moves by one number."""
    known = dict(pairwise(shlex.split(report.command))).get("--known", "")
    return not any(one.startswith(("min", "max", "atoms")) for one in known.split(","))


def _hidden(report: ColumnReport, told: list[tuple[str, ...]]) -> Proposed:
    words = shlex.split(report.command)
    options = dict(pairwise(words))
    # where 0 may be the statistic there is no share of it, and only its holder knows how close counts
    close = {"tolerance": options["--tolerance"]} if options["--tolerance"] != "T" else {}
    table: dict[str, Any] = {"hide": options["--secret"], **close}
    table |= {key: options[f"--{key}"] for key in ("known", "shape") if f"--{key}" in options}
    together = [" with ".join(map(repr, found)) for found in told if len(found) > 1]
    why = f"# Told by several columns together ({_line('; '.join(together[:3]))}): drop or derive one of them.\n"
    return Proposed(
        column=report.column,
        table=table,
        before=why if together else "",
        after='# prior = "LO:HI"\n' + ("" if close else "# tolerance = T\n"),
    )


def _teller(name: str, leader: str, rows: Mapping[str, pl.Series], *, moved: bool) -> Proposed:
    """``moved``: whether the hidden column will be moved by one number, which keeps differences."""
    hidden, own = rows.get(leader), rows.get(name)
    formula, written = _formula(leader, hidden, own), _line(repr(leader))
    if formula is not None:
        why = f"# Tells {written}: derive it from the released column, or drop it.\n"
        return Proposed(column=name, table={"derive": formula}, before=why, after="# drop = true\n")
    if not (moved and _apart(hidden, own)):
        return Proposed(column=name, table={"drop": True}, before=f"# Tells {written}: drop it.\n")
    why = f"# Tells {written}: drop it; or link it, if what the two differ by says nothing of how large they are.\n"
    link = column_toml("", {"link": leader, "factor": 1.0}).splitlines()[1:]
    return Proposed(column=name, table={"drop": True}, before=why, after="".join(f"# {line}\n" for line in link))


def _apart(hidden: pl.Series | None, other: pl.Series | None) -> bool:
    """Whether two columns differ by something that the hidden one has no part in, as two clocks do.

    Only then is the factor of a link known, which is 1. Any other link publishes how far its factor is off, times the
    move: a gross price less its net one is the tax, and shows the level.
    """
    from scipy.stats import kruskal, norm, rankdata, spearmanr

    both = _numbers(hidden, other)
    if both is None or len(both[0]) < _FEWEST_APART:
        return False
    x, apart = both[0], both[1] - both[0]
    if np.ptp(apart) <= 1e-6 * np.ptp(x) or find_ties(x, {"apart": apart}):
        return False
    # by equal parts of the sorted column: neither the place, nor the width, nor the direction may change with it
    part = (_GROUPS * (rankdata(x) - 1) / len(x)).astype(int)
    wide = np.abs(apart - np.median(apart))
    several = [np.flatnonzero(part == group) for group in np.unique(part)]
    if len(several) < _GROUPS // 2 or spearmanr(x, apart).pvalue < _CHANCE:
        return False
    # any function of the column makes neighbours alike (von Neumann's ratio of ranks, nearly normal about 2)
    ranks = rankdata(apart)[np.argsort(x, kind="stable")]
    ratio = float(np.mean(np.diff(ranks) ** 2) / np.var(ranks))
    if abs(ratio - 2) * np.sqrt(len(x)) > 2 * norm.isf(_CHANCE / 2):
        return False
    return all(kruskal(*(one[rows] for rows in several)).pvalue >= _CHANCE for one in (apart, wide))


def _numbers(hidden: pl.Series | None, other: pl.Series | None) -> tuple[Array, Array] | None:
    """The rows in which both columns have a number."""
    if hidden is None or other is None or not other.dtype.is_numeric():
        return None
    x, y = (one.cast(pl.Float64).fill_null(np.nan).to_numpy() for one in (hidden, other))
    both = np.isfinite(x) & np.isfinite(y)
    return x[both], y[both]


def _formula(name: str, hidden: pl.Series | None, other: pl.Series | None) -> str | None:
    """How the other column follows from the hidden one, where one of a few forms fits every row."""
    both = _numbers(hidden, other)
    if both is None or len(both[0]) < _FEWEST:
        return None
    x, y = both
    written = column_written(name)
    with np.errstate(all="ignore"):
        for function, apply in _FUNCTIONS.items():
            if np.allclose(apply(x), y, rtol=1e-6, atol=1e-9):
                return f"{function}({written})"
        if set(np.unique(y)) == {0.0, 1.0}:
            return _threshold(written, x, y == 1)
        for form, made in ((written, x), (f"log({written})", np.log(x)), (f"sqrt({written})", np.sqrt(x))):
            line = _line_through(form, made, y) if np.isfinite(made).all() else None
            if line is not None:
                return line
    return None


def _line_through(form: str, x: Array, y: Array) -> str | None:
    """``form * a + b``, where all rows lie on one line."""
    size = float(np.abs(y).max())
    slope, offset = np.polyfit(x, y, 1)
    if not np.allclose(slope * x + offset, y, rtol=1e-6, atol=1e-6 * size):
        return None
    times = form if abs(slope - 1) <= 1e-6 else f"{form} * {_short(slope)}"
    return times + ("" if abs(offset) <= 1e-6 * size else f" + {_short(offset)}".replace("+ -", "- "))


def _threshold(written: str, x: Array, above: Any) -> str | None:
    """A flag as a comparison with a round number between the rows on both sides."""
    low, high = (x[~above], x[above])
    sign, ends = (">=", (low.max(), high.min())) if low.max() < high.min() else ("<", (high.max(), low.min()))
    if not ends[0] < ends[1]:
        return None
    for digits in range(-12, 16):
        place = float(np.ceil(ends[0] * 10.0**digits) / 10.0**digits)
        place = place if place > ends[0] else place + 10.0**-digits
        if place <= ends[1]:
            return f"{written} {sign} {_short(place)}"
    return None


def _short(value: float) -> str:
    number = float(f"{value:.9g}")
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _line(text: str) -> str:
    """Text of a comment, in one line."""
    return " ".join(text.split())
