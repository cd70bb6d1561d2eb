"""One interface for every figure and table: sizes, seed and data sets in, an outcome out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from statveil.datasets.dataset import Dataset
from statveil.reproducing.results import Outcome

__all__ = ["FULL", "ITEMS", "QUICK", "Item", "Sizes", "Work"]

ITEMS: dict[str, type[Item]] = {}
"""Every item by name; filled when the files of ``items`` are loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much work an item does.

    Parameters
    ----------
    trials : int
        Simulated attacks on a mechanism.
    cells, points : int
        Cells of a parameter's range, and points of a curve, for the numeric methods.
    programme_cells, programme_points : int
        The same for the linear programme, which takes seconds per point.
    releases : int
        Releases of one column in the picture of zero-mean noise.
    seeds, sweep : int
        Releases for each parameter, and parameters of each method, in the comparisons on data sets.
    pages : int
        Rows of the stand-in for Wikipedia Web Traffic.
    """

    trials: int = 100_000
    cells: int = 800
    points: int = 60
    programme_cells: int = 160
    programme_points: int = 8
    releases: int = 400
    seeds: int = 10
    sweep: int = 12
    pages: int = 117_277


FULL = Sizes()
QUICK = Sizes(
    trials=10_000,
    cells=160,
    points=24,
    programme_cells=40,
    programme_points=3,
    releases=60,
    seeds=3,
    sweep=4,
    pages=10_000,
)
"""A first look; the numbers are rougher, the facts the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What an item may use."""

    seed: int = 0
    sizes: Sizes = FULL
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    """The data sets that the item asked for, by name."""
    tell: Callable[[str], None] = lambda text: None
    """To be told what is going on, in one line."""

    def rng(self, *key: int) -> np.random.Generator:
        """A source of randomness of its own for each key, so that items do not depend on one another."""
        return np.random.default_rng([self.seed, *key])


class Item(ABC):
    """One figure or table of the paper. A subclass in one new file of ``items`` is enough."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    """Which figures or tables of the paper, by their labels."""
    place: ClassVar[int]
    """Order on the page: that of the paper."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Names of the data sets it is made from."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            ITEMS[cls.name] = cls

    @abstractmethod
    def run(self, work: Work) -> Outcome:
        """Make it."""
