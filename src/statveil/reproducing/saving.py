"""The files of an outcome: pictures as SVG and PNG, tables as CSV and JSON, each whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from statveil.errors import FileError
from statveil.reproducing.drawing import render_png, render_svg
from statveil.reproducing.results import Outcome, ResultTable
from statveil.whole_file import write_whole

__all__ = ["csv_text", "save", "table_json"]


def save(outcome: Outcome, folder: Path, *, replace: bool = False) -> dict[str, bytes]:
    """Write every file of an outcome; what was written, by file name.

    Everything is made before anything is written, so that an item that fails leaves no file behind. What was computed
    from a user's own file can be read by its owner only. Files that are there stay, unless they may be replaced.
    """
    made: dict[str, bytes] = {}
    for figure in outcome.figures:
        made[f"{figure.name}.svg"] = render_svg(figure.chart)
        made[f"{figure.name}.png"] = render_png(figure.chart)
    for table in outcome.tables:
        made[f"{table.name}.csv"] = csv_text(table).encode()
        made[f"{table.name}.json"] = json.dumps(table_json(table), indent=1, allow_nan=False).encode()
    taken = [name for name in made if (folder / name).exists()]
    if taken and not replace:
        raise FileError(
            f"{folder / taken[0]} was not made by this command and would be overwritten; give a new folder."
        )
    for name, content in made.items():
        write_whole(folder / name, content, private=outcome.from_own_file)
    return made


def csv_text(table: ResultTable) -> str:
    """The table with every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [column.name for column in table.columns]
    writer.writerow(names)
    for row in table.rows:
        cells = (row[name] for name in names)
        writer.writerow(["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in cells])
    return text.getvalue()


def table_json(table: ResultTable) -> dict[str, Any]:
    """The table for scripts, with what its columns mean."""
    return {
        "name": table.name,
        "caption": table.caption,
        "columns": {column.name: column.meaning for column in table.columns},
        "rows": [dict(row) for row in table.rows],
    }
