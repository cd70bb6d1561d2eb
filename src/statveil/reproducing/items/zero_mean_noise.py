"""Why noise of mean zero does not hide a mean: released against true mean, for noise and for quantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from statveil.alternatives.common_shift import CommonShift
from statveil.alternatives.gaussian import GaussianNoise
from statveil.alternatives.histogram import PrivateHistogram
from statveil.alternatives.histogram_statistics import histogram_mean
from statveil.alternatives.laplace import LaplaceNoise
from statveil.auditing.distances import w1
from statveil.reproducing.drawing import COLOURS, data, title
from statveil.reproducing.item import Item, Work
from statveil.reproducing.results import Claim, Column, Figure, Outcome, ResultTable
from statveil.tables.blocks import Array

__all__ = ["ZeroMeanNoise", "moves"]

_ROWS, _HIGH, _BINS, _BETA = 20_000, 100.0, 20, 40.0
_COUNTS, _CLIPPED = "noise on the counts, mean zero", "the same, clipped at 0 (the paper's DP)"
_NORMAL, _LAPLACE = "normal noise on each row (the paper's AP)", "Laplace noise on each row (the paper's DistP)"
_SHIFT, _OURS = "one Laplace shift of all rows", "quantization (the paper's mechanism)"


class ZeroMeanNoise(Item):
    """Noise of mean zero leaves the mean where it is; a common move does not."""

    name: ClassVar[str] = "zero-mean-noise"
    title: ClassVar[str] = "Why zero-mean noise does not hide a mean"
    source: ClassVar[str] = "Figure fig:prior_work"
    place: ClassVar[int] = 10

    def run(self, work: Work) -> Outcome:
        column = _column(work)
        rows = [
            {"mechanism": name, "release": i, "error": error, "w1": moved}
            for name, release in _mechanisms().items()
            for i, (error, moved) in enumerate(moves(column, release, work))
        ]
        table = [_summary(name, [row for row in rows if row["mechanism"] == name]) for name in _mechanisms()]
        by_name = {row["mechanism"]: row for row in table}
        noise = [by_name[name] for name in (_COUNTS, _NORMAL, _LAPLACE)]
        clipped = by_name[_CLIPPED]
        return Outcome(
            figures=(
                Figure(
                    name="zero-mean-noise-histogram",
                    chart=_histogram(column, work),
                    caption="Laplace noise on the counts of a histogram, as in the paper's figure: the bars change, "
                    "the mean (vertical lines) hardly does.",
                ),
                Figure(
                    name="zero-mean-noise",
                    chart=_strips(rows),
                    caption="Each tick is one release: how far its mean lies from the true one, as a share of how "
                    "far the column was moved (W1). No release can lie outside -1 to 1. Noise on each row spends its "
                    "distortion without moving the mean; a common move spends all of it on the mean.",
                ),
            ),
            tables=(
                ResultTable(
                    name="zero-mean-noise",
                    caption=f"{work.sizes.releases} releases of {_ROWS:,} generated rows; noise with a standard "
                    f"deviation of {_BETA:g}, {_BINS} bins from 0 to {_HIGH:g}.",
                    columns=(
                        Column(name="mechanism", meaning="what was done to the column"),
                        Column(name="bias", meaning="mean of released minus true mean"),
                        Column(name="bias_error", meaning="standard error of that mean"),
                        Column(name="error", meaning="mean distance between released and true mean"),
                        Column(name="w1", meaning="mean W1 distance between column and release"),
                        Column(name="ratio", meaning="error / W1: the share of the distortion that hides the mean"),
                    ),
                    rows=table,
                ),
            ),
            claims=(
                Claim(
                    says="Zero-mean noise on counts or rows does not change the expected mean.",
                    holds=all(abs(row["bias"]) <= 4 * row["bias_error"] for row in noise),
                    evidence="; ".join(
                        f"{row['mechanism']}: {row['bias']:+.4f} +- {row['bias_error']:.4f}" for row in noise
                    )
                    + ".",
                ),
                Claim(
                    says="So noise on each sample has a bad trade-off, and quantization a good one.",
                    holds=by_name[_OURS]["ratio"] > 0.999 and all(row["ratio"] < 0.1 for row in noise[1:]),
                    evidence=f"error / W1: {', '.join(format(row['ratio'], '.3f') for row in noise[1:])} for normal "
                    f"and Laplace noise, {by_name[_OURS]['ratio']:.3f} for quantization.",
                ),
            ),
            differs=(
                "The paper's figure is a sketch without numbers; the column (20,000 values of a gamma distribution), "
                "bins and noise are ours.",
                "Noise on counts leaves the mean where it is on average only. In a single release it moves the mean by "
                f"{by_name[_COUNTS]['ratio']:.2f} of its distortion, nearly as much as a shift would: what makes it "
                f"weak is that noise on {_BINS} counts distorts little.",
                "The paper's own DP experiment clips the noisy counts at 0. Clipped noise is no longer of mean zero: "
                f"in empty bins it only adds rows, and the mean moves by {clipped['bias']:+.3f} here. An attacker who "
                "knows that can take it out again; see wwt and mba.",
                "One common shift is noise of mean zero too, and hides the mean as well as quantization does: what "
                "averages out is independent noise.",
            ),
        )


Mechanism = Callable[[Array, np.random.Generator], tuple[float, float]]


def moves(column: Array, release: Mechanism, work: Work) -> list[tuple[float, float]]:
    """Released minus true mean, and W1, of many releases."""
    rng = work.rng(ZeroMeanNoise.place, 1)
    return [release(column, rng) for _ in range(work.sizes.releases)]


def _column(work: Work) -> Array:
    values = work.rng(ZeroMeanNoise.place, 0).gamma(3.0, 8.0, 4 * _ROWS)
    return values[values < _HIGH][:_ROWS]


def _mechanisms() -> dict[str, Mechanism]:
    histogram = PrivateHistogram.paper(beta=_BETA, bins=_BINS, low=0.0, high=_HIGH)
    return {
        _COUNTS: lambda column, rng: _noisy_histogram(histogram, column, rng),
        _CLIPPED: lambda column, rng: _compared(column, histogram.release(column, rng)),
        _NORMAL: lambda column, rng: _compared(column, GaussianNoise.paper(beta=_BETA).release(column, rng)),
        _LAPLACE: lambda column, rng: _compared(column, LaplaceNoise.paper(beta=_BETA).release(column, rng)),
        _SHIFT: lambda column, rng: _compared(column, CommonShift(scale=1.0).at(_BETA).release(column, rng)),
        _OURS: _quantized,
    }


def _compared(column: Array, released: Array) -> tuple[float, float]:
    return float(released.mean() - column.mean()), w1(column, released)


def _noisy_histogram(mechanism: PrivateHistogram, column: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Mean of the noisy histogram itself, which nothing was clipped from, and W1 between the two histograms."""
    edges, counts = mechanism.edges, mechanism.counts(column)
    noisy = mechanism.noisy_counts(column, rng)
    middles = 0.5 * (edges[1:] + edges[:-1])
    error = float(noisy @ middles / noisy.sum()) - histogram_mean(counts, edges)
    apart = np.cumsum(noisy / noisy.sum() - counts / counts.sum())[:-1]
    return error, float(np.abs(apart).sum() * (edges[1] - edges[0]))


