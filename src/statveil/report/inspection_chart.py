"""An inspection drawn: range, mean and spread of each column of numbers. Private."""

from __future__ import annotations

from typing import Any

from statveil.errors import ProblemError
from statveil.report.look import ALARM, MUTED, OURS, finished
from statveil.tables.inspection import PRIVATE, Inspection

__all__ = ["inspection_chart"]

_MOST = 30


def inspection_chart(found: Inspection) -> Any:
    """One row a column, each on a scale of its own; an Altair chart."""
    import altair as alt

    rows = [
        {
            "column": report.column,
            "minimum": report.measured.minimum,
            "maximum": report.measured.maximum,
            "mean": report.measured.mean,
            "low": max(report.measured.minimum, report.measured.mean - report.measured.std),
            "high": min(report.measured.maximum, report.measured.mean + report.measured.std),
            "leaks": len(report.leaks),
        }
        for report in found.columns
        if report.measured is not None
    ]
    if not rows:
        raise ProblemError("no column of the table holds numbers, so there is nothing to draw; print the inspection.")
    charts = []
    for row in rows[:_MOST]:
        base = alt.Chart(alt.InlineData(values=[row])).encode(
            y=alt.Y("column:N", title=None, axis=alt.Axis(labelLimit=160, domain=False, ticks=False, minExtent=160))
        )
        x = alt.X("minimum:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
        charts.append(
            alt.layer(
                base.mark_rule(color=MUTED).encode(x=x, x2="maximum:Q"),
                base.mark_bar(color=OURS if not row["leaks"] else ALARM, height=10, opacity=0.8).encode(
                    x="low:Q", x2="high:Q"
                ),
                base.mark_tick(color="white", thickness=2, height=10).encode(x="mean:Q"),
            ).properties(width=360, height=24)
        )
    told = f"{PRIVATE} From smallest to largest; bar: mean and spread, red where it would leak."
    return finished(alt.vconcat(*charts, spacing=4), private=told)
