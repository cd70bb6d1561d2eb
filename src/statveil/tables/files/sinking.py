"""Frames that are made one after the other, and written by the engine as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl
from polars.exceptions import PanicException, PolarsError
from polars.io.plugins import register_io_source

__all__ = ["ENGINE_FAILURES", "sink_frames"]

# a panic of the engine (for example on a type it does not know) is not an Exception
ENGINE_FAILURES = (PolarsError, PanicException, OSError)


def sink_frames(
    frames: Iterator[pl.DataFrame],
    schema: Mapping[str, pl.DataType],
    sink: Callable[[pl.LazyFrame], None],
    failed: Callable[[BaseException], Exception],
) -> None:
    """Write the frames; what fails in producing them comes out as it was raised, the engine's failure as ``failed``."""
    raised: list[BaseException] = []

    def source(*_: object) -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except GeneratorExit:
            raise
        except BaseException as error:
            raised.append(error)
            raise

    try:
        sink(register_io_source(source, schema=dict(schema)))
    except BaseException as error:
        if raised:
            raise raised[0] from None
        if isinstance(error, ENGINE_FAILURES):
            raise failed(error) from None
        raise
