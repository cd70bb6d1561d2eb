"""What can be said of a choice without any data: whether its parts fit, a picture of the belief, the trade-off.

Nothing here, nor anything it loads, can read a table (a contract of the imports): the texts are all that is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from statveil.specification.column_plan import planned_problems
from statveil.specification.placed import PlacedError
from statveil.specification.reading import fields_of
from statveil.specification.treatments import Hide
from statveil.spelling import parse_amount, parse_known, parse_priors, parse_secret, parse_shape
from statveil.studio.choice import TEXTS, Choice, checked_text, hidden, is_share
from statveil.studio.refusal import Refusal
from statveil.words.phrases import close_text
from statveil.words.plan import without_sentence

__all__ = [
    "belief_of",
    "check",
    "complete",
    "field_named",
    "hide_of",
    "picture",
    "problem_of",
    "problems_of",
    "without",
    "without_words",
]

_POINTS = 120  # of the picture
_COLUMN = "x"  # as which a column stands in a specification of its own


@lru_cache(maxsize=256)
def hide_of(*texts: str) -> Hide:
    """What the texts state, as a specification states it."""
    said = hidden(dict(zip(TEXTS, texts, strict=False)))
    found = fields_of({"columns": {_COLUMN: said}})["columns"][_COLUMN]
    assert isinstance(found, Hide)
    return found


@lru_cache(maxsize=256)
def problem_of(
    secret: str,
    prior: str,
    tolerance: str,
    known: str = "",
    shape: str = "",
    labels: str = "",
    also: str = "",
    also_prior: str = "",
    also_tolerance: str = "",
) -> Problem:
    """The problem that the texts state; where two statistics share one belief, that of the first."""
    if also or is_share(secret):
        stated = hide_of(secret, prior, tolerance, known, shape, labels, also, also_prior, also_tolerance)
        return planned_problems(stated)[0]
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
    if not complete(said):
        return []
    try:
        problem = problem_of(**said)
    except StatveilError as error:
        return [{"field": _placed(error) or _blamed(said, str(error)), "message": str(error)}]
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


def complete(texts: Mapping[str, str]) -> bool:
    """Whether nothing is missing that a hidden column cannot do without."""
    said: dict[str, Any] = {name: texts.get(name, "") for name in TEXTS}
    return Choice(action="hide", **said).missing is None


def _placed(error: StatveilError) -> str | None:
    """The field that an error of a specification names."""
    return None if not isinstance(error, PlacedError) else field_named(error.place)


def field_named(place: Sequence[Any]) -> str | None:
    """The field of the page for a key of a specification; ``None`` where several could be meant."""
    keys = [str(key) for key in place if not isinstance(key, int)]
    second = any(isinstance(key, int) and key == 1 for key in place)
    last = keys[-1] if keys else ""
    if last in ("prior", "tolerance"):
        return f"also_{last}" if second else last
    if last == "hide":
        return "also" if second else None
    return _KEYS.get(last)


_KEYS = {"known": "known", "shape": "shape", "labels": "labels", "family": "labels", "max_risk": "max_risk"}


def _blamed(said: dict[str, str], message: str) -> str:
    """The field without which the rest would fit; the belief where none is."""
    if is_share(said["secret"]):
        return "tolerance" if "tolerance" in message else "labels"
    if said["also"] and "tolerances" in message:  # which are in units where there are two
        return "also_tolerance" if said["also_tolerance"].endswith("%") else "tolerance"
    for name in ("also", "known", "shape"):
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
    if problems or not complete(texts):
        return {"ok": False, "problems": problems, "words": [], "picture": _picture_alone(texts)}
    problem = problem_of(**texts)
    if texts["also"]:
        first = hide_of(*(texts[name] for name in TEXTS)).problems[0]
        return {"ok": True, "problems": [], "words": _both_words(texts), "picture": picture(first)}
    return {"ok": True, "problems": [], "words": _words(problem), "picture": picture(problem)}


def _both_words(texts: Mapping[str, str]) -> list[str]:
    """What two statistics of one column mean together."""
    stated = hide_of(*(texts[name] for name in TEXTS))
    closes = [f"{close_text(one)} of the true {one.secret.plain}" for one in stated.problems]
    words = [f"A guess that comes {closes[0]}, or {closes[1]}, counts as a hit."]
    both = planned_problems(stated)[0]
    if both.also:
        least = without(both)
        words.append("The limit of the next step is on how often one of the two is guessed.")
        return words if least is None else [*words, without_words(both, least)]
    label = both.secret.plain
    return [
        *words,
        f"One move of the column hides both, so one belief serves both: what you say of the {label}.",
        "The limit of the next step is on how often each of them is guessed.",
    ]


def _words(problem: Problem) -> list[str]:
    axis, label = belief_of(problem), problem.secret.plain
    words = []
    if problem.secret.is_share:
        words.append("Outsiders are taken to know nothing of the shares: all shares are equally likely to them.")
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
