"""From a plan and the parameters of a column to the map of its rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from statveil.mechanisms.cells import Cells
from statveil.mechanisms.comb import Comb
from statveil.mechanisms.interval import Interval
from statveil.mechanisms.partition import Partition
from statveil.mechanisms.scaling import Scaling
from statveil.planning import Applied, Plan
from statveil.problem.location_scale import LocationScale, evaluate
from statveil.problem.structure import Structure
from statveil.tables.blocks import Array, Blocks
from statveil.tables.estimate import anchor_of
from statveil.tables.maps.affine import Affine, Quiet
from statveil.tables.maps.category import prepare_category
from statveil.tables.maps.column_map import ColumnMap
from statveil.tables.maps.jitter import prepare_jitter
from statveil.tables.maps.lattice import Lattice, on_lattice
from statveil.tables.maps.rank import prepare_rank
from statveil.tables.maps.sampling import Counts
from statveil.tables.maps.smooth import prepare_smooth
from statveil.tables.maps.unit import prepare_unit

__all__ = ["RANDOM_MODES", "build_map", "fixed_point", "model_values"]

RANDOM_MODES = ("category", "jitter", "rank", "smooth", "unit")
"""Modes whose result depends on the secret seed."""


def build_map(
    plan: Plan,
    *,
    params: dict[str, float],
    statistic: float,
    applied: Applied,
    blocks: Blocks,
    offset: float,
    smear: bool,
    seed: int,
    counts: Counts | None = None,
) -> ColumnMap:
    """The map that gives the column the released parameters.

    Parameters
    ----------
    params, statistic : dict, float
        The column's own parameters, and its own value of the secret.
    applied : Applied
        What the mechanism released for them.
    offset : float
        Where the column's lattice lies, if a step is declared.
    smear : bool
        Whether values that are 32-bit floats are smeared over their cells.
    counts : array, optional
        Rows of each category as they were counted: a column that has others by now is refused.
    """
    if plan.mode == "category":
        shares = np.array([float(applied.released[param.name]) for param in plan.problem.family.params])
        return prepare_category(blocks, shares=shares, seed=seed, counts=counts)
    released = {name: float(value) for name, value in applied.released.items()}
    if plan.mode == "unit":
        weights = "equal" if plan.problem.family.name == "poisson" else "urn"
        return prepare_unit(blocks, mean=float(plan.problem.family.mean(released)), weights=weights, seed=seed)
    if plan.mode == "rank":
        return prepare_rank(blocks, quantile=model_values(plan, released), seed=seed)
    goal = float(applied.secret)
    if plan.problem.secret.anchor is not plan.problem.secret:  # no row moves by g: what stands for it does
        statistic, goal = anchor_of(plan.problem, params), anchor_of(plan.problem, released)
    if plan.mode in ("jitter", "smooth"):
        return _redrawn(plan, goal, blocks, seed)
    if plan.mode == "lattice":
        return _lattice(plan, statistic, goal, offset, seed if smear else None)
    return _affine(plan, params, released, statistic, goal, seed if smear else None)


def _redrawn(plan: Plan, mean: float, blocks: Blocks, seed: int) -> ColumnMap:
    """Steps, heaps and atoms above a bound: the shape kept, the lattice's own traces blurred."""
    known = plan.problem.known
    about = known.minimum if known.minimum is not None else known.maximum
    assert about is not None
    if plan.mode == "jitter":
        assert known.step is not None
        return prepare_jitter(blocks, about=about, step=known.step, mean=mean, atoms=known.atoms, seed=seed)
    return prepare_smooth(
        blocks, about=about, step=known.step, mean=mean, atoms=known.atoms, seed=seed, heaps=known.heaps
    )


def model_values(plan: Plan, params: dict[str, float]) -> Callable[[Array], Array]:
    """Quantiles of the model with these parameters, made to fit the declared bounds and step."""
    family, finish = plan.problem.family, _inside(plan.problem.known)

    def quantile(levels: Array) -> Array:
        return finish(np.asarray(family.quantile(levels, params), dtype=np.float64))

    return quantile


def fixed_point(plan: Plan) -> float | None:
    """The publicly known value that a ``scale`` leaves where it is."""
    family, known = plan.problem.family, plan.problem.known
    if plan.mode not in ("scale", "jitter", "smooth") or not isinstance(family, LocationScale):
        return None
    if known.fixed_points:
        return known.fixed_points[0]
    for end in (family.minimum, family.maximum):
        if isinstance(end, float):
            return end
        if end is not None and plan.problem.box.axes[end].known:
            return plan.problem.box.axes[end].low
    return None


