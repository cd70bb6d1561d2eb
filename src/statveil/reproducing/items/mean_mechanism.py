"""The mechanism for a mean: the column moves to the middle of its segment; released against true mean."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.families.gaussian import Gaussian
from statveil.problem.families.location import Location
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secrets.mean import Mean
from statveil.reproducing.drawing import COLOURS, data, title
from statveil.reproducing.item import Item, Work
from statveil.reproducing.results import Claim, Column, Figure, Outcome, ResultTable

__all__ = ["MeanMechanism", "released_curve"]

_RANGE, _BIN, _SIGMA = (0.0, 40.0), 10.0, 2.0
_MEANS = (13.0, 27.5)


class MeanMechanism(Item):
    """Segments, the shift to the middle of one, and the sawtooth of the shift."""

    name: ClassVar[str] = "mean-mechanism"
    title: ClassVar[str] = "The mechanism for a mean"
    source: ClassVar[str] = "Figure fig:mechansim_mean_continuous"
    place: ClassVar[int] = 60

    def run(self, work: Work) -> Outcome:
        family, prior = Gaussian(), Box(mu=_RANGE, sigma=_SIGMA)
        found = plan(Problem(family=family, prior=prior, secret=Mean(), tolerance=1.0), bin=_BIN)
        one_line = Problem(family=Location(), prior=Box(mean=_RANGE), secret=Mean(), tolerance=1.0)
        interval = plan(one_line, bin=_BIN)
        comb = plan(one_line, max_risk=0.21, method="comb")  # beside 1/5: at 1/5 any rest of the range costs a tooth
        curves = {"interval bins": interval, "comb": comb}
        rows: list[dict[str, Any]] = [
            {"mechanism": name, "mean": mean, "released": released, "moved": released - mean}
            for name, of in curves.items()
            for mean, released in released_curve(of)
        ]
        largest = max(abs(row["moved"]) for row in rows if row["mechanism"] == "interval bins")
        return Outcome(
            figures=(
                Figure(
                    name="mean-mechanism",
                    chart=_densities(found),
                    caption="Two columns (solid) and their releases (dashed): each moves to the middle of the "
                    "segment that holds its mean, so the receiver learns the segment and nothing else of the mean.",
                ),
                Figure(
                    name="mean-mechanism-released",
                    chart=_staircase(rows, curves),
                    caption="Left: what is released for each true mean. Right: how far the column moves, a sawtooth. "
                    "A comb releases one value for means that lie just over two tolerances apart: it moves less "
                    "at nearly the same risk, and tells the mean modulo its spacing.",
                ),
            ),
            tables=(
                ResultTable(
                    name="mean-mechanism-released",
                    caption="Released mean for each true mean, in tolerances.",
                    columns=(
                        Column(name="mechanism", meaning="interval bins or comb"),
                        Column(name="mean", meaning="true mean"),
                        Column(name="released", meaning="released mean"),
                        Column(name="moved", meaning="released minus true"),
                    ),
                    rows=rows,
                    on_page=False,
                ),
            ),
            claims=(
                Claim(
                    says="The risk is 2 eps / s and the distortion s / 2.",
                    holds=bool(
                        np.isclose(interval.risk, 2 / _BIN)
                        and np.isclose(interval.distortion, _BIN / 2)
                        and abs(largest - _BIN / 2) <= 0.01 * _BIN
                    ),
                    evidence=f"risk {interval.risk:g}, distortion {interval.distortion:g}; the largest move drawn is "
                    f"{largest:.3f}.",
                ),
                Claim(
                    says="The mechanism is optimal up to a factor below 2.",
                    holds=interval.distortion < 2 * interval.lower_bound,
                    evidence=f"the limit for its risk is {interval.lower_bound:g}; a comb with a risk of "
                    f"{comb.risk:.3f} has a distortion of {comb.distortion:.3f}.",
                ),
            ),
            differs=(
                "Range, segment and standard deviation are ours; the paper's figure has no numbers.",
                "The comb and the second figure are not in the paper.",
            ),
        )


def released_curve(found: Plan, points: int = 801) -> list[tuple[float, float]]:
    """True and released mean over the whole range."""
    (name,) = found.problem.box.free
    axis = found.problem.box.axes[name]
    # the middles of equal steps: none lies on an edge, where a mean belongs to the bin above
    means = axis.low + (np.arange(points) + 0.5) / points * axis.width
    params: dict[str, Any] = {name: means}
    released = found.apply(params).secret
    return list(zip(means.tolist(), released.tolist(), strict=True))


def _densities(found: Plan) -> Any:
    import altair as alt

    x = np.linspace(*_RANGE, 401)
    curves, marks = [], []
    for i, mean in enumerate(_MEANS):
        moved = float(found.apply(mu=mean, sigma=_SIGMA).secret)
        for what, at in (("original", mean), ("released", moved)):
            height = np.exp(-0.5 * ((x - at) / _SIGMA) ** 2) / (_SIGMA * np.sqrt(2 * np.pi))
            name = f"column {i + 1}, {what}"
            curves += [
                {"curve": name, "what": what, "column": f"column {i + 1}", "x": float(a), "density": float(b)}
                for a, b in zip(x, height, strict=True)
            ]
            marks.append({"what": what, "column": f"column {i + 1}", "x": at})
    edges = [{"x": edge} for edge in np.arange(_RANGE[0], _RANGE[1] + 1e-9, _BIN).tolist()]
    scale = alt.Scale(domain=["column 1", "column 2"], range=[COLOURS["blue"], COLOURS["orange"]])
    dash = alt.Scale(domain=["original", "released"], range=[[1, 0], [6, 4]])
    position = alt.X("x:Q", title="value of the column (in tolerances)", scale=alt.Scale(domain=_RANGE, nice=False))
    style = {
        "color": alt.Color("column:N", title=None, scale=scale),
        "strokeDash": alt.StrokeDash("what:N", title=None, scale=dash),
    }
    lines = (
        alt.Chart(data(curves))
        .mark_line(strokeWidth=2)
        .encode(x=position, y=alt.Y("density:Q", title="density"), detail="curve:N", **style)
    )
    means = alt.Chart(data(marks)).mark_rule().encode(x=position, **style)
    cuts = alt.Chart(data(edges)).mark_rule(color=COLOURS["red"], strokeWidth=2, opacity=0.6).encode(x=position)
    return alt.layer(cuts, means, lines).properties(
        width=560,
        height=260,
        title=title(
            f"A column moves to the middle of the segment that holds its mean, segments of {_BIN:g}",
            f"normal columns, standard deviation {_SIGMA:g}; red: ends of the segments; thin: means",
        ),
    )


def _staircase(rows: list[dict[str, Any]], curves: dict[str, Plan]) -> Any:
    import altair as alt

    named = {
        name: f"{name}: risk {of.risk:.3f}, distortion {of.distortion:.2f} (limit {of.lower_bound:.2f})"
        for name, of in curves.items()
    }
    points = [row | {"mechanism": named[row["mechanism"]]} for row in rows]
    scale = alt.Scale(domain=list(named.values()), range=[COLOURS["blue"], COLOURS["orange"]])
    base = (
        alt.Chart(data(points))
        .mark_point(filled=True, size=5, opacity=1)
        .encode(
            x=alt.X("mean:Q", title="true mean (in tolerances)", scale=alt.Scale(domain=_RANGE, nice=False)),
            color=alt.Color("mechanism:N", title=None, scale=scale, legend=alt.Legend(orient="bottom", columns=1)),
        )
        .properties(width=330, height=280)
    )
    left = base.encode(y=alt.Y("released:Q", title="released mean", scale=alt.Scale(domain=_RANGE, nice=False)))
    right = base.encode(y=alt.Y("moved:Q", title="released minus true mean"))
    return alt.hconcat(left, right, title=title("Released mean as a function of the true mean", "better: small moves"))
