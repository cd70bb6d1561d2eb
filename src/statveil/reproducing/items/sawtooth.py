"""The pictures of bins in the plane of two parameters: whole pieces (green), cut pieces (yellow), the paper's proof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from statveil.made_plan import Plan
from statveil.mechanisms.interval import Interval
from statveil.planning import plan
from statveil.problem.families.gaussian import Gaussian
from statveil.problem.families.shifted_exponential import ShiftedExponential
from statveil.problem.families.uniform import Uniform
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secrets.quantile import Quantile
from statveil.reproducing.drawing import COLOURS, data, title
from statveil.reproducing.item import Item, Work
from statveil.reproducing.results import Claim, Column, Figure, Outcome, ResultTable

__all__ = ["Band", "Sawtooth", "bands", "cut_share", "pictured_plans"]

Point = dict[str, float]
_COLUMNS = (
    Column(name="family", meaning="family, secret and figure"),
    Column(name="bin", meaning="bin width s"),
    Column(name="slope", meaning="the paper's t0"),
    Column(name="cut", meaning="exact share of the plane in cut pieces (yellow)"),
    Column(
        name="printed_cut", meaning="the same as printed: |t0| s / range; uniform: 2 s t0 / ((t0+1) W) + s^2 / (2 W^2)"
    ),
    Column(
        name="printed_risk", meaning="printed bound: a guess in a whole piece, plus all of the yellow", rounded="up"
    ),
    Column(name="risk", meaning="exact risk", rounded="up"),
)


class Sawtooth(Item):
    """Bins of three families in the plane of their two parameters."""

    name: ClassVar[str] = "sawtooth"
    title: ClassVar[str] = "Bins in the plane of two parameters (the sawtooth technique)"
    source: ClassVar[str] = (
        "Figures fig:upperbound_general, fig:upperbound_gaussian_quantile, fig:upperbound_shifted_exp_quantile, "
        "fig:upperbound_uniform_quantile"
    )
    place: ClassVar[int] = 30

    def run(self, work: Work) -> Outcome:
        rows, figures, claims = [], [], []
        for name, (found, across, up) in pictured_plans().items():
            cut, printed = cut_share(found), _printed_cut(found)
            rows.append(
                {
                    "family": name,
                    "bin": found.bin,
                    "slope": found.slope,
                    "cut": cut,
                    "printed_cut": printed,
                    "printed_risk": found.published_bound,
                    "risk": found.risk,
                }
            )
            claims.append(
                Claim(
                    says=f"{name}: the cut pieces have the printed mass.",
                    holds=bool(np.isclose(cut, printed, rtol=1e-9)),
                    evidence=f"exact {cut:.4f}, printed {printed:.4f}.",
                )
            )
            figures.append(
                Figure(name=f"sawtooth-{name}", chart=_chart(found, name, across, up), caption=_caption(found, cut))
            )
        return Outcome(
            figures=tuple(figures),
            tables=(
                ResultTable(
                    name="sawtooth",
                    caption="How much of the plane lies in cut pieces, and what that means for the risk.",
                    columns=_COLUMNS,
                    rows=rows,
                ),
            ),
            claims=tuple(claims),
            differs=(
                "The general figure of the paper is the Gaussian one with another slope, so one picture serves for "
                "both.",
                "The printed bound counts every cut piece as hit. The exact risk knows how long each cut piece is.",
                "Uniform: the mass of the cut pieces is s/W for every slope, and the printed terms are not it. The "
                "printed risk is an upper bound here all the same, but not for quantiles between 1/2 and 31/48 (see "
                "printed-bounds). Lengths below one bin, which the printed index set leaves out, have a bin here.",
            ),
        )


def pictured_plans() -> dict[str, tuple[Plan, str, str]]:
    """The printed mechanism of each picture, with the parameters across and up."""
    secret = Quantile(0.95)
    gaussian = Problem(family=Gaussian(), prior=Box(mu=(0, 100), sigma=(1, 41)), secret=secret, tolerance=1)
    shifted = Problem(family=ShiftedExponential(), prior=Box(scale=(1, 41), shift=(0, 100)), secret=secret, tolerance=1)
    uniform = Problem(family=Uniform(), prior=Box(low=(0, 100), high=(0, 100)), secret=secret, tolerance=1)
    return {
        "gaussian": (plan(gaussian, bin=10.0), "mu", "sigma"),
        "shifted-exponential": (plan(shifted, bin=10.0), "shift", "scale"),
        "uniform": (plan(uniform, bin=20.0), "low", "high"),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The whole pieces of one bin: a parallelogram, from where the first piece starts to where the last one does."""

    first: Point
    last: Point
    move: Point
    """From the lower to the upper end of a piece."""


def bands(found: Plan) -> list[Band]:
    """For every bin, the pieces that run through it from one edge to the other inside the prior."""
    mechanism = found.mechanism
    assert isinstance(mechanism, Interval)
    edges = mechanism.bins.edges()
    result = []
    for low, high in pairwise(edges.tolist()):
        origin, along = _edge(mechanism, low)
        move = {name: change * (high - low) for name, change in mechanism.direction.items()}
        ends = [
            found.problem.support.extent({name: at + far * move.get(name, 0.0) for name, at in origin.items()}, along)
            for far in (0.0, 1.0)
        ]
        start, stop = (float(max(end[0] for end in ends)), float(min(end[1] for end in ends)))
        if start < stop:
            first, last = ({name: at + much * along[name] for name, at in origin.items()} for much in (start, stop))
            result.append(Band(first=first, last=last, move={name: move.get(name, 0.0) for name in origin}))
    return result


