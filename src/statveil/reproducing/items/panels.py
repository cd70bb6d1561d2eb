"""The nine panels, dynamic programme against greedy: three families of counts, three secrets, optimum and limit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from statveil.accounting import distortion, risk
from statveil.design.frontier import frontier
from statveil.design.methods import choose
from statveil.design.target import MaxDistortion
from statveil.errors import TargetError
from statveil.problem.problem import Problem
from statveil.reproducing.cases import counting_cases, prior_text, problem_text
from statveil.reproducing.drawing import BETTER, COLOURS, data, title
from statveil.reproducing.item import Item, Work
from statveil.reproducing.results import Claim, Column, Figure, Outcome, ResultTable

__all__ = ["Panels", "panel", "worse_than_dynamic"]

_CURVES = {
    "greedy": ("greedy (Algorithm 3)", "orange", [1, 0]),
    "dynamic": ("dynamic programme (Algorithm 1)", "blue", [1, 0]),
    "comb": ("our combs", "green", [1, 0]),
    "optimal": ("optimum of all mechanisms on a coarser grid (dots)", "purple", [2, 2]),
    "limit": ("limit for any mechanism (Theorem 2)", "grey", [6, 3]),
}
_FIGURES = {"mean": "panels-mean", "std": "panels-std", "fraction": "panels-fraction"}
_OPEN = 0.95
"""Above this risk hardly anything is hidden, and no optimum is computed."""
_LABELS = {"mean": "mean", "std": "standard deviation", "fraction": "share of one value"}


class Panels(Item):
    """Risk against distortion for every family of counts and every secret."""

    name: ClassVar[str] = "panels"
    title: ClassVar[str] = "Dynamic programme against greedy, nine panels"
    source: ClassVar[str] = "Figures fig:algorithm_mean, fig:algorithm_std_more, fig:algorithm_fraction"
    place: ClassVar[int] = 95

    def run(self, work: Work) -> Outcome:
        problems = [case.problem for case in counting_cases()]
        points: list[dict[str, Any]] = []
        rows: list[dict[str, Any]] = []
        for i, problem in enumerate(problems):
            work.tell(f"panel {i + 1} of {len(problems)}: {problem_text(problem)}")
            found = panel(problem, work)
            points += found
            rows.append(_row(problem, found, worse_than_dynamic(found)))
        return Outcome(
            figures=tuple(
                Figure(
                    name=name,
                    chart=_figure(kind, [problem for problem in problems if problem.secret.kind == kind], points),
                    caption=f"Secret: {_LABELS[kind]}. Every point is a mechanism, at the exact risk and the "
                    "distortion it really has.",
                )
                for kind, name in _FIGURES.items()
            ),
            tables=(
                ResultTable(
                    name="panels",
                    caption="How far greedy lies above the dynamic programme at equal distortion.",
                    columns=(
                        Column(name="panel", meaning="family and secret"),
                        Column(name="prior", meaning="what outsiders believe (uniform)"),
                        Column(name="tolerance", meaning="a guess this close is a hit"),
                        Column(name="greedy_points", meaning="points of the greedy curve"),
                        Column(name="least_ratio", meaning="least risk of greedy / risk of the programme"),
                        Column(name="mean_ratio", meaning="mean of the same"),
                        Column(name="largest_ratio", meaning="largest of the same"),
                        Column(name="optimum_ratio", meaning="risk of the programme / optimum, mean over its points"),
                    ),
                    rows=rows,
                ),
                ResultTable(
                    name="panels-points",
                    caption="Every point of every panel.",
                    columns=(
                        Column(name="panel", meaning="family and secret"),
                        Column(name="curve", meaning="method, or limit"),
                        Column(name="distortion", meaning="largest W1 distance to the original"),
                        Column(name="risk", meaning="P(best attacker hits)"),
                    ),
                    rows=points,
                    on_page=False,
                ),
            ),
            claims=_claims(rows),
            differs=(
                "The paper states the range and the grid step of the geometric example only (0.1 to 0.9 by 0.001, used "
                "here); the other ranges, the tolerances and which count's share is hidden are ours.",
                "Distortion is W1, as the paper defines it; its proofs and probably its panels use total variation. "
                "`statveil frontier --distance tv` draws that.",
                "The attacker is exact. Where a secret turns (binomial, all but the mean; share of a Poisson count) "
                "the paper's contiguous window under-states the risk of a bin across the turn.",
                "Optimum: a linear programme over all randomised mechanisms on a coarser grid. Interval bins cannot "
                "reach it; combs nearly do.",
            ),
        )


def panel(problem: Problem, work: Work) -> list[dict[str, Any]]:
    """The points of all curves of one panel."""
    sizes = work.sizes
    curves = frontier(problem, methods=("dynamic", "greedy"), grid=sizes.cells, points=sizes.points, release="grid")
    found = [
        *curves.points,
        *_at_greedy(problem, curves.points, sizes.cells),
        *_combs(problem, max(2, sizes.cells // 2), sizes.points),
        *_optimum(problem, curves.points, work),
    ]
    name = problem_text(problem)
    points = [
        {"panel": name, "curve": method, "distortion": far, "risk": hits}
        for method in dict.fromkeys(point["method"] for point in found)
        for far, hits in _undominated(
            (point["distortion"], point["risk"]) for point in found if point["method"] == method
        )
    ]
    points += [{"panel": name, "curve": "limit", **bound} for bound in curves.lower_bound]
    return points


def _combs(problem: Problem, cells: int, points: int) -> list[dict[str, Any]]:
    try:
        return frontier(problem, methods=("comb",), grid=cells, points=points).points
    except TargetError:  # the grid is too coarse for two teeth
        return []


def _optimum(problem: Problem, points: list[dict[str, Any]], work: Work) -> list[dict[str, Any]]:
    """The linear programme at some of the distortions of the dynamic one, where there is something to gain."""
    dynamic = [point["distortion"] for point in points if point["method"] == "dynamic" and point["risk"] < _OPEN]
    if not dynamic:
        return []
    wanted, found = work.sizes.programme_points, []
    for i, budget in enumerate(np.geomspace(dynamic[0], dynamic[-1], wanted)):
        work.tell(f"{problem_text(problem)}: optimum {i + 1} of {wanted}")
        try:
            found.append(_within(problem, float(budget), "optimal", work.sizes.programme_cells, on_grid=False))
        except TargetError:  # less than the distortion of one cell
            continue
    return found


def _undominated(pairs: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Pairs of distortion and risk by rising distortion, each of less risk than all before."""
    kept: list[tuple[float, float]] = []
    for pair in sorted(pairs):
        if not kept or pair[1] < kept[-1][1] * (1 - 1e-12):
            kept.append(pair)
    return kept


