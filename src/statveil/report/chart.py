"""Charts: one specification gives SVG, PNG and an HTML file that opens offline."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

from statveil.design.frontier import Frontier
from statveil.errors import ProblemError, unknown_name
from statveil.problem.problem import Problem
from statveil.problem.wording import column_text, hidden_text, hit_text, tolerance_text
from statveil.report.look import ALARM, numbers

__all__ = ["SUFFIXES", "check_suffix", "frontier_chart", "frontier_csv", "save_frontier", "tradeoff_chart"]

SUFFIXES = (".csv", ".html", ".png", ".svg")
_LIMIT = "limit for any mechanism"


def frontier_chart(frontier: Frontier) -> Any:
    """Risk against distortion for every method, with the limit; an Altair chart."""
    problem = frontier.problem
    return tradeoff_chart(frontier).properties(
        width=640,
        height=360,
        title={
            "text": f"Hiding the {hidden_text(problem)} of {column_text(problem)}",
            "subtitle": "better: down and left (less risk, less distortion)",
        },
    )


def tradeoff_chart(frontier: Frontier, *, here: tuple[float, float] | None = None, plain: bool = False) -> Any:
    """The curves alone, to be placed on a page; ``here`` marks a plan by its distortion and risk.

    ``plain`` labels the axes for people who know no statistics.
    """
    import altair as alt

    problem = frontier.problem
    rows = [{"curve": _named(p), "distortion": p["distortion"], "risk": p["risk"]} for p in _by_method(frontier)]
    rows += [{"curve": _LIMIT, "distortion": p["distortion"], "risk": p["risk"]} for p in frontier.lower_bound]
    methods = list(dict.fromkeys(row["curve"] for row in rows))
    distance = {
        "w1": "Wasserstein-1, in the column's unit",
        "log-w1": "Wasserstein-1 of the logarithms",
        "tv": "total variation, a share",
        "left-out": "rows that are left out",
    }[problem.distance]
    if problem.measure.kind == "relative":
        distance = "rows left out, a share" if problem.secret.of_table else "Wasserstein-1, a share"
    across: dict[str, Any] = {"title": f"distortion: largest distance to the original ({distance})"}
    up: dict[str, Any] = {"title": _risk_title(problem)}
    if plain:
        share = problem.measure.kind == "relative" or problem.distance == "tv"
        form: dict[str, Any] = {"format": "%"} if share else numbers(max(row["distortion"] for row in rows))
        moved = "how many rows are left out" if problem.secret.of_table else "how far values move"
        across = {"title": f"{moved} (left is better)", "axis": alt.Axis(**form)}
        up = {"title": "chance of a right guess (down is better)", "axis": alt.Axis(format="%")}
    data = alt.InlineData(values=rows)
    base = alt.Chart(data).encode(
        x=alt.X("distortion:Q", **across),
        y=alt.Y("risk:Q", scale=alt.Scale(domain=[0, 1]), **up),
        color=alt.Color("curve:N", title=None, scale=alt.Scale(domain=methods)),
        tooltip=["curve:N", alt.Tooltip("distortion:Q", format=".6g"), alt.Tooltip("risk:Q", format=".4f")],
    )
    # a method's curve falls at its points; the limit falls just after a jump, where its ceil grows
    lines = base.transform_filter(alt.datum.curve != _LIMIT).mark_line(interpolate="step-after", point={"size": 12})
    limit = base.transform_filter(alt.datum.curve == _LIMIT).mark_line(interpolate="step-before", strokeDash=[6, 3])
    if here is None:
        return lines + limit
    at = alt.Chart(alt.InlineData(values=[{"distortion": here[0], "risk": here[1], "says": "you are here"}]))
    place = {"x": "distortion:Q", "y": "risk:Q"}
    spot = at.mark_point(filled=True, size=110, opacity=1, color=ALARM).encode(**place)
    right = 2 * here[0] > max(row["distortion"] for row in rows)  # the words stay inside the picture
    beside: dict[str, Any] = {"align": "right", "dx": -9} if right else {"align": "left", "dx": 9}
    label = at.mark_text(dy=-10, color=ALARM, fontWeight="bold", **beside).encode(text="says:N", **place)
    return alt.layer(lines, limit, spot, label)


def _risk_title(problem: Problem) -> str:
    if problem.also:
        return f"risk: P(best attacker guesses the {hit_text(problem)})"
    return f"risk: P(best attacker gets within {tolerance_text(problem)} of the {problem.secret.label})"


def _by_method(frontier: Frontier) -> list[dict[str, Any]]:
    """The points, each with the grid of its method: the one that most of its points have."""
    grids: dict[str, Counter[int | None]] = {}
    for point in frontier.points:
        grids.setdefault(point["method"], Counter())[point["grid"]] += 1
    usual = {method: found.most_common(1)[0][0] for method, found in grids.items()}
    return [{**point, "grid": usual[point["method"]]} for point in frontier.points]


def _named(point: dict[str, Any]) -> str:
    return str(point["method"]) if point["grid"] is None else f"{point['method']} ({point['grid']} cells)"


def frontier_csv(frontier: Frontier) -> str:
    """The same numbers as a table: method, distortion, risk, grid; the limit's method is ``lower_bound``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["method", "distortion", "risk", "grid"])
    for point in frontier.points:
        writer.writerow([point["method"], repr(point["distortion"]), repr(point["risk"]), point["grid"]])
    for bound in frontier.lower_bound:
        writer.writerow(["lower_bound", repr(bound["distortion"]), repr(bound["risk"]), None])
    return text.getvalue()


def check_suffix(path: str) -> str:
    """The suffix of an output file, if it is one that can be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ProblemError(unknown_name("suffix of the output file", suffix or path, SUFFIXES))
    return suffix


def save_frontier(frontier: Frontier, path: str) -> None:
    """Write a frontier; the suffix decides between a picture, a page and a table."""
    from statveil.whole_file import write_whole

    suffix = check_suffix(path)
    if suffix == ".csv":
        write_whole(path, frontier_csv(frontier).encode())
        return
    import vl_convert

    from statveil.report.page import chart_page

    chart = frontier_chart(frontier)
    if suffix == ".html":
        write_whole(path, chart_page(chart.to_json()).encode())
    elif suffix == ".svg":
        write_whole(path, vl_convert.vegalite_to_svg(chart.to_json()).encode())
    else:
        write_whole(path, vl_convert.vegalite_to_png(chart.to_json(), ppi=144))
