"""What executors need: pickled, with long arrays in files that Spark hands to every executor.

An array that is as long as the column, such as the ranks of all rows, lies in a file of the driver: nothing of it is in
the driver's memory as a whole, nor in that of a Python worker, which maps its own copy of the file.
"""

from __future__ import annotations

import io
import pickle
import uuid
from typing import Any

import numpy as np

from statveil.tables.spark.private_folder import private_folder

__all__ = ["packed", "unpacked"]

_LONG = 2**22
"""Bytes of an array from which on it goes by file."""


def packed(value: Any, context: Any) -> bytes:
    """The value for executors; ``context`` is the SparkContext that hands out its files."""
    from pyspark import cloudpickle

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def persistent_id(self, part: Any) -> str | None:
            if not isinstance(part, np.ndarray) or part.nbytes < _LONG or part.dtype.hasobject:
                return None
            name = f"statveil-{uuid.uuid4().hex}.npy"
            path = private_folder() / name  # from which Spark fetches as executors come
            with path.open("xb") as file:
                np.lib.format.write_array_header_1_0(
                    file,
                    {"descr": np.lib.format.dtype_to_descr(part.dtype), "fortran_order": False, "shape": part.shape},
                )
                for start in range(0, len(part), _LONG):  # a mapped array is read in parts
                    file.write(np.ascontiguousarray(part[start : start + _LONG]).tobytes())
            context.addFile(str(path))
            return name

    room = io.BytesIO()
    Pickler(room).dump(value)
    return room.getvalue()


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: str) -> Any:
        from pyspark import SparkFiles

        return np.load(SparkFiles.get(name), mmap_mode="r")


def unpacked(data: bytes) -> Any:
    """The value, on an executor."""
    return _Unpickler(io.BytesIO(data)).load()
