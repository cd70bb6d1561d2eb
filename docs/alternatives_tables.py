"""The tables of alternatives.md: generated columns under the alternatives, attacked with and without knowledge of them.

Usage: python docs/alternatives_tables.py. Prints the tables; takes about half a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr

from statveil.alternatives.alternative import Alternative
from statveil.alternatives.common_shift import CommonShift
from statveil.alternatives.debiasing import debiased_counts
from statveil.alternatives.gaussian import GaussianNoise
from statveil.alternatives.histogram import PrivateHistogram
from statveil.alternatives.histogram_statistics import histogram_mean, histogram_quantile
from statveil.alternatives.laplace import LaplaceNoise
from statveil.auditing.distances import w1

SEED, RUNS = 1, 20
WEB_ROWS, HOMES = 117_277, 600
Array = NDArray[np.float64]
Guess = Callable[[Array, Array], float]


def web(rows: int) -> Array:
    """Page views: lognormal, most pages small, a few carrying much of the total."""
    return np.random.default_rng(SEED).lognormal(3.5, 1.8, rows)


def broadband(rows: int) -> Array:
    """Traffic of homes: exponential with mean 1, so that the 0.95-quantile is about 3."""
    return np.random.default_rng(SEED).exponential(1.0, rows)


def fitted_web(counts: Array, edges: Array) -> float:
    """Mean of the lognormal that fits the counts best: an attacker who knows the shape."""

    def surprise(guess: Array) -> float:
        z = (np.log(edges[1:-1]) - guess[0]) / guess[1]
        above = np.concatenate([[1.0], ndtr(-z), [0.0]])  # the last bin holds everything beyond its start
        return -float(counts @ np.log(np.maximum(above[:-1] - above[1:], 1e-15)))

    mu, sigma = minimize(surprise, [3.0, 1.5], method="Nelder-Mead", bounds=[(0, 7), (0.5, 2.5)]).x
    return float(np.exp(mu + sigma**2 / 2))


def fitted_broadband(counts: Array, edges: Array) -> float:
    """The 0.95-quantile of the exponential with the mean of the counts: an attacker who knows the shape."""
    width = edges[1] - edges[0]
    steps = float(counts @ np.arange(len(counts)) / counts.sum())
    return -np.log(0.05) * width / np.log1p(1 / steps) if steps > 0 else 0.0  # whole steps are geometric


def errors(
    mechanism: PrivateHistogram, column: Array, secret: Callable[[Array], float], guess: Guess, fitted: Guess
) -> tuple[float, ...]:
    """Mean W1 and mean errors of three attackers: plug-in, debiasing, and debiasing with the shape known."""
    rng, truth, found = np.random.default_rng(SEED + 1), secret(column), []
    for _ in range(RUNS):
        released = mechanism.release(column, rng)
        counts = debiased_counts(mechanism, released)
        guesses = (secret(released), guess(counts, mechanism.edges), fitted(counts, mechanism.edges))
        found.append([w1(column, released), *(abs(value - truth) for value in guesses)])
    return tuple(np.mean(found, axis=0).tolist())


def noise_rows() -> Iterator[str]:
    """Noise on rows against one common shift, all with standard deviation 1,000; then the fair forms."""
    column = web(WEB_ROWS)
    gap, epsilon, delta = 10.0, 0.5, 1e-6
    normal, each = GaussianNoise.calibrated, LaplaceNoise.calibrated
    cases: list[tuple[str, Alternative]] = [
        ("attribute privacy, as published", GaussianNoise.paper(beta=1_000)),
        ("distribution privacy, as published", LaplaceNoise.paper(beta=1_000)),
        ("one Laplace shift of the same size", CommonShift(scale=1).at(1_000)),
        ("attribute privacy, fair, on each row", normal(gap=gap, epsilon=epsilon, delta=delta, rows=WEB_ROWS)),
        ("attribute privacy, fair, one shift", normal(gap=gap, epsilon=epsilon, delta=delta)),
        ("the same with the least noise", normal(gap=gap, epsilon=epsilon, delta=delta, tight=True)),
        ("distribution privacy, fair, on each row", each(gap=gap, epsilon=epsilon, rows=WEB_ROWS)),
        ("directional, fair: one Laplace shift", CommonShift.calibrated(gap=gap, epsilon=epsilon)),
    ]
    yield "| form | standard deviation of a draw | error of the mean | W1 | error / W1 |\n|---|---|---|---|---|"
    for name, alternative in cases:
        rng, found = np.random.default_rng(SEED + 1), []
        for _ in range(5 * RUNS):
            released = alternative.release(column, rng)
            found.append([abs(released.mean() - column.mean()), w1(column, released)])
        error, moved = np.mean(found, axis=0)
        yield f"| {name} | {alternative.parameter:,.4g} | {error:,.3g} | {moved:,.3g} | {error / moved:.3f} |"


def web_rows() -> Iterator[str]:
    """The private histogram on web traffic, secret = mean."""
    yield (
        "| rows | bins | range | beta | W1 | plug-in: error / W1 | debiasing: error / W1 | shape known: error / W1 |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    settings = [
        *product([WEB_ROWS], [10, 100, 2_000], [5e4], [10.0, 100.0]),
        *product([WEB_ROWS], [2_000], [5e5], [100.0]),
        *product([10_000], [10, 100, 2_000], [5e4], [10.0, 100.0]),
        *product([1_000], [10, 100, 2_000], [5e4], [1.0, 10.0, 100.0]),
    ]
    for rows, bins, high, beta in settings:
        mechanism = PrivateHistogram.paper(beta=beta, bins=bins, low=0, high=high)
        moved, *found = errors(mechanism, web(rows), lambda x: float(x.mean()), histogram_mean, fitted_web)
        ratios = " | ".join(f"{error / moved:.2f}" for error in found)
        yield f"| {rows:,} | {bins:,} | 0 to {high:,.0f} | {beta:g} | {moved:,.3g} | {ratios} |"


def broadband_rows() -> Iterator[str]:
    """The private histogram on broadband, secret = 0.95-quantile: in how many settings it beats a scaling."""
    yield ("| rows | range | settings | beats scaling, plug-in | debiasing | shape known |\n|---|---|---|---|---|---|")
    for rows, high in [(HOMES, 0.0), *product([HOMES, 10_000], [10.0, 40.0])]:
        column = broadband(rows)
        high = high or float(column.max())  # a range taken from the data guarantees nothing
        line = float(np.quantile(column, 0.95) / column.mean())  # error / W1 of scaling all rows by one factor
        wins = np.zeros(3, dtype=np.int64)
        settings = list(product([5, 20, 200], [0.5, 1, 2, 5, 10, 20, 50]))
        for bins, beta in settings:
            mechanism = PrivateHistogram.paper(beta=beta, bins=bins, low=0, high=high)
            moved, *found = errors(
                mechanism,
                column,
                lambda x: float(np.quantile(x, 0.95)),
                lambda counts, edges: histogram_quantile(counts, edges, 0.95),
                fitted_broadband,
            )
            wins += np.array(found) > line * moved
        yield f"| {rows:,} | 0 to {high:.3g} | {len(settings)} | " + " | ".join(map(str, wins)) + " |"


if __name__ == "__main__":
    for table in (noise_rows, web_rows, broadband_rows):
        print(f"\n{table.__doc__}\n")
        for line in table():
            print(line, flush=True)
