"""Work that is done while earlier results are used."""

import threading
import time

import pytest

from statveil.tables.ahead import worked_ahead


def test_results_come_in_order_whatever_takes_longer():
    def work(number):
        time.sleep(0.002 * (number % 3 == 0))
        return number * number

    assert list(worked_ahead(work, range(40))) == [number * number for number in range(40)]


def test_few_items_are_drawn_before_they_are_used():
    drawn = []
    results = worked_ahead(lambda number: number, (drawn.append(number) or number for number in range(1_000)))
    assert next(results) == 0
    assert len(drawn) <= 4, "what is drawn is held in memory"
    results.close()
    assert len(drawn) <= 4


def test_two_items_are_worked_on_at_the_same_time():
    meeting = threading.Barrier(2, timeout=10)
    assert len(list(worked_ahead(lambda _: meeting.wait(), range(4)))) == 4


@pytest.mark.parametrize("where", ["work", "items"])
def test_what_fails_is_raised_and_nothing_goes_on(where):
    begun = []

    def items():
        for number in range(100):
            if where == "items" and number == 5:
                raise KeyError("the column changed")
            yield number

    def work(number):
        begun.append(number)
        if where == "work" and number == 5:
            raise KeyError("the column changed")
        return number

    got = []
    with pytest.raises(KeyError, match="changed"):
        got.extend(worked_ahead(work, items()))
    assert len(begun) <= 9
    after = len(begun)
    time.sleep(0.01)
    assert len(begun) == after


def test_a_caller_that_stops_early_leaves_no_thread():
    before = threading.active_count()
    results = worked_ahead(lambda number: number, range(100))
    next(results)
    results.close()
    assert threading.active_count() == before
