"""Where rows stand, without Spark: pieces are what of each block lies in each partition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from statveil.errors import ColumnError
from statveil.tables.blocks import BLOCK
from statveil.tables.changes import Changes
from statveil.tables.spark.executors import Work, _pieces
from statveil.tables.spark.layout import BITS, Layout

SIZES = [[5], [BLOCK], [BLOCK + 1], [3, 0, 4], [0, BLOCK - 1, 2, 0, 3 * BLOCK], [BLOCK, BLOCK], [], [0]]


@pytest.mark.parametrize("sizes", SIZES)
def test_pieces_are_counted_as_rows_are_cut(sizes):
    layout = Layout(rows=np.array(sizes, dtype=np.int64))
    blocks = [{row // BLOCK for row in range(sum(sizes[:part]), sum(sizes[: part + 1]))} for part in range(len(sizes))]
    assert layout.total == sum(sizes)
    assert layout.starts.tolist() == [sum(sizes[:part]) for part in range(len(sizes) + 1)]
    assert layout.pieces.tolist() == [sum(map(len, blocks[:part])) for part in range(len(sizes) + 1)]


def work(sizes):
    layout = Layout(rows=np.array(sizes, dtype=np.int64))
    return Work(changes=Changes(), layout=layout, seen={}, names=["x"], made={}, shuffle=None)


def batches(part, sizes, size):
    """The rows of a partition as Spark hands them over; each row's value is its number in the table."""
    first, rows = sum(sizes[:part]), sizes[part]
    for start in range(0, rows, size):
        stop = min(start + size, rows)
        yield pa.array(np.arange(first + start, first + stop)), pa.array((part << BITS) + np.arange(start, stop))


@pytest.mark.parametrize("size", [1_000, BLOCK, 10**6])
@pytest.mark.parametrize("sizes", SIZES)
def test_every_piece_lies_in_one_block_and_all_rows_are_there(sizes, size):
    for part in range(len(sizes)):
        seen = [(row, one["x"].to_list()) for row, one in _pieces(work(sizes), batches(part, sizes, size))]
        first = sum(sizes[:part])
        assert [value for _, values in seen for value in values] == list(range(first, first + sizes[part]))
        assert all(values[0] == row and len({value // BLOCK for value in values}) == 1 for row, values in seen)
        assert len(seen) == np.diff(Layout(rows=np.array(sizes)).pieces)[part], "no block is cut twice"


@pytest.mark.parametrize("now", [[5, 3], [5, 5], [6, 4], [5, 0, 4]])
def test_a_partition_of_another_length_is_refused(now):
    found = (piece for part in range(len(now)) for piece in _pieces(work([5, 4]), batches(part, now, 2)))
    with pytest.raises(ColumnError, match="persist"):
        list(found)


def test_rows_out_of_their_order_are_refused():
    first, second = batches(0, [4], 2)
    with pytest.raises(ColumnError, match="persist"):
        list(_pieces(work([4]), iter([second, first])))
    with pytest.raises(ColumnError, match="persist"):
        list(_pieces(work([4]), iter([first, first])))
