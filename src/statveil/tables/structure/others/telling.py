"""Whether other columns tell the column's values, by all searches together: copies, links, codes, unread columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.column.lattice_search import find_lattice
from statveil.tables.structure.column.multiple_search import multiples
from statveil.tables.structure.others.aggregate_search import find_aggregates, find_shares
from statveil.tables.structure.others.alongside import MOST_ROWS, SIZES, Alongside, Gathering, Seen
from statveil.tables.structure.others.cell_search import Cells
from statveil.tables.structure.others.copy_search import find_changes, find_ties
from statveil.tables.structure.others.extreme_search import find_extremes
from statveil.tables.structure.others.facets import Facets, Parted, Sampled
from statveil.tables.structure.others.few_search import few_at_the_ends
from statveil.tables.structure.others.filter_search import Neighbours
from statveil.tables.structure.others.hidden_flags import hidden_flags
from statveil.tables.structure.others.label_sums import find_label_sum
from statveil.tables.structure.others.limit_search import find_limits
from statveil.tables.structure.others.link_search import find_links
from statveil.tables.structure.others.links import Link
from statveil.tables.structure.others.long_groups import LongGroups
from statveil.tables.structure.others.partner_search import find_partners
from statveil.tables.structure.others.period_search import Periods
from statveil.tables.structure.others.plane_search import find_planes
from statveil.tables.structure.others.residue_search import bands_of_the_rest
from statveil.tables.structure.others.row_search import holds_values
from statveil.tables.structure.others.running_search import counts_along, find_running
from statveil.tables.structure.others.within_search import (
    constant_totals,
    group_totals,
    groupings,
    marks_repeats,
    multiples_of,
    multiples_within,
    numbers_rows,
    one_code_each,
    written_once,
)
from statveil.tables.structure.reading.distinct import distinct
from statveil.tables.structure.reading.text_forms import digests
from statveil.tables.structure.rows.group_search import Beside
from statveil.tables.structure.rows.made_orders import restored_orders
from statveil.tables.structure.rows.tied_search import Broken, find_ties_of_rows, tie_findings

__all__ = ["MOST_COLUMNS", "Copies", "find_copies", "telling_columns"]

MOST_COLUMNS = 2000
"""Other columns in which the values are looked for: pairs of them are as many as the square of their number."""

_FEWEST = 20  # different values that may be multiples of something
_LABELS = 8  # categories, and labels of another column, that are compared with their neighbours


class Copies:
    """Looks at all other columns on their way past, then says which of them, alone or together, tell the column.

    For ``categories`` only the rows around are looked at: what a column tells of its own row is a matter of groups.
    ``values_show`` says whether the release keeps what the values are multiples of, ``broken`` which relations between
    rows it does not keep, if any are looked for, and ``shuffled`` that the rows will be released in another order.
    """

    facets: Facets | None = None

    def __init__(
        self,
        *,
        categories: bool = False,
        values_show: bool = True,
        broken: Broken | None = None,
        shuffled: bool = False,
    ) -> None:
        self._categories, self._values_show = categories, values_show
        self._broken, self._shuffled_rows = broken, shuffled
        self._cells, self._rows = Cells(), Gathering()
        self._groups_of_long = LongGroups(above=MOST_ROWS, categories=categories)
        self._columns = 0
        self._names: Collection[str] = ()

    def add(self, values: Array, others: Mapping[str, pl.Series]) -> bool:
        """Take in the next rows of the column and of all others; whether more of them are wanted."""
        self._columns, self._names = len(others), others.keys()
        if self._columns > MOST_COLUMNS:
            return False
        if isinstance(others, Seen):
            self._cells = others.cells()
        else:
            self._cells.add(others)
        self._rows.add(values, others)
        self._groups_of_long.add(values, others)
        return True

    @property
    def searches(self) -> Sequence[Sampled] | None:
        """Those that look at some rows, each at a facet of its own."""
        return (self,)

    @property
    def watchers(self) -> Sequence[Parted]:
        """Who sees all rows beside them."""
        return ()

    def must_see(self, values: Array, others: Mapping[str, pl.Series], *, whole: bool = False) -> list[str] | None:
        """Which columns must be seen in all rows, by a table's first block: the few values that some have.

        Of all others a sample is enough (:meth:`take`). ``None`` where whole groups of rows must be seen, or these
        are too few to know, and not the ``whole`` table.
        """
        if len(others) > MOST_COLUMNS or (len(values) <= MOST_ROWS and not whole):
            return None
        cells, groups = Cells(), LongGroups(above=MOST_ROWS, categories=self._categories)
        cells.add(others)
        groups.add(values, others)
        return None if groups.any else cells.open()

    def take(self, rows: Gathering, others: Collection[str], cells: Cells) -> None:
        """Take in all rows at once: those that were kept of them, the names of all others, and their cells."""
        self._columns, self._names, self._rows, self._cells = len(others), others, rows, cells

    def found(self, statistics: Collection[float] = ()) -> list[Finding]:
        """Findings that name the columns that tell the column's values, and those that are not read.

        ``statistics`` are numbers of the column that no other column may hold.
        """
        if self._columns > MOST_COLUMNS:
            says = (
                f"the table has {self._columns:,} other columns, and its values are looked for in at most "
                f"{MOST_COLUMNS:,}: nobody has looked whether these tell them; drop those that are not needed."
            )
            return [Finding(name="copies", values=(), flag="", says=says)]
        sample = self._rows.done()
        if not self._columns:  # a column alone: what others would be held against takes as long to work out as all else
            return self._tied(sample)
        searched = _neighbours(sample) if self._categories else chain(map(_said, _told(sample)), _once(sample))
        if not self._categories and self._values_show:
            searched = chain(searched, _indexed(sample))
        if not sample.whole:
            searched = chain(searched, (_said(link.columns) for link in self._groups_of_long.found()))
        cells = (name for name in self._cells.holding(statistics) if name in self._names)
        told = list(dict.fromkeys((*searched, *map(repr, cells))))
        found = []
        if told:
            says = (
                f"other columns tell its values ({_listed(told)}): a copy in another form or with errors, in some rows "
                "or a row further on, a flag or label for a range of values, for a limit that another column says or "
                "that their sum keeps to, or for the smallest or largest of them, averages, totals, shares, spreads or "
                "other numbers of groups or of the rows around, a running total or count, shares within groups, codes "
                "for the values, a function that turns or repeats itself, an index that makes them of round amounts, "
                "or several that make a sum (of points for their labels too), product or hypotenuse. They stay as they "
                "are, and show how far the column moves; drop them, or, in a specification, derive them from the "
                "released column or link them to it."
            )
            found.append(Finding(name="copies", values=(), flag="", says=says))
        if sample.unreadable:
            names = _listed([repr(name) for name in sample.unreadable])
            says = (
                f"other columns hold lists, records, bytes or objects ({names}), in which nobody has looked for its "
                "values; drop them, or write what is needed of them as plain columns."
            )
            found.append(Finding(name="copies", values=(), flag="", says=says))
        return found or self._tied(sample)

    def _tied(self, sample: Alongside) -> list[Finding]:
        """Amounts, ratios and totals that tie rows together."""
        if self._broken is None:
            return []
        return tie_findings(find_ties_of_rows(sample, self._broken, shuffled=self._shuffled_rows))


def find_copies(rows: Beside, *, values_show: bool = True) -> list[Finding]:
    """All that :class:`Copies` finds in a pass over a table."""
    copies = Copies(values_show=values_show)
    for values, others in rows:
        if not copies.add(values, others):
            break
    return copies.found()


def telling_columns(rows: Beside) -> list[tuple[str, ...]]:
    """The other columns that tell the column's values, alone or together."""
    gathering, long = Gathering(), LongGroups(above=MOST_ROWS, categories=False)
    for values, others in rows:
        gathering.add(values, others)
        long.add(values, others)
    sample = gathering.done()
    groups = () if sample.whole else (tuple(link.columns) for link in long.found())
    return list(dict.fromkeys((*_told(sample), *groups)))


