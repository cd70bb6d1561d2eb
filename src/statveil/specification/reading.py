"""From TOML or JSON to a specification: every key is known, and every error names the line."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from statveil.errors import ProblemError, StatveilError, TargetError, shortened, unknown_name
from statveil.specification.checks import given_back
from statveil.specification.expressions import Expression
from statveil.specification.lines import Path, line_of, lines_of
from statveil.specification.placed import PlacedError, at
from statveil.specification.treatments import Budget, Derive, Drop, HiddenSecret, Hide, Keep, Link, Treatment
from statveil.spelling import parse_amount

__all__ = ["LARGEST_TEXT", "fields_of", "parsed", "placed_in"]

LARGEST_TEXT = 1 << 20
"""Characters of a specification; one of a thousand columns has about a tenth."""

_TOP = ("shuffle", "others", "budget", "columns")
_BUDGET = ("max_risk", "dependence", "minimise")
_TREATMENTS = ("hide", "keep", "drop", "link", "derive")
_SECRET = ("secret", "prior", "tolerance")
_OF_HIDE = (
    *("prior", "tolerance", "known", "max_risk", "max_distortion", "bin", "method", "shape", "family", "trials"),
    *("categories", "labels", "distance", "round", "accept", "group"),
)
_OF = {
    "hide": ("hide", *_OF_HIDE),
    "keep": ("keep",),
    "drop": ("drop",),
    "link": ("link", "factor"),
    "derive": ("derive",),
}
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def parsed(text: str, source: str) -> tuple[dict[str, Any], dict[Path, int]]:
    """The content of a TOML text, and where each part of it stands."""
    if not isinstance(text, str):
        raise ProblemError(f"{source} must be a text. Got {type(text).__name__}; open a file with load_specification.")
    if len(text) > LARGEST_TEXT:
        raise ProblemError(f"{source} has {len(text):,} characters; a specification has at most {LARGEST_TEXT:,}.")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _POSITION.search(str(error))
        line = text.count("\n") + 1 if found is None or found[1] is None else int(found[1])
        what = shortened(_POSITION.sub("", str(error)))
        column = f", column {found[2]}" if found is not None and found[2] else ""
        raise ProblemError(f"{source}, line {line}{column}: this is not TOML: {what[:1].lower()}{what[1:]}.") from None
    except RecursionError:
        raise ProblemError(
            f"{source} has lists or tables too deep inside one another; a specification has few."
        ) from None
    except ValueError:  # a number of thousands of digits
        raise ProblemError(f"{source} has a number that is too long to be read; shorten it.") from None
    return data, lines_of(text)


def placed_in(error: PlacedError, source: str, lines: Mapping[Path, int]) -> StatveilError:
    """The error with the line of the part that it is about."""
    place = error.place
    if len(place) > 4 and place[2] == "hide" and place[:5] not in lines:
        # what is not said of one secret is said of the column
        place = (*place[:2], place[4]) if (*place[:2], place[4]) in lines else place
    line = line_of(lines, place) or 1
    kind = TargetError if isinstance(error, TargetError) else ProblemError
    return kind(f"{source}, line {line}: {error}")


def fields_of(data: Any) -> dict[str, Any]:
    """What a specification is made of, from the content of a file."""
    if not isinstance(data, Mapping):
        raise PlacedError(f"a specification is a table of keys. Got {_kind(data)}.")
    _check_keys(data, _TOP, "of a specification")
    columns = _table(data.get("columns"), "columns", "write one table for each column, as in [columns.wage].")
    found: dict[str, Any] = {}
    if "shuffle" in data:
        found["shuffle"] = _truth(data, "shuffle")
    if "others" in data:
        found["others"] = _text(data, "others")
    if "budget" in data:
        found["budget"] = _budget(_table(data["budget"], "budget", "write max_risk = 0.2 below [budget]."))
    treatments: dict[str, Treatment] = {}
    kept = {
        name: one["derive"]
        for name, one in columns.items()
        if isinstance(one, Mapping) and "keep" in one and isinstance(one.get("derive"), str)
    }
    for name, one in columns.items():
        if name in kept:
            with at("columns", name, "keep"):
                _check_kept(name, kept[name], columns)
        with at("columns", name):
            treatments[name] = _treatment(name, one)
    return {**found, "columns": treatments}


def _budget(data: Mapping[str, Any]) -> Budget:
    with at("budget"):
        _check_keys(data, _BUDGET, "of a budget")
        if "max_risk" not in data:
            raise PlacedError("a budget needs max_risk, the risk that any of the hidden statistics is guessed.")
        texts = {key: _text(data, key) for key in ("dependence", "minimise") if key in data}
        return Budget(max_risk=_number(data, "max_risk"), **texts)


def _check_kept(name: str, text: str, columns: Mapping[str, Any]) -> None:
    """A column that is kept although it is declared as a function of a hidden one."""
    plain = {other: one for other, one in columns.items() if isinstance(one, Mapping)}
    derived = {}
    for other, one in plain.items():
        if isinstance(one.get("derive"), str):
            derived[other] = Expression.parse(one["derive"])
    hidden = [other for other, one in plain.items() if "hide" in one or "link" in one]
    why = given_back(name, Expression.parse(text), hidden, derived)
    if why is not None:
        raise PlacedError(why)


def _treatment(name: str, data: Any) -> Treatment:
    said = repr(shortened(name))
    table = _table(data, "", f'write what to do with the column {said}, as in hide = "mean" or keep = true.')
    given = [key for key in _TREATMENTS if key in table]
    unknown = [key for key in table if not any(key in keys for keys in _OF.values())]
    if unknown:
        allowed = _OF[given[0]] if given else (*_TREATMENTS, *_OF_HIDE, "factor")
        raise PlacedError(unknown_name(f"key of the column {said}", unknown[0], allowed), (unknown[0],))
    if not given:
        raise PlacedError(f"the column {said} has no treatment; give it one of {', '.join(_TREATMENTS)}.")
    if len(given) > 1:
        raise PlacedError(
            f"the column {said} has {len(given)} treatments, {' and '.join(given)}; keep one of them.", (given[1],)
        )
    (kind,) = given
    stray = next((key for key in table if key not in _OF[kind]), None)
    if stray is not None:
        of = next(one for one in _TREATMENTS if stray in _OF[one])
        raise PlacedError(f"{stray!r} belongs to '{of}', and the column {said} has '{kind}'; leave it out.", (stray,))
    return _MAKERS[kind](table)


def _hide(data: Mapping[str, Any]) -> Hide:
    found: dict[str, Any] = {}
    for key in ("known", "method", "shape", "family", "distance", "group"):
        if key in data:
            found[key] = _text(data, key)
    for key in ("max_risk", "bin"):
        if key in data:
            found[key] = _number(data, key)
    for key, name in (("trials", "trials"), ("categories", "categories"), ("round", "round_digits")):
        if key in data:
            found[name] = _whole(data, key)
    for key in ("accept", "labels"):
        if key in data:
            found[key] = _texts(data, key)
    if "max_distortion" in data:
        with at("max_distortion"):
            found["max_distortion"] = parse_amount(_amount(data["max_distortion"]), "the largest allowed distortion")
    return Hide(secrets=_secrets(data), **found)


def _secrets(data: Mapping[str, Any]) -> tuple[HiddenSecret, ...]:
    given = data["hide"] if isinstance(data["hide"], list) else [data["hide"]]
    found = []
    for i, one in enumerate(given):
        with at("hide", i):
            if isinstance(one, str):
                one = {"secret": one}
            if not isinstance(one, Mapping):
                raise PlacedError(f'what to hide is a statistic, as in hide = "mean". Got {_kind(one)}.')
            _check_keys(one, _SECRET, "of a secret")
            if "secret" not in one:
                raise PlacedError('a secret needs its statistic, as in {secret = "mean", tolerance = "5%"}.')
            own = {**{key: data[key] for key in ("prior", "tolerance") if key in data}, **one}
            if "tolerance" not in own:
                raise PlacedError('the secret needs a tolerance, as in tolerance = "5%": how close a guess counts.')
            prior = _texts(own, "prior") if "prior" in own else ()
            with at("tolerance"):
                tolerance = _amount(own["tolerance"])
            found.append(HiddenSecret(secret=_text(own, "secret"), prior=prior, tolerance=tolerance))
    return tuple(found)


def _link(data: Mapping[str, Any]) -> Link:
    if isinstance(data["link"], list):
        raise PlacedError(
            "a column is linked to one other column: two maps cannot both move it; keep one of them.", ("link",)
        )
    factor = {"factor": _number(data, "factor")} if "factor" in data else {}
    return Link(to=_text(data, "link"), **factor)


def _derive(data: Mapping[str, Any]) -> Derive:
    with at("derive"):
        return Derive(expression=Expression.parse(_text(data, "derive")))


def _keep(data: Mapping[str, Any]) -> Keep:
    _only_true(data, "keep")
    return Keep()


def _drop(data: Mapping[str, Any]) -> Drop:
    _only_true(data, "drop")
    return Drop()


_MAKERS: dict[str, Callable[[Mapping[str, Any]], Treatment]] = {
    "hide": _hide,
    "keep": _keep,
    "drop": _drop,
    "link": _link,
    "derive": _derive,
}


# --- values of the right kind ---------------------------------------------------------------------
def _check_keys(data: Mapping[str, Any], allowed: tuple[str, ...], of: str) -> None:
    for key in data:
        if key not in allowed:
            raise PlacedError(unknown_name(f"key {of}", str(key), allowed), (key,))


def _table(data: Any, key: str, advice: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
        what = "is missing" if data is None else f"is a table. Got {_kind(data)}"
        raise PlacedError(f"{repr(key) if key else 'a column'} {what}; {advice}", (key,) if key else ())
    return data


def _only_true(data: Mapping[str, Any], key: str) -> None:
    if not _truth(data, key):
        raise PlacedError(f"write {key} = true, or leave it out and give the column another treatment.", (key,))


def _truth(data: Mapping[str, Any], key: str) -> bool:
    if not isinstance(data[key], bool):
        raise PlacedError(f"{key!r} is true or false. Got {_kind(data[key])}.", (key,))
    return bool(data[key])


def _text(data: Mapping[str, Any], key: str) -> str:
    if not isinstance(data[key], str):
        raise PlacedError(f"{key!r} is a text in quotes. Got {_kind(data[key])}.", (key,))
    return str(data[key])


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = data[key] if isinstance(data[key], list | tuple) else [data[key]]
    if not all(isinstance(value, str) for value in values):
        raise PlacedError(f"{key!r} is a text in quotes or a list of such. Got {_kind(data[key])}.", (key,))
    return tuple(values)


def _whole(data: Mapping[str, Any], key: str) -> int:
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 10**15:
        raise PlacedError(f"{key!r} is a whole number. Got {_kind(value)}.", (key,))
    return value


def _number(data: Mapping[str, Any], key: str) -> float:
    value = data[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(_float(value)):
        raise PlacedError(f"{key!r} is a number, written without quotes. Got {_kind(value)}.", (key,))
    return _float(value)


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _amount(value: Any) -> str:
    """An amount as people spell it: a number, or a text such as 5%."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PlacedError(f'an amount is a number or a text such as "5%". Got {_kind(value)}.')
    return repr(value) if isinstance(value, int) and abs(value) < 10**15 else repr(_float(value))


def _kind(value: Any) -> str:
    """What someone wrote, in a few words."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | str):
        try:
            return shortened(repr(value))
        except ValueError:  # thousands of digits
            return "a number that is too long to be shown"
    return "a date or time" if hasattr(value, "isoformat") else f"a value of type {type(value).__name__}"
