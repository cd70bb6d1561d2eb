"""The card: what a receiver may know of a release. Nothing in it is computed from the original."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from statveil.errors import FileError, StatveilError
from statveil.made_plan import Plan
from statveil.plan_file import DAMAGE, damage
from statveil.problem.problem import Problem
from statveil.problem.tolerance import Relative
from statveil.problem.wording import beyond_shape
from statveil.rounding import shown_up
from statveil.small_file import read_small
from statveil.tables.other_columns import OtherColumns
from statveil.tables.rows_words import ROWS_ASSUMED, ROWS_CHECKED
from statveil.tables.verification import LEAKS, blind_spots
from statveil.words.caveats import ends_assumed
from statveil.words.guarantee import distortion_says, guarantee_says, in_words

__all__ = [
    "FORMAT",
    "TABLE_VERSION",
    "VERSION",
    "as_worded",
    "card_path",
    "check_card",
    "load_card",
    "make_card",
    "plan_of",
    "read_card",
    "read_from",
    "used_versions",
]

Planned = TypeVar("Planned")

FORMAT = "statveil-card"
VERSION = 3
"""2 since cards say what was checked and of how many rows, 3 since rows from all over the table are looked at."""
TABLE_VERSION = 4
"""Of the cards of whole tables, which earlier versions refuse as too new; those of one column have ``VERSION``."""


def card_path(output: Path) -> Path:
    """The full name of the output plus ``.card.json``."""
    return output.with_name(output.name + ".card.json")


def make_card(
    plan: Plan,
    *,
    column: str | None,
    accepted: tuple[str, ...] = (),
    round_digits: int | None = None,
    test_seed: bool = False,
    shuffled: bool = False,
    rows: int | None = None,
    sha256: str | None = None,
    beside: OtherColumns | None = None,
) -> dict[str, Any]:
    """The card as a JSON object; ``rows`` are those of the released column, which everyone can count.

    ``beside`` says what became of the other columns, where a specification does.
    """
    problem, what = plan.problem, "table" if plan.release_mode.of_table else "column"
    return {
        "format": FORMAT,
        "version": VERSION,
        "says": f"Public. Describes how the {what} was released; holds nothing computed from the original table.",
        "column": column,
        "mode": plan.mode,
        "guarantee": {
            "secret": problem.secret.label,
            "risk": plan.risk,
            "risk_kind": plan.risk_kind,
            **_closeness(problem),
            **_secrets(plan),
            "distortion": plan.distortion,
            "distance": problem.distance,
            "distortion_says": distortion_says(plan),
            "says": guarantee_says(plan, accepted),
            "in_words": in_words(plan, column=column, accepted=accepted),
        },
        "declared": problem.known.to_json(),
        "assumptions": _assumptions(plan, shuffled, beside),
        "checked": [*_checked(plan, shuffled, beside), *(() if rows is None else blind_spots(rows, plan.release_mode))],
        "accepted_leaks": [{"name": name, "says": LEAKS[name]} for name in accepted],
        "rounded_to_digits": round_digits,
        "test_seed": test_seed,
        "shuffled": shuffled,
        "rows": rows,
        "plan": plan.to_json(),
        "versions": used_versions(),
        "sha256": sha256,
    }


_OTHERS_LEFT = (
    "No other column tells the released one (a copy, a multiple, a sum). Other columns were left as they were.",
)


def read_card(output: Path) -> dict[str, Any]:
    """The card of a released table."""
    path = card_path(output)
    try:
        return load_card(path)
    except FileNotFoundError:
        raise FileError(f"{output} has no card; expected {path.name} beside it, made by 'statveil release'.") from None


def load_card(path: Path) -> dict[str, Any]:
    """A card from its own file."""
    try:
        data: Any = json.loads(read_small(path))
    except (FileNotFoundError, FileError):
        raise
    except (ValueError, RecursionError):
        raise FileError(f"{path} is not a card: it is no valid JSON.") from None
    return check_card(data, str(path))


def check_card(data: Any, source: str) -> dict[str, Any]:
    """What was given as a card, if it is one that this version reads."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(f"{source} is not a statveil card (no format {FORMAT!r}).")
    version = data.get("version")
    if not isinstance(version, int) or not 1 <= version <= TABLE_VERSION:
        raise FileError(
            f"{source} has card version {version!r}; this statveil reads up to {TABLE_VERSION}. Upgrade statveil."
        )
    return data


def as_worded(again: dict[str, Any], card: Mapping[str, Any]) -> dict[str, Any]:
    """A card made again, without the plain words where the one that it is compared with is from before them."""
    if "in_words" in card["guarantee"]:
        return again
    return {**again, "guarantee": {key: value for key, value in again["guarantee"].items() if key != "in_words"}}