def _said(columns: tuple[str, ...]) -> str:
    return " with ".join(map(repr, columns))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _told(sample: Alongside) -> Iterator[tuple[str, ...]]:
    ties = find_ties(sample.values, sample.numbers, breaks=sample.breaks)
    yield from (tuple(tie.columns) for tie in ties)
    known = {tie.columns[0] for tie in ties if len(tie.columns) == 1}
    for name, column in sample.numbers.items():
        # sizes of classes are few whole numbers: as a copy of the column they tell it, in some rows they are chance
        if name.endswith(SIZES) or any(name in tie.columns for tie in ties):
            continue
        if holds_values(sample.values, column):
            known.add(name)
            yield (name,)
    for name, keys in sample.labels.items():
        if name not in known and (
            find_changes(sample.values, keys)
            or one_code_each(sample.values, keys)
            or marks_repeats(sample.values, keys)
        ):
            known.add(name)
            yield (name,)
    for name, column in sample.numbers.items():
        if name not in known and not name.endswith(SIZES) and bands_of_the_rest(sample.values, column) is not None:
            known.add(name)
            yield (name,)
    for name in few_at_the_ends(sample.values, {n: keys for n, keys in sample.labels.items() if n not in known}):
        known.add(name)
        yield (name,)
    for name, text in sample.texts.items():
        if name not in known and digests(text, sample.values):
            known.add(name)
            yield (name,)
    for parts in hidden_flags(sample.values, sample.inside, known=known):
        if len(parts) == 1:
            known.add(parts[0][0])
        yield tuple(f"{name} ({part})" if part else name for name, part in parts)
    for name in restored_orders(sample.values, {n: one for n, one in sample.numbers.items() if n not in known}):
        known.add(name)
        yield (name,)
    for name in _periodic(sample, known):
        known.add(name)
        yield (name,)
    around = sample.around
    if len(around.values) == len(sample.values):
        links = find_links(
            sample.values, sample.numbers, sample.labels, breaks=around.breaks, whole=sample.whole, known=known
        )
    else:  # neighbours are those of the whole table, labels those of the rows with a value
        finite = np.isfinite(around.values)
        spread = {name: np.zeros(len(finite), dtype=np.uint64) for name in sample.labels}
        for name, keys in sample.labels.items():
            spread[name][finite] = keys
        links = find_links(around.values, around.numbers, spread, breaks=around.breaks, whole=sample.whole, known=known)
    yield from (tuple(link.columns) for link in links)
    plain = {name: column for name, column in sample.numbers.items() if not name.endswith(SIZES)}
    told = frozenset((*known, *(name for tie in ties for name in tie.columns)))
    yield from find_partners(sample.values, plain, sample.labels, known=told)
    told |= frozenset(name for link in links for name in link.columns[:1])
    beside = sample.breaks if len(around.values) == len(sample.values) else None
    plain = {name: _finite(column) for name, column in plain.items()}
    free = {name: _finite(column) for name, column in around.numbers.items() if name in plain and name not in told}
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # numbers near the end of what a float can hold
        found: list[Link] = [
            *find_limits(sample.values, plain, sample.labels, known=told, breaks=beside),
            *find_running(_finite(around.values), free, around.labels, around.breaks),
        ]
        if sample.whole:  # of a part of the rows, what is said of a group would be wrong
            found += find_aggregates(sample.values, plain, sample.labels, known=told)
    yield from (tuple(link.columns) for link in found)
    told |= frozenset(link.columns[-1] for link in found)
    if made := find_label_sum(sample.values, plain, sample.labels, known=told):
        yield made
    yield from _decided(sample.values, plain, sample.labels, known=told)


