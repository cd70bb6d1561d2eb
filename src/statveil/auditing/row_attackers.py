"""Who guesses the number of rows from a release of some of them; naming a class registers it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from statveil.auditing.posterior import Posterior
from statveil.auditing.row_table import RowView
from statveil.made_plan import Plan
from statveil.tables.blocks import Array

__all__ = ["ROW_ATTACKERS", "RowAttacker"]

ROW_ATTACKERS: dict[str, type[RowAttacker]] = {}
_NODES = 4_001
_NEAR = 0.02
"""By how much, as a share, an estimate may lie outside the bin that the size of the release tells."""


class RowAttacker(ABC):
    """Guesses how many rows there were."""

    name: ClassVar[str]
    doc: ClassVar[str]
    """What it uses, in a few words."""
    remedy: ClassVar[str]
    """What the holder can do when it succeeds."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            ROW_ATTACKERS[cls.name] = cls

    def applies(self, view: RowView) -> bool:
        """Whether the view has what this attacker needs."""
        return True

    @abstractmethod
    def attack(self, view: RowView) -> Posterior | None:
        """Candidates for the number of rows."""


def _candidates(plan: Plan, size: int) -> Posterior | None:
    """Every number of rows that is released as so many, by the prior: what the size alone tells."""
    levels, (name,) = plan.mechanism.levels, plan.problem.box.free
    if levels is None:
        return None
    hit = np.flatnonzero(plan.released_secret({name: levels}) == size)
    if not len(hit):
        return None
    ends = plan.mechanism.ends({name: levels[hit[:1]]})
    places = np.linspace(float(ends[0][0]), float(ends[1][0]), _NODES)
    weights = plan.problem.prior.density({name: places}) if len(places) else 1.0
    return Posterior.of(plan.problem.secret_of({name: places}), weights)


class Blind(RowAttacker):
    """Guesses from the stated prior alone; what others gain over it comes from the release."""

    name: ClassVar[str] = "prior"
    doc: ClassVar[str] = "the stated prior alone, without the release"
    remedy: ClassVar[str] = "Nothing was learnt from the release: the prior itself is this narrow."

    def attack(self, view: RowView) -> Posterior | None:
        drawn = view.plan.problem.sample(4_000, np.random.default_rng(0))
        return Posterior.of(view.plan.problem.secret_of(drawn))


class Size(RowAttacker):
    """The best that the size of the release allows."""

    name: ClassVar[str] = "size"
    doc: ClassVar[str] = "the number of released rows, which tells the bin"
    remedy: ClassVar[str] = "Plan for a smaller risk: the bins are too narrow for this tolerance."

    def attack(self, view: RowView) -> Posterior | None:
        return _candidates(view.plan, view.size)


class Estimator(RowAttacker):
    """Takes an estimate that fits the bin, and otherwise what the size tells."""

    @abstractmethod
    def estimates(self, view: RowView) -> Iterator[float]:
        """How many rows there may have been."""

    def attack(self, view: RowView) -> Posterior | None:
        found = _candidates(view.plan, view.size)
        if found is None:
            return None
        low, high = found.interval
        for estimate in self.estimates(view):
            if low * (1 - _NEAR) <= estimate <= high * (1 + _NEAR):
                return Posterior.of(np.clip(estimate, low, high))
        return found


class LargestId(Estimator):
    """The German tank problem: the largest of some numbers from a known start tells how many there are."""

    name: ClassVar[str] = "largest-id"
    doc: ClassVar[str] = "the largest number of a column that counts"
    remedy: ClassVar[str] = "Leave out the column that counts the rows, or replace it by keys drawn at random."

    def applies(self, view: RowView) -> bool:
        return bool(view.columns)

    def estimates(self, view: RowView) -> Iterator[float]:
        for name, counter in view.counters.items():
            values = _finite(view.columns.get(name))
            if len(values):
                places = (float(values.max()) - counter.start) / counter.step
                yield places * (1 + 1 / len(values)) + 1


class Gaps(Estimator):
    """What is missing between the numbers of a column, wherever it starts, tells the share that is left out."""

    name: ClassVar[str] = "gaps"
    doc: ClassVar[str] = "the gaps between the numbers of a column"
    remedy: ClassVar[str] = LargestId.remedy

    def applies(self, view: RowView) -> bool:
        return bool(view.columns)

    def estimates(self, view: RowView) -> Iterator[float]:
        for name, column in view.columns.items():
            values = np.unique(_finite(column))
            if len(values) < 20 or len(values) < 0.9 * len(column):
                continue
            step = view.counters[name].step if name in view.counters else _step(values)
            if step > 0:
                inner = values[len(values) // 20 : -(len(values) // 20) or None]
                yield len(values) * float(np.ptp(inner)) / (len(inner) - 1) / step


class Groups(Estimator):
    """How many rows are left of groups whose size is known tells the share that is left out."""

    name: ClassVar[str] = "groups"
    doc: ClassVar[str] = "groups of rows whose size is known (panels, households)"
    remedy: ClassVar[str] = "Leave out the column that makes the groups, or release one row of each."

    def applies(self, view: RowView) -> bool:
        return bool(view.kept)

    def estimates(self, view: RowView) -> Iterator[float]:
        for name, kept in view.kept.items():
            sizes = view.whole[name]
            if not len(kept) or not len(sizes):
                continue
            low, high = 0.0, 1.0
            for _ in range(50):  # the share at which groups that show have this many rows on average
                share = 0.5 * (low + high)
                seen = 1 - (1 - share) ** sizes
                mean = share * float(sizes.mean()) / max(float(seen.mean()), 1e-300)
                low, high = (share, high) if mean < float(kept.mean()) else (low, share)
            if high > 0:
                yield view.size / high


class Wholes(Estimator):
    """Numbers of the whole table: a constant, a total of shares, a common denominator."""

    name: ClassVar[str] = "wholes"
    doc: ClassVar[str] = "totals, shares and ranks of the whole table"
    remedy: ClassVar[str] = "Leave out columns that hold the number of rows, a total, shares of it or ranks."

    def applies(self, view: RowView) -> bool:
        return bool(view.columns)

    def estimates(self, view: RowView) -> Iterator[float]:
        for column in view.columns.values():
            values = _finite(column)
            if len(values) < 20:
                continue
            if values.min() == values.max():
                yield float(values[0])
            elif values.min() >= 0 and not np.all(values == np.floor(values)):
                for total in (1.0, 100.0):
                    yield total / float(values.mean())
                    step = _step(values / total)
                    if step > 0:
                        yield 1 / step


def _finite(column: Array | None) -> Array:
    return np.zeros(0) if column is None else column[np.isfinite(column)]


def _step(values: Array) -> float:
    """The step of a lattice that the values lie on, by Euclid's algorithm on their differences; 0 where there is none.

    >>> import numpy as np
    >>> round(1 / _step(np.array([0.0, 3.0, 7.0, 8.0, 12.0, 30.0]) / 1234))
    1234
    """
    apart = np.unique(np.diff(np.sort(values)))
    apart = apart[apart > 0]
    if not len(apart):
        return 0.0
    slack = 1e-9 * float(np.abs(values).max())
    step = float(apart[0])
    for other in apart[1:200]:
        a, b = float(other), step
        while b > slack:
            a, b = b, a - b * np.round(a / b) if a >= b else a
            b = abs(b)
        step = a
        if step <= 10 * slack:
            return 0.0
    return step
