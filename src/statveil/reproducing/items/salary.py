"""The salary histograms: two age groups, and the release of all salaries that keeps the difference of their means."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from statveil.datasets.dataset import Dataset
from statveil.datasets.salary import OLDER, YOUNGER
from statveil.made_plan import Plan
from statveil.planning import plan
from statveil.problem.families.location import Location
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.problem.secrets.mean import Mean
from statveil.problem.structure import Structure
from statveil.reproducing.drawing import COLOURS, data, title
from statveil.reproducing.item import Item, Work
from statveil.reproducing.results import Claim, Column, Figure, Outcome, ResultTable
from statveil.tables.blocks import Array

__all__ = ["Salary", "released_salaries"]

_PRIOR, _BIN, _TOLERANCE, _STEP = (0.0, 1_000_000.0), 50_000.0, 2_500.0, 5_000.0
_WIDTH = 10_000.0


class Salary(Item):
    """Three histograms, and the same release by whole steps."""

    name: ClassVar[str] = "salary"
    title: ClassVar[str] = "Salaries of two age groups, before and after"
    source: ClassVar[str] = "Figures fig:salary_hist_all, fig:salary_hist_sep, fig:salary_hist_all_after"
    place: ClassVar[int] = 100
    needs: ClassVar[tuple[str, ...]] = ("salary",)

    def run(self, work: Work) -> Outcome:
        salaries = work.datasets["salary"]
        found, stepped = _plans()
        after, by_steps = (released_salaries(of, salaries.values) for of in (found, stepped))
        rows = [
            _row("original", salaries, salaries.values),
            _row("released, the paper's shift", salaries, after),
            _row("released, by whole steps", salaries, by_steps),
        ]
        kept = [abs(row["difference"] - rows[0]["difference"]) for row in rows[1:]]
        on_steps = float(np.mean(np.isclose(salaries.values % _STEP, 0)))
        return Outcome(
            figures=(
                Figure(
                    name="salary-all",
                    chart=_chart(salaries, salaries.values, f"{salaries.label}: all", groups=False),
                    caption="Two peaks.",
                ),
                Figure(
                    name="salary-groups",
                    chart=_chart(salaries, salaries.values, f"{salaries.label}: two age groups", groups=True),
                    caption="The peaks are the age groups up to 40 and above.",
                ),
                Figure(
                    name="salary-released",
                    chart=_chart(salaries, after, f"{salaries.label}: released", groups=True),
                    caption="After the paper's mechanism for the mean: the whole histogram moves, the distance "
                    "between the peaks stays.",
                ),
            ),
            tables=(
                ResultTable(
                    name="salary",
                    caption=f"Means in {salaries.unit}, before and after. Hidden: the mean of all, prior 0 to "
                    f"1,000,000, bins of {_BIN:,.0f}; a guess within {_TOLERANCE:,.0f} is a hit.",
                    columns=(
                        Column(name="table", meaning="original or released"),
                        Column(name="mean", meaning="mean of all"),
                        Column(name="younger", meaning="mean up to 40"),
                        Column(name="older", meaning="mean above 40"),
                        Column(name="difference", meaning="older minus younger"),
                        Column(name="spread", meaning="standard deviation of all"),
                    ),
                    rows=rows,
                ),
            ),
            claims=(
                Claim(
                    says="Receivers obtain the difference of the two groups accurately.",
                    holds=max(kept) <= 1e-6 * abs(rows[0]["difference"]),
                    evidence=f"the difference of the group means changes by {max(kept):.1e}, which is rounding.",
                ),
                Claim(
                    says="The two peaks are the two age groups.",
                    holds=_apart(salaries),
                    evidence=f"means {rows[0]['younger']:,.0f} and {rows[0]['older']:,.0f}, more than two standard "
                    "deviations of a group apart."
                    if _apart(salaries)
                    else "the groups of this table lie closer than two standard deviations.",
                ),
                Claim(
                    says="The mean salaries are protected.",
                    holds=on_steps < 0.9,
                    evidence=f"risk {found.risk:g} for the released mean. But {on_steps:.0%} of the salaries are "
                    f"multiples of {_STEP:,.0f}: who knows that reads the shift modulo {_STEP:,.0f} off the table, "
                    f"and the risk is {stepped.risk:g}.",
                ),
            ),
            differs=(
                "The paper states neither prior, tolerance nor segment; these are ours.",
                "A shift keeps the multiples of 5,000 apart from one another and so gives itself away modulo 5,000. "
                "`--known step=5000` plans for that: whole steps, and a risk that counts the candidates left "
                "(third row of the table).",
                "The difference between the groups is released exactly, as the paper wants. It is not hidden.",
            ),
            datasets=(salaries,),
        )


def released_salaries(found: Plan, values: Array) -> Array:
    """The paper's procedure for tables: all values move by the same amount, to the middle of the mean's segment."""
    mean = float(values.mean())
    released: Array = values - mean + float(found.apply(mean=mean).secret)
    return released


def _plans() -> tuple[Plan, Plan]:
    """The paper's plan, and the one that knows the step."""
    prior = Box(mean=_PRIOR)
    plain = Problem(family=Location(), prior=prior, secret=Mean(), tolerance=_TOLERANCE)
    stepped = Problem(family=Location(), prior=prior, secret=Mean(), tolerance=_TOLERANCE, known=Structure(step=_STEP))
    return plan(plain, bin=_BIN), plan(stepped, bin=_BIN)