def plan_of(card: dict[str, Any], source: str) -> Plan:
    """The plan on a card."""
    return read_from(card, source, Plan.from_json)


def read_from(card: Mapping[str, Any], source: str, read: Callable[[dict[str, Any]], Planned]) -> Planned:
    """What stands on a card as its plan."""
    data = card.get("plan")
    if not isinstance(data, dict):
        raise FileError(f"{source} has no plan; it is damaged.")
    try:
        return read(data)
    except StatveilError as error:
        raise FileError(f"the plan on {source} is damaged: {error}") from None
    except DAMAGE as error:
        raise FileError(f"the plan on {source} is damaged ({damage(error)}).") from None


def _secrets(plan: Plan) -> dict[str, Any]:
    """The same for scripts."""
    said = plan.to_json() if plan.problem.also else {}
    return {name: said[name] for name in ("secrets", "risk_union", "risk_intersection") if name in said}


def _closeness(problem: Problem) -> dict[str, Any]:
    """How close a guess counts, for scripts; a share is called one."""
    closeness = problem.closeness
    if isinstance(closeness, Relative):
        return {"tolerance": closeness.share, "tolerance_kind": "relative"}
    return {"tolerance": closeness}


def _checked(plan: Plan, shuffled: bool, beside: OtherColumns | None) -> list[str]:
    """What was looked at of the rows before the release, and what was not: the same words for every table."""
    if plan.release_mode.of_table:
        return [*ROWS_CHECKED]
    others = "other columns" if beside is None else "columns that were kept or moved under another map"
    each = "other column" if beside is None else "column that was kept or moved under another map"
    searched = [
        f"The {others}, in up to 32,768 rows from all parts of the table: whether one is a copy in another form or "
        "with errors, a flag or label for a range of values, or makes a sum or product with others (up to 200)."
    ]
    if beside is not None and beside.linked:
        searched.append(
            "Linked columns were not searched for copies of each other, which they may be. What they say of each other "
            "(their differences under a shift, their ratios under a scaling) is published as it was, and was looked at "
            "as a kept column is."
        )
    if not plan.release_mode.random:
        return [
            *searched,
            f"{_order_checked(shuffled, apart=True)} Each of the two columns was looked at by itself, and so was how "
            "the two values of a row compare: values that both have, a step, a frequent value or a bound between them. "
            f"{_TOGETHER}. In fewer than some 40 rows it does not show."
            if plan.release_mode.of_columns
            else f"{_order_checked(shuffled, apart=True)} Whether another column puts rows of such blocks in order. "
            f"Each group was looked at by itself as well. {_TOGETHER} across the groups. With fewer than some 20 pairs "
            "it does not show, nor where they go along by less than half."
            if plan.release_mode.apart
            else _moved_in_order(shuffled),
        ]
    lines = [
        _order_checked(shuffled),
        f"Every {each} by itself: whether its groups have like values, whether sorting by it orders the values.",
        f"{_TOGETHER}, in up to 65,536 rows.",
        "All other columns together, where several rows have the same in all of them.",
        "Not looked at: groups that three or more of several columns make, other tables, what is too weak to show in "
        "this many rows: pairs of rows in fewer than about 100, or in fewer than 1,000 if they are only half alike.",
    ]
    return lines if plan.release_mode.categories else [*searched, *lines]


_TOGETHER = (
    "Rows that belong together by parts of texts (words, numbers, beginnings and ends), by a column that names other "
    "rows (a partner, a manager, the order before), or by two columns together: whether they have like values"
)


_NO_LINK = (
    "So no published column says which rows belong together, in whatever spelling: a digest of an id, another format, "
    "a check digit, two columns swapped or added. The checks know some of these ways only."
)


def _moved_in_order(shuffled: bool) -> str:
    """All rows move alike, so an order tells only what it was made from."""
    if shuffled:
        return _order_checked(shuffled)
    return (
        "Whether the rows stand in an order that was made from the true size of their values, which a move keeps: by "
        "their distance from a number, in bands, as texts, by their digits or a usual hash. Whether they ascend or "
        "follow time does not matter to this mode: all rows move alike, equal ones stay equal. Not looked at: orders "
        "by other rules, or that a tenth of the rows do not keep to."
    )


def _order_checked(shuffled: bool, *, apart: bool = False) -> str:
    if shuffled:
        return "The rows were put in a random order by the secret seed."
    blocks = ", and trends in blocks of rows that have one value in another column" * apart
    looked = "trends, likeness of rows at any distance and mirrored, cycles, shuffles by usual seeds"
    return f"The order of the rows: {looked}{blocks}."


