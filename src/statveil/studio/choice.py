"""What was chosen for one column, in the spelling of the command line, and what it states in a specification.

No table is seen here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from statveil.design.target import MaxRisk
from statveil.errors import ProblemError, StatveilError, unknown_name
from statveil.numbers import positive
from statveil.problem.tolerance import Relative
from statveil.specification.expressions import Expression
from statveil.spelling import parse_amount, parse_family, parse_known, parse_priors, parse_secret, parse_shape
from statveil.studio.refusal import Refusal

__all__ = ["ACTIONS", "TEXTS", "Choice", "apart", "checked_text", "hidden", "is_share"]

ACTIONS = ("hide", "keep", "drop", "derive", "link")
TEXTS = ("secret", "prior", "tolerance", "known", "shape", "labels", "also", "also_prior", "also_tolerance")
"""What is said of a hidden column, in words of the command line; ``also`` is a second statistic of it."""
MOST_ACCEPTED = 50
_LONGEST = 4000  # characters of a text


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The action for a column, with what belongs to it; what is empty is not said yet."""

    action: str | None = None
    expression: str = ""
    linked_to: int | None = None
    """Place of the hidden column."""
    factor: float | None = None
    secret: str = ""
    prior: str = ""
    tolerance: str = ""
    known: str = ""
    shape: str = ""
    labels: str = ""
    """All labels that there can be, with commas between them; of the share of one of them."""
    also: str = ""
    """A second statistic of the same column."""
    also_prior: str = ""
    also_tolerance: str = ""
    group: int | None = None
    """Place of the column whose equal values mark rows that hold one value."""
    digits: int | None = None
    """Decimals of the released numbers."""
    accept: tuple[str, ...] = ()
    """Leaks that are accepted by name, which the card says."""
    max_risk: float | None = None

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        return {**{one.name: getattr(self, one.name) for one in fields(self)}, "accept": list(self.accept)}

    def changed(self, given: Mapping[str, Any], columns: int) -> Choice:
        """The choice with what the page sent; a :class:`Refusal` that names the field where that cannot be read."""
        names = {one.name for one in fields(self)}
        unknown = next((key for key in given if key not in names and key != "revision"), None)
        if unknown is not None:
            raise Refusal(unknown_name("field", str(unknown), sorted(names)), status=422)
        found: dict[str, Any] = {}
        for name in names & given.keys():
            found[name] = _READERS[name](name, given[name])
        for name in ("linked_to", "group"):
            place = found.get(name)
            if place is not None and not 0 <= place < columns:
                raise Refusal(f"there is no column {place}.", status=422, field=name)
        return replace(self, **found)

    def stated(self, names: Sequence[str]) -> dict[str, Any]:
        """Its part of a specification; columns by the names that the table has."""
        if self.action in ("keep", "drop"):
            return {self.action: True}
        if self.action == "derive":
            return {"derive": self.expression}
        if self.action == "link":
            assert self.linked_to is not None
            return {"link": names[self.linked_to], **({} if self.factor is None else {"factor": self.factor})}
        more = {
            "max_risk": self.max_risk,
            "round": self.digits,
            "group": None if self.group is None else names[self.group],
            "accept": list(self.accept) or None,
        }
        said = hidden({name: getattr(self, name) for name in TEXTS})
        return {**said, **{key: value for key, value in more.items() if value is not None}}

    @property
    def missing(self) -> tuple[str, str] | None:
        """What is still to be said: the field, and a sentence."""
        if self.action is None:
            return "action", "Say what becomes of this column: hide, keep, drop, derive or link it."
        needed = {
            "hide": self._needed,
            "derive": (("expression", "Write the formula by which the column follows from released ones."),),
            "link": (("linked_to", "Name the hidden column with which this one moves."),),
        }.get(self.action, ())
        return next(((name, says) for name, says in needed if getattr(self, name) in ("", None)), None)

    @property
    def _needed(self) -> tuple[tuple[str, str], ...]:
        """The texts that a hidden column cannot do without."""
        first, close = ("secret", "Say which statistic is hidden."), "Say how close a guess counts as a hit"
        if is_share(self.secret):
            return (
                first,
                ("labels", "Name all labels that there can be, also those that the table lacks."),
                ("tolerance", f"{close}, in percentage points."),
            )
        said = "Say what outsiders believe of it, from public knowledge: a range, or how sure they are."
        both: tuple[tuple[str, str], ...] = ()
        if self.also:
            own = (("also_prior", said),) if apart(self.secret, self.also) else ()
            both = (*own, ("also_tolerance", f"{close} at the second statistic."))
        return (first, ("prior", said), ("tolerance", f"{close}, in units or in per cent."), *both)


def is_share(secret: str) -> bool:
    """Whether a statistic is the share of one label, of which nothing but the labels is said."""
    try:
        return bool(secret) and parse_secret(secret).is_share
    except StatveilError:
        return False


