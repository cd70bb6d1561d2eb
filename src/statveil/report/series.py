"""The risk of every month in words."""

from __future__ import annotations

from statveil.drifting import Series
from statveil.rounding import shown_up
from statveil.theory.drift_series import Monthly

__all__ = ["describe_series"]


def describe_series(found: Series) -> str:
    """A line for each month, and what it rests on."""
    close = f"{100 * found.tolerance:.10g} %" if found.tolerance_kind == "relative" else f"{found.tolerance:.12g}"
    months = len(found.fixed.online)
    how = "sticky releases" if found.sticky else "the plan's bins every month"
    lines = [
        f"{found.secret} within {close}, {months} month{'s' * (months > 1)}, {how}. "
        f"One release alone: {shown_up(found.one_month)}.",
        "",
        *_table(found.fixed, found.moving),
        "",
        f"Largest: {shown_up(found.risk)} ({_kind(found.fixed)})"
        + (
            "."
            if found.moving is None
            else f"; with bins that move with the trend {shown_up(max(found.moving.later))}."
        ),
    ]
    if found.moving is not None:
        lines.append(
            f"With bins that move with the trend: {shown_up(max(found.moving.later))} ({_kind(found.moving)}). "
            "Subtract what is predictable."
        )
    if found.held is not None:
        lines.append(
            f"To hold {shown_up(found.held.max_risk)} in every month: bins of {shown_up(found.held.bin)}, distortion "
            f"{shown_up(found.held.distortion)} (risk {shown_up(found.held.risk)})."
        )
    return "\n".join(lines)


def _kind(found: Monthly) -> str:
    if found.kind == "simulated":
        largest = shown_up(max(found.mean), 3)
        return (
            f"simulated: upper end of a 99.9 % interval over {found.histories:,} drawn paths, whose mean is {largest}"
        )
    if found.kind == "exact":
        return "exact"
    if not found.neglected:
        return "upper bound: as if every change of the release told all"
    return f"upper bound: {shown_up(found.neglected, 2)} of it for the lattice and rare histories"


def _table(fixed: Monthly, moving: Monthly | None) -> list[str]:
    head = "month   releases so far   all releases" + ("" if moving is None else "   all, bins that move")
    lines = [head]
    for i, (online, later) in enumerate(zip(fixed.online, fixed.later, strict=True)):
        line = f"{i + 1:>5}   {shown_up(online, 4):>15}   {shown_up(later, 4):>12}"
        lines.append(line + ("" if moving is None else f"   {shown_up(moving.later[i], 4):>19}"))
    return lines