def _at_greedy(problem: Problem, points: list[dict[str, Any]], cells: int) -> list[dict[str, Any]]:
    """The programme within the distortion of every greedy point, so that the two curves can be compared there."""
    return [
        _within(problem, point["distortion"], "dynamic", cells, on_grid=True)
        for point in points
        if point["method"] == "greedy"
    ]


def _within(problem: Problem, budget: float, method: str, cells: int, *, on_grid: bool) -> dict[str, Any]:
    """Distortion and risk of a method's mechanism within a distortion, as `frontier` has them."""
    found = choose(problem, MaxDistortion(budget), method=method, cells=cells, on_grid=on_grid).mechanism
    return {"method": method, "distortion": distortion(problem, found), "risk": risk(problem, found).value}


def worse_than_dynamic(points: list[dict[str, Any]]) -> list[float]:
    """Risk of each greedy point over the programme's least risk within the same distortion."""
    ratios = []
    for point in points:
        if point["curve"] == "greedy":
            within = [
                other["risk"]
                for other in points
                if other["curve"] == "dynamic" and other["distortion"] <= point["distortion"] * (1 + 1e-9)
            ]
            ratios.append(point["risk"] / min(within))
    return ratios


def _row(problem: Problem, points: list[dict[str, Any]], ratios: list[float]) -> dict[str, Any]:
    dynamic = [point for point in points if point["curve"] == "dynamic"]
    optimum = []
    for point in points:
        if point["curve"] == "optimal":
            within = [other["risk"] for other in dynamic if other["distortion"] <= point["distortion"] * (1 + 1e-9)]
            if within:
                optimum.append(min(within) / point["risk"])
    return {
        "panel": problem_text(problem),
        "prior": prior_text(problem),
        "tolerance": problem.tolerance,
        "greedy_points": len(ratios),
        "least_ratio": min(ratios),
        "mean_ratio": sum(ratios) / len(ratios),
        "largest_ratio": max(ratios),
        "optimum_ratio": sum(optimum) / len(optimum) if optimum else None,
    }


