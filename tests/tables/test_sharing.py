"""Passes that several columns share: as many as the neediest asks for, each column in its own blocks, no deadlocks."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from statveil.tables.blocks import BLOCK
from statveil.tables.frames import open_frame
from statveil.tables.sharing import Along, Shared

ROWS = 3 * BLOCK + 5
FRAME = pl.DataFrame({name: np.arange(ROWS) * factor for name, factor in (("a", 1.0), ("b", 2.0), ("c", 3.0))})


def shared(passes):
    """A frame that counts its passes."""
    frame = open_frame(FRAME)
    plain = frame.together

    def together(columns, **options):
        passes.append(sorted(columns))
        return plain(columns, **options)

    frame.together = together
    return Shared(frame, dict.fromkeys(FRAME.columns))


def test_everyone_sees_its_own_blocks_and_nobody_pays_for_the_others():
    def work(times):
        def run(reader):
            return [np.concatenate(list(reader.blocks(None))) for _ in range(times)]

        return run

    passes = []
    done = shared(passes).run({"a": work(1), "b": work(3), "c": work(2)})
    assert passes == [["a", "b", "c"], ["b", "c"], ["b"]]
    for name, found in done.items():
        assert all(np.array_equal(one, FRAME[name].to_numpy()) for one in found)


def test_a_pass_that_is_left_early_does_not_hold_up_the_others():
    def first(reader):
        blocks = reader.blocks(None)
        found = next(blocks)
        blocks.close()
        return len(found), sum(len(block) for block in reader.blocks(None))

    def whole(reader):
        return sum(len(block) for block in reader.blocks(None)), 0

    done = shared([]).run({"a": first, "b": whole, "c": first})
    assert done == {"a": (BLOCK, ROWS), "b": (ROWS, 0), "c": (BLOCK, ROWS)}


def test_a_pass_inside_a_pass_is_read_alone():
    def nested(reader):
        return sum(
            int(np.array_equal(one, two)) for one, two in zip(reader.blocks(None), reader.blocks(None), strict=True)
        )

    passes = []
    assert shared(passes).run({"a": nested, "b": nested}) == {"a": 4, "b": 4}
    assert passes == [["a", "b"], ["a"], ["b"]] or passes == [["a", "b"], ["b"], ["a"]]


def test_blocks_come_before_what_stands_beside():
    order = []

    def late(reader):
        list(reader.blocks(None))
        list(reader.blocks(None))
        order.append("blocks")
        return sorted({name for _, others in reader.beside(None) for name in others})

    def early(reader):
        found = sorted({name for _, others in reader.beside(None) for name in others})
        order.append("beside")
        return found

    done = shared([]).run({"a": late, "b": early})
    assert done == {"a": [], "b": []}  # all three columns are shared, so none is another
    assert order[0] == "blocks"


def test_the_first_failing_column_is_named_whoever_is_the_quickest():
    def slow(reader):
        for _ in reader.blocks(None):
            threading.Event().wait(0.01)
        raise ValueError("slow")

    def quick(reader):
        next(reader.blocks(None))
        raise ValueError("quick")

    def endless(reader):
        while True:
            list(reader.blocks(None))

    with pytest.raises(ValueError, match="slow"):
        shared([]).run({"a": slow, "b": quick, "c": endless})


def test_an_error_of_the_reader_comes_out_and_everybody_stops():
    frame = open_frame(FRAME)

    def together(columns, **options):
        yield {name: np.zeros(BLOCK) for name in columns}
        raise OSError("the disk is gone")

    frame.together = together
    seen = []

    def work(reader):
        try:
            for block in reader.blocks(None):
                seen.append(len(block))
        finally:
            seen.append("stopped")

    with pytest.raises(OSError, match="the disk is gone"):
        Shared(frame, {"a": None, "b": None}).run({"a": work, "b": work})
    for thread in threading.enumerate():
        # threads of an engine that called Python once are listed as well, and cannot be waited for
        if thread is not threading.current_thread() and thread.daemon and not thread.name.startswith("Dummy"):
            thread.join(5)
    assert seen.count("stopped") == 2


def test_further_columns_come_along_with_the_first_pass_over_all_in_pieces_of_any_length():
    ends = [0, 7, BLOCK - 1, BLOCK + 4, 2 * BLOCK + 5, ROWS]
    passes = []
    frame = open_frame(FRAME)
    plain = frame.together

    def together(columns, **options):
        passes.append(sorted(columns))
        return plain(columns, **options)

    def beside_some(columns, others):
        passes.append([*sorted(columns), *others])
        for low, high in pairwise(ends):
            part = FRAME[low:high]
            yield {name: part[name].to_numpy() for name in columns}, {name: part[name] for name in others}

    frame.together, frame.beside_some = together, beside_some
    seen = []
    along = Along(others=["c"], add=lambda rows, others: seen.append((rows["a"], others["c"])))

    def twice(reader):
        return [list(reader.blocks(None)) for _ in range(2)]

    done = Shared(frame, {"a": None, "b": None}, along=along).run({"a": twice, "b": twice})
    assert passes == [["a", "b", "c"], ["a", "b"]]
    assert along.done
    for name, (first, second) in done.items():
        assert [len(block) for block in first] == [BLOCK, BLOCK, BLOCK, 5]
        assert all(np.array_equal(one, two) for one, two in zip(first, second, strict=True))
        assert np.array_equal(np.concatenate(first), FRAME[name].to_numpy())
    assert np.array_equal(np.concatenate([rows for rows, _ in seen]), FRAME["a"].to_numpy())
    assert pl.concat([column for _, column in seen]).equals(FRAME["c"])


def test_what_comes_along_is_not_done_where_no_pass_goes_over_all_columns():
    along = Along(others=["c"], add=lambda rows, others: pytest.fail("no rows were to be seen"))
    table = Shared(open_frame(FRAME), {"a": None, "b": None}, along=along)
    table.run({"a": lambda reader: len(list(reader.blocks(None))), "b": lambda reader: 0})
    assert not along.done
