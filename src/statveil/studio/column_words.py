"""A column's structure in words for its holder. Private."""

from __future__ import annotations

from collections.abc import Sequence

from statveil.tables.inspection import ColumnReport

__all__ = ["column_words", "telling_words"]


def column_words(report: ColumnReport) -> list[str]:
    """What the column holds, and what of it would show in a release."""
    numbers = report.measured
    if numbers is None:
        return [f"{report.type}.", *report.leaks]
    kind = "whole numbers" if any(one.name == "step" and 1.0 in one.values for one in report.structure) else "numbers"
    words = [f"{kind} from {numbers.minimum:.6g} to {numbers.maximum:.6g}, mean {numbers.mean:.6g}"]
    if report.untouched:
        words[0] += f", {report.untouched:,} of {report.rows:,} missing"
    words[0] = words[0][:1].upper() + words[0][1:] + "."
    words += [_sentence(one.says) for one in report.structure]
    if report.shuffle:
        words.append("The order of the rows tells their values: the rows must be shuffled.")
    return [*words, *report.no_map]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def telling_words(told: Sequence[tuple[str, ...]]) -> list[str]:
    """Which other columns tell this one."""
    return [f"{' with '.join(map(repr, one))} {'tells' if len(one) == 1 else 'tell'} this column." for one in told]
