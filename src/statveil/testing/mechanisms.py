"""Conformance of a mechanism: its accounting against what can be drawn, released and counted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np
from numpy.random import Generator

from statveil import accounting
from statveil.mechanisms.mechanism import MECHANISMS, Fibre, Mechanism, mechanism_from_json
from statveil.numeric import Array
from statveil.problem.prior import Box
from statveil.problem.problem import Problem
from statveil.simulation import play
from statveil.testing.comparison import ConformanceError, close, same
from statveil.theory.distances import distance

__all__ = ["check_mechanism"]

_DRAWN = 20_000
_MEASURED = 300
_NODES = 33
_TOO_WEAK = 0.01  # by how much the simulated attacker, who learns from draws and looks between nodes, may fall behind
_OVERSTATED = 0.75  # a grid finds nearly all of the largest distance


def check_mechanism(mechanism: Mechanism, problem: Problem, *, trials: int = 20_000, seed: int = 0) -> None:
    """A mechanism and its accounting, on a problem that it is for.

    Its risk must not be below what the simulated attacker reaches (and not far above, if it is not an upper bound); its
    distortion must be the largest distance that a grid of parameters finds; the points of a fibre must have the same
    release, and hold the parameter that it came from; written to JSON and read again it must be the same.

    Parameters
    ----------
    mechanism : Mechanism
        One that covers the problem's prior.
    problem : Problem
        What it is accounted for.
    trials : int
        Draws of the simulated attacker.
    seed : int
        To repeat a check.
    """
    rng = np.random.default_rng(seed)
    same(MECHANISMS.get(mechanism.kind) is type(mechanism), f"{mechanism.kind!r} is not registered under its kind")
    again = mechanism_from_json(json.loads(json.dumps(mechanism.to_json())))
    same(again == mechanism, "the mechanism changes when it is written to JSON and read again")
    names = {param.name for param in problem.family.params}
    same(mechanism.parameters <= names, f"it speaks of {sorted(mechanism.parameters - names)}, no parameters here")
    same(all(mechanism.describe(None)), "'describe' gives no word or no sentence")
    same(mechanism.covers(problem), "it says itself that it does not cover the prior")
    params = _parameters(problem, rng)
    chance = rng.random(len(next(iter(params.values())))) if mechanism.randomised else None
    released = mechanism.release(params, chance)
    _check_releases(mechanism, params, released)
    _check_fibre(mechanism, problem, params, released)
    _check_distortion(mechanism, problem, params, released)
    _check_risk(mechanism, problem, trials, rng)


def _parameters(problem: Problem, rng: Generator) -> dict[str, Array]:
    """A grid where one parameter is uncertain, else draws: none is missed, its ends included."""
    if isinstance(problem.prior, Box) and len(problem.box.free) == 1:
        params = {name: np.full(_DRAWN, axis.low) for name, axis in problem.box.axes.items()}
        (name,) = problem.box.free
        axis = problem.box.axes[name]
        low, high = axis.low, axis.high
        if not (math.isfinite(low) and math.isfinite(high)):
            drawn = problem.sample(_DRAWN, rng)[name]
            low, high = float(drawn.min()), float(drawn.max())
        params[name] = np.linspace(low, high, _DRAWN)
        return params
    return {name: np.asarray(value) for name, value in problem.sample(_DRAWN, rng).items()}


def _check_releases(mechanism: Mechanism, params: Mapping[str, Array], released: Mapping[str, Array]) -> None:
    """Finite, of the same shape, one of those that are possible, and found again by ``snap``."""
    same(set(released) == set(params), f"it releases {sorted(released)}, and the parameters are {sorted(params)}")
    for name, values in released.items():
        same(values.shape == params[name].shape, f"the released {name!r} have another shape than the parameters")
        same(bool(np.isfinite(values).all()), f"a released {name!r} is not finite")
        size = 1e-9 * (1 + float(np.abs(values).max()))
        close(
            mechanism.snap(released)[name],
            values,
            size,
            f"a release and the one nearest to it, {name!r}",
            absolute=True,
        )
    for i in range(0, len(next(iter(params.values()))), 2_003):
        options = mechanism.possible({name: float(values[i]) for name, values in params.items()})
        gaps = [np.abs(options[name] - released[name][i]) for name in released]
        same(float(np.max(gaps, axis=0).min()) <= 1e-9, "a release is none of those that are said to be possible")


def _check_fibre(
    mechanism: Mechanism, problem: Problem, params: Mapping[str, Array], released: Mapping[str, Array]
) -> None:
    """What a release leaves open is released alike, and the parameter that it came from is among it."""
    rows = slice(None, None, 401)
    seen = {name: values[rows] for name, values in released.items()}
    truth = {name: values[rows] for name, values in params.items()}
    try:
        fibre = mechanism.fibre(seen, problem.prior.core(problem.family), _NODES)
    except Exception as error:
        raise ConformanceError(f"what its own releases leave open, their fibre, cannot be told: {error}") from error
    counted = _inside(fibre)
    count = fibre.weight.shape[1]
    points = {
        name: np.broadcast_to(np.asarray(fibre.points.get(name, seen[name][:, None])), (len(values), count))
        for name, values in seen.items()
    }
    size = {
        name: 1e-7 * (1e-9 + float(np.ptp(params[name])) + 1e-2 * float(np.abs(values).max()))
        for name, values in released.items()
    }
    if not mechanism.randomised:
        alike = mechanism.release(points)
        for name, values in seen.items():
            off = float(np.max(np.abs(alike[name] - values[:, None])[counted], initial=0.0))
            same(off <= size[name], f"points of a fibre are released as {name!r} up to {off:.3g} apart")
    for name, values in truth.items():
        low, high = points[name].min(axis=1), points[name].max(axis=1)
        room = np.where(fibre.comb, (high - low) / max(count - 1, 1), 0.0) + size[name]
        off = float(np.max(np.maximum(low - values, values - high) - room))
        same(off <= 0, f"the parameter {name!r} that led to a release lies {off:.3g} outside its fibre")


def _inside(fibre: Fibre) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Points that count: not the ends of a piece, which belong to its neighbours as well, nor padding."""
    counted = fibre.weight > 0
    ends = np.zeros_like(counted)
    ends[:, [0, -1]] = True
    return np.asarray(counted & ~(ends & ~fibre.comb[:, None]))


