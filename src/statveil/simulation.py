"""The best attacker played for real, at the level of parameters.

Parameters are drawn from the prior and released; the attacker knows the problem and the mechanism, sees the
release, works out what it leaves open, and guesses. Only the mechanism, the secret and the prior are used,
never the accounting, so that the two can disagree.

Between the nodes of a piece the posterior counts as linear, so the attacker is the best one for beliefs that are
smooth on that scale and a weaker one for narrower peaks: a rate below the stated risk proves less there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from statveil.errors import ProblemError
from statveil.mechanisms.mechanism import Fibre, Mechanism
from statveil.numbers import number
from statveil.numeric import Array
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.spoken import Spoken
from statveil.theory.prior_distance import PriorDistance

__all__ = ["Rate", "WrongPrior", "play", "proportion_interval"]


_NODES = 129
_BATCH = 10_000
_PART = 500
"""Posteriors that a processor keeps at hand while it looks for their windows."""
_LEARN = (200_000, 2_000_000)
_MOST_TRIALS = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Spoken):
    """How often the attacker hit, with a confidence interval that covers 0 and 1 too."""

    words = "report.rate:describe_rate"

    rate: float
    low: float
    high: float
    trials: int
    confidence: float
    wrong_prior: WrongPrior | None = None
    """What no attacker exceeds under the prior that it was played under, if that is not the plan's."""

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts."""
        return {
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "trials": self.trials,
            "confidence": self.confidence,
            **({} if self.wrong_prior is None else {"wrong_prior": self.wrong_prior.to_json()}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongPrior:
    """Bounds on the risk under another prior than the plan's (docs/leakage.md): all hold, the least counts."""

    prior: dict[str, Any]
    distance: PriorDistance | None
    """How far it is from the plan's; ``None`` where that is not worked out."""
    risk: float
    """The plan's risk, under its own prior."""

    @property
    def bounds(self) -> dict[str, float]:
        """What no attacker exceeds, by name."""
        return {} if self.distance is None else self.distance.risk_bounds(self.risk)

    @property
    def bound(self) -> float:
        """The least of them."""
        return min(self.bounds.values(), default=1.0)

    def to_json(self) -> dict[str, Any]:
        """The numbers for scripts; an infinite ratio is ``null``."""
        far = self.distance
        return {
            "prior": self.prior,
            "total_variation": None if far is None else far.total_variation,
            "most": None if far is None or far.most == float("inf") else far.most,
            "least": None if far is None else far.least,
            "bounds": self.bounds,
            "bound": self.bound,
        }


def play(problem: Problem, mechanism: Mechanism, *, trials: int, rng: Generator, confidence: float = 0.999) -> Rate:
    """Success rate of the best attacker over independent trials."""
    if isinstance(trials, bool) or not isinstance(trials, int) or not 1 <= trials <= _MOST_TRIALS:
        raise ProblemError(f"the number of trials must be a whole number from 1 to {_MOST_TRIALS:,}. Got {trials!r}.")
    if not 0 < number(confidence, "the confidence") < 1:
        raise ProblemError(f"the confidence must be a number between 0 and 1, both excluded. Got {confidence:g}.")
    alone = isinstance(problem.prior, Box) and len(problem.box.free) == 1
    if mechanism.tiled:
        hits = _by_tile(problem, mechanism, trials, rng)
    else:
        hits = (_grouped if alone and mechanism.finite else _by_fibre)(problem, mechanism, trials, rng)
    low, high = proportion_interval(hits, trials, confidence)
    return Rate(rate=hits / trials, low=low, high=high, trials=trials, confidence=confidence)


