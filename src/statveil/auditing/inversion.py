"""The mechanism inverted: every original statistic that a release leaves open, and the map that would undo it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from statveil.auditing.posterior import Posterior
from statveil.auditing.view import View
from statveil.errors import StatveilError
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box
from statveil.problem.secrets.quantile import Quantile
from statveil.tables.blocks import Array, blocks_of
from statveil.tables.estimate import estimate, shares_of
from statveil.tables.maps.build import fixed_point
from statveil.tables.measure import measure

__all__ = ["Inversion", "inverted", "released_statistic"]

_NODES = 4001


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inversion:
    """Candidates for the secret, weighted by the prior, each with the map that the holder would have used.

    Attributes
    ----------
    secrets, weights : array
        Candidates and their prior weights along the fibre of the release.
    points : mapping of str to array
        The candidates' parameters.
    factor, offset : array or None
        x' = offset + factor x for each candidate; ``None`` for the modes that redraw the column.
    """

    secrets: Array
    weights: Array
    points: Mapping[str, Array]
    factor: Array | None = None
    offset: Array | None = None

    def posterior(self, weights: Array | float = 1.0) -> Posterior | None:
        """The candidates, with further evidence multiplied in."""
        return Posterior.of(self.secrets, self.weights * weights)

    def nearest(self, secret: float, slack: float) -> bool:
        """Whether a value of the secret lies among the candidates, up to ``slack``."""
        return bool(self.secrets.min() - slack <= secret <= self.secrets.max() + slack)


def released_statistic(view: View) -> float:
    """The statistic of the released column: the paper's surrogate of an attacker's guess."""
    problem = view.plan.problem
    if isinstance(problem.family, Categorical):
        return float(problem.secret_of(_released(view)))
    values = view.column[np.isfinite(view.column)]
    if not len(values):
        return float("nan")
    kind = problem.secret.kind
    if isinstance(problem.secret, Quantile):
        return float(np.quantile(values, problem.secret.alpha))
    if kind == "fraction":
        return float(np.mean(values == problem.family.category_index(problem.secret.category)))  # type: ignore[attr-defined]
    return float(values.std() if kind == "std" else values.mean())


def _released(view: View) -> dict[str, float]:
    """Parameters of the released column, inside the prior."""
    problem = view.plan.problem
    if isinstance(problem.family, Categorical):
        codes = view.column[np.isfinite(view.column)].astype(np.int64)
        counts = np.bincount(codes, minlength=len(problem.family.labels))
        return shares_of(problem.family.labels, counts)
    alpha = problem.secret.alpha if isinstance(problem.secret, Quantile) else None
    measured = measure(blocks_of(view.column), alpha=alpha)
    return estimate(problem, measured, released_statistic(view))


def inverted(view: View, nodes: int = _NODES) -> Inversion | None:
    """All originals that the mechanism maps to this release; ``None`` where the release fits no bin."""
    plan, problem = view.plan, view.plan.problem
    try:
        found = {name: np.atleast_1d(np.float64(value)) for name, value in _released(view).items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            released = plan.mechanism.snap(found)  # not plan.nearest: a release may lie outside the prior
    except StatveilError:
        return None
    support = problem.prior.support(problem.family)
    try:
        fibre = plan.mechanism.fibre(released, support, nodes)
    except (ValueError, StatveilError):
        return None
    open_ = fibre.weight[0] > 0  # the others only fill the row
    if not open_.any():
        return None
    points = {name: np.broadcast_to(value, fibre.weight.shape)[0, open_] for name, value in fibre.points.items()}
    for name, value in released.items():  # parameters that the mechanism leaves alone
        points.setdefault(name, np.full(int(open_.sum()), float(value[0])))
    size = max(float(np.abs(value).max()) for value in points.values())
    if not np.all(support.contains(points, slack=1e-9 * size)):
        return None
    weight = fibre.weight[0, open_]
    density = problem.prior.density(points) if isinstance(problem.prior, Box) else np.ones(len(weight))
    weights = weight * np.broadcast_to(density, weight.shape)
    secrets = np.asarray(problem.secret_of(points), dtype=np.float64)
    statistic = released_statistic(view)
    moved = abs(float(problem.secret_of(found)[0] - problem.secret_of(released)[0]))
    if not moved <= problem.tolerance + plan.distortion / plan.gamma:
        return None  # far from every bin: no release under this plan
    factor, offset = _maps(view, points, secrets, statistic)
    return Inversion(secrets=secrets, weights=weights, points=points, factor=factor, offset=offset)


def _maps(view: View, points: dict[str, Array], secrets: Array, statistic: float) -> tuple[Array | None, Array | None]:
    """For each candidate original, the coefficients of the map that gives this release."""
    plan, family = view.plan, view.plan.problem.family
    if plan.mode not in ("shift", "lattice", "scale", "affine", "jitter") or not isinstance(family, LocationScale):
        return None, None
    if plan.mode in ("shift", "lattice"):
        return np.ones(len(secrets)), statistic - secrets
    spread, about = plan.problem.secret.kind == "std", fixed_point(plan)
    with np.errstate(divide="ignore", invalid="ignore"):
        if about is not None:
            factor = statistic / secrets if spread else (statistic - about) / (secrets - about)
            return factor, about - factor * about
        released = _released(view)
        factor = float(family.scale(released)) / np.asarray(family.scale(points), dtype=np.float64)
        if spread:
            return factor, float(family.loc(released)) - factor * np.asarray(family.loc(points), dtype=np.float64)
        return factor, statistic - factor * secrets