def _check_distortion(
    mechanism: Mechanism, problem: Problem, params: Mapping[str, Array], released: Mapping[str, Array]
) -> None:
    """The largest distance over the parameters that moved furthest, and over some others."""
    moved = np.abs(problem.position_of(released) - problem.position_of(params))
    for name, values in released.items():
        spread = float(np.ptp(params[name]))
        moved = moved + (np.abs(values - params[name]) / spread if spread else 0.0)
    order = np.argsort(-moved)[:_MEASURED]
    looked = np.concatenate([order, np.arange(0, len(moved), len(moved) // _MEASURED)])
    one = {name: values[looked] for name, values in params.items()}
    two = {name: values[looked] for name, values in released.items()}
    largest = float(np.max(_distances(problem, one, two)))
    stated = accounting.distortion(problem, mechanism)
    same(math.isfinite(stated), f"its distortion is {stated}")
    same(largest <= stated * (1 + 1e-6), f"a release lies {largest:.6g} away, more than the distortion {stated:.6g}")
    same(
        largest >= _OVERSTATED * stated,
        f"no release lies further away than {largest:.6g}, and the distortion is {stated:.6g}",
    )


def _distances(problem: Problem, one: Mapping[str, Array], two: Mapping[str, Array]) -> Array:
    """All at once where the family has a closed form, else one by one."""
    family, kind = problem.family, problem.distance
    if (family.tv if kind == "tv" else family.w1)(one, two) is not None:
        return distance(family, one, two, kind)
    count = len(next(iter(one.values())))
    pairs = (({name: float(part[name][i]) for name in part} for part in (one, two)) for i in range(count))
    return np.array([float(distance(family, a, b, kind)) for a, b in pairs])


def _check_risk(mechanism: Mechanism, problem: Problem, trials: int, rng: Generator) -> None:
    try:
        stated = accounting.risk(problem, mechanism)
    except Exception as error:
        raise ConformanceError(f"its risk is not accounted for: {error}") from error
    same(stated.kind in accounting.KINDS, f"its risk is {stated.kind!r}, none of {', '.join(accounting.KINDS)}")
    same(0 <= stated.value <= 1, f"its risk is {stated.value}")
    reached = play(problem, mechanism, trials=trials, rng=rng)
    same(
        reached.low <= stated.value,
        f"an attacker hits with probability {reached.low:.4g} to {reached.high:.4g}, more than the stated "
        f"{stated.value:.4g}",
    )
    same(
        stated.kind == "upper bound" or stated.value <= reached.high + _TOO_WEAK,
        f"the risk is said to be {stated.kind} and {stated.value:.4g}, but an attacker hits with probability "
        f"{reached.low:.4g} to {reached.high:.4g}",
    )
