"""From the choices for all columns to one specification, and what still stands in its way.

Nothing here, nor anything it loads, can read a table (a contract of the imports): columns are names and choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from statveil.errors import StatveilError
from statveil.problem.wording import tolerance_text
from statveil.specification.placed import PlacedError
from statveil.specification.specification import Specification
from statveil.spelling import parse_known, parse_secret
from statveil.studio.choice import TEXTS, Choice, is_share
from statveil.studio.deciding import field_named, problem_of, problems_of

__all__ = ["FIELDS", "Options", "Standing", "field_of", "stand", "strip"]

FIELDS = {"hide": "secret", "derive": "expression", "link": "linked_to", "round": "digits"}
"""Keys of a specification that the page calls something else."""
_OF_PAGE = ("expression", "linked_to", "factor", *TEXTS, "group", "digits", "accept", "max_risk")

Check = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is chosen for the whole table."""

    shuffle: bool = False
    joint_risk: float | None = None

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        return {"shuffle": self.shuffle, "joint_risk": self.joint_risk}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the choices stand: what is wrong with each column, and the specification where nothing is."""

    checks: tuple[tuple[Check, ...], ...]
    specification: Specification | None
    why: str | None
    """Why there is no specification yet."""


def stand(names: Sequence[str], choices: Sequence[Choice], options: Options) -> Standing:
    """Look at all choices, first one by one and then together."""
    checks = [list(_own(choice, options)) for choice in choices]
    hidden = [choice for choice in choices if choice.action == "hide"]
    why = None
    if not names:
        why = "Open a table first."
    elif not hidden:
        why = "No column is hidden; choose one, and the statistic that nobody shall guess."
    elif any(checks):
        first = next(place for place, found in enumerate(checks) if found)
        open_ = sum(1 for found in checks if found)
        many = f"{open_} columns still need something" if open_ > 1 else "one column still needs something"
        why = f"{many}, first {names[first]!r}: {checks[first][0]['message']}"
    specification = None
    if why is None:
        try:
            specification = Specification.from_json(_content(names, choices, options))
        except PlacedError as error:
            place, field = field_of(error, names)
            why = str(error)
            if place is not None:
                checks[place].append({"field": field or "action", "message": str(error)})
        except StatveilError as error:
            why = str(error)
    return Standing(checks=tuple(map(tuple, checks)), specification=specification, why=why)


def _own(choice: Choice, options: Options) -> list[Check]:
    missing = choice.missing
    if missing is not None:
        return [{"field": missing[0], "message": missing[1]}]
    if choice.action != "hide":
        return []
    found = problems_of({name: getattr(choice, name) for name in TEXTS}, choice.max_risk)
    if not found and choice.digits is not None and (is_share(choice.secret) or _stepped(choice.known)):
        says = "The release keeps to the steps that everyone knows, so decimals are not chosen; leave this empty."
        found = [{"field": "digits", "message": "Labels have no decimals." if is_share(choice.secret) else says}]
    if not found and choice.max_risk is None and options.joint_risk is None:
        found = [
            {"field": "max_risk", "message": "Say how often a guess may hit, or give the whole table a joint risk."}
        ]
    return found


def _stepped(known: str) -> bool:
    return bool(known) and parse_known(known).step is not None


def _content(names: Sequence[str], choices: Sequence[Choice], options: Options) -> Mapping[str, Any]:
    budget = {} if options.joint_risk is None else {"budget": {"max_risk": options.joint_risk}}
    columns = {name: choice.stated(names) for name, choice in zip(names, choices, strict=True)}
    return {"shuffle": options.shuffle, "others": "refuse", **budget, "columns": columns}


def field_of(error: PlacedError, names: Sequence[str]) -> tuple[int | None, str | None]:
    """The column, by its place, and the field of the page that an error of a specification is about."""
    place = error.place
    column = place[1] if len(place) > 1 and place[0] == "columns" and place[1] in names else None
    keys = [FIELDS.get(str(key), str(key)) for key in (place if column is None else place[2:])]
    field = None if column is None else field_named(place[2:])
    if field is None:
        field = next((key for key in reversed(keys) if key in _OF_PAGE), None)
    if field is None and place[:1] == ("budget",):
        field = "joint_risk"
    return None if column is None else list(names).index(str(column)), field


def strip(table: str | None, names: Sequence[str], choices: Sequence[Choice], options: Options) -> list[dict[str, str]]:
    """Every choice in a few words, for the summary that is always in sight."""
    said = [{"label": "Table", "value": table or "none yet"}]
    for name, choice in zip(names, choices, strict=True):
        if choice.action == "hide":
            said.append({"label": name, "value": _hidden(choice)})
    for action, verb in (("derive", "Derived"), ("link", "Linked"), ("keep", "Kept"), ("drop", "Dropped")):
        these = [name for name, choice in zip(names, choices, strict=True) if choice.action == action]
        if these:
            more = f" and {len(these) - 5} more" if len(these) > 5 else ""
            said.append({"label": verb, "value": ", ".join(these[:5]) + more})
    if options.joint_risk is not None:
        said.append({"label": "Joint risk", "value": f"at most {options.joint_risk:g}"})
    if options.shuffle:
        said.append({"label": "Rows", "value": "in a random order"})
    return said


def _hidden(choice: Choice) -> str:
    if not choice.secret:
        return "hide; not said yet what"
    share = is_share(choice.secret)
    secret = parse_secret(choice.secret).text if share else choice.secret
    parts = [f"hide the {secret}" + (f" and the {choice.also}" if choice.also else "")]
    if choice.prior:
        parts.append(f"believed {choice.prior}")
    try:
        problem = problem_of(*(getattr(choice, name) for name in TEXTS))
        points = f"{100 * problem.tolerance:.6g} percentage points"
        parts.append(
            f"within {points if share else tolerance_text(problem)}"
            + (f" and {choice.also_tolerance}" if choice.also else "")
        )
    except StatveilError:
        if choice.tolerance:
            parts.append(f"within {choice.tolerance}")
    if choice.known:
        parts.append(f"known {choice.known}")
    if choice.max_risk is not None:
        parts.append(f"risk at most {choice.max_risk:g}")
    if choice.digits is not None:
        parts.append(f"{choice.digits} decimals")
    if choice.accept:
        parts.append(f"in spite of {', '.join(choice.accept)}")
    return ", ".join(parts)
