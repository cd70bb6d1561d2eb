"""Files of numbers that are cut into pieces, each of which is read alone: what parts of a column hand to one another.

Every file begins with where its pieces end. It is written once, under a name that no other attempt has, so that work
may be done twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statveil.errors import FileError

__all__ = ["check_room", "piece_sizes", "read_piece", "write_pieces"]

Numbers = NDArray[np.int64]

_MARK = np.dtype(np.int64)


def write_pieces(path: Path, sizes: Numbers, parts: Iterable[NDArray[Any]]) -> None:
    """Pieces of these sizes in one new file; ``parts`` are all of them, one after the other, however divided."""
    with path.open("xb") as file:
        file.write(np.cumsum([0, *sizes.tolist()], dtype=_MARK).data)
        for part in parts:
            file.write(part.data)


def read_piece(path: Path, place: int, *, of: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """One piece of a file that has so many."""
    with path.open("rb") as file:
        file.seek(_MARK.itemsize * place)
        start, stop = np.fromfile(file, dtype=_MARK, count=2).tolist()
        file.seek(_MARK.itemsize * (of + 1) + dtype.itemsize * start)
        return np.fromfile(file, dtype=dtype, count=stop - start)


def piece_sizes(path: Path, first: int, number: int) -> Numbers:
    """How long so many pieces of a file are, from one on."""
    ends: Numbers = np.fromfile(path, dtype=_MARK, count=number + 1, offset=_MARK.itemsize * first)
    return ends[1:] - ends[:-1]


def check_room(folder: Path, needed: int, what: str) -> None:
    """Refuse before the work where the disk of a folder has too little room."""
    if shutil.disk_usage(folder).free < needed:
        raise FileError(
            f"the disk of the output has less than the {needed / 1e9:.1f} GB free that {what} needs. Free some space, "
            "or write to a larger disk."
        )
