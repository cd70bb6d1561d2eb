"""From a plan and the parameters of a column to the map of its rows."""

from __future__ import annotations

from importlib import import_module

from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.job import Job

__all__ = ["build_map"]


def build_map(job: Job) -> ColumnMap:
    """The map that gives the column the released parameters, made by the mode or where it says."""
    mode = job.plan.release_mode
    own = getattr(mode, "prepare", None) or import_module(mode.prepared_in).prepare
    prepared = own(job)
    assert isinstance(prepared, ColumnMap)
    return prepared