def _quantized(column: Array, rng: np.random.Generator) -> tuple[float, float]:
    """The paper's mechanism with bins that start anywhere: a random offset stands for a random true mean."""
    bin, start = 2 * _BETA, float(rng.uniform(-2 * _BETA, 0))
    mean = float(column.mean())
    target = start + (np.floor((mean - start) / bin) + 0.5) * bin
    return _compared(column, column - mean + target)


def _summary(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    errors, distances = (np.array([row[column] for row in rows]) for column in ("error", "w1"))
    error, distance = float(np.abs(errors).mean()), float(distances.mean())
    return {
        "mechanism": name,
        "bias": float(errors.mean()),
        "bias_error": float(errors.std(ddof=1) / np.sqrt(len(errors))),
        "error": error,
        "w1": distance,
        "ratio": error / distance,
    }


def _histogram(column: Array, work: Work) -> Any:
    import altair as alt

    mechanism = PrivateHistogram.paper(beta=_BETA, bins=_BINS, low=0.0, high=_HIGH)
    edges, counts = mechanism.edges, mechanism.counts(column)
    noisy = mechanism.noisy_counts(column, work.rng(ZeroMeanNoise.place, 2))
    middles = 0.5 * (edges[1:] + edges[:-1])
    bars, means = [], []
    for name, heights in (("original", counts), ("with noise", noisy)):
        bars += [
            {"what": name, "value": float(a), "stop": float(b), "rows": float(h), "zero": 0}
            for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
        ]
        means.append({"what": name, "value": float(heights @ middles / heights.sum())})
    scale = alt.Scale(domain=["original", "with noise"], range=[COLOURS["blue"], COLOURS["orange"]])
    colour = alt.Color("what:N", title=None, scale=scale)
    shown = ", ".join(f"{row['what']} {row['value']:.2f}" for row in means)
    x = alt.X("value:Q", title="value", scale=alt.Scale(domain=[0, _HIGH], nice=False))
    y = alt.Y("rows:Q", title="rows in the bin")
    base = alt.Chart(data(bars)).mark_rect(opacity=0.45).encode(x=x, x2="stop:Q", y=y, y2="zero:Q", color=colour)
    lines = alt.Chart(data(means)).mark_rule(strokeWidth=2).encode(x=x, color=colour)
    return alt.layer(base, lines).properties(
        width=560,
        height=260,
        title=title("Zero-mean noise on the counts of a histogram", f"lines: the means ({shown})"),
    )


def _strips(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    points = [{"mechanism": row["mechanism"], "share": row["error"] / row["w1"]} for row in rows]
    ours = COLOURS["green"]
    return (
        alt.Chart(data(points))
        .mark_tick(thickness=1, opacity=0.35, size=18)
        .encode(
            x=alt.X("share:Q", title="(released mean - true mean) / W1", scale=alt.Scale(domain=[-1.02, 1.02])),
            y=alt.Y("mechanism:N", title=None, sort=list(_mechanisms()), axis=alt.Axis(labelLimit=380)),
            color=alt.condition(alt.datum.mechanism == _OURS, alt.value(ours), alt.value(COLOURS["blue"])),
        )
        .properties(
            width=440,
            height=210,
            title=title(
                "How much of its distortion a release spends on moving the mean",
                "better: near -1 or 1 (all of it); 0: the released mean is the true mean",
            ),
        )
    )
