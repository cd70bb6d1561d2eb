"""An audit drawn: how often each attacker hit, beside what the plan claims. Private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statveil.auditing.audit import PRIVATE, Audit
from statveil.auditing.table_audit import TableAudit
from statveil.report.look import ALARM, INK, MUTED, OURS, finished
from statveil.rounding import rate_up

__all__ = ["audit_chart", "rates_chart"]

_STATES = {"holds": OURS, "undecided": "#d98a29", "leaks": ALARM}


def audit_chart(found: Audit | TableAudit) -> Any:
    """Bars of the rates with their intervals, the claimed risk as a mark on each; an Altair chart."""
    return finished(rates_chart((found,) if isinstance(found, Audit) else found.audits), private=PRIVATE)


def rates_chart(audits: Sequence[Audit]) -> Any:
    """The bars alone, to be placed on a page."""
    import altair as alt

    rows = [
        {
            "attacker": one.attacker if len(audits) == 1 else f"{audit.column}, {audit.secret}: {one.attacker}",
            **{name: getattr(one, name) for name in ("rate", "low", "high", "claimed", "verdict")},
            "rate_up": rate_up(one.rate),
            "high_up": rate_up(one.high),
        }
        for audit in audits
        for one in audit.findings
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("attacker:N", title=None, sort=None, axis=alt.Axis(labelLimit=190))
    )
    x = alt.X(
        "rate:Q",
        title="tries that were right (shorter is better)",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="%", tickCount=5),
    )
    bars = base.mark_bar(height=12, opacity=0.85, cornerRadiusEnd=2).encode(
        x=x,
        color=alt.Color("verdict:N", title=None, scale=alt.Scale(domain=list(_STATES), range=list(_STATES.values()))),
        tooltip=[
            "attacker:N",
            alt.Tooltip("rate_up:N", title="rate"),
            alt.Tooltip("high_up:N", title="high"),
            "verdict:N",
        ],
    )
    whiskers = base.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    claimed = base.mark_tick(color=MUTED, thickness=2, height=22).encode(x="claimed:Q")
    return alt.layer(bars, whiskers, claimed).properties(width=320, height=alt.Step(24))