def _assumptions(plan: Plan, shuffled: bool, beside: OtherColumns | None) -> list[str]:
    known, mode = plan.problem.known, plan.release_mode
    if mode.of_table:
        return [*ROWS_ASSUMED, *mode.assumes(plan.problem)]
    lines = [
        "Outsiders believe no more than the stated prior; someone who knows more guesses better.",
        "Nobody knows a true record and finds its row: that would show how far the column was moved.",
        *(_OTHERS_LEFT if beside is None else beside.assumed()),
        "The same column is not released again under another plan or another seed.",
    ]
    if plan.problem.family.shapeless and (assumed := beyond_shape(plan.problem)):
        lines.append(f"{assumed[0].upper()}{assumed[1:]}{_if_it_does(plan)}")
    if known.spacing is None and not known.fixed_points and mode.structure_shows and not mode.of_family:
        lines.append("Nobody knows a bound, a step or a frequent value of such columns: none was declared.")
    if ends := ends_assumed(plan):
        lines.append(f"{ends} {_ENDS}")
    if mode.keeps_steps:
        lines.append(
            "Nobody knows a rule by which the values were made of other round numbers (another unit or currency, a "
            "rate, a tax, a ratio): rounded again, these reach some steps and not others, and whoever has the rule "
            "learns how far the values moved. Where there is one, a public shape (--shape) hides it."
        )
    if mode.continuous or (mode.keeps_steps and known.step is None):
        out = "" if mode.apart or mode.of_columns else " Where there is one, a public shape (--shape) hides it."
        lines.append(
            "Nobody knows a formula by which the values were computed from rounded numbers (a logarithm, an index, a "
            "clearance by age, a dew point, an annuity): the details of the values are kept, only the right position "
            f"makes those numbers round again, and whoever has the formula learns how far the values moved.{out}"
        )
    if mode.continuous or mode.keeps_steps or (mode.random and mode.stretches):
        lines.append(
            "Nobody knows a fixed amount, ratio or round total that ties rows together (a fee, a rate, an invoice), "
            "beyond those that are looked for: it holds in one place only."
        )
    if plan.release_mode.random:
        told = "no other column tells" if shuffled else "neither their order nor another column tells"
        lines.append(
            f"The rows are exchangeable: {told} a row's value. This mode draws row by row, and whoever knows which "
            f"rows were alike sees what was drawn. {_NO_LINK}"
        )
    elif mode.apart or mode.of_columns:
        lines.append(
            f"Nobody knows which rows of the two {'columns' if mode.of_columns else 'groups'} belong together: these "
            f"move apart, and pairs show by how much. {_NO_LINK}"
        )
    if plan.problem.family.discrete and plan.problem.secret.of_rows:
        lines.append("The risk is that of a long table; in one of n rows it is larger by 1 part in 2 x tolerance x n.")
    if plan.spacing is not None:
        log = plan.problem.family.log
        apart = f"the factor {math.exp(plan.spacing):.6g}" if log else f"{plan.spacing:.6g}"
        lines.append(
            f"The receiver learns the statistic up to multiples of {apart} or a little more (a comb): the "
            "risk is no smaller for a guess that must be closer than the tolerance, and jumps for one that may be "
            "farther."
        )
    elif plan.mechanism.scattered and not plan.in_proportion:
        lines.append(
            "The values of the statistic that share a release need not be neighbours: the risk need not be smaller for "
            "a guess that must be closer than the tolerance, and can jump for one that may be farther."
        )
    if plan.randomised:
        lines.append("The release was drawn at random, once; the seed is secret.")
    return [*lines, *plan.problem.family.assumes(), *mode.assumes(plan.problem)]


_ENDS = (
    "Whoever knows where they end (by a law, a scale, a limit of detection or the way in which they were collected) "
    "sees how far the column moved, by where it ends now."
)


def _if_it_does(plan: Plan) -> str:
    """What happens where the shape, or the form of a model, tells more than it is assumed to."""
    bound = plan.risk_if_shape_tells
    if plan.problem.family.model is not None and bound is not None and bound < 1:
        return f": whatever it tells, the risk is at most {shown_up(bound, 4)}."
    return (
        f": whoever believes that columns of this {'form' if plan.problem.family.model else 'shape'} have another "
        f"{plan.problem.secret.label} than others guesses better."
    )


@cache
def _own_version() -> str:
    """Read from the files of the installation, which takes a millisecond."""
    return version("statveil")


def used_versions() -> dict[str, str]:
    """Versions of what made a card."""
    import numpy
    import polars

    return {
        "statveil": _own_version(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "polars": polars.__version__,
    }
