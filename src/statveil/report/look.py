"""How charts look: the same calm colours everywhere, and as pictures that a page holds itself."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["ALARM", "COLOURS", "INK", "MUTED", "OURS", "finished", "numbers", "svg_of"]

INK, MUTED, OURS, ALARM = "#1f2430", "#5b6472", "#2f6690", "#9c2f25"
COLOURS = ("#2f6690", "#d98a29", "#5c8a5a", "#8a5a83", "#767f8c")
"""Told apart by everyone, and readable on white and on dark."""
_FONT = "Helvetica, Arial, sans-serif"


def numbers(largest: float) -> dict[str, Any]:
    """How an axis labels its numbers: 40k for 40,000, and smaller ones as they are."""
    return {"format": "~s"} if abs(largest) >= 10_000 else {}


def finished(chart: Any, *, private: str = "") -> Any:
    """A chart with the looks of all; ``private`` is said under its title."""
    if private:
        import altair as alt

        chart = chart.properties(title=alt.TitleParams(private, color=ALARM, anchor="start", fontSize=11))
    return (
        chart.configure(font=_FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axisX(grid=False)
        .configure_axis(
            gridColor="#e3e6ea",
            domainColor="#9aa2ad",
            tickColor="#9aa2ad",
            labelColor=MUTED,
            titleColor=INK,
            titleFontWeight="normal",
            titleFontSize=12,
            titlePadding=10,
            labelFontSize=11,
        )
        .configure_title(color=INK, anchor="start", fontSize=13, subtitleColor=MUTED, subtitleFontSize=11)
        .configure_legend(labelColor=INK, titleColor=INK, labelFontSize=11, labelLimit=260, orient="bottom", columns=2)
    )


def svg_of(chart: Any, *, name: str) -> str:
    """A chart as an SVG element for a page; ``name`` keeps its parts apart from those of other charts.

    The drawing is text and shapes alone: names are escaped where it is made, and the page lets nothing run.
    """
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(chart.to_json())
    drawn = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', drawn)
    return re.sub(r"url\(#", f"url(#{name}-", drawn)
