"""The comparison of a data set figure: our mechanism and the paper's alternatives on one column."""

from __future__ import annotations

from typing import Any

from statveil.comparing.compare import compare
from statveil.comparing.points import Comparison
from statveil.datasets.dataset import Dataset
from statveil.problem.family import Family
from statveil.problem.secret import Secret
from statveil.report.comparison import comparison_chart
from statveil.reproducing.drawing import title
from statveil.reproducing.item import Work
from statveil.reproducing.results import Column, Figure, ResultTable

__all__ = ["LIMITS", "compared", "figure", "kinds", "ratios", "tables"]

LIMITS = (
    "Every point is a mean over several seeds; the paper draws one release for each setting. For our mechanism a "
    "random offset of the bins stands for the place of the statistic in its bin.",
    "The paper shows minus the error, so that down and left is better; here the error itself is shown, and up and left "
    "is better.",
    "The second panel is not in the paper: an attacker who knows the mechanism takes the bias of clipped counts out "
    "again and deconvolves noise on rows. The error of one who takes the released statistic flatters the histogram.",
    "Beside the forms of the paper stand those whose noise is set from their own guarantee, and one common shift.",
)
"""What differs from the paper's figure on any data set."""

_PLAIN = ("method", "form")
_NUMBERS = {
    "error": "error of an attacker who takes the released statistic, mean over the seeds",
    "debiased_error": "error of an attacker who knows the mechanism and the prior",
    "distortion": "W1 between column and release, mean over the seeds",
    "ratio": "error / distortion",
    "debiased_ratio": "the same of the attacker who knows the mechanism",
    "hit_rate": "how often the better attacker hits, on redrawn columns",
    "hit_low": "lower end of its 95 % interval",
    "hit_high": "upper end of its 95 % interval",
    "risk": "exact risk, where it is known",
    "seeds": "releases of each setting",
}


def compared(data: Dataset, *, secret: Secret, family: Family, work: Work) -> Comparison:
    """The comparison; no prior is stated, as in the paper, so one of the column's order of magnitude stands in."""
    done = 0

    def progress(stage: str, rows: int, total: int | None) -> None:
        nonlocal done
        done += rows
        work.tell(f"{stage}, {done / total:.0%}" if total else stage)

    return compare(
        data.values,
        secret=secret,
        family=family,
        methods=("ours", "comb", "dp", "ap", "distp", "directional"),
        seeds=work.sizes.seeds,
        points=work.sizes.sweep,
        trials=10 * work.sizes.seeds,
        seed=work.seed,
        progress=progress,
    )


def figure(found: Comparison, data: Dataset, name: str) -> Figure:
    """The picture, under the name of the data set or of its stand-in."""
    line = "no release lies above the dashed line" if found.line.always else "dashed: the line of the family"
    head = title(
        f"{data.label}: hiding the {found.problem.secret.text}",
        f"{found.rows:,} values in {data.unit}; mean of {found.seeds} seeds, bars: 10 % to 90 % of them",
        f"better: up and left (larger error, less distortion); {line}",
    )
    return Figure(
        name=name,
        chart=comparison_chart(found).properties(title=head),
        caption="Left: the paper's attacker. Right: one who knows the mechanism. Colours are methods, shapes their "
        "forms; each point is one setting.",
    )


def kinds(found: Comparison) -> list[tuple[str, str]]:
    """Methods with their forms."""
    return list(dict.fromkeys((point["method"], point["form"]) for point in found.points))


def ratios(found: Comparison, method: str, form: str, *, debiased: bool = False, hidden: bool = False) -> list[float]:
    """Error over distortion of every setting of a method; ``hidden``: of those that leave an error of two tolerances.

    The quietest settings hide nothing, and their ratio is the ratio of two rounding errors of a sample.
    """
    error, ratio = ("debiased_error", "debiased_ratio") if debiased else ("error", "ratio")
    least = 2 * found.problem.tolerance if hidden else 0.0
    return [
        point[ratio]
        for point in found.points
        if (point["method"], point["form"]) == (method, form) and point[ratio] is not None and point[error] >= least
    ]


def tables(found: Comparison, data: Dataset, name: str) -> tuple[ResultTable, ...]:
    """Ratios of every method, what some errors cost, and every point."""
    summary: list[dict[str, Any]] = []
    for method, form in kinds(found):
        plain, informed = ratios(found, method, form), ratios(found, method, form, debiased=True)
        summary.append(
            {
                "method": method,
                "form": form,
                "settings": len(plain),
                "least": min(plain, default=None),
                "largest": max(plain, default=None),
                "debiased_least": min(informed, default=None),
                "debiased_largest": max(informed, default=None),
            }
        )
    points: list[dict[str, Any]] = [
        {
            **{column: point[column] for column in _PLAIN},
            "parameter": ", ".join(f"{key}={value:g}" for key, value in point["parameter"].items()),
            **{column: point[column] for column in _NUMBERS},
        }
        for point in found.points
    ]
    return (
        ResultTable(
            name=name,
            caption=f"{data.label}: the attacker's error over the distortion, least and largest of the settings; "
            f"higher is better. {found.line.says}",
            columns=(
                Column(name="method", meaning="ours, comb, dp, ap, distp, or directional: one common shift"),
                Column(name="form", meaning="as the paper ran it; fair: noise set from its guarantee; swept: neither"),
                Column(name="settings", meaning="settings of the sweep"),
                Column(name="least", meaning="least error / distortion, attacker takes the released statistic"),
                Column(name="largest", meaning="largest of the same"),
                Column(name="debiased_least", meaning="least error / distortion, attacker knows the mechanism"),
                Column(name="debiased_largest", meaning="largest of the same"),
            ),
            rows=summary,
        ),
        ResultTable(
            name=f"{name}-costs",
            caption="The least distortion of each method that gives the attacker at least this error; lower is "
            "better. Empty where no setting reaches it.",
            columns=(
                Column(name="error", meaning="the attacker's error, in the column's unit"),
                Column(name="method", meaning="method"),
                Column(name="form", meaning="form of the method"),
                Column(name="distortion", meaning="attacker takes the released statistic"),
                Column(name="debiased_distortion", meaning="attacker knows the mechanism and the prior"),
            ),
            rows=found.table(),
        ),
        ResultTable(
            name=f"{name}-points",
            caption="Every point of the figure.",
            columns=(
                Column(name="method", meaning="method"),
                Column(name="form", meaning="form of the method"),
                Column(name="parameter", meaning="setting"),
                *(Column(name=column, meaning=meaning) for column, meaning in _NUMBERS.items()),
            ),
            rows=points,
            on_page=False,
        ),
    )
