"""What only the command line spells: knowledge of an audit, points, ranges of tolerances, shapes in public tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from statveil import spelling
from statveil.errors import ProblemError
from statveil.problem.families.shape import Shape
from statveil.problem.family import Family
from statveil.problem.shapes.standard import Standard
from statveil.problem.structure import Structure
from statveil.problem.tolerance import Relative
from statveil.spelling import (
    parse_also,
    parse_amount,
    parse_known,
    parse_number,
    parse_other_prior,
    parse_priors,
    parse_secret,
    parse_share,
)

__all__ = [
    "parse_also",
    "parse_amount",
    "parse_family",
    "parse_knowledge",
    "parse_known",
    "parse_number",
    "parse_other_prior",
    "parse_point",
    "parse_priors",
    "parse_range",
    "parse_secret",
    "parse_shape",
    "parse_share",
]


def parse_family(
    name: str, *, trials: int | None = None, categories: int | None = None, labels: str | None = None
) -> Family:
    """The family by name, also of a shape in a public table."""
    return spelling.parse_family(name, trials=trials, categories=categories, labels=labels, public_shape=_public_shape)


def parse_shape(text: str | None) -> str | Standard | None:
    """The shape from which a column is redrawn, also one in a public table."""
    return spelling.parse_shape(text, public_shape=_public_shape)


def _public_shape(file: str, column: str) -> Shape:
    from statveil.tables.reference import public_shape

    return public_shape(file, column)


def parse_range(text: str) -> tuple[float | Relative, float | Relative]:
    """A range of tolerances, LO:HI, also in per cent."""
    low, colon, high = text.partition(":")
    if not colon:
        raise ProblemError(f"a range of tolerances is written LO:HI. Got {text!r}; write for example 1:2.")
    if high.strip().endswith("%") and not low.strip().endswith("%"):
        low += "%"  # 3:8 % says it once
    ends = parse_amount(low, "the lowest tolerance"), parse_amount(high, "the highest tolerance")
    plain = [end.share if isinstance(end, Relative) else end for end in ends]
    if isinstance(ends[0], Relative) != isinstance(ends[1], Relative):
        raise ProblemError(f"both tolerances must be in per cent, or neither. Got {text!r}.")
    if plain[0] > plain[1]:
        raise ProblemError(f"the range of tolerances is reversed. Got {text!r}; write the smaller one first.")
    return ends


def parse_knowledge(
    texts: Sequence[str],
) -> tuple[Structure | None, list[tuple[int, float]], list[tuple[str, str]]]:
    """All ``--known`` options of an audit: structure, ``record=ROW:VALUE``, ``release=PLAN:TABLE``."""
    structure: list[str] = []
    records: list[tuple[int, float]] = []
    releases: list[tuple[str, str]] = []
    for text in texts:
        name, _, value = text.partition("=")
        head, colon, tail = value.partition(":")
        if name.strip() == "record":
            if not colon or not re.fullmatch(r"\s*[0-9]{1,18}\s*", head):
                raise ProblemError("a known record must look like record=17:52000 (row from 0 : true value).")
            try:
                records.append((int(head), float(tail)))
            except ValueError:  # never repeat a private value in a message
                raise ProblemError("the value of a known record must be a number, as in record=17:52000.") from None
        elif name.strip() == "release":
            if not head or not tail:
                raise ProblemError(f"another release must look like release=PLAN:TABLE. Got {text!r}.")
            releases.append((head, tail))
        else:
            structure.append(text)
    return parse_known(",".join(structure)) if structure else None, records, releases


def parse_point(text: str) -> dict[str, float]:
    """``mu=103,sigma=7``."""
    point: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ProblemError(
                "a parameter must look like mu=103.5; separate several by commas, and write decimals with a point."
            )
        if name in point:
            raise ProblemError(f"the parameter {name!r} is given twice; keep one of them.")
        try:
            point[name] = float(value)
        except ValueError:  # never repeat a private value in a message
            raise ProblemError(f"the parameter {name!r} must be a number; separate several by commas.") from None
    return point