def cut_share(found: Plan) -> float:
    """Share of the prior's mass (uniform) in pieces that the prior's border cuts."""
    whole = sum(abs(_cross(_minus(band.last, band.first), band.move)) for band in bands(found))
    return 1 - whole / _area(found.problem)


def _edge(mechanism: Interval, value: float) -> tuple[Point, Point]:
    """A point where the binned coordinate has this value, and the direction in which it keeps it."""
    form = dict(mechanism.coordinate)
    names = sorted({*form, *mechanism.direction})
    square = sum(part * part for part in form.values())
    origin = {name: value * form.get(name, 0.0) / square for name in names}
    one, two = names
    return origin, {one: form.get(two, 0.0), two: -form.get(one, 0.0)}


def _minus(one: Mapping[str, float], two: Mapping[str, float]) -> Point:
    return {name: one[name] - two[name] for name in one}


def _cross(one: Mapping[str, float], two: Mapping[str, float]) -> float:
    first, second = sorted(one)
    return one[first] * two[second] - one[second] * two[first]


def _area(problem: Problem) -> float:
    first, second = problem.box.axes.values()
    return first.width * second.width * (0.5 if problem.family.constraints else 1.0)


def _printed_cut(found: Plan) -> float:
    assert found.bin is not None
    assert found.slope is not None
    axes, s, t = found.problem.box.axes, found.bin, found.slope
    if found.problem.family.constraints:
        width = axes["low"].width
        return 2 * s * t / ((t + 1) * width) + s**2 / (2 * width**2)
    return abs(t) * s / axes["mu" if "mu" in axes else "shift"].width


def _caption(found: Plan, cut: float) -> str:
    return (
        "Each blue line is one piece: all its parameters are released as the dot in its middle. Green: pieces that run "
        f"through a whole bin. Yellow: pieces cut by the border, {cut:.1%} of the plane. The printed bound "
        f"{found.published_bound:.3f} counts them as always hit; the exact risk is {found.risk:.3f}."
    )


def _chart(found: Plan, name: str, across: str, up: str) -> Any:
    import altair as alt

    problem = found.problem
    shape = _outline(problem, across, up)
    whole, lines, dots = [], [], []
    for i, band in enumerate(bands(found)):
        corners = [band.first, band.last, _plus(band.last, band.move, 1.0), _plus(band.first, band.move, 1.0)]
        whole += [{"band": i, "order": k, "x": corner[across], "y": corner[up]} for k, corner in enumerate(corners)]
        side = _minus(band.last, band.first)
        for j in range(7):
            start = _plus(band.first, side, (j + 0.5) / 7)
            stop = _plus(start, band.move, 1.0)
            lines += [{"piece": f"{i} {j}", "x": point[across], "y": point[up]} for point in (start, stop)]
            middle = _plus(start, band.move, 0.5)
            dots.append({"x": middle[across], "y": middle[up]})
    x = alt.X("x:Q", title=f"{across} (in tolerances)", scale=alt.Scale(nice=False, zero=False))
    y = alt.Y("y:Q", title=f"{up} (in tolerances)", scale=alt.Scale(nice=False, zero=False))
    closed: dict[str, Any] = {"interpolate": "linear-closed", "strokeWidth": 0.8, "stroke": COLOURS["grey"]}
    fill, edge = COLOURS["pale green"], COLOURS["pale yellow"]
    layers = (
        alt.Chart(data(shape)).mark_line(fill=edge, **closed).encode(x=x, y=y, order="order:O"),
        alt.Chart(data(whole)).mark_line(fill=fill, **closed).encode(x=x, y=y, detail="band:N", order="order:O"),
        alt.Chart(data(lines)).mark_line(color=COLOURS["blue"], strokeWidth=1.6).encode(x=x, y=y, detail="piece:N"),
        alt.Chart(data(dots)).mark_point(color=COLOURS["red"], filled=True, size=26, opacity=1).encode(x=x, y=y),
    )
    return alt.layer(*layers).properties(
        width=460,
        height=460 if problem.family.constraints else 300,
        title=title(
            f"Bins for the {problem.secret.text} of a {name} column, bin {found.bin:g} of {_binned(found)}",
            "blue: parameters that share a release; red: what is released for them",
            "green: whole pieces; yellow: pieces cut by the border, where a guess is easier",
        ),
    )


def _binned(found: Plan) -> str:
    assert isinstance(found.mechanism, Interval)
    along = found.mechanism.along
    return "high - low" if along == "length" else along


def _plus(point: Mapping[str, float], move: Mapping[str, float], times: float) -> Point:
    return {name: at + times * move[name] for name, at in point.items()}


def _outline(problem: Problem, across: str, up: str) -> list[dict[str, float]]:
    one, two = problem.box.axes[across], problem.box.axes[up]
    corners = [(one.low, two.low), (one.low, two.high), (one.high, two.high)]
    if not problem.family.constraints:
        corners.append((one.high, two.low))
    return [{"order": float(i), "x": x, "y": y} for i, (x, y) in enumerate(corners)]