def _affine(
    plan: Plan, params: dict[str, float], released: dict[str, float], statistic: float, secret: float, seed: int | None
) -> Affine:
    family = plan.problem.family
    assert isinstance(family, LocationScale)
    rate = plan.problem.secret.shift_rate(family)
    about = fixed_point(plan)
    # the rounding error of a mean shows its size after averaging: only a rounded one may touch the rows
    own = _coarse(plan, statistic)
    if plan.mode == "shift":
        # the same move whatever the secret is; for a spread there would be nothing to hide
        pivot, target, factor = own / rate, secret / rate, 1.0
    elif about is not None:
        pivot = target = about
        factor = (secret - rate * about) / (own - rate * about)
    else:
        factor = float(family.scale(released)) / _coarse(plan, float(family.scale(params)))
        pivot, target = (
            (own / rate, secret / rate)
            if rate
            else (_coarse(plan, float(family.loc(params))), float(family.loc(released)))
        )
    quiet = Quiet.of(
        reach=_size(plan) if about is None else abs(about),
        factor=_largest_factor(plan, about),
        stretched=plan.mode != "shift",
    )
    return Affine(pivot=pivot, factor=factor, target=target, quiet=quiet, fixed=about, seed=seed)


def _lattice(plan: Plan, statistic: float, secret: float, offset: float, seed: int | None) -> Lattice:
    known = plan.problem.known
    assert known.spacing is not None
    return Lattice(
        steps=round((secret - statistic) / known.spacing),
        spacing=known.spacing,
        step=known.step,
        offset=offset,
        heap=min(known.heaps, default=None),
        quiet=Quiet.of(reach=_size(plan), factor=1.0, stretched=False),
        seed=seed,
    )


def _inside(known: Structure) -> Callable[[Array], Array]:
    """The model's values made to fit the declared bounds and step."""
    if known.step is None and known.minimum is None and known.maximum is None:
        return lambda values: values
    anchor = known.fixed_points[0] if known.fixed_points else 0.0

    def finish(values: Array) -> Array:
        held = np.clip(values, known.minimum, known.maximum)
        if known.step is None:
            return held
        place = np.floor((held - anchor) / known.step + 0.5)
        if known.maximum is not None:  # a bound off the lattice: the last place inside
            place = np.minimum(place, np.floor((known.maximum - anchor) / known.step + 1e-9))
        if known.minimum is not None:
            place = np.maximum(place, np.ceil((known.minimum - anchor) / known.step - 1e-9))
        return on_lattice(place, known.step, anchor)

    return finish


def _coarse(plan: Plan, value: float) -> float:
    """A statistic rounded to 2^-40 of the largest that the prior allows, a grain that the plan alone sets."""
    grain = 2.0 ** (math.ceil(math.log2(_size(plan))) - 40)
    return round(value / grain) * grain


# --- sizes that come from the plan alone, so that the rounding tells nothing --------------------
def _size(plan: Plan) -> float:
    """How large the secret can be under the prior."""
    family = plan.problem.family
    assert isinstance(family, LocationScale)
    axes = plan.problem.box.axes
    slopes = {
        param.name: (family.loc_form.get(param.name, 0.0), family.scale_form.get(param.name, 0.0))
        for param in family.params
    }
    return sum(
        max(abs(one), abs(two)) * max(abs(axes[name].low), abs(axes[name].high)) for name, (one, two) in slopes.items()
    )


def _largest_factor(plan: Plan, about: float | None) -> float:
    """By how much the map of any column could stretch it."""
    mechanism, family = plan.mechanism, plan.problem.family
    assert isinstance(family, LocationScale)
    if plan.mode == "shift":
        return 1.0
    if isinstance(mechanism, Scaling):
        return 0.5 * (1 + float(mechanism.bins.span(mechanism.bins.first)[1]) / mechanism.bins.low)
    if isinstance(mechanism, Partition | Cells):
        edges = np.array(mechanism.edges)
        if isinstance(mechanism, Cells):
            cell, release, _ = mechanism.entries
            released, edges = np.array(mechanism.released)[release], np.stack([edges[cell], edges[cell + 1]])
        else:
            released, edges = np.array(mechanism.released), np.stack([edges[:-1], edges[1:]])
        from_bound = about if about is not None and family.location is not None else 0.0
        near = np.abs(edges - from_bound).min(axis=0)
        return float(np.max(np.abs(released - from_bound) / np.maximum(near, 1e-12 * np.abs(released).max())))
    assert isinstance(mechanism, Interval | Comb)
    width = mechanism.extent if isinstance(mechanism, Comb) else mechanism.bins.width
    axes = plan.problem.box.axes
    if not family.scale_form:  # a location family scaled about its bound
        (axis,) = (axes[name] for name in mechanism.coordinate)
        least = min(abs(axis.low - (about or 0.0)), abs(axis.high - (about or 0.0)))
        return 1 + 0.5 * width / least
    least = sum(min(slope * axes[name].low, slope * axes[name].high) for name, slope in family.scale_form.items())
    stretch = abs(
        float(evaluate(family.scale_form, {p.name: mechanism.direction.get(p.name, 0.0) for p in family.params}))
    )
    # a uniform's length can be as small as you like: from a 64th of the change on, nothing more is lost
    return 1 + stretch * width / max(least, stretch * width / 64)
