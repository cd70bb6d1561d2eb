"""One pass measures a column and looks at the others: the same blocks, the same rows, however the pieces are cut."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from statveil.modes import MODES
from statveil.tables.blocks import BLOCK, blocks_of
from statveil.tables.first_pass import FirstBeside
from statveil.tables.structure.others.alongside import Gathering
from statveil.tables.structure.rows.exchangeable import find_order, parts_rows
from statveil.tables.structure.rows.group_search import Others
from statveil.tables.structure.rows.order_search import Order


def cut(rows, rng):
    """Ends of pieces of any length, empty ones among them."""
    ends = np.sort(rng.integers(0, rows + 1, 12))
    return list(zip([0, *ends], [*ends, rows], strict=True))


class Watcher:
    def __init__(self, most):
        self.most, self.seen = most, []

    def add(self, values, others):
        self.seen.append((values, others))
        return len(others) <= self.most


@pytest.mark.parametrize("rows", [0, 1, BLOCK, 2 * BLOCK + 17])
@pytest.mark.parametrize("most", [2, 0], ids=["looked at", "too many columns"])
def test_the_first_pass_gives_the_blocks_of_all_others(rows, most):
    rng = np.random.default_rng(rows)
    values, other = rng.normal(0, 1, rows), pl.Series(np.arange(rows))
    pieces = cut(rows, rng)
    watcher = Watcher(most)
    passes = []

    def beside():
        passes.append("beside")
        return ((values[low:high], {"n": other[int(low) : int(high)]}) for low, high in pieces)

    blocks = FirstBeside(blocks_of(values), beside, watcher)
    whole = list(blocks_of(values)())
    for _ in range(2):
        found = list(blocks())
        assert [len(block) for block in found] == [len(block) for block in whole]
        assert all(np.array_equal(one, two) for one, two in zip(found, whole, strict=True))
    assert passes == ["beside"]
    seen = np.concatenate([others["n"].to_numpy() for _, others in watcher.seen])
    assert np.array_equal(seen, np.arange(rows) if most else np.arange(pieces[0][1]))


def test_the_rows_that_are_kept_follow_from_the_table_alone():
    """Pieces of 256 rows, of which every 2**k-th is kept: the least k that leaves at most 2**15 rows with a value."""
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, 200_000)
    values[rng.random(200_000) < 0.3] = np.nan
    number = np.arange(len(values))
    stride = 1
    while np.count_nonzero(np.isfinite(values[number // 256 % stride == 0])) > 2**15:
        stride *= 2
    wanted = number[number // 256 % stride == 0]
    other = pl.Series(number)
    for pieces in ([(0, len(values))], [(low, low + 1000) for low in range(0, len(values), 1000)], cut(200_000, rng)):
        gathering = Gathering()
        for low, high in pieces:
            gathering.add(values[low:high], {"n": other[int(low) : int(high)]})
        kept = gathering.done()
        finite = wanted[np.isfinite(values[wanted])]
        assert np.array_equal(kept.values, values[finite])
        assert np.array_equal(kept.numbers["n"], finite)
        assert not kept.whole


def test_nothing_is_drawn_where_no_two_rows_are_equal():
    """The order of sorted rows tells nothing where the map keeps each in its place, but where it parts equal ones."""
    parting = [mode for mode in MODES.values() if mode.parts_equals]
    assert parting
    for mode in parting:
        for values, parted in ((np.arange(4000) + 0.5, False), (np.sort(np.arange(4000) % 8.0), True)):
            order = Order()
            order.add(values)
            assert parts_rows(mode, order) is parted
            assert bool(find_order(mode, order)) is parted


def test_what_a_column_tells_does_not_depend_on_the_pieces():
    """Words of few texts are taken from the different ones, and dates are read together: the same shares either way."""
    rng = np.random.default_rng(1)
    rows = 3000
    values = rng.normal(0, 1, rows)
    town = np.where(values > 0, "old town", "new harbour").astype(object)
    town[::50] = None
    days = [f"{1 + int(8 * (value + 4)) % 28:02d}/{1 + i % 12:02d}/2024" for i, value in enumerate(values)]
    others = {"town": pl.Series(town.tolist(), dtype=pl.String), "name": pl.Series([f"{i} x" for i in range(rows)])}
    others["day"] = pl.Series(days)
    told = []
    for pieces in ([(0, rows)], cut(rows, rng)):
        seen = Others(categories=False)
        for low, high in pieces:
            seen.add(values[low:high], {name: column[int(low) : int(high)] for name, column in others.items()})
        told.append({one.name: one.share for one in seen.told(least=0.01, equal=None)})
    assert set(told[0]) == set(told[1])
    assert "town" in told[0]
    assert all(told[0][name] == pytest.approx(told[1][name], rel=1e-9) for name in told[0])
