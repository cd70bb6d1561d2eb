"""Which maps of the column keep what is publicly known of it. Decided from the declaration alone."""

from __future__ import annotations

from dataclasses import dataclass

from statveil.errors import ProblemError
from statveil.problem.families.categorical import Categorical
from statveil.problem.location_scale import Form, LocationScale
from statveil.problem.problem import Problem

__all__ = ["Treatment", "mode_of", "treatment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """``free``: any direction; ``lattice``: whole steps; ``scale``: about a bound; ``rank``: by model."""

    kind: str
    about: float = 0.0
    step: float | None = None


def treatment(problem: Problem) -> Treatment:
    """The treatment that keeps the declared structure (design table: shift, scale, affine, lattice, rank)."""
    known, family = problem.known, problem.family
    spacing = known.spacing
    if spacing is None and not known.fixed_points:
        return Treatment(kind="free")
    if not isinstance(family, LocationScale):
        return Treatment(kind="free")
    if spacing is not None and not known.fixed_points and _can_shift(problem, family):
        return Treatment(kind="lattice", step=spacing)
    if spacing is None and len(known.fixed_points) == 1 and _can_scale(problem, family, known.fixed_points[0]):
        return Treatment(kind="scale", about=known.fixed_points[0])
    if family.name == "location" and not family.settings():
        raise ProblemError(
            "no shift or scaling keeps this combination of known bounds, step, heaps and atoms, and a location family "
            "without a shape cannot be redrawn by rank. Declare less, or use a family with a full model "
            "(gaussian, exponential, poisson and so on)."
        )
    return Treatment(kind="rank")


def mode_of(problem: Problem, kind: str, direction: Form) -> str:
    """Name of the map of the column: shift, scale, affine, lattice, rank or category."""
    family = problem.family
    if isinstance(family, Categorical):
        return "category"
    if not isinstance(family, LocationScale):
        return "unit" if _can_sample_units(problem) else "rank"
    if kind != "free":
        return kind
    moved = {name: change for name, change in direction.items() if change}
    if family.shift and moved == dict(family.shift):
        return "shift"
    ends = [end for end in (family.minimum, family.maximum) if end is not None]
    if any(end not in moved for end in ends) and len(moved) == 1:
        return "scale"  # the end of the support that does not move is the fixed point
    return "affine"


def _can_sample_units(problem: Problem) -> bool:
    """Units of a count carry its mean and nothing else: other secrets and declared structure need the model."""
    known = problem.known
    plain = known.step in (None, 1.0) and not known.heaps and set(known.fixed_points) <= {0.0} and not known.atoms
    return problem.family.name in ("geometric", "poisson") and problem.secret.kind == "mean" and plain


def _can_shift(problem: Problem, family: LocationScale) -> bool:
    return bool(family.shift) and problem.secret.kind != "std" and all(n in problem.box.free for n in family.shift)


def _can_scale(problem: Problem, family: LocationScale, about: float) -> bool:
    free = problem.box.free
    if family.location is None:
        return about == family.minimum
    if family.minimum is not None or family.maximum is not None:
        ends = {end for end in (family.minimum, family.maximum) if isinstance(end, str)}
        fixed = [end for end in ends if end not in free and problem.box.axes[end].low == about]
        return bool(fixed)
    axis = problem.box.axes[family.location]
    one_side = axis.low > about or axis.high < about
    # a known spread would be given away together with the mean: the release shows their ratio
    return one_side and (not family.settings() if len(family.params) == 1 else len(free) == 2)