def apart(secret: str, also: str) -> bool:
    """Whether one of two statistics moves with a column and the other only stretches: each has a belief of its own."""
    try:
        return bool(parse_secret(secret).per_shift) != bool(parse_secret(also).per_shift)
    except StatveilError:
        return False


def hidden(texts: Mapping[str, str]) -> dict[str, Any]:
    """What the texts state of a hidden column in a specification.

    >>> hidden({"secret": "fraction:red", "labels": "red, blue", "tolerance": "0.02"})["labels"]
    ['red', 'blue']
    """
    said = {name: texts.get(name, "") for name in TEXTS}
    if is_share(said["secret"]):
        labels = [label.strip() for label in said["labels"].split(",")]
        return {
            "hide": said["secret"],
            "tolerance": said["tolerance"],
            "family": "categorical",
            "labels": labels,
        }
    found: dict[str, Any] = {"hide": said["secret"], "prior": said["prior"], "tolerance": said["tolerance"]}
    if said["also"]:
        own = said["also_prior"] if apart(said["secret"], said["also"]) else ""
        second = {"secret": said["also"], "prior": own or said["prior"], "tolerance": said["also_tolerance"]}
        first = {"secret": said["secret"], "prior": said["prior"], "tolerance": said["tolerance"]}
        found = {"hide": [first, second]}
    return {**found, **{key: said[key] for key in ("known", "shape") if said[key]}}


def _action(name: str, value: Any) -> str | None:
    if value in (None, ""):
        return None
    if value not in ACTIONS:
        raise Refusal(unknown_name("action", str(value), ACTIONS), status=422, field=name)
    return str(value)


def _text(name: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Refusal(f"{name!r} is a text.", status=422, field=name)
    return checked_text(name, value)


def checked_text(name: str, value: str) -> str:
    """A text that can be read as what its field holds; an empty one says nothing."""
    text = value.strip()
    if len(text) > _LONGEST:
        raise Refusal(f"at most {_LONGEST:,} characters. Got {len(text):,}.", status=422, field=name)
    if text:
        try:
            _PARSERS[name](text)
        except StatveilError as error:
            raise Refusal(str(error), status=422, field=name) from None
    return text


def _secret(text: str) -> None:
    found = parse_secret(text)
    if found.of_columns:
        raise ProblemError(
            f"the {found.text} is about two columns, and the studio hides a statistic of one; hide it with 'statveil "
            f"plan --secret {text}' and 'release'."
        )
    if found.of_table:
        raise ProblemError(
            f"the {found.text} is no statistic of a column; hide it with 'statveil plan --secret {text}' and 'release'."
        )


def _tolerance(text: str) -> None:
    found = parse_amount(text, "the tolerance")
    if not isinstance(found, Relative):
        positive(found, "the tolerance")


def _labels(text: str) -> None:
    parse_family("categorical", labels=text)


def _prior(text: str) -> None:
    parse_priors((text,), named=False)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "expression": Expression.parse,
    "secret": _secret,
    "prior": _prior,
    "tolerance": _tolerance,
    "labels": _labels,
    "also": _secret,
    "also_prior": _prior,
    "also_tolerance": _tolerance,
    "known": parse_known,
    "shape": parse_shape,
}


def _place(name: str, value: Any) -> int | None:
    if value in (None, ""):
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refusal("a column is named by its place, a whole number from 0.", status=422, field=name)
    return value


def number(name: str, value: Any) -> float | None:
    """A number that the page sent, also as text; ``None`` where nothing was said."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise Refusal("that is not a number; write it with a point, as in 0.2.", status=422, field=name)
    return found


def _factor(name: str, value: Any) -> float | None:
    found = number(name, value)
    if found == 0:
        raise Refusal("the factor of a link is not 0: the column would not move.", status=422, field=name)
    return found


def risk(name: str, value: Any) -> float | None:
    """A largest risk."""
    found = number(name, value)
    try:
        return None if found is None else MaxRisk(found).value
    except StatveilError as error:
        raise Refusal(str(error), status=422, field=name) from None


def _digits(name: str, value: Any) -> int | None:
    found = number(name, value)
    if found is None:
        return None
    if found != int(found) or not -15 <= found <= 15:
        raise Refusal(
            "decimals are a whole number from -15 to 15: 2 for cents, 0 for whole numbers.", status=422, field=name
        )
    return int(found)


def _accept(name: str, value: Any) -> tuple[str, ...]:
    """Names; which there are only the release knows, so the study asks it."""
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MOST_ACCEPTED or not all(isinstance(one, str) for one in value):
        raise Refusal("what is accepted is a list of names.", status=422, field=name)
    return tuple(sorted(set(value)))


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "action": _action,
    "linked_to": _place,
    "group": _place,
    "digits": _digits,
    "accept": _accept,
    "factor": _factor,
    "max_risk": risk,
    **dict.fromkeys(("expression", *TEXTS), _text),
}
