"""Draw the picture of the README: distortion against risk, interval plan, printed bound and limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

import statveil as sv
from statveil.published import printed_box

HERE = Path(__file__).parent


def rows() -> list[dict[str, Any]]:
    """The three curves for the 0.95-quantile of a Gaussian column."""
    problem = sv.Problem(
        family=sv.Gaussian(), prior=sv.Box(mu=(0, 200), sigma=(1, 51)), secret=sv.Quantile(0.95), tolerance=1.0
    )
    found: list[dict[str, Any]] = []
    for risk in np.round(np.linspace(0.05, 0.6, 111), 4):
        plan = sv.plan(problem, max_risk=float(risk))
        limit = sv.limits(problem, max_risk=float(risk))
        found.append({"risk": risk, "distortion": plan.distortion, "curve": "statveil plan (exact risk)"})
        found.append({"risk": risk, "distortion": limit.lower_bound, "curve": "limit for any mechanism"})
    paper = sv.plan(problem, bin=1.0)
    assert paper.slope is not None
    rate, unit = abs(paper.slope + 1.6448536269514722), paper.distortion
    widest = (2 * 200.0 / (rate * paper.slope)) ** 0.5  # beyond it the printed bound grows again
    for width in np.linspace(1.3, widest, 400):
        bound = printed_box(1.0, rate, float(width), paper.slope, 200.0)
        if bound <= 0.6:
            found.append({"risk": bound, "distortion": unit * width, "curve": "paper's mechanism, printed bound"})
    return found


def main() -> None:
    """Write tradeoff.svg beside this file."""
    chart = (
        alt.Chart(alt.InlineData(values=rows()))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("risk:Q", title="risk: how often the best attacker gets within 1 ms (lower is more private)"),
            y=alt.Y("distortion:Q", title="distortion: largest W1 distance in ms (lower is closer)"),
            color=alt.Color("curve:N", title=None, legend=alt.Legend(orient="top-right", labelLimit=300)),
            order="risk:Q",
        )
        .properties(
            width=620, height=320, title="Hiding the 95th percentile of a Gaussian column (better: down and left)"
        )
    )
    chart.save(HERE / "tradeoff.svg")


if __name__ == "__main__":
    main()
