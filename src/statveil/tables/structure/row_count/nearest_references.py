"""Whether a column is the distance to the nearest other row, in a plane of two columns or on the globe."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from statveil.tables.blocks import Array
from statveil.tables.structure.row_count.referring import MOST_BY_CHANCE, Referring, more_than_chance

__all__ = ["distances_to_other_rows"]

_PLACES, _DISTANCES = 10, 32
_FEWEST = 20
_GLANCE = 256
_MOST = 0.5  # of the rows: the nearest may be empty in another column


def distances_to_other_rows(columns: Sequence[Referring]) -> dict[str, tuple[str, str]]:
    """Columns that hold the distance to the nearest other row, each with the two columns of places."""
    from scipy.spatial import cKDTree  # it takes time to load

    numbers = [one for one in columns if one.numbers is not None and one.different >= _FEWEST and not one.temporal]
    places = [one for one in numbers if one.repeated <= MOST_BY_CHANCE or not one.whole][:_PLACES]
    lengths = [one for one in numbers if float(np.nanmin(_number(one))) >= 0][:_DISTANCES]
    rng = np.random.default_rng(0)
    found: dict[str, tuple[str, str]] = {}
    for one, other in combinations(places, 2):
        rows = np.flatnonzero(one.known & other.known)
        if len(rows) < _FEWEST:
            continue
        x, y = _number(one)[rows], _number(other)[rows]
        looked = rng.choice(len(rows), min(_GLANCE, len(rows)), replace=False)
        for points, unit in _maps(x, y):
            with np.errstate(over="ignore"):
                nearest = cKDTree(points).query(points[looked], k=2)[0][:, 1]
            for length in lengths:
                if length is one or length is other or length.name in found:
                    continue
                off = 0.8 * unit * (one.step + other.step)
                if _is(_number(length)[rows][looked], nearest, length, off, rng.permutation(len(looked))):
                    found[length.name] = (one.name, other.name)
    return found


def _number(column: Referring) -> Array:
    assert column.numbers is not None
    return column.numbers


def _maps(x: Array, y: Array) -> list[tuple[Array, float]]:
    """The places in a plane, and on a globe of radius 1 where they may be degrees; with the length of one unit."""
    maps = [(np.column_stack((x, y)), 1.0)]
    for east, north in ((x, y), (y, x)):
        if np.abs(east).max() <= 360 and np.abs(north).max() <= 90:
            lon, lat = np.radians(east), np.radians(north)
            globe = np.column_stack((np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)))
            maps.append((globe, float(np.radians(1.0))))
    return maps


def _is(said: Array, nearest: Array, column: Referring, off: float, order: NDArray[np.int64]) -> bool:
    """Whether distances are those to the nearest row, in some unit."""
    good = np.isfinite(said) & (said > 0) & (nearest > 0)
    if good.sum() < _FEWEST:
        return False

    def agreeing(length: Array) -> float:
        at = good & (length > 0)
        unit = float(np.median(length[at] / nearest[at])) if at.any() else 1.0
        near = 0.51 * column.step + column.fine + unit * off + 1e-6 * unit * nearest
        return float((np.abs(length - unit * nearest) <= near)[good].mean())

    share = agreeing(said)
    return share >= _MOST and more_than_chance(share, agreeing(said[order]))