def _row(name: str, salaries: Dataset, values: Array) -> dict[str, Any]:
    young = np.array([group == YOUNGER for group in salaries.groups])
    younger, older = float(values[young].mean()), float(values[~young].mean())
    return {
        "table": name,
        "mean": float(values.mean()),
        "younger": younger,
        "older": older,
        "difference": older - younger,
        "spread": float(values.std()),
    }


def _apart(salaries: Dataset) -> bool:
    one, two = salaries.in_group(YOUNGER), salaries.in_group(OLDER)
    return bool(abs(two.mean() - one.mean()) > 2 * max(one.std(), two.std()))


def _chart(salaries: Dataset, values: Array, text: str, *, groups: bool) -> Any:
    import altair as alt

    # the same axis in every picture, so that the move can be seen
    both = np.concatenate([salaries.values, released_salaries(_plans()[0], salaries.values)])
    low, high = np.floor(both.min() / _WIDTH) * _WIDTH, (np.floor(both.max() / _WIDTH) + 1) * _WIDTH
    edges = np.arange(low, high + _WIDTH / 2, _WIDTH)
    bars = []
    for group in (YOUNGER, OLDER) if groups else ("all",):
        chosen = values if group == "all" else values[np.array([name == group for name in salaries.groups])]
        bars += [
            {"group": group, "salary": float(a), "stop": float(b), "people": int(n), "zero": 0}
            for a, b, n in zip(edges[:-1], edges[1:], np.histogram(chosen, edges)[0], strict=True)
        ]
    names = [YOUNGER, OLDER] if groups else ["all"]
    colours = [COLOURS["blue"], COLOURS["orange"]] if groups else [COLOURS["grey"]]
    means = [{"salary": float(values.mean())}]
    x = alt.X(
        "salary:Q",
        title=f"salary ({salaries.unit})",
        axis=alt.Axis(format=",.0f", tickCount=8),
        scale=alt.Scale(domain=[low, high], nice=False),
    )
    y = alt.Y("people:Q", title="people")
    colour = alt.Color("group:N", title=None, scale=alt.Scale(domain=names, range=colours))
    base = alt.Chart(data(bars)).mark_rect(opacity=0.6).encode(x=x, x2="stop:Q", y=y, y2="zero:Q", color=colour)
    line = alt.Chart(data(means)).mark_rule(color=COLOURS["red"], strokeWidth=2, strokeDash=[5, 3]).encode(x=x)
    return alt.layer(base, line).properties(
        width=520, height=220, title=title(text, f"red: mean of all, {values.mean():,.0f}")
    )