def _claims(rows: list[dict[str, Any]]) -> tuple[Claim, ...]:
    least = min(rows, key=lambda row: float(row["least_ratio"]))
    worst = max(rows, key=lambda row: float(row["largest_ratio"]))
    equal = [row["panel"] for row in rows if row["largest_ratio"] <= 1 + 1e-9]
    return (
        Claim(
            says="The dynamic programme is never worse than greedy.",
            holds=least["least_ratio"] >= 1 - 1e-9,
            evidence=f"risk of greedy over risk of the programme at equal distortion is at least "
            f"{least['least_ratio']:.6f} and at most {worst['largest_ratio']:.3f} ({worst['panel']}); the two are the "
            f"same throughout in {len(equal)} of {len(rows)} panels.",
        ),
    )


def _figure(kind: str, problems: list[Problem], points: list[dict[str, Any]]) -> Any:
    import altair as alt

    parts = []
    for problem in problems:
        rows = [
            point | {"curve": _CURVES[point["curve"]][0]} for point in points if point["panel"] == problem_text(problem)
        ]
        head = {
            "text": problem_text(problem),
            "subtitle": f"{prior_text(problem)}; tolerance {problem.tolerance:g}",
            "fontSize": 13,
            "subtitleFontSize": 11,
        }
        parts.append(_panel_chart(rows, first=problem is problems[0]).properties(width=270, height=240, title=head))
    return alt.hconcat(*parts, title=title(f"Hiding the {_LABELS[kind]} of a count", BETTER))


def _panel_chart(rows: list[dict[str, Any]], *, first: bool) -> Any:
    import altair as alt

    names = [label for label, _, _ in _CURVES.values()]
    colours = alt.Scale(domain=names, range=[COLOURS[colour] for _, colour, _ in _CURVES.values()])
    dashes = alt.Scale(domain=names, range=[dash for _, _, dash in _CURVES.values()])
    legend = alt.Legend(orient="bottom", columns=3, symbolType="stroke", symbolStrokeWidth=3, symbolSize=400)
    # below a certain distortion nothing is hidden: leave out most of that
    low = 0.8 * min(row["distortion"] for row in rows if row["risk"] < 1)
    high = max(row["distortion"] for row in rows)
    reach = alt.Scale(type="log", nice=False, domain=[low, high])
    # a larger distortion is allowed, not required: beyond its last point a curve stays level
    ends = [
        max((row for row in rows if row["curve"] == name), key=lambda row: float(row["distortion"]))
        | {"distortion": high}
        for name in dict.fromkeys(row["curve"] for row in rows)
        if name not in (_CURVES["limit"][0], _CURVES["optimal"][0])
    ]
    base = alt.Chart(data([*rows, *ends])).encode(
        x=alt.X(
            "distortion:Q",
            title="distortion (W1)",
            scale=reach,
            axis=alt.Axis(format="~g", labelOverlap="greedy", labelSeparation=10),
        ),
        y=alt.Y("risk:Q", title="risk" if first else None, scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("curve:N", title=None, scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("curve:N", title=None, scale=dashes, legend=legend),
    )

    def only(curve: str) -> Any:
        return base.transform_filter(alt.datum.curve == _CURVES[curve][0])

    # a method's curve falls at its points; the limit falls just after a jump, where its ceil grows
    return alt.layer(
        only("limit").mark_line(interpolate="step-before", clip=True),
        only("comb").mark_line(interpolate="step-after", strokeWidth=2, clip=True),
        only("greedy").mark_line(interpolate="step-after", strokeWidth=4, opacity=0.8, clip=True),
        only("dynamic").mark_line(interpolate="step-after", strokeWidth=1.5, clip=True),
        only("optimal").mark_point(filled=True, size=55, opacity=1, clip=True),
    )
