"""A comparison as a picture, a table and text. All are private and say so first."""

from __future__ import annotations

import csv
import html
import io
import os
from typing import Any

from statveil.auditing.audit import PRIVATE
from statveil.comparing.points import Comparison
from statveil.comparing.sweep import METHODS
from statveil.errors import ProblemError
from statveil.report.chart import check_suffix
from statveil.report.page import chart_page
from statveil.rounding import rate_down, rate_up, shown_up
from statveil.whole_file import write_whole

__all__ = [
    "comparison_chart",
    "comparison_csv",
    "describe_comparison",
    "parameter_text",
    "save_comparison",
]

_COLOURS = {  # Okabe and Ito: told apart by everyone
    "ours": "#0072b2",
    "comb": "#56b4e9",
    "dp": "#d55e00",
    "ap": "#009e73",
    "distp": "#cc79a7",
    "directional": "#e69f00",
    "opendp": "#8c564b",
}
_FORMS = {
    "paper": ("as the paper ran it", "circle"),
    "fair": ("noise set from its own guarantee", "triangle-up"),
    "swept": ("noise without a guarantee", "square"),
}
_PANELS = (
    ("error", "attacker takes the released statistic"),
    ("debiased_error", "attacker knows mechanism and prior"),
)
_BEYOND = 100.0
"""Settings with more than this times the largest distortion of ours are not drawn: they would fill the picture."""
_LEAST = 1e-7
"""Of the largest error: below it lie the rounding errors of releases that did not move."""
_NUMBERS = (
    "error",
    "error_low",
    "error_high",
    "debiased_error",
    "distortion",
    "distortion_low",
    "distortion_high",
    "ratio",
    "debiased_ratio",
    "hit_rate",
    "hit_low",
    "hit_high",
    "trials",
    "risk",
    "seeds",
)


def describe_comparison(found: Comparison) -> str:
    """The ratio of error and distortion of each method, what some errors cost, and what was taken for granted."""
    problem, kinds = found.problem, _kinds(found)
    lines = [
        PRIVATE,
        f"Hiding the {problem.secret.label} of {found.column!r}, {found.rows:,} rows, {problem.family.label} family. "
        f"Means over {found.seeds} seeds (seed {found.seed}).",
        found.line.says,
        "",
        "Attacker's error over distortion (W1), least to largest of the settings; higher is better:",
        f"{'method':<12}{'form':<7}{'settings':>8}{'released statistic':>22}{'knows the mechanism':>22}",
    ]
    for method, form in kinds:
        points = [p for p in found.points if (p["method"], p["form"]) == (method, form)]
        spans = (_span([p[name] for p in points]) for name in ("ratio", "debiased_ratio"))
        lines.append(f"{method:<12}{form:<7}{len(points):>8}" + "".join(f"{span:>22}" for span in spans))
    levels = found.levels()
    for key, words in (
        ("distortion", "takes the released statistic"),
        ("debiased_distortion", "knows the mechanism and the prior"),
    ):
        lines += ["", f"Least distortion that gives an attacker who {words} this error; lower is better:"]
        lines.append(f"{'method':<12}{'form':<7}" + "".join(f"{level:>11g}" for level in levels))
        cells = {(row["method"], row["form"], row["error"]): row[key] for row in found.table(levels)}
        for method, form in kinds:
            costs = (cells[method, form, level] for level in levels)
            lines.append(f"{method:<12}{form:<7}" + "".join(f"{_shown(cost):>11}" for cost in costs))
    lines += ["", *_hits(found), ""]
    lines += [f"left out: {name}: {why}" for name, why in found.left_out.items()]
    lines += found.notes
    lines.append(
        "Attackers here know the mechanism and the prior, not the column's bounds, steps or rows: audit a release for "
        "those. Of the alternatives they are the best that were tried, so better ones may hit more often."
    )
    return "\n".join(lines)


