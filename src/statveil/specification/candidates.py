"""Plans of one column as the search for a split sees them: what each takes of the budget, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from statveil import accounting
from statveil.design.frontier import frontier
from statveil.design.methods import choose
from statveil.design.target import BinWidth, MaxRisk, meets
from statveil.errors import StatveilError, TargetError
from statveil.made_plan import Plan
from statveil.problem.prior import Box
from statveil.specification.column_plan import column_risk, plan_column
from statveil.specification.together import ColumnRisk
from statveil.specification.treatments import Hide

__all__ = ["Candidates", "Point"]

_FIRST = 17
"""Risks that are tried first, from the whole budget down to the least that the column can have."""
_FEW = 6
"""The same where each plan takes a second."""
_NEAR = 3
"""Risks on either side of the best one so far that are tried next."""
_CURVE = 60
_LOWEST = 1e-3
"""Of the budget: a column is not given less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A risk that is asked of a column, and what a plan for it has."""

    asked: float
    risk: float
    distortion: float
    column: ColumnRisk | None
    """``None`` where only the numbers are known so far, and the plan is made when it is chosen."""

    @property
    def cost(self) -> float:
        """-log(1 - risk): where columns are independent, these add up (theory 17.1)."""
        return -math.log1p(-self.risk)


class Candidates:
    """The points of one column that were looked at, each once."""

    def __init__(self, hide: Hide, room: float, *, lazily: bool) -> None:
        self.hide, self.room = hide, room
        self._tried: dict[float, Point | None] = {}
        widest = plan_column(hide, max_risk=room)  # an error of its own where not even the whole budget serves
        self.widest = _whole(hide, room, widest)
        self.blind = widest.risk_without_release or 0.0
        if self.widest.risk < 1:
            self._tried[room] = self.widest
        problem = hide.problems[0]
        self.flat = isinstance(problem.prior, Box) and all(axis.flat for axis in problem.prior.axes.values())
        self.quick = self.flat or widest.risk_kind == "exact"  # closed forms take milliseconds, searches seconds
        free = len(problem.prior.free) if isinstance(problem.prior, Box) else 0
        self._fits = self.quick and free == 1 and len(hide.problems) == 1
        self._bins: dict[int, float] = {}
        self._lazily = lazily and len(hide.problems) == 1
        self._spread = (1 / _LOWEST) ** (1 / (_FIRST - 1))
        if not (self._lazily and not self.quick and hide.method == "auto" and self._curve()):
            low = min(room, max(_LOWEST * room, self.blind))
            self.ask(np.geomspace(low, room, _FIRST if self.quick else _FEW)[:-1].tolist(), fitting=True)

    @property
    def rate(self) -> float:
        """Distortion times risk, which is about constant (theory 17.3)."""
        return self.widest.distortion * min(self.widest.risk, self.room)

    def ask(self, risks: Sequence[float], *, fitting: bool = False) -> None:
        """Plan for these risks, or also for those below at which bins of one width fill the range."""
        wanted = [min(self.room, risk) for risk in risks]
        if fitting:
            wanted += [self._of_bins(self._count(risk)) for risk in risks]
        for risk in wanted:
            if 0 < risk <= self.room and risk not in self._tried:
                self._tried[risk] = self._tryout(risk)

    def ask_bins(self, count: int) -> Point | None:
        """A plan of so many equal bins."""
        risk = self._of_bins(count)
        self.ask([risk])
        return self._tried.get(risk)

    def ask_near(self, best: Point) -> None:
        """Look more closely around the best point so far; the next time closer still."""
        if not self.quick:
            return
        steps = np.linspace(-1.0, 1.0, 2 * _NEAR + 1)
        self.ask([float(best.asked * self._spread**step) for step in steps])
        bins = self._count(best.asked)
        self.ask([self._of_bins(k) for k in range(max(1, bins - _NEAR), bins + _NEAR + 1)])
        self._spread **= 1 / _NEAR

    def _of_bins(self, count: int) -> float:
        """The risk of so many equal bins of the one parameter, in between which bins do not fit; 0 if not known."""
        if count < 1 or not self._fits:
            return 0.0
        if count not in self._bins:
            self._bins[count] = self._accounted(count)
        return self._bins[count]

    def _accounted(self, count: int) -> float:
        problem = self.hide.problems[0]
        if self.flat:
            return count * self.blind
        (name,) = problem.box.free
        width = problem.box.axes[name].width / count
        try:
            mechanism = choose(problem, BinWidth(width), method="interval").mechanism
        except StatveilError:
            return 0.0
        return max(self.blind, accounting.risk(problem, mechanism).value) * (1 + 1e-9)

    def _count(self, risk: float) -> int:
        """How many equal bins have at most this risk."""
        if not self._fits or self.blind <= 0:
            return 0
        most = max(1, math.floor(risk / self.blind * (1 + 1e-9)))
        if self.flat:
            return most
        low, high = 0, 2 * most + 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._of_bins(middle) <= risk * (1 + 1e-9) else (low, middle - 1)
        return low

    def frontier(self) -> list[Point]:
        """Points by rising risk and falling distortion."""
        kept: list[Point] = []
        known = [point for point in self._tried.values() if point is not None]
        for point in sorted(known, key=lambda each: (each.risk, each.distortion, each.asked)):
            if not kept or point.distortion < kept[-1].distortion * (1 - 1e-12):
                kept.append(point)
        return kept

    def planned(self, point: Point) -> Plan:
        """The plan of a chosen point; of a frontier's point no worse than that."""
        return plan_column(self.hide, max_risk=point.asked) if point.column is None else point.column.plan

    def _tryout(self, risk: float) -> Point | None:
        try:
            found = (
                self._quickly(risk) if self._lazily else _whole(self.hide, risk, plan_column(self.hide, max_risk=risk))
            )
        except TargetError:
            return None
        return found if found.risk < 1 else None

    def _quickly(self, risk: float) -> Point:
        """What a plan for this risk will have, without its limits and comparisons."""
        problem = self.hide.problems[0]
        mechanism = choose(problem, MaxRisk(risk), method=self.hide.method).mechanism
        found = max(accounting.risk(problem, mechanism).value, self.blind)
        moved = problem.measure.stated(accounting.distortion(problem, mechanism))
        return Point(asked=risk, risk=risk if meets(found, risk) else found, distortion=moved, column=None)

    def _curve(self) -> bool:
        """The best partitions of a grid, all at once: a plan for each risk would take seconds."""
        try:
            found = frontier(self.hide.problems[0], methods=("dynamic",), points=_CURVE)
        except StatveilError:
            return False  # such problems have no partition of a grid
        for each in found.points:
            if each["risk"] <= self.room:
                point = Point(asked=each["risk"], risk=each["risk"], distortion=each["distortion"], column=None)
                self._tried.setdefault(point.asked, point)
        return True


def _whole(hide: Hide, asked: float, plan: Plan) -> Point:
    column = column_risk(hide, plan)
    return Point(asked=asked, risk=column.union, distortion=plan.distortion, column=column)
