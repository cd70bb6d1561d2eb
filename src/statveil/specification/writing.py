"""From a specification back to the content and the text of its file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from statveil.problem.tolerance import Relative
from statveil.specification.treatments import Budget, Derive, Drop, Hide, Keep, Link, Treatment

__all__ = ["column_toml", "content", "toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def content(columns: Mapping[str, Treatment], *, shuffle: bool, others: str, budget: Budget | None) -> dict[str, Any]:
    """What the file of a specification holds."""
    stated = (
        None
        if budget is None
        else {"max_risk": budget.max_risk, "dependence": budget.dependence, "minimise": budget.minimise}
    )
    return {
        "shuffle": shuffle,
        "others": others,
        **({} if stated is None else {"budget": stated}),
        "columns": {name: _column(one) for name, one in columns.items()},
    }


def _column(one: Treatment) -> dict[str, Any]:
    if isinstance(one, Keep):
        return {"keep": True}
    if isinstance(one, Drop):
        return {"drop": True}
    if isinstance(one, Link):
        return {"link": one.to, "factor": one.factor}
    if isinstance(one, Derive):
        return {"derive": one.expression.text}
    return _hide(one)


def _hide(one: Hide) -> dict[str, Any]:
    first = one.secrets[0]
    shared = {
        **({"prior": _few(first.prior)} if first.prior else {}),
        "tolerance": first.tolerance,
    }
    if len(one.secrets) == 1:
        said: dict[str, Any] = {"hide": first.secret, **shared}
    elif all((each.prior, each.tolerance) == (first.prior, first.tolerance) for each in one.secrets):
        said = {"hide": [each.secret for each in one.secrets], **shared}
    else:
        said = {
            "hide": [
                {
                    "secret": each.secret,
                    **({"prior": _few(each.prior)} if each.prior else {}),
                    "tolerance": each.tolerance,
                }
                for each in one.secrets
            ]
        }
    most = one.max_distortion
    rest = {
        "known": one.known,
        "max_risk": one.max_risk,
        "max_distortion": _share(most.share) if isinstance(most, Relative) else most,
        "bin": one.bin,
        "method": None if one.method == "auto" else one.method,
        "shape": one.shape,
        "family": one.family,
        "trials": one.trials,
        "categories": one.categories,
        "labels": None if one.labels is None else list(one.labels),
        "distance": one.distance or None,
        "round": one.round_digits,
        "accept": list(one.accept) or None,
        "group": one.group,
    }
    return {**said, **{key: value for key, value in rest.items() if value is not None}}


def _share(share: float) -> str:
    """A share in per cent that is read back as the same number."""
    near = float(Decimal(repr(share)) * 100)
    candidates = (near, math.nextafter(near, 0), math.nextafter(near, math.inf))
    return f"{next((one for one in candidates if one / 100 == share), near)!r}%"


def _few(texts: tuple[str, ...]) -> str | list[str]:
    return texts[0] if len(texts) == 1 else list(texts)


def toml(data: Mapping[str, Any]) -> str:
    """The content as a TOML text."""
    lines = [f"{key} = {_value(data[key])}" for key in ("shuffle", "others")]
    if "budget" in data:
        lines += ["", "[budget]", *_pairs(data["budget"])]
    for name, column in data["columns"].items():
        lines += ["", f"[columns.{_key(name)}]", *_pairs(column)]
    return "\n".join(lines) + "\n"


def column_toml(name: str, table: Mapping[str, Any]) -> str:
    """What becomes of one column, as a part of a TOML text."""
    return "\n".join([f"[columns.{_key(name)}]", *_pairs(table)]) + "\n"


def _pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in table.items()]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's too, but for the delete character, which TOML wants escaped
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(_pairs(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return repr(value)
