"""Tables like the original whose true scale is drawn from the prior: the trials of a rate must be independent.

On one fixed table a guess is always right or always wrong, whatever the grid. So each trial takes other rows of the
table, draws the parameters from the prior, and moves the rows there in the way that keeps what is known of them.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from statveil.auditing.sampling import Places, in_order, runs
from statveil.modes import known_point
from statveil.problem.column_numbers import InMemory, TwoGroups
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.families.categorical import Categorical
from statveil.problem.families.log_shape import LogShape
from statveil.problem.location_scale import LocationScale
from statveil.problem.of_two import OfTwo
from statveil.problem.problem import Problem
from statveil.problem.structure import Structure
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.estimate import anchor_of
from statveil.tables.groups import Masks
from statveil.tables.maps.odds import moved_odds, solved
from statveil.tables.maps.unit import prepare_unit
from statveil.tables.structure.column.beta_search import beta_levels

__all__ = ["arranged", "redrawn"]


def redrawn(problem: Problem, column: Array, known: Structure, rng: Generator, parts: Masks | None = None) -> Array:
    """The rows with parameters drawn from the prior, and the structure that they had.

    ``parts`` are the rows of the two groups that the secret compares.
    """
    drawn = {name: float(value[0]) for name, value in problem.sample(1, rng).items()}
    family, finite = problem.family, np.isfinite(column)
    fresh = column.copy()
    values = column[finite]
    if parts is not None:
        return _moved_apart(problem, column, drawn, known, rng, parts)
    if isinstance(family, Categorical):
        shares = np.array([drawn[param.name] for param in family.params])
        fresh[finite] = rng.choice(len(shares), size=len(values), p=shares / shares.sum())
    elif isinstance(family, LocationScale):
        fresh[finite] = _on_structure(values, _moved(problem, family, values, drawn, known), known, rng)
    elif family.name in ("geometric", "poisson"):
        weights = "equal" if family.name == "poisson" else "urn"
        mean, seed = float(family.mean(drawn)), int(rng.integers(2**62))
        fresh[finite] = prepare_unit(blocks_of(values), mean=mean, weights=weights, seed=seed).block(values, 0)
    else:
        fresh[finite] = family.sample(drawn, len(values), rng)
    return fresh


def _moved_apart(
    problem: Problem, column: Array, drawn: dict[str, float], known: Structure, rng: Generator, parts: Masks
) -> Array:
    """Both groups along their orbit until the secret is the drawn one."""
    secret, fresh = problem.secret, column.copy()
    assert isinstance(secret, OfTwo)
    two = secret.weighed(TwoGroups.of(column, parts))
    there = secret.moved(*two.means, two.share, float(problem.secret_of(drawn)))
    for inside, old, new in zip(parts, two.means, there, strict=True):
        rows = inside & np.isfinite(column)
        moved = column[rows] * (float(new) / old) if problem.family.log else column[rows] + (float(new) - old)
        fresh[rows] = _on_structure(column[rows], moved, known, rng)
    return fresh


def _moved(problem: Problem, family: LocationScale, values: Array, drawn: dict[str, float], known: Structure) -> Array:
    """Shift, scale about a known point, or both, until the rows have the drawn parameters."""
    if isinstance(family, LogShape):
        return family.moved(problem.secret, values, drawn)
    anchor, rate = problem.secret.anchor, problem.secret.shift_rate(family)
    wanted, level = anchor_of(problem, drawn), anchor.of_column(InMemory(values), family)
    if isinstance(family, AnyShape) and family.between is not None:
        return _between(values, *family.between, wanted / (anchor.times_mean or 1.0))
    if family.model is not None:
        centre = anchor.centre(InMemory(values)) if not rate else 0.0
        return family.model.moved(values, level, wanted, centre)
    about = known_point(problem, known)  # a redrawn table must keep it
    if about is not None:
        here = level - rate * about
        return about + (values - about) * ((wanted - rate * about) / here if here else 1.0)
    if family.shapeless and not rate:
        centre = anchor.centre(InMemory(values))
        return centre + (values - centre) * (wanted / level if level else 1.0)
    if not rate:
        place = family.measured_place()
        here = place.of_column(InMemory(values), family)
        return float(place.of(family, drawn)) + (values - here) * (wanted / level if level else 1.0)
    uncertain, width = set(family.scale_form) & set(problem.box.free), family.measured_spread()
    spread = width.of_column(InMemory(values), family)
    scale = float(width.of(family, drawn)) / spread if uncertain and spread else 1.0
    return wanted / rate + (values - level / rate) * scale


def _between(values: Array, low: float, high: float, mean: float) -> Array:
    """The rows with this mean: moved along the Beta distributions if they look like one, else by their odds.

    Whoever believes in Beta distributions believes that a table of another mean would have been one too.
    """
    from scipy.special import betaincinv

    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    wanted = (mean - low) / (high - low)
    if (beta := beta_levels(share)) is not None:
        size, level = beta
        return low + (high - low) * np.asarray(betaincinv(wanted * size, (1 - wanted) * size, level), dtype=np.float64)

    def mean_of(log_ratio: float) -> tuple[float, float]:
        moved = moved_odds(share, float(np.exp(log_ratio)))
        return float(moved.mean()), float((moved * (1 - moved)).mean())

    ratio = float(np.exp(solved(mean_of, wanted)))
    return np.asarray(low + (high - low) * moved_odds(share, ratio), dtype=np.float64)


def _on_structure(before: Array, moved: Array, known: Structure, rng: Generator) -> Array:
    """Back to the lattice, heaps on heaps, atoms where they were."""
    if known.step is not None:
        anchor = known.fixed_points[0] if known.fixed_points else 0.0
        stretched = len(before) > 1 and not np.isclose(np.ptp(moved), np.ptp(before))
        # a stretched lattice has gaps: a place at random inside each cell fills them
        jitter = (
            rng.random(len(moved)) * known.step * (np.ptp(moved) / np.ptp(before)) if stretched else 0.5 * known.step
        )
        moved = anchor + known.step * np.floor((moved - anchor + jitter) / known.step)
        for heap in known.heaps:
            heaped = np.abs(before - anchor - heap * np.round((before - anchor) / heap)) <= 1e-9 * heap
            moved = np.where(heaped, anchor + heap * np.round((moved - anchor) / heap), moved)
        if known.minimum is not None:
            moved = np.maximum(moved, known.minimum)
        if known.maximum is not None:
            moved = np.minimum(moved, known.maximum)
    return np.where(np.isin(before, known.atoms), before, moved)


def arranged(before: Array, fresh: Array, groups: Places | None, rng: Generator, *, categories: bool) -> Array:
    """Redrawn values in the order that the rows had: one value for a group, sorted rows sorted, runs as runs.

    Rows without any order stay as they were drawn.
    """
    finite = np.isfinite(before)
    result, old, new = fresh.copy(), before[finite], fresh[finite]
    if groups is not None:
        _, codes = np.unique(groups[finite], return_inverse=True)
    elif in_order(before):
        codes = runs(old)
    else:
        return result
    first = np.unique(codes, return_index=True)[1]
    if categories:  # each group or run is drawn as a whole
        result[finite] = new[first][codes]
        return result
    if groups is not None:
        ranked = np.lexsort((rng.random(len(first)), old[first]))
        values = np.empty(len(first))
        values[ranked] = np.sort(new[first])
        result[finite] = values[codes]
        return result
    # equal rows of one run stay together and in order; which run of equal ones comes first is drawn
    ranked = np.lexsort((np.arange(len(old)), rng.random(len(first))[codes], old))
    values = np.empty(len(old))
    values[ranked] = np.sort(new)
    result[finite] = values
    return result
