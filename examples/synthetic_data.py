"""A synthetic table that does not tell the average pay: a release in front of a generator, and behind it.

The generator is the Gaussian copula of the library copulas (under SDV's): pip install 'statveil[examples]'.
Outsiders believe that the average pay is anything from 20 to 60, and a guess within 1 of it counts. Tables are redrawn
from that belief many times; each time an attacker who knows the plan sees a generated table only and guesses as well as
anyone can. Counted is how often the guess hits:

* without a release, which shows that the attacker can read: the generated table gives the average away;
* with the release in front: the generator is trained on the released table. The average of the real table is hidden;
* with the release behind: the generator is trained on the real table and the generated table is released. What the plan
  hides is the average of the generated table, and that of the real one only as far as the two differ.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from copulas.multivariate import GaussianMultivariate
from copulas.univariate import GammaUnivariate, GaussianUnivariate
from scipy.stats import binomtest
from sklearn.pipeline import make_pipeline

import statveil as sv

LOW, HIGH, TOLERANCE, MAX_RISK = 20.0, 60.0, 1.0, 0.2
ROWS, GENERATED = 300, 1000
SLACK = 0.5
"""How far the averages of the real and of the generated table may be apart, in the bound on the real one."""
Guess = Callable[[pd.DataFrame], float]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How often guesses came within the tolerance, and how often the plan lets them."""

    way: str
    of: str
    hits: int
    tables: int
    bound: float

    def __str__(self) -> str:
        low, high = binomtest(self.hits, self.tables).proportion_ci(0.99)
        return (
            f"{self.way:<18} average of the {self.of + ' table':<15} {self.hits / self.tables:6.1%} of {self.tables} "
            f"(99 % interval {low:.1%} to {high:.1%}); allowed {self.bound:.1%}"
        )


def real_table(average: float, rng: np.random.Generator) -> pd.DataFrame:
    """Staff whose pay has this average; its shape and the other columns tell nothing about it."""
    years = rng.gamma(2, 3, ROWS)
    pay = rng.gamma(4, 3, ROWS) + 0.5 * years
    return pd.DataFrame({"pay": pay - pay.mean() + average, "years": years, "hours": rng.normal(38, 4, ROWS)})


class Generator:
    """A Gaussian copula as the last step of a scikit-learn pipeline."""

    def __init__(self, seed: int) -> None:
        self.copula = GaussianMultivariate(
            distribution={"pay": GammaUnivariate, "years": GaussianUnivariate, "hours": GaussianUnivariate}
        )
        self.copula.set_random_state(seed)

    def fit(self, table: pd.DataFrame, y: Any = None) -> Generator:
        """Learn margins and correlations."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the fits inside
            self.copula.fit(table)
        return self

    def sample(self) -> pd.DataFrame:
        """A table of people who do not exist."""
        return self.copula.sample(GENERATED)


def in_front(plan: sv.Plan, table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Release, then train on what was released: this and any further table tell no more than the released one."""
    chain = make_pipeline(sv.ReleaseTransformer(plan, column="pay"), Generator(seed))
    generated: pd.DataFrame = chain.fit(table)[-1].sample()
    return generated


def behind(plan: sv.Plan, generated: pd.DataFrame) -> pd.DataFrame:
    """Release a generated table, once; the generator has seen the real table and stays private."""
    released: pd.DataFrame = sv.ReleaseTransformer(plan, column="pay").fit_transform(generated)
    return released


def best_guess(released_of: Callable[[np.ndarray], np.ndarray], noise: float) -> Guess:
    """The guess that hits most often, for who sees an average that is ``released_of(truth)`` up to noise."""
    step = TOLERANCE / 50
    truths = np.arange(LOW + step / 2, HIGH, step)
    shown = released_of(truths)
    window = np.ones(round(2 * TOLERANCE / step))

    def guess(table: pd.DataFrame) -> float:
        seen = float(table["pay"].mean())
        log = -0.5 * ((seen - shown) / noise) ** 2
        inside = np.convolve(np.exp(log - log.max()), window, mode="valid")
        best = int(inside.argmax())
        return float(truths[best : best + len(window)].mean())

    return guess


def measure(tables: int, seed: int) -> list[Outcome]:
    """Redraw tables from the belief, attack each way, and count."""
    plan = sv.plan(sv.Problem(secret=sv.Mean(), prior=sv.Flat(LOW, HIGH), tolerance=TOLERANCE), max_risk=MAX_RISK)
    rng = np.random.default_rng(seed)
    noise = 6.3 / np.sqrt(GENERATED)  # of the average of a generated table; its spread is public here
    exact = best_guess(lambda truths: truths, noise)
    fooled = best_guess(lambda truths: np.asarray(plan.apply(value=truths).secret), noise)
    hits: dict[str, list[bool]] = {name: [] for name in ("bare", "front", "after", "real", "far")}
    # a little beyond the belief, so that averages of generated tables fill it to its ends; one average from each of
    # many equal slices hits as often as free draws do, and varies less from run to run than the interval says
    edges = np.linspace(LOW - 2, HIGH + 2, tables + 1)
    for average in rng.uniform(edges[:-1], edges[1:]).tolist():
        table, chance = real_table(average, rng), int(rng.integers(2**31))
        generated = Generator(chance).fit(table).sample()
        made = float(generated["pay"].mean())
        # what the belief says cannot be is refused by a release, so it is not attacked
        if LOW <= average <= HIGH:
            hits["bare"].append(abs(exact(generated) - average) <= TOLERANCE)
            hits["front"].append(abs(fooled(in_front(plan, table, chance)) - average) <= TOLERANCE)
        if LOW <= made <= HIGH:
            guessed = fooled(behind(plan, generated))
            hits["after"].append(abs(guessed - made) <= TOLERANCE)
            hits["real"].append(abs(guessed - average) <= TOLERANCE)
            hits["far"].append(abs(made - average) > SLACK)
    # a hit on the real average is one within TOLERANCE + SLACK of the generated one, unless the two are further apart
    ((_, wider),) = plan.risk_profile([TOLERANCE + SLACK])
    apart = float(binomtest(sum(hits["far"]), len(hits["far"])).proportion_ci(0.99).high)
    return [
        _counted("no release", "real", hits["bare"], 1.0),
        _counted("release in front", "real", hits["front"], plan.risk),
        _counted("release behind", "generated", hits["after"], plan.risk),
        _counted("release behind", "real", hits["real"], min(1.0, wider + apart)),
    ]


def _counted(way: str, of: str, hits: list[bool], bound: float) -> Outcome:
    return Outcome(way=way, of=of, hits=sum(hits), tables=len(hits), bound=bound)


def main() -> None:
    """Print what was counted."""
    parser = argparse.ArgumentParser(description="Attack synthetic tables with a release in front and behind.")
    parser.add_argument("--tables", type=int, default=200, help="how many tables are redrawn (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="draws the same tables again (default 1)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    asked = parser.parse_args()
    found = measure(asked.tables, asked.seed)
    print(json.dumps([asdict(one) for one in found]) if asked.json else "\n".join(map(str, found)))


if __name__ == "__main__":
    main()
