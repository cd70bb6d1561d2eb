"""Whether rows of a table speak of each other: then the share of what is missing tells how many rows are left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from statveil.tables.structure.row_count.group_references import numbers_of_groups, sums_in_groups
from statveil.tables.structure.row_count.nearest_references import distances_to_other_rows
from statveil.tables.structure.row_count.pair_references import pairs_that_come_together
from statveil.tables.structure.row_count.referring import Referring
from statveil.tables.structure.row_count.value_references import names_other_rows, steps_to_other_rows

__all__ = ["REFERENCES", "find_references"]

REFERENCES = "references"
"""The name of the leak."""


def find_references(columns: Sequence[Referring], *, share: float, panels: Collection[str] = ()) -> dict[str, str]:
    """Columns that say something of other rows, each with a sentence without a number of the data.

    Parameters
    ----------
    columns
        Rows of the table, all columns of the same rows.
    share
        Of the rows which are looked at: 1 for the whole table.
    panels
        Columns of which it is said already that they tell the sizes of groups: what else they say of groups is no news.
    """
    found: dict[str, str] = {}
    for name, says in _said(columns, share, panels):
        found.setdefault(name, f"{says}; leave one of them out")
    return found


def _said(columns: Sequence[Referring], share: float, panels: Collection[str]) -> Iterator[tuple[str, str]]:
    named = names_other_rows(columns, share)
    for name, key in named.items():
        yield (
            name,
            f"holds values of column {key!r} in other rows (the code of a manager, the order before, a balance), and "
            "how many of these rows are missing tells how many are left out",
        )
    for one, other, how in pairs_that_come_together(columns, share):
        if named.get(one) == other or named.get(other) == one:
            continue
        if how == "both ways":
            yield one, f"makes pairs with column {other!r} that are listed both ways, and those with one way are torn"
        else:
            yield (
                one,
                f"makes pairs with column {other!r} of which everyone knows how many there are (a round robin, a "
                "season of as many games for each team)",
            )
    for name, place in steps_to_other_rows(columns, share).items():
        yield (
            name,
            f"leads from one row to another in column {place!r} (the time since the last one, the amount between two "
            "balances), and how many of these are missing tells how many are left out",
        )
    others = [one.name for one in columns if one.name not in panels]
    for name, group in numbers_of_groups(columns, others):
        yield (
            name,
            f"holds a number of all rows of a group of column {group!r} (a total, an average, the largest, a count), "
            "which those that are left do not have",
        )
    for name, group in sums_in_groups(columns, others):
        yield (
            name,
            f"adds up to one number in each group of column {group!r} (one row that is marked, shares, distances from "
            "an average), and in a part of the rows it does not",
        )
    if share == 1:
        for name, (x, y) in distances_to_other_rows(columns).items():
            yield name, f"holds the distance to the nearest other row by columns {x!r} and {y!r}, which may be missing"
