"""What the pictures share: colours, titles, and one specification rendered as SVG and PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["BETTER", "COLOURS", "data", "render_png", "render_svg", "title"]

BETTER = "better: down and left (less risk, less distortion)"
COLOURS = {
    "blue": "#3b6ea5",
    "red": "#8c1d18",
    "green": "#3d8b5f",
    "orange": "#d98324",
    "grey": "#77777f",
    "purple": "#6f4e9c",
    "pale green": "#cfe8d8",
    "pale yellow": "#f7e3a1",
}
_CONFIG = {
    "font": "sans-serif",
    "title": {"anchor": "start", "fontSize": 15, "subtitleFontSize": 12, "offset": 12},
    "axis": {"labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {"labelFontSize": 12, "labelLimit": 420, "titleFontSize": 12},
    "header": {"labelFontSize": 12, "titleFontSize": 12},
    "view": {"continuousWidth": 620, "continuousHeight": 340},
}


def data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as the data of a chart, inside the chart itself."""
    import altair as alt

    return alt.InlineData(values=[dict(row) for row in rows])


def title(text: str, *below: str) -> dict[str, Any]:
    """A title with lines below it."""
    return {"text": text, "subtitle": list(below)}


def _specification(chart: Any) -> dict[str, Any]:
    specification: dict[str, Any] = chart.to_dict()
    specification["config"] = specification.get("config", {}) | _CONFIG
    specification["background"] = "white"
    specification["padding"] = 12
    return specification


def render_svg(chart: Any) -> bytes:
    """The chart as SVG."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(_specification(chart))).encode()


def render_png(chart: Any) -> bytes:
    """The chart as PNG."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(_specification(chart), ppi=144))
