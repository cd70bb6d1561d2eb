"""How far the rows of a release may be off their places where a column is only moved."""

from __future__ import annotations


def most_off(plan):
    """By how much at most the plan's mode blurs a row: five widths. Rows of two seeds differ by twice as much."""
    return 5 * plan.release_mode.blur_width(plan.problem)