def _hits(found: Comparison) -> list[str]:
    """How often attackers hit, and at what distortion: the setting of each form nearest to a hit rate of 0.2."""
    lines = [
        f"Hits within {found.problem.tolerance:g} on redrawn columns, at the setting nearest to 0.2 (95 % interval):",
        f"{'method':<12}{'form':<7}{'distortion':>11}{'hit rate':>10}{'interval':>16}{'exact risk':>12}",
    ]
    for method, form in _kinds(found):
        points = [p for p in found.points if (p["method"], p["form"]) == (method, form)]
        best = min(points, key=lambda p: abs((p["hit_rate"] if p["risk"] is None else p["risk"]) - 0.2))
        interval = f"{rate_down(best['hit_low'], 2)} to {rate_up(best['hit_high'], 2)}"
        exact = "" if best["risk"] is None else shown_up(best["risk"], 3)
        lines.append(
            f"{method:<12}{form:<7}{_shown(best['distortion']):>11}{rate_up(best['hit_rate'], 2):>10}"
            f"{interval:>16}{exact:>12}"
        )
    return lines


def _kinds(found: Comparison) -> list[tuple[str, str]]:
    return list(dict.fromkeys((point["method"], point["form"]) for point in found.points))


def _span(ratios: list[float | None]) -> str:
    known = [ratio for ratio in ratios if ratio is not None]
    return f"{min(known):.3f} to {max(known):.3f}" if known else "-"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def parameter_text(point: dict[str, Any]) -> str:
    """The settings of a point on one line."""
    return ", ".join(f"{name}={value:g}" for name, value in point["parameter"].items())


def comparison_csv(found: Comparison) -> str:
    """One line per setting; the last column says that the table is private."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["method", "form", "parameter", *_NUMBERS, "attacker", "guarantee", "private"])
    for point in found.points:
        numbers = ["" if point[name] is None else repr(point[name]) for name in _NUMBERS]
        words = [point["attacker"], point["guarantee"], PRIVATE]
        writer.writerow([point["method"], point["form"], parameter_text(point), *numbers, *words])
    return text.getvalue()


def comparison_chart(found: Comparison) -> Any:
    """Attacker's error against distortion, one panel an attacker; an Altair chart."""
    import altair as alt

    drawn, beyond = _drawn(found)
    largest = max(point["distortion"] for point in drawn)
    least = min(point["distortion"] for point in drawn)
    errors = [point[name] for point in drawn for name, _ in _PANELS]
    errors = [error for error in errors if error > _LEAST * max(errors)]
    x_scale = alt.Scale(type="log", domain=[least / 1.3, largest * 1.3], nice=False)
    y_scale = alt.Scale(type="log", domain=[min(errors) / 1.5, max(errors) * 1.5], nice=False)
    methods = [method for method in METHODS if any(point["method"] == method for point in drawn)]
    forms = [form for form in _FORMS if any(point["form"] == form for point in drawn)]
    secret = found.problem.secret.label
    panels = []
    for index, (name, words) in enumerate(_PANELS):
        base = alt.Chart(alt.InlineData(values=_rows(drawn, name))).encode(
            x=alt.X(
                "distortion:Q",
                title="distortion: W1 to the original (unit of the column)",
                scale=x_scale,
                axis=alt.Axis(format=",~g", labelOverlap="greedy", labelSeparation=8),
            ),
            color=alt.Color(
                "method:N",
                title="method",
                scale=alt.Scale(domain=methods, range=[_COLOURS[method] for method in methods]),
            ),
        )
        y_axis = alt.Axis(format=",~g", labelOverlap="greedy", labelSeparation=8)
        title = f"error of the guessed {secret} (unit of the column)" if index == 0 else None
        spread = base.mark_rule(opacity=0.45, clip=True).encode(
            y=alt.Y("low:Q", scale=y_scale, title=title, axis=y_axis), y2="high:Q"
        )
        dots = base.mark_point(filled=True, size=55, opacity=0.9, clip=True).encode(
            y=alt.Y("error:Q", scale=y_scale, title=title, axis=y_axis),
            shape=alt.Shape(
                "form:N",
                title="form",
                scale=alt.Scale(domain=[_FORMS[form][0] for form in forms], range=[_FORMS[form][1] for form in forms]),
            ),
            tooltip=[
                "method:N",
                "form:N",
                "parameter:N",
                alt.Tooltip("distortion:Q", format=".4g"),
                alt.Tooltip("error:Q", format=".4g"),
                alt.Tooltip("ratio:Q", format=".3f"),
                alt.Tooltip("hit_rate:Q", format=".2f"),
            ],
        )
        layers = [
            _line(alt, found, least / 1.3, largest * 1.3, x_scale, y_scale),
            *([spread] if index == 0 else []),
            dots,
        ]
        panels.append(alt.layer(*layers).properties(width=400, height=400, title=words))
    bound = "no release lies above the dashed line" if found.line.always else "dashed: the family's line"
    subtitle = [
        PRIVATE,
        f"better: up and left (larger error, less distortion); {bound}",
        f"one point a setting, mean of {found.seeds} seeds; bars: 10 % to 90 % of the seeds",
    ]
    if beyond:
        subtitle.append(f"{beyond} settings lie outside the picture, beyond {_BEYOND:g} times ours; a .csv has all")
    return (
        alt.hconcat(*panels, spacing=25)
        .resolve_scale(color="shared", shape="shared")
        .properties(
            title=alt.TitleParams(
                f"Hiding the {secret} of {found.column!r} ({found.rows:,} rows)",
                subtitle=subtitle,
                anchor="start",
                offset=15,
            )
        )
        .configure_legend(symbolSize=80, symbolOpacity=1, labelLimit=260)
        .configure_axis(grid=True, gridOpacity=0.4)
    )


