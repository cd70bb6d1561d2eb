"""A column's structure in words for its holder. Private."""

from __future__ import annotations

from collections.abc import Sequence

from statveil.tables.inspection import ColumnReport
from statveil.tables.structure.column.findings import Finding

__all__ = ["column_words", "telling_words"]


def column_words(report: ColumnReport) -> list[str]:
    """What the column holds, and what of it would show in a release; without a word of the command line."""
    numbers = report.measured
    if numbers is None:
        # what the command line would do with labels, the page asks for in its second step
        plain = [_LABELS if "--labels" in one else one for one in report.leaks]
        return plain or [f"{report.type[:1].upper()}{report.type[1:]}."]
    whole = any(one.name == "step" and 1.0 in one.values for one in report.structure)
    words = [
        f"{'Whole numbers' if whole else 'Numbers'} from {numbers.minimum:.6g} to {numbers.maximum:.6g}, "
        f"mean {numbers.mean:.6g}"
    ]
    if report.untouched:
        words[0] += f", {report.untouched:,} of {report.rows:,} missing"
    words[0] += "."
    words += [says for one in report.structure if (says := _structure(one, whole))]
    if report.shuffle:
        words.append("The order of the rows tells their values: the rows must be shuffled.")
    # for which statistics there is no map is said beside the field where one is chosen
    return words if report.command else [*words, *report.no_map]


_LABELS = "How many rows hold one of its labels can be hidden: choose Hide."


def _structure(found: Finding, whole: bool) -> str:
    """One thing that was found in the values."""
    if found.name == "step":
        return "" if whole else f"In steps of {' and '.join(f'{value:.6g}' for value in found.values)}."
    return _sentence(found.says)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def telling_words(told: Sequence[tuple[str, ...]]) -> list[str]:
    """Which other columns tell this one."""
    return [f"{' with '.join(map(repr, one))} {'tells' if len(one) == 1 else 'tell'} this column." for one in told]
