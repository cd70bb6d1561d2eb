"""What can be said of a choice without any data: whether its parts fit, a picture of the belief, the trade-off.

Nothing here, nor anything it loads, can read a table (a contract of the imports): the texts are all that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from statveil.baseline import risk_without_release
from statveil.design.treatment import treatment
from statveil.errors import StatveilError
from statveil.numeric import Array
from statveil.problem.axis import Axis
from statveil.problem.families.any_shape import AnyShape
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.rounding import shown_up
from statveil.spelling import parse_amount, parse_known, parse_priors, parse_secret, parse_shape
from statveil.studio.choice import TEXTS, checked_text
from statveil.studio.refusal import Refusal
from statveil.words.phrases import close_text
from statveil.words.plan import without_sentence

__all__ = ["belief_of", "check", "picture", "problem_of", "problems_of", "without", "without_words"]

_POINTS = 120  # of the picture


@lru_cache(maxsize=256)
def problem_of(secret: str, prior: str, tolerance: str, known: str = "", shape: str = "") -> Problem:
    """The problem that the texts state."""
    belief = parse_priors((prior,), named=False)
    assert belief is not None  # which nobody stated
    return Problem(
        secret=parse_secret(secret),
        prior=belief,
        tolerance=parse_amount(tolerance, "the tolerance"),
        known=parse_known(known or None),
        shape=parse_shape(shape or None),
    )


def problems_of(texts: Mapping[str, str], max_risk: float | None = None) -> list[dict[str, str]]:
    """What does not fit together, each with the field that it is about; empty texts are not looked at.

    Examples
    --------
    >>> problems_of({"secret": "mean", "prior": "0:100", "tolerance": "5%"})[0]["field"]
    'prior'
    """
    said = {name: texts.get(name, "") for name in TEXTS}
    if not all(said[name] for name in ("secret", "prior", "tolerance")):
        return []
    try:
        problem = problem_of(**said)
    except StatveilError as error:
        return [{"field": _blamed(said, str(error)), "message": str(error)}]
    try:
        treatment(problem)
    except StatveilError as error:
        return [{"field": "known" if said["known"] else "shape", "message": str(error)}]
    if max_risk is not None:
        least = without(problem)
        if least is not None and least >= max_risk:
            return [
                {
                    "field": "max_risk",
                    "message": f"a guess without any release hits {shown_up(least, 4)} of the time, so no release has "
                    f"a risk of {max_risk:g}; ask for a larger risk, or for a closer guess to count.",
                }
            ]
    return []


def _blamed(said: dict[str, str], message: str) -> str:
    """The field without which the rest would fit; the belief where none is."""
    for name in ("known", "shape"):
        if said[name]:
            try:
                problem_of(**{**said, name: ""})
            except StatveilError:
                continue
            return name
    return "tolerance" if "tolerance" in message and "range" not in message else "prior"


@lru_cache(maxsize=256)
def without(problem: Problem) -> float | None:
    """How often a guess hits that never saw a release."""
    try:
        return risk_without_release(problem)
    except StatveilError:
        return None


def check(given: Mapping[str, Any]) -> dict[str, Any]:
    """The live check beside the fields: problems, words and a picture of what outsiders believe."""
    problems: list[dict[str, str]] = []
    texts: dict[str, str] = {}
    for name in TEXTS:
        value = given.get(name) or ""
        try:
            if not isinstance(value, str):
                raise Refusal(f"{name!r} is a text.", field=name)
            texts[name] = checked_text(name, value)
        except Refusal as refusal:
            problems.append({"field": name, "message": str(refusal)})
    if problems:
        return {"ok": False, "problems": problems, "words": [], "picture": None}
    problems = problems_of(texts)
    complete = all(texts[name] for name in ("secret", "prior", "tolerance"))
    if problems or not complete:
        return {"ok": False, "problems": problems, "words": [], "picture": _picture_alone(texts)}
    problem = problem_of(**texts)
    return {"ok": True, "problems": [], "words": _words(problem), "picture": picture(problem)}


def _words(problem: Problem) -> list[str]:
    axis, label = belief_of(problem), problem.secret.plain
    words = []
    if axis is not None:
        words.append(
            f"Outsiders are taken to believe that the {label} of this very column lies between {axis.low:.6g} and "
            f"{axis.high:.6g}."
        )
    words.append(f"A guess that comes {close_text(problem)} of the true {label} counts as a hit.")
    least = without(problem)
    if least is not None:
        words.append(without_words(problem, least))
    return words


def without_words(problem: Problem, least: float) -> str:
    """What guessing without the release would hit."""
    return str(without_sentence(problem, least))


def belief_of(problem: Problem) -> Axis | None:
    """What is believed of the statistic, in its own unit."""
    return problem.family.belief if isinstance(problem.family, AnyShape) else None


def picture(problem: Problem) -> dict[str, Any] | None:
    """The density of the belief over the statistic, and how close a guess counts around its middle."""
    axis = belief_of(problem)
    if axis is None:
        return None
    x, density = _density(axis)
    middle = float(np.asarray(axis.ppf(0.5))) if axis.exact else 0.5 * (axis.low + axis.high)
    closeness = problem.closeness
    reach = closeness.share * abs(middle) if isinstance(closeness, Relative) else closeness
    return {
        "x": x.tolist(),
        "density": density.tolist(),
        "window": [middle - reach, middle + reach],
        "low": axis.low,
        "high": axis.high,
    }


def _density(axis: Axis) -> tuple[Array, Array]:
    """Mass between places over their distance, so that no kind of belief needs a formula of its own."""
    edges = np.linspace(axis.low, axis.high, _POINTS + 1)
    # of a class of beliefs, of which none is the one, the range is drawn
    mass = np.diff(np.asarray(axis.cdf(edges), dtype=np.float64)) if axis.exact else np.ones(_POINTS)
    top = max(float(mass.max()), 1e-300)
    x = np.concatenate([edges[:1], 0.5 * (edges[:-1] + edges[1:]), edges[-1:]])
    return x, np.concatenate([mass[:1], mass, mass[-1:]]) / top


def _picture_alone(texts: Mapping[str, str]) -> dict[str, Any] | None:
    """The belief by itself, while the other fields are empty or do not fit."""
    if not texts.get("prior"):
        return None
    try:
        return picture(problem_of(secret=texts.get("secret") or "mean", prior=texts["prior"], tolerance="1e-9"))
    except StatveilError:
        return None
