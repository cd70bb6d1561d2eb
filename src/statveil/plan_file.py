"""Plans as files: JSON with a schema version, the same bytes after every round trip."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from statveil.contradictions import contradictions
from statveil.errors import FileError, PlanFileError, StatveilError, cannot, unknown_name
from statveil.made_plan import Plan
from statveil.numbers import LARGEST
from statveil.schemas import schema
from statveil.small_file import read_small
from statveil.vouched import vouch_for
from statveil.whole_file import write_whole

__all__ = [
    "DAMAGE",
    "FORMAT",
    "VERSION",
    "Header",
    "content_of",
    "damage",
    "dump_plan",
    "load_plan",
    "parse_plan",
    "plan_from",
    "refuse_unknown",
    "save_plan",
]

FORMAT = "statveil-plan"
VERSION = 1
DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""What reading a file ends in that someone or something damaged."""


def damage(error: Exception) -> str:
    """What is wrong with a damaged file, in a few words."""
    return f"missing {error}" if isinstance(error, KeyError) else "a value of the wrong kind"


def content_of(plan: Plan) -> dict[str, Any]:
    """What a plan file holds."""
    return {"format": FORMAT, "version": VERSION, **plan.to_json()}


def dump_plan(plan: Plan) -> str:
    """The text of a plan file."""
    return json.dumps(content_of(plan), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """How a kind of file says what it is."""

    format: str
    version: int
    what: str
    command: str

    def content(self, text: str, source: str) -> Any:
        """What a JSON text holds."""
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:  # ValueError: bad JSON, or a number of thousands of digits
            where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            raise PlanFileError(
                f"{source} is not valid JSON{where}: it is truncated or not a {self.what}; make it anew with "
                f"'{self.command}'."
            ) from None

    def check(self, data: Any, source: str) -> dict[str, Any]:
        """The content of a file of this kind, of a version that can be read."""
        if not isinstance(data, dict) or data.get("format") != self.format:
            raise PlanFileError(
                f"{source} is not a statveil {self.what} (no format {self.format!r}); give a file made by "
                f"'{self.command}'."
            )
        version = data.get("version")
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            raise PlanFileError(
                f"{source} has no valid schema version. Got {version!r}; make it anew with '{self.command}'."
            )
        if version > self.version:
            raise PlanFileError(
                f"{source} has schema version {version}; this statveil reads up to {self.version}. Upgrade statveil to "
                "use it."
            )
        return data


_HEADER = Header(format=FORMAT, version=VERSION, what="plan", command="statveil plan")


def parse_plan(text: str, *, source: str = "the plan") -> Plan:
    """A plan from the text of a plan file."""
    return plan_from(_HEADER.content(text, source), source=source)


def plan_from(content: Any, *, source: str) -> Plan:
    """A plan from the content of a plan file, accounted for anew."""
    data = _HEADER.check(content, source)
    try:
        plan = Plan.from_json(data)
    except StatveilError as error:
        raise PlanFileError(f"{source} is damaged: {error}") from None
    except DAMAGE as error:
        raise PlanFileError(f"{source} is damaged ({damage(error)}); make it anew with 'statveil plan'.") from None
    refuse_unknown(data, content_of(plan), also=schema("plan"), source=source)
    # a number that someone wrote into the file would stand on a public card
    wrong = contradictions(plan) or _other_words(plan, data)
    if wrong:
        raise PlanFileError(
            f"{source} was changed, or made by an earlier version that accounted for it otherwise: {'; '.join(wrong)}. "
            "Make it anew with 'statveil plan'."
        )
    return vouch_for(plan)


def refuse_unknown(
    data: Mapping[str, Any], written: Mapping[str, Any], *, also: Mapping[str, Any] | None = None, source: str
) -> None:
    """Refuse a file with a key that nothing reads: it may be one that was misspelt, and would be taken as left out.

    ``written`` is what the same would be written as, and ``also`` the schema with the keys that may stand there, too.
    """
    stray = _stray(data, written, {} if also is None else also, {} if also is None else also.get("$defs", {}))
    if stray is not None:
        key, allowed = stray
        raise PlanFileError(f"{source} was changed by hand: {unknown_name('key', key, allowed)}")


def _stray(data: Any, written: Any, also: Mapping[str, Any], shared: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The first key of a file that nothing reads, and those that may stand beside it."""
    pairs: list[tuple[Any, Any, Any]]
    if isinstance(data, list) and isinstance(written, list):
        pairs = [(one, two, {}) for one, two in zip(data, written, strict=False)]
    elif isinstance(data, Mapping) and isinstance(written, Mapping):
        more = shared.get(str(also.get("$ref", "")).rpartition("/")[2], also).get("properties", {})
        allowed = [*dict.fromkeys([*written, *more])]
        for key in data:
            if key not in allowed:
                return str(key), allowed
        pairs = [(data[key], written[key], more.get(key, {})) for key in written if key in data]
    else:
        return None
    return next((found for pair in pairs if (found := _stray(*pair, shared)) is not None), None)


_IMPLIED = (
    *("efficiency", "efficiency_optimum", "randomised", "bin", "slope", "optimum_kind", "robust_risk"),
    *("secrets", "risk_union", "risk_intersection"),
    *("tolerance_kind", "distortion_kind", "distortion_absolute", "distortion_relative", "risk_if_shape_tells"),
)


def _other_words(plan: Plan, data: Mapping[str, Any]) -> list[str]:
    """Numbers of the file that follow from its other parts, and do not."""
    implied = plan.to_json()
    # plans from before these were reported have none of them
    names = [name for name in _IMPLIED if name in data]
    return [f"its {name!r} is another one" for name in names if not _same(data[name], implied.get(name))]


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, str) and isinstance(two, str):
        return one == two
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(_same(a, b) for a, b in zip(one, two, strict=True))
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_same(one[key], two[key]) for key in one)
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in (one, two)):
        return one is two
    return abs(one) < LARGEST and math.isclose(one, two, rel_tol=1e-9)


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan file."""
    try:
        text = read_small(path)
    except UnicodeDecodeError:
        raise PlanFileError(f"{path} is not a statveil plan (not UTF-8 text).") from None
    except OSError as error:
        raise PlanFileError(str(cannot(f"read {path}", error))) from None
    return parse_plan(text, source=str(path))


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan file, whole or not at all."""
    try:
        write_whole(path, dump_plan(plan).encode())
    except FileError as error:
        raise PlanFileError(str(error)) from None
