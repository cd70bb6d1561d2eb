"""A frontier in words."""

from __future__ import annotations

from statveil.design.frontier import Frontier
from statveil.problem.wording import distortion_text
from statveil.rounding import shown_up

__all__ = ["describe_frontier"]

_ROWS = 30


def describe_frontier(found: Frontier) -> str:
    """A table of at most about 30 of its points."""
    lines = [
        f"{'method':<13}{'distortion':>14}{'risk':>10}{'cells':>8}   (lower is better for both; --json has all points)"
    ]
    for point in found.points[:: max(1, len(found.points) // _ROWS)]:
        cells = "-" if point["grid"] is None else point["grid"]
        distortion, risk = distortion_text(found.problem, point["distortion"]), shown_up(point["risk"], 4)
        lines.append(f"{point['method']:<13}{distortion:>14}{risk:>10}{cells:>8}")
    return "\n".join(lines)
