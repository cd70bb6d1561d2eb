"""Parts of sentences: what is hidden, how close a guess counts, how often something happens."""

from __future__ import annotations

from statveil.errors import shortened
from statveil.problem.families.location import Location
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.rounding import in_hundreds, read_up
from statveil.spoken import harmless

__all__ = ["any_shape", "close_text", "named", "of_column", "often", "statistics_text"]


def any_shape(problem: Problem) -> bool:
    """Whether the plan holds for columns of any shape, and not only for those of a stated one."""
    family = problem.family
    return family.shapeless or isinstance(family, Location) or family.column_text == "a column of any shape"


def named(column: str) -> str:
    """A column's name as it stands in a sentence, whatever its owner put into it."""
    return f"'{shortened(harmless(' '.join(column.split())))}'"


def of_column(column: str | None) -> str:
    """Whose statistic it is."""
    return "" if column is None else f" of {named(column)}"


def statistics_text(problem: Problem, *, between: str = " and the ") -> str:
    """What is hidden, in plain words: the average, or the average and the spread."""
    return between.join(one.secret.plain for one in problem.each)


def close_text(problem: Problem) -> str:
    """How close a guess must come to count; the number as it was stated."""
    closeness = problem.closeness
    if isinstance(closeness, Relative):
        return f"within {closeness}"
    if problem.secret.is_share:
        points = f"{100 * closeness:.10g}"
        return f"within {points} percentage point{'s' * (points != '1')}"
    return f"within {closeness:,.12g}"


def often(*chances: float, least: int = 100) -> list[str]:
    """Chances as numbers of cases, each rounded up, all of the same hundred (or ``least``), thousand and so on.

    >>> often(0.1, 0.07), often(1 / 3), often(1.0)
    (['10 of 100', '7 of 100'], ['34 of 100'], ['100 of 100'])
    """
    base, counts = in_hundreds(*chances, least=least)
    if base < 10**9:
        return [f"{count:,} of {base:,}" for count in counts]
    return [f"a share of {read_up(chance)}" for chance in chances]
