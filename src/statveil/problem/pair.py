"""Two secrets of one column: from what is declared to the pair of statistics that a map of the rows moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from statveil.errors import ProblemError
from statveil.problem.also import Also
from statveil.problem.axis import Axis
from statveil.problem.families.two_secrets import TwoSecrets
from statveil.problem.family import Family
from statveil.problem.location_scale import LocationScale
from statveil.problem.prior import Box, Prior, as_axis
from statveil.problem.secret import Secret
from statveil.problem.structure import Structure
from statveil.problem.tolerance import Relative

__all__ = ["Pair", "pair_of"]

_PRODUCT = (
    "Two secrets are accounted for where what is believed of one does not depend on the other: state a prior of each "
    "secret itself"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The pair as a family of two parameters, with the beliefs about each."""

    family: TwoSecrets
    prior: Box
    also: Also


def pair_of(
    *,
    family: Family | None,
    secret: Secret,
    prior: object,
    tolerance: float | Relative,
    also: Sequence[object],
    known: Structure,
    shape: object,
) -> Pair:
    """The two secrets with independent beliefs; an error where they have none, or no map moves both."""
    second = _second(secret, tolerance, also)
    if shape is not None:
        raise ProblemError(
            "two secrets are hidden by moving and stretching the whole column, and a shape redraws it; leave out the "
            "shape, or hide one secret."
        )
    _check_nothing_stays(known)
    place, spread = _roles(family, secret, second.secret)
    base = None if family is None else _checked(family, (secret, second.secret))
    if base is None and (place.most_away is None or spread.most_spread is None):
        raise ProblemError(
            f"without a family it is not known how far rows lie from the {place.label} beside the {spread.label}, so "
            "no distortion can be stated. Hide the mean, the median or a quantile together with the std, or state a "
            "family."
        )
    pair = TwoSecrets(place=place, spread=spread, base=base, first=secret.label)
    one, two = _beliefs(base, secret, second, prior)
    box = Box({secret.label: one, second.secret.label: two}).fit(pair)
    if len(box.free) < 2:
        raise ProblemError(
            f"one of the two secrets, {secret.label} and {second.secret.label}, is publicly known, so there is one to "
            "hide; leave the other one out."
        )
    axis = box.axes[second.secret.label]
    return Pair(family=pair, prior=box, also=Also(second.secret, axis, tolerance=second.tolerance))


def _check_nothing_stays(known: Structure) -> None:
    """x -> a x + b with any a and b near 1 and 0 leaves no value, no step and no heap where it is.

    One that fixes a bound or an atom has one number left to choose, and hides one secret.
    """
    parts = {"step": known.step, "min": known.minimum, "max": known.maximum}
    named = [f"{name}={value:g}" for name, value in parts.items() if value is not None]
    named += [f"{name}={value:g}" for name in ("heaps", "atoms") for value in getattr(known, name)]
    if not named:
        return
    moved = "a bound or an atom" if known.fixed_points else "a step or a heap"
    raise ProblemError(
        f"two secrets are hidden by moving and stretching the whole column, which cannot keep {moved} where it is. Got "
        f"{', '.join(named)}. Leave that out if outsiders do not know it, or hide one secret."
    )


def _second(secret: Secret, tolerance: float | Relative, also: Sequence[object]) -> Also:
    if len(also) != 1 or not isinstance(also[0], Also):
        raise ProblemError(
            "beside its secret a problem can have one more, as in also=[sv.Also(sv.Std(), prior=(5, 20), "
            f"tolerance=0.5)]. Got {len(also)} of them; three secrets of one column need releases of their own."
            if len(also) != 1
            else f"a second secret is stated as sv.Also(sv.Std(), prior=(5, 20), tolerance=0.5). Got {also[0]!r}."
        )
    if isinstance(tolerance, Relative):
        raise ProblemError(
            f"two secrets are hidden with tolerances in their own unit. Got {tolerance}; state a number."
        )
    if also[0].secret == secret:
        raise ProblemError(f"the {secret.label} is named twice as a secret; name another statistic beside it, or none.")
    return also[0]


def _roles(family: Family | None, one: Secret, two: Secret) -> tuple[Secret, Secret]:
    """Which of the two moves with the column, and which only stretches with it."""
    if isinstance(family, LocationScale):
        parts = [(secret, secret.linear(family)) for secret in (one, two)]
        moving = [secret for secret, part in parts if part is not None and part[0]]
        still = [secret for secret, part in parts if part is not None and not part[0]]
    else:
        moving = [secret for secret in (one, two) if secret.per_shift]
        still = [secret for secret in (one, two) if secret.per_shift == 0]
    if len(moving) != 1 or len(still) != 1:
        raise ProblemError(
            f"two secrets of one column are one that moves with it (mean, median, quantile) and one that only "
            f"stretches with it (std, iqr). Got {one.label} and {two.label}."
        )
    return moving[0], still[0]


def _checked(family: Family, secrets: Sequence[Secret]) -> LocationScale:
    """A family that can be both moved and stretched, and whose secrets these can be."""
    if not isinstance(family, LocationScale) or not family.scale_form or len(family.params) != 2 or family.redrawn:
        raise ProblemError(
            f"two secrets are hidden by moving and stretching the column, which {family.label!r} does not allow. Leave "
            "out the family, or use one with a location and a scale (gaussian, uniform, shape:lognorm(1) and so on)."
        )
    for secret in secrets:
        family.check_secret(secret)
    return family


def _beliefs(base: LocationScale | None, secret: Secret, second: Also, prior: object) -> tuple[Axis, Axis]:
    """A belief about each secret: as stated, or those of the family's parameters where the secrets are these."""
    if isinstance(prior, Mapping):
        prior = Box(prior)
    if isinstance(prior, Box) and base is not None and second.prior is None:
        return _of_parameters(base, prior, secret, second.secret)
    if isinstance(prior, Box) and list(prior.axes) == ["value"]:
        prior = prior.axes["value"]
    if isinstance(prior, Prior) or second.prior is None:
        what = secret.label if isinstance(prior, Prior) else second.secret.label
        raise ProblemError(f"the prior of the {what} is missing. {_PRODUCT}, such as prior=(5, 20).")
    return as_axis(secret.label, prior), second.prior


def _of_parameters(base: LocationScale, box: Box, one: Secret, two: Secret) -> tuple[Axis, Axis]:
    """Beliefs about parameters, where each secret is one of them; a box of others is none of the secrets."""
    family = base.stated_in(box.axes)
    assert isinstance(family, LocationScale)
    fitted = box.fit(family)
    found = []
    for secret in (one, two):
        parts = {name: part for name, part in family.coefficients(secret).items() if part}
        if list(parts.values()) != [1.0]:
            raise ProblemError(
                f"the {secret.label} of {family.name!r} is none of its parameters, so a box of these is no prior of "
                f"independent secrets. {_PRODUCT}."
            )
        found.append(fitted.axes[next(iter(parts))])
    return found[0], found[1]
