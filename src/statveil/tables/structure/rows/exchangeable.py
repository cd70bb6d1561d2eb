"""Whether the rows are exchangeable, as every map that draws row by row needs: no order, no other column tells them.

``rank``, ``smooth`` and ``jitter`` part rows of one value at random. Whoever knows anything that varies with the value
(the row number in a sorted table, an id, a covariate) sees it level inside such a block of equal rows, and stepping
where the next block begins: the steps draw the original distribution function. A told share r2, among B blocks and n
rows, gives about n r2 / (1 - r2) / B^2 units of evidence about the steps. In simulated attacks on columns of 4 to 18
blocks and 1,000 or 20,000 rows the rate left the stated risk of 0.1 from about 1 on (0.2), and was 0.6 or more from
some 30 on.

``unit`` and ``category`` change single rows. They stick out where rows are known to be alike: neighbours, or groups
with one value each. A group that is merely more alike than others tells little, as nobody knows how much it was. Labels
also stick out where a public rule of several columns says what they were.
"""

from __future__ import annotations

import math

import numpy as np

from statveil.modes import Mode
from statveil.tables.blocks import Array
from statveil.tables.structure.column.findings import Finding
from statveil.tables.structure.others.rule_search import find_rules
from statveil.tables.structure.rows.group_search import Others, Told
from statveil.tables.structure.rows.made_orders import made_order
from statveil.tables.structure.rows.order_search import Order
from statveil.tables.structure.rows.together_search import Together

__all__ = ["find_groups", "find_made_order", "find_order", "ordered", "parts_rows"]

_EVIDENCE = 0.5
_ORDER_SHARE = 0.01  # of changed rows among neighbours: below it a million rows are related, but no row sticks out
_GROUP_SHARE = 0.2
_EQUAL_SHARE, _EQUAL_ROWS = 0.05, 30  # rows in groups of one value, beyond chance: a share, or so many rows at least,
# since thirty rows that are known to have had one label show which part of that label was changed


def parts_rows(mode: Mode, order: Order) -> bool:
    """Whether anything is drawn row by row: a map that parts equal rows draws nothing where there are none."""
    return not mode.parts_equals or _least(order.values, order.rows) < math.inf


def find_order(mode: Mode, order: Order) -> list[Finding]:
    """A finding where the order of the rows tells so much that the release would not hide the rest."""
    least = _least(order.values, order.rows) if mode.parts_equals else _ORDER_SHARE
    share = order.share() if least < math.inf else 0.0
    # a rest tells where a row lies on its lattice, however few rows are equal
    rests = mode.structure_shows and not mode.categories
    if (not share or share < least) and not (rests and order.rests()):
        return []
    return [ordered("so rows that are drawn one by one give it away")]


def find_made_order(values: Array) -> list[Finding]:
    """A finding where the rows stand in an order that only the true size of their values makes, in any mode."""
    how = made_order(values)
    if how is None:
        return []
    says = (
        f"the rows stand in the order of {how}, which every map keeps: whoever knows it looks for the move that puts "
        "the released values in that order again; shuffle the rows with --shuffle (shuffle=True), which draws a secret "
        "seed."
    )
    return [Finding(name="order", values=(), flag="", says=says)]


def ordered(why: str) -> Finding:
    """The finding that the order of the rows tells, and why that matters."""
    says = (
        "the order of the rows tells their values (the table is sorted or grouped, a series in time, rows belong "
        "together by where they stand, as in a table above its own reverse, or it was shuffled by a seed that anybody "
        f"would try), {why}; shuffle the rows with --shuffle (shuffle=True), which draws a secret seed."
    )
    return Finding(name="order", values=(), flag="", says=says)


def find_groups(mode: Mode, order: Order, others: Others, together: Together | None = None) -> list[Finding]:
    """A finding that names the other columns that tell so much, by themselves or by what they say of other rows."""
    parted = mode.parts_equals
    least = _least(order.values, order.rows) if parted else _GROUP_SHARE
    equal = min(_EQUAL_SHARE, _EQUAL_ROWS / max(order.rows, 1))
    told = others.told(least=least, equal=None if parted else equal)
    if together is not None:
        known = {name for one in told for name in (one.name, one.name.rpartition(" (")[0])}
        told += together.told(categories=mode.categories, least=least, equal=None if parted else equal, known=known)
    if others.shuffled and find_order(mode, order):
        # sorted by such a column, shuffled rows stand as they stood before
        names_told = {one.name for one in told}
        told += [Told(name=name, share=order.share()) for name in others.restoring() if name not in names_told]
    rules = []
    if mode.categories and together is not None:
        rules = _rules(together, {name for one in told for name in (one.name, one.name.rpartition(" (")[0])})
    if not told:
        return rules
    named = sorted(told, key=lambda one: -max(one.share, one.equal))
    names = ", ".join(repr(one.name) for one in named[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    says = (
        f"other columns tell the rows' values or group equal ones ({names}), so rows that are drawn one by one give "
        "the column away; drop or pseudonymise those columns row by row, or keep one row per group."
    )
    return [Finding(name="groups", values=(), flag="", says=says), *rules]


def _rules(together: Together, known: set[str]) -> list[Finding]:
    """A finding that names the columns of which a rule tells the labels, though none of them does by itself."""
    found = find_rules(*together.sample(), known=known)
    if not found:
        return []
    named = "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
    says = (
        f"a rule of other columns, or something inside one of them, tells the rows' labels ({named}), so whoever "
        "knows it counts what the labels were before some rows were relabelled; drop one of the columns of each rule, "
        "or round them until they no longer tell."
    )
    return [Finding(name="groups", values=(), flag="", says=says)]


def _least(values: Array, rows: int) -> float:
    """The least share that tells where blocks of equal rows begin."""
    _, counts = np.unique(values, return_counts=True)
    tied = counts[counts > 1]
    if not len(tied):  # rows without equals keep their order, and nothing is drawn
        return math.inf
    part = float(tied.sum())
    blocks = part * part / float((tied.astype(np.float64) ** 2).sum())
    odds = _EVIDENCE * blocks * blocks / (part / len(values) * rows)
    return odds / (1 + odds)
