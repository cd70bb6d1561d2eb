"""A comparison as values: one point a setting, the line that no release crosses, and what each error costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from statveil.auditing.audit import PRIVATE
from statveil.numbers import positive
from statveil.problem.problem import Problem
from statveil.spoken import Drawn

__all__ = ["Comparison", "Line"]

_LEVELS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The largest error of the plug-in attacker for a distortion: error <= slope * W1."""

    slope: float
    always: bool
    """Whether it holds for every release; otherwise for pairs of columns inside the family."""

    @property
    def says(self) -> str:
        """The line in one sentence."""
        if self.always:
            return "No release has an error of the mean above its W1 distance."
        return f"Inside the family the error is at most {self.slope:.4g} times W1; a real column may lie off this line."

    def to_json(self) -> dict[str, Any]:
        """The line for scripts."""
        return {"slope": self.slope, "always": self.always, "says": self.says}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison(Drawn):
    """Our mechanisms beside the alternatives on one column. Private.

    Attributes
    ----------
    points : list of dict
        One a setting, means over the seeds. ``method``, ``form`` (``paper``, ``fair``, ``swept``), ``parameter``;
        ``error`` of the attacker who takes the released statistic, with its 10 % and 90 % quantiles ``error_low`` and
        ``error_high``; ``debiased_error`` of one who knows the mechanism and the prior; ``distortion`` (W1) with
        ``distortion_low`` and ``distortion_high``; ``ratio`` = error / distortion, ``debiased_ratio``; ``hit_rate``
        of the better attacker on redrawn columns with a 95 % interval ``hit_low`` to ``hit_high``, ``trials``,
        ``attacker``; ``risk`` of the best attacker where it is known exactly; ``guarantee``; ``seeds``.
    line : Line
        What no release, or none inside the family, crosses.
    left_out : dict of str to str
        Methods that were not compared, with the reason.
    notes : tuple of str
        What was not stated and what was taken instead.
    """

    words = "report.comparison:describe_comparison"
    picture = "report.comparison:comparison_chart"
    frame = "report.frames:comparison_frame"

    column: str
    rows: int
    problem: Problem
    range: tuple[float, float]
    points: list[dict[str, Any]]
    line: Line
    left_out: dict[str, str]
    notes: tuple[str, ...]
    seeds: int
    seed: int

    def table(self, errors: Sequence[float] | None = None) -> list[dict[str, Any]]:
        """The least mean distortion of each method and form that reaches an error, for several errors.

        ``distortion`` is against the attacker who takes the released statistic, ``debiased_distortion`` against the
        one who knows the mechanism; ``None`` where no setting of the sweep reaches the error.
        """
        levels = self.levels() if errors is None else [positive(error, "an error") for error in errors]
        kinds = list(dict.fromkeys((point["method"], point["form"]) for point in self.points))
        return [
            {
                "error": level,
                "method": method,
                "form": form,
                "distortion": self._least(method, form, level, "error"),
                "debiased_distortion": self._least(method, form, level, "debiased_error"),
            }
            for level in levels
            for method, form in kinds
        ]

    def levels(self) -> list[float]:
        """Round errors from the tolerance up to the largest that our mechanism (or else any) reaches."""
        own = [point["error"] for point in self.points if point["method"] == "ours"]
        most = max(own or [point["error"] for point in self.points])
        least = min(self.problem.tolerance, most)
        powers = range_of_powers(least, most)
        round_ones = [lead * 10.0**power for power in powers for lead in (1, 2, 5)]
        inside = [level for level in round_ones if least * (1 - 1e-9) <= level <= most] or [float(f"{most:.1g}")]
        chosen = np.unique(np.linspace(0, len(inside) - 1, min(_LEVELS, len(inside))).round().astype(int))
        return [float(f"{inside[index]:g}") for index in chosen]

    def _least(self, method: str, form: str, level: float, error: str) -> float | None:
        reached = [
            float(point["distortion"])
            for point in self.points
            if point["method"] == method and point["form"] == form and point[error] >= level * (1 - 1e-12)
        ]
        return min(reached, default=None)

    def to_json(self) -> dict[str, Any]:
        """The comparison for scripts."""
        return {
            "private": PRIVATE,
            "column": self.column,
            "rows": self.rows,
            "problem": self.problem.to_json(),
            "range": list(self.range),
            "seeds": self.seeds,
            "seed": self.seed,
            "points": self.points,
            "line": self.line.to_json(),
            "table": self.table(),
            "left_out": self.left_out,
            "notes": list(self.notes),
        }


def range_of_powers(low: float, high: float) -> range:
    """Powers of ten that hold all round numbers from ``low`` to ``high``."""
    if not 0 < low <= high:
        return range(0)
    return range(int(np.floor(np.log10(low))), int(np.floor(np.log10(high))) + 1)
