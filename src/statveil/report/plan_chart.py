"""A plan drawn: what is released for which true value, and what guesses of another closeness hit. Public."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statveil.made_plan import Plan
from statveil.problem.prior import Box
from statveil.problem.tolerance import Relative
from statveil.report.look import ALARM, COLOURS, MUTED, OURS, finished, numbers
from statveil.specification.planned import TablePlan

__all__ = ["plan_chart", "profile_chart", "steps_chart", "table_chart"]

_WIDTH, _HEIGHT = 360, 240
_GRID, _MOST = 2001, 60
"""Places of the range that are tried, and steps that can be told apart in the picture."""
_DRAWS = 300


def plan_chart(plan: Plan) -> Any:
    """Both charts side by side; an Altair chart."""
    import altair as alt

    return finished(alt.hconcat(steps_chart(plan), profile_chart(plan), spacing=40))


def steps_chart(plan: Plan) -> Any:
    """Which value is released for which true one: all of a step become the same."""
    import altair as alt

    true, released, kind = _steps(plan)
    title = f"true {plan.problem.secret.plain}" + (", a part of the range" if kind == "part" else "")
    axis = alt.Axis(tickCount=6, **numbers(float(np.abs(true).max())))
    x = alt.X("true:Q", title=title, scale=alt.Scale(zero=False, nice=False), axis=axis)
    y = alt.Y("released:Q", title=f"released {plan.problem.secret.plain}", scale=alt.Scale(zero=False), axis=axis)
    if kind == "dots":
        rows = [{"true": float(a), "released": float(b)} for a, b in zip(true, released, strict=True)]
        marks = alt.Chart(alt.InlineData(values=rows)).mark_circle(color=OURS, size=14, opacity=0.6).encode(x=x, y=y)
    else:
        marks = (
            alt.Chart(alt.InlineData(values=_segments(true, released)))
            .mark_rule(color=OURS, strokeWidth=3, strokeCap="round")
            .encode(x=x, x2="end:Q", y=y)
        )
    ends = [float(true.min()), float(true.max())]
    same = (
        alt.Chart(alt.InlineData(values=[{"true": end, "released": end} for end in ends]))
        .mark_line(color=MUTED, strokeDash=[4, 4], strokeWidth=1)
        .encode(x="true:Q", y="released:Q")
    )
    return alt.layer(same, marks).properties(width=_WIDTH, height=_HEIGHT)


def _one_line(plan: Plan) -> bool:
    return isinstance(plan.problem.prior, Box) and len(plan.problem.box.free) == 1


def _steps(plan: Plan) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """True and released values of the secret, and what they are: ``steps``, those of a ``part``, or single ``dots``."""
    problem = plan.problem
    if not _one_line(plan):
        params = problem.sample(_DRAWS, np.random.default_rng(0))
        return problem.secret_of(params), plan.apply(params, secret_seed=0).secret, "dots"
    (name,) = problem.box.free

    def between(low: float, high: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        params = {each: axis.ppf(np.full(_GRID, 0.5)) for each, axis in problem.box.axes.items()}
        params[name] = _on_steps(plan, problem.box.axes[name].ppf(np.linspace(low, high, _GRID)))
        true, released = problem.secret_of(params), plan.apply(params, secret_seed=0).secret
        order = np.argsort(true, kind="stable")
        return true[order], released[order]

    half = 0.5
    while not plan.randomised and half > 1e-3:
        found = between(0.5 - half, 0.5 + half)
        if np.count_nonzero(_jumps(*found)) <= _MOST:
            return *found, "steps" if half == 0.5 else "part"
        half /= 2
    true, released = between(0.0, 1.0)  # by chance, or of a comb: every value is released as another one
    return true[:: _GRID // _DRAWS], released[:: _GRID // _DRAWS], "dots"


def _on_steps(plan: Plan, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values that lie whole steps apart, where a column moves by whole steps: what lies between them stays visible."""
    step = plan.problem.known.spacing if plan.release_mode.whole_steps and not plan.problem.family.log else None
    return at if step is None else at[0] + step * np.floor((at - at[0]) / step)


def _jumps(true: NDArray[np.float64], released: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Between which neighbours another value is released, beyond rounding errors."""
    return np.abs(np.diff(released)) > 1e-9 * (float(np.ptp(true)) or 1.0)


def _segments(true: NDArray[np.float64], released: NDArray[np.float64]) -> list[dict[str, float]]:
    """Runs of neighbours that are released as the same value."""
    starts = np.concatenate([[0], np.flatnonzero(_jumps(true, released)) + 1])
    ends = np.concatenate([starts[1:] - 1, [len(true) - 1]])
    return [
        {"true": float(true[a]), "end": float(true[b]), "released": float(released[a])}
        for a, b in zip(starts, ends, strict=True)
    ]


def profile_chart(plan: Plan) -> Any:
    """How often guesses are right that must be closer, or may be farther off, than the plan's tolerance."""
    import altair as alt

    closeness = plan.problem.closeness
    share = isinstance(closeness, Relative)
    own = closeness.share if isinstance(closeness, Relative) else closeness
    factors = np.unique(np.concatenate([np.geomspace(0.25, 4, 7 if plan.problem.secret.rough else 25), [1.0]]))
    tried = [float(own * factor) for factor in factors if not share or own * factor < 0.999]
    unit = 100.0 if share else 1.0
    both = bool(plan.problem.also)
    scale = 1 / own if both else unit
    rows = [{"close": scale * at, "risk": risk} for at, risk in plan.risk_profile(tried)]
    title = "how close a guess must come" + (" (%)" if share and not both else "")
    if both:
        title = "how close a guess must come (1: as stated)"
    x = alt.X(
        "close:Q",
        title=title,
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(tickCount=5, **numbers(scale * own)),
    )
    y = alt.Y("risk:Q", title="chance that it is right", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    line = alt.Chart(alt.InlineData(values=rows)).mark_line(color=OURS, strokeWidth=2).encode(x=x, y=y)
    here = alt.Chart(alt.InlineData(values=[{"close": scale * own, "risk": plan.risk, "says": "as stated"}]))
    return alt.layer(
        line,
        here.mark_point(color=ALARM, filled=True, size=70, opacity=1).encode(x="close:Q", y="risk:Q"),
        here.mark_text(color=ALARM, align="left", dx=8, dy=10, fontWeight="bold").encode(
            x="close:Q", y="risk:Q", text="says:N"
        ),
    ).properties(width=_WIDTH, height=_HEIGHT)


def table_chart(table: TablePlan) -> Any:
    """The risk of each hidden statistic, and of any of them; an Altair chart."""
    import altair as alt

    rows = [{"what": f"{one['column']}: {one['secret']}", "risk": one["risk"], "of": "one"} for one in table.secrets]
    rows.append({"what": "any of them", "risk": table.risk, "of": "any"})
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("what:N", title=None, sort=None, axis=alt.Axis(labelLimit=170)),
        x=alt.X(
            "risk:Q",
            title="chance that a guess is right, at most (shorter is better)",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%"),
        ),
    )
    bars = base.mark_bar(height=14, cornerRadiusEnd=3).encode(
        color=alt.Color("of:N", legend=None, scale=alt.Scale(domain=["one", "any"], range=[COLOURS[0], COLOURS[1]]))
    )
    return finished(bars.properties(width=_WIDTH, height=alt.Step(26)))
