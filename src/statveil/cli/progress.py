"""A progress bar on stderr, where someone is looking."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from statveil.spoken import Progress, harmless

__all__ = ["line_shown", "shown"]


@contextmanager
def shown() -> Iterator[Progress]:
    """A function to be told of rows done; draws nothing where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage, rows, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),  # a name of a column may look like markup
        BarColumn(),
        TextColumn("{task.completed:,} rows"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, rows: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(harmless(stage), total=total)
            task = bar.tasks[tasks[stage]]
            if total is not None and task.completed >= total:  # the next pass over the same rows
                bar.reset(tasks[stage], total=total)
            bar.update(tasks[stage], advance=rows)

        yield tell


@contextmanager
def line_shown() -> Iterator[Progress | None]:
    """A function to be told what is going on, shown in one line; ``None`` where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("working") as status:
        yield lambda stage, done, total: status.update(stage)
