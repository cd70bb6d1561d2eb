"""Whether the treatments of a table's columns fit together. All of it can be seen without the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from statveil.errors import shortened, unknown_name
from statveil.problem.of_groups import OfGroups
from statveil.specification.expressions import Expression
from statveil.specification.kinds import kind_of
from statveil.specification.nodes import Binary, Call, Column, Node, Unary, walk
from statveil.specification.placed import PlacedError, at
from statveil.specification.treatments import Budget, Derive, Drop, Hide, Link, Treatment

__all__ = ["check_columns", "given_back", "in_order"]


def check_columns(columns: Mapping[str, Treatment], others: str, budget: Budget | None) -> None:
    """An error that names the column where treatments do not fit together."""
    hidden = [name for name, one in columns.items() if isinstance(one, Hide)]
    if not hidden:
        raise PlacedError('no column is hidden; say of one of them what to hide, as in hide = "mean".', ("columns",))
    for name, one in columns.items():
        if not name:
            raise PlacedError("a column has no name; write the name that it has in the table.", ("columns", name))
        with at("columns", name):
            if isinstance(one, Hide):
                _check_hide(name, one, columns, others, budget)
            elif isinstance(one, Link):
                _check_link(name, one, columns)
            elif isinstance(one, Derive):
                _check_derive(name, one, columns, others)
    _check_kinds(columns)


def _check_hide(name: str, one: Hide, columns: Mapping[str, Treatment], others: str, budget: Budget | None) -> None:
    if not one.target and budget is None:
        raise PlacedError(
            f"the column {_said(name)} has no target; give it max_risk, max_distortion or bin, or give the table a "
            "[budget] with max_risk."
        )
    _check_labels(name, one, columns, others)
    if one.group is None:
        return
    place: tuple[str, ...] = ("group",)
    if one.group not in columns and others != "keep":
        raise PlacedError(unknown_name("column of a group", one.group, columns), place)
    if isinstance(columns.get(one.group), Hide | Link | Derive):
        raise PlacedError(
            f"the groups of {_said(name)} are those of a column that stays as it is or is dropped. Got "
            f"{_said(one.group)}, which is released as something else.",
            place,
        )


def _check_labels(name: str, one: Hide, columns: Mapping[str, Treatment], others: str) -> None:
    """The labels of the groups that a secret compares are public: the rows move by them."""
    for place, problem in enumerate(one.problems):
        secret = problem.secret
        if not isinstance(secret, OfGroups):
            continue
        found = columns.get(secret.by)
        if found is None and others == "refuse":
            raise PlacedError(unknown_name("column of groups", secret.by, columns), ("hide", place))
        became = "" if found is None else _BECAME.get(type(found), "")
        if found is None and others == "drop":
            became = "dropped"
        if became:
            raise PlacedError(
                f"the {secret.kind} of {_said(name)} compares groups that the column {_said(secret.by)} names, which "
                f"is {became}: everyone must see which rows belong to which group. Keep that column, or hide another "
                "statistic.",
                ("hide", place),
            )


_BECAME: dict[type, str] = {Hide: "hidden", Drop: "dropped", Link: "linked", Derive: "derived"}


def _check_link(name: str, one: Link, columns: Mapping[str, Treatment]) -> None:
    other = columns.get(one.to)
    hidden = [each for each, treatment in columns.items() if isinstance(treatment, Hide)]
    if other is None:
        raise PlacedError(unknown_name("column of a link", one.to, hidden), ("link",))
    if isinstance(other, Link):
        further = f"; link {_said(name)} to {_said(other.to)} itself" if other.to != name else ""
        raise PlacedError(
            f"the column {_said(name)} is linked to {_said(one.to)}, which is linked itself{further}.", ("link",)
        )
    if not isinstance(other, Hide):
        raise PlacedError(
            f"the column {_said(name)} is linked to {_said(one.to)}, which is not hidden, so nothing moves; link it to "
            f"a hidden column ({', '.join(map(_said, hidden))}), or keep it.",
            ("link",),
        )


def _check_derive(name: str, one: Derive, columns: Mapping[str, Treatment], others: str) -> None:
    for used in sorted(one.expression.columns):
        if used not in columns and others != "keep":
            raise PlacedError(unknown_name(f"column in the expression of {_said(name)}:", used, columns), ("derive",))
        if isinstance(columns.get(used), Drop):
            raise PlacedError(
                f"the column {_said(name)} is computed from {_said(used)}, which is dropped: only released columns can "
                "be used; keep or hide it, or leave it out of the expression.",
                ("derive",),
            )
    if (cycle := _cycle(name, columns)) is not None:
        raise PlacedError(
            f"the column {_said(name)} is computed from itself ({' from '.join(map(_said, cycle))}); compute one of "
            "them from other columns.",
            ("derive",),
        )


def _cycle(name: str, columns: Mapping[str, Treatment]) -> list[str] | None:
    """The derived columns by which a column leads back to itself, a shortest way."""
    before: dict[str, str] = {}
    waiting = [name]
    while waiting:
        here = waiting.pop(0)
        one = columns.get(here)
        for used in sorted(one.expression.columns) if isinstance(one, Derive) else ():
            if used == name:
                way = [here]
                while way[-1] != name:
                    way.append(before[way[-1]])
                return [*reversed(way), name]
            if used not in before:
                before[used] = here
                waiting.append(used)
    return None


def in_order(columns: Mapping[str, Treatment]) -> Iterator[str]:
    """The derived columns, each after those that it uses; columns without cycles only."""
    left = {name: one.expression.columns for name, one in columns.items() if isinstance(one, Derive)}
    while left:
        ready = [name for name, used in left.items() if not any(other in left for other in used)]
        assert ready, "a cycle"
        for name in ready:
            del left[name]
        yield from ready


def _check_kinds(columns: Mapping[str, Treatment]) -> None:
    """Numbers, texts and truths are not mixed, as far as it can be seen: hidden and linked columns are numbers."""
    kinds: dict[str, str | None] = {}
    for name, one in columns.items():
        shares = isinstance(one, Hide) and one.family == "categorical"
        kinds[name] = "number" if isinstance(one, Hide | Link) and not shares else None
    for name in in_order(columns):
        one = columns[name]
        assert isinstance(one, Derive)
        with at("columns", name, "derive"):
            kinds[name] = kind_of(one.expression, kinds)


def given_back(
    name: str, expression: Expression, hidden: Sequence[str], derived: Mapping[str, Expression]
) -> str | None:
    """Why a column that is kept, although it is declared as this function of others, tells of a hidden one.

    Such a column would be published with its true values. Where the hidden column stands in the formula once, behind
    steps that can be undone, it is given back to the digit; a flag or a rounded value tells of it all the same.
    """
    used, waiting = set[str](), set(expression.columns)
    while waiting:
        one = waiting.pop()
        used.add(one)
        if one in derived:
            waiting |= derived[one].columns - used
    told = next((one for one in hidden if one in used), None)
    if told is None:
        return None
    does = "gives back" if _solvable(expression.tree, told) else "tells of"
    return (
        f"the column {_said(name)} is {shortened(expression.text)!r} and kept as it is, which {does} the hidden column "
        f"{_said(told)}; leave out 'keep', and it is computed anew after the release, or drop it."
    )


_UNDONE = ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "minutes", "hhmm")


def _solvable(tree: Node, column: str) -> bool:
    """Whether the formula can be solved for a column that stands in it once."""
    if sum(isinstance(node, Column) and node.name == column for node in walk(tree)) != 1:
        return False
    while not isinstance(tree, Column):
        if isinstance(tree, Unary) and tree.operator != "not":
            tree = tree.operand
        elif isinstance(tree, Binary) and tree.operator in ("+", "-", "*", "/"):
            left = any(isinstance(node, Column) and node.name == column for node in walk(tree.left))
            tree = tree.left if left else tree.right
        elif isinstance(tree, Call) and tree.name in _UNDONE:
            (tree,) = tree.arguments
        else:
            return False
    return True


def _said(name: str) -> str:
    return repr(shortened(name))