def proportion_interval(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """Clopper-Pearson: exact, and defined at 0 and at all hits."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, trials - hits + 1, tail))
    high = 1.0 if hits == trials else float(betaincinv(hits + 1, trials - hits, 1 - tail))
    return low, high


def _grouped(problem: Problem, mechanism: Mechanism, trials: int, rng: Generator) -> int:
    """Finitely many releases: learn the best guess of each from one set of draws, score it on another.

    Scoring on the draws it was learnt from would flatter the attacker.
    """
    learnt = problem.sample(int(np.clip(trials, *_LEARN)), rng)
    releases, values = _learn(problem, _keys(problem, mechanism, learnt, rng), problem.position_of(learnt))
    hits = 0
    for start in range(0, trials, _LEARN[1]):
        fresh = problem.sample(min(_LEARN[1], trials - start), rng)
        keys, secrets = _keys(problem, mechanism, fresh, rng), problem.position_of(fresh)
        at = np.minimum(np.searchsorted(releases, keys), len(releases) - 1)
        hits += int(((releases[at] == keys) & (np.abs(values[at] - secrets) <= problem.tolerance)).sum())
    return hits


def _keys(problem: Problem, mechanism: Mechanism, params: dict[str, Array], rng: Generator) -> Array:
    """Releases as numbers that can be compared: one parameter moves, the others are known."""
    (name,) = problem.box.free
    return np.asarray(_release(mechanism, params, rng)[name])


def _release(mechanism: Mechanism, params: dict[str, Array], rng: Generator) -> dict[str, Array]:
    chance = rng.random(len(next(iter(params.values())))) if mechanism.randomised else None
    return mechanism.release(params, chance)


def _learn(problem: Problem, keys: Array, secrets: Array) -> tuple[Array, Array]:
    """For each release the middle of the draws in the window of length 2 eps that holds most of them."""
    order = np.lexsort((secrets, keys))
    keys, secrets = keys[order], secrets[order]
    releases, first = np.unique(keys, return_index=True)
    guesses = []
    for low, high in zip(first, [*first[1:], len(keys)], strict=True):
        group = secrets[low:high]
        held = np.searchsorted(group, group + 2 * problem.tolerance, side="right") - np.arange(len(group))
        start = int(held.argmax())
        guesses.append(0.5 * (group[start] + group[start + held[start] - 1]))
    return releases, np.array(guesses)


def _by_fibre(problem: Problem, mechanism: Mechanism, trials: int, rng: Generator) -> int:
    """A continuum of releases: the posterior on the line of parameters that each release leaves open."""
    hits = 0
    core = problem.prior.core(problem.family)  # a narrow belief must not fall between the nodes of a fibre
    for start in range(0, trials, _BATCH):
        params = problem.sample(min(_BATCH, trials - start), rng)
        released = {name: np.asarray(value) for name, value in _release(mechanism, params, rng).items()}
        fibre = mechanism.fibre(released, core, _NODES)
        guess = _best_guess(problem, fibre)
        hits += int((np.abs(guess - problem.position_of(params)) <= problem.tolerance * (1 + 1e-9)).sum())
    return hits


def _by_tile(problem: Problem, mechanism: Mechanism, trials: int, rng: Generator) -> int:
    """Rectangles: a guess at each secret from the posterior of its parameter; either may hit.

    The draws are independent in both parameters, and so the attacker takes them to be.
    """
    hits = 0
    core = problem.prior.core(problem.family)
    for start in range(0, trials, _BATCH):
        params = problem.sample(min(_BATCH, trials - start), rng)
        released = mechanism.release(params)
        hit = np.zeros(len(next(iter(params.values()))), dtype=bool)
        for one in problem.each:
            guess = _best_guess(one, mechanism.fibre_of(one.secret.label, released, core, _NODES))
            hit |= np.abs(guess - one.position_of(params)) <= one.tolerance * (1 + 1e-9)
        hits += int(hit.sum())
    return hits


def _best_guess(problem: Problem, fibre: Fibre) -> Array:
    """Middle of the best window of length 2 eps in each posterior."""
    secret = problem.position_of(fibre.points)
    mass = np.broadcast_to(problem.prior.density(fibre.points), secret.shape) * fibre.weight
    rising = secret[:, -1] >= secret[:, 0]
    secret = np.where(rising[:, None], secret, secret[:, ::-1])
    mass = np.where(rising[:, None], mass, mass[:, ::-1])
    guess = np.empty(len(secret))
    for found, rows in ((_comb_guess, fibre.comb), (_piece_guess, ~fibre.comb)):
        at = np.flatnonzero(rows)
        for start in range(0, len(at), _PART):
            some = at[start : start + _PART]
            guess[some] = found(problem, secret[some], mass[some])
    return guess


def _piece_guess(problem: Problem, secret: Array, density: Array) -> Array:
    """Windows that start at a node; their end falls between nodes and is interpolated."""
    nodes = secret.shape[1]
    below = np.concatenate(
        [np.zeros((len(secret), 1)), np.cumsum(0.5 * (density[:, 1:] + density[:, :-1]), axis=1)], axis=1
    )
    gap = (secret[:, -1] - secret[:, 0]) / (nodes - 1)
    with np.errstate(divide="ignore"):
        reach = np.where(gap > 0, 2 * problem.tolerance / np.where(gap > 0, gap, 1.0), np.inf)
    # the last window ends at the end of the piece, wherever that start falls between nodes
    start = np.minimum(np.arange(nodes)[None, :], np.maximum(nodes - 1 - reach, 0.0)[:, None])
    got = _at(below, density, np.minimum(start + reach[:, None], nodes - 1)) - _at(below, density, start)
    # the first of equally good windows: a choice among them by rounding errors would depend on the release's
    best = (got >= got.max(axis=1, keepdims=True) * (1 - 1e-9)).argmax(axis=1)
    where = start[np.arange(len(best)), best]
    guess: Array = secret[:, 0] + where * gap + problem.tolerance
    return guess


def _at(below: Array, density: Array, position: Array) -> Array:
    """Mass below fractional node positions, for a density that is linear between nodes."""
    j = np.minimum(position.astype(int), below.shape[1] - 2)
    u = position - j
    left, right = np.take_along_axis(density, j, 1), np.take_along_axis(density, j + 1, 1)
    mass: Array = np.take_along_axis(below, j, 1) + u * left + 0.5 * u * u * (right - left)
    return mass


def _comb_guess(problem: Problem, secret: Array, mass: Array) -> Array:
    """Windows that start at a candidate and hold the next ones within 2 eps; candidates are equally spaced."""
    count = secret.shape[1]
    gap = np.abs(secret[:, -1] - secret[:, 0]) / max(count - 1, 1)
    with np.errstate(divide="ignore"):
        reach = np.floor(np.where(gap > 0, 2 * problem.tolerance / np.where(gap > 0, gap, 1.0), count) + 1e-9)
    inside = np.minimum(reach + 1, count).astype(np.int64)
    total = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass, axis=1)], axis=1)
    stop = np.minimum(np.arange(count)[None, :] + inside[:, None], count)
    caught = np.take_along_axis(total, stop, axis=1) - total[:, :-1]
    # the first of equally good windows, as for pieces
    best = (caught >= caught.max(axis=1, keepdims=True) * (1 - 1e-9)).argmax(axis=1)
    guess: Array = secret[np.arange(len(best)), best] + 0.5 * gap * (inside - 1)
    return guess