def _line(alt: Any, found: Comparison, low: float, high: float, x_scale: Any, y_scale: Any) -> Any:
    """error = slope W1, drawn by its ends."""
    ends = [{"distortion": end, "error": found.line.slope * end} for end in (low, high)]
    return (
        alt.Chart(alt.InlineData(values=ends))
        .mark_line(color="#444", strokeDash=[6, 4], strokeWidth=1.5, clip=True)
        .encode(x=alt.X("distortion:Q", scale=x_scale), y=alt.Y("error:Q", scale=y_scale))
    )


def _drawn(found: Comparison) -> tuple[list[dict[str, Any]], int]:
    """Settings that fit into the picture, and how many do not."""
    own = [point["distortion"] for point in found.points if point["method"] in ("ours", "comb")]
    most = _BEYOND * max(own, default=0.0) or float("inf")
    drawn = [point for point in found.points if 0 < point["distortion"] <= most and point["error"] > 0]
    if not drawn:
        raise ProblemError("no setting moved the column, so there is nothing to draw; compare with more seeds.")
    return drawn, len(found.points) - len(drawn)


def _rows(points: list[dict[str, Any]], error: str) -> list[dict[str, Any]]:
    """What one panel draws."""
    return [
        {
            "method": point["method"],
            "form": _FORMS[point["form"]][0],
            "parameter": parameter_text(point),
            "distortion": point["distortion"],
            "error": point[error],
            "low": max(point["error_low"], 1e-12 * point["error"]),
            "high": point["error_high"],
            "ratio": point["ratio" if error == "error" else "debiased_ratio"],
            "hit_rate": point["hit_rate"],
        }
        for point in points
        if point[error] > 0  # a logarithmic axis has no 0
    ]


def save_comparison(found: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a comparison for its owner's eyes; the suffix decides between a picture, a page and a table."""
    suffix = check_suffix(os.fspath(path))
    if suffix == ".csv":
        write_whole(path, comparison_csv(found).encode(), private=True)
        return
    import vl_convert

    chart = comparison_chart(found).to_json()
    if suffix == ".html":
        write_whole(path, _page(found, chart).encode(), private=True)
    elif suffix == ".svg":
        write_whole(path, vl_convert.vegalite_to_svg(chart).encode(), private=True)
    else:
        write_whole(path, vl_convert.vegalite_to_png(chart, ppi=144), private=True)


def _page(found: Comparison, chart: str) -> str:
    """The page of the picture, with the text below it."""
    words = f"<pre style='font: 13px/1.4 monospace'>{html.escape(describe_comparison(found))}</pre>"
    return chart_page(chart, below=words)