def _decided(
    values: Array, numbers: Mapping[str, Array], labels: Mapping[str, NDArray[np.uint64]], *, known: frozenset[str]
) -> Iterator[tuple[str, ...]]:
    """Columns with a label that they decide together with the column: as its smallest or largest, or by their sum."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for parts in find_extremes(values, numbers, labels, known=known):
            known |= {parts[-1]}
            yield parts
        yield from find_planes(values, numbers, labels, known=known)


def _finite(column: Array) -> Array:
    """The column with infinite values left out as missing ones are; itself without such: what is kept of it serves."""
    return np.where(np.isfinite(column), column, np.nan) if np.isinf(column).any() else column


def _periodic(sample: Alongside, known: set[str]) -> Iterator[str]:
    """Columns that depend on the column modulo a period, as numbers or, where they are few, as labels."""
    periods = Periods(sample.values)
    for name in dict.fromkeys((*sample.numbers, *sample.labels)):
        number, keys = sample.numbers.get(name), sample.labels.get(name)
        if name in known or name.endswith(SIZES) or not periods.usable:
            continue
        if (number is not None and periods.number(number)) or (keys is not None and periods.label(keys)):
            yield name


def _once(sample: Alongside) -> Iterator[str]:
    """Columns that hold the value in another row of the same group."""
    around = sample.around
    gaps = {name: column for name, column in around.numbers.items() if 0 < np.isnan(column).sum() < len(column)}
    finite = np.isfinite(around.values)
    groups = groupings(around.labels)
    for group, code in groups.items() if gaps else ():
        for name, column in gaps.items():
            if name == group:
                continue
            filled = written_once(around.values, column, code)
            once = filled is not None and find_ties(around.values[finite], {name: filled[finite]})
            if once or group_totals(around.values, column, code):
                yield f"{name!r} with {group!r}"
    for name, column in gaps.items():  # a total beside the first or last of its rows, which no other column groups
        first = np.isfinite(column).astype(np.int64)
        if any(group_totals(around.values, column, code) for code in (np.cumsum(first), np.cumsum(first) - first)):
            yield repr(name)
    for group, code in groups.items():
        if constant_totals(around.values[finite], np.unique(code[finite], return_inverse=True)[1]):
            yield f"totals by {group!r}"
        if numbers_rows(around.values[finite], np.unique(code[finite], return_inverse=True)[1].ravel()):
            yield f"the rows of each {group!r}, which it numbers"


def _indexed(sample: Alongside) -> Iterator[str]:
    """Columns that say, by a number or by the number of a group, what the values are multiples of."""
    places = distinct(sample.values).places
    if len(places) < _FEWEST or find_lattice(places, len(sample.values), 53) is not None or multiples(places):
        return  # round by themselves, whatever the others say
    yield from (repr(name) for name, column in sample.numbers.items() if multiples_of(sample.values, column))
    yield from (repr(name) for name, keys in sample.labels.items() if multiples_within(sample.values, keys))


def _neighbours(sample: Alongside) -> Iterator[str]:
    """Columns that are made of the categories of the rows around: of the row before, rolling shares, running counts."""
    around = sample.around
    labels = np.unique(around.values[np.isfinite(around.values)], return_counts=True)
    frequent = labels[0][np.argsort(-labels[1], kind="stable")][:_LABELS]
    columns = dict(around.numbers)
    for name, keys in around.labels.items():
        names, counts = np.unique(keys, return_counts=True)
        if 2 <= len(names) <= 4 * _LABELS:
            chosen = names[np.argsort(-counts, kind="stable")][:_LABELS]
            columns |= {f"{name}\0{i}": (keys == label).astype(np.float64) for i, label in enumerate(chosen)}
    for category in frequent:
        values = np.where(np.isfinite(around.values), (around.values == category).astype(np.float64), np.nan)
        rows = Neighbours(values, around.breaks, whole=sample.whole)
        for name, column in columns.items():
            if not np.isfinite(column).any():
                continue
            if rows.find(name, column) is not None or counts_along(values, column, around.breaks):
                yield repr(name.split("\0")[0])
    if sample.whole:
        plain = {name: column for name, column in sample.numbers.items() if not name.endswith(SIZES)}
        yield from (_said(link.columns) for link in find_shares(sample.values, plain, sample.labels))
