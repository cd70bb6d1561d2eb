"""Work that is done while something else is: on the next items while one is used, or on what is asked for later."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["started", "worked_ahead"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_CORES = 2  # each holds a piece in memory, so more would need more of it


def worked_ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Generator[Result, None, None]:
    """``map(work, items)`` by threads of our own: NumPy's sorts and draws let the others compute meanwhile.

    ``items`` are drawn by the calling thread. What ``work`` raises is raised here in its turn; then, and where the
    caller stops early, nothing is under way any more.

    >>> list(worked_ahead(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    with ThreadPoolExecutor(_CORES) as threads:
        under_way: deque[Future[Result]] = deque()
        try:
            for item in items:
                under_way.append(threads.submit(work, item))
                if len(under_way) > _CORES:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for waiting in under_way:
                waiting.cancel()


def started(work: Callable[[], Result]) -> Future[Result]:
    """Work that a thread of its own has begun; whoever asks for the result gets what it raised, too.

    >>> started(lambda: 2 + 2).result()
    4
    """
    thread = ThreadPoolExecutor(1)
    under_way = thread.submit(work)
    thread.shutdown(wait=False)  # it ends with the work
    return under_way
